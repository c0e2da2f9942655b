"""What the two trainings share: epochs with a record each, the best epoch by validation, and a state to resume from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """One epoch of one stage (`ranker`, `reinforce`). Numbers that a stage does not have are None.

    `reward` is the mean undiscounted reward of the sampled walks, `train_success` the share of them that found all targets.
    `success` and `recall` are of greedy walks on validation (for the ranker, `recall` is its mean recall at 15 and at 30),
    None where the epoch was not validated. `edge_drift` is the mean distance of edge features from their first.
    """

    stage: str
    epoch: int
    loss: float
    reward: float | None = None
    train_success: float | None = None
    success: float | None = None
    recall: float | None = None
    edge_drift: float | None = None


@dataclass
class TrainingState:
    """Everything a training needs to go on after `epoch` epochs of `stage` as if it had never stopped.

    `current` are parameters and optimiser moments, `numbers` a stage's scalars; `best` are the parameters of `best_epoch`,
    which has `best_quality`. `finished` are the best parameters of stages that are done, `best_epochs` their epochs.
    """

    stage: str = ""
    epoch: int = 0
    numbers: dict[str, float] = field(default_factory=dict)
    best_epoch: int = -1
    best_quality: float = -math.inf
    history: list[EpochRecord] = field(default_factory=list)
    current: Arrays = field(default_factory=dict)
    best: Arrays = field(default_factory=dict)
    finished: Arrays = field(default_factory=dict)
    best_epochs: dict[str, int] = field(default_factory=dict)

    def header(self) -> dict[str, Any]:
        """All that is no array, for JSON."""
        plain = {name: getattr(self, name) for name in ("stage", "epoch", "numbers", "best_epoch", "best_epochs")}
        quality = None if self.best_quality == -math.inf else self.best_quality
        return plain | {"best_quality": quality, "history": [asdict(record) for record in self.history]}

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, Arrays]) -> TrainingState:
        """The inverse of `header`; `arrays` are `current`, `best` and `finished`."""
        values: dict[str, Any] = {**header, **arrays}
        values["history"] = [EpochRecord(**record) for record in header["history"]]
        if header["best_quality"] is None:
            values["best_quality"] = -math.inf
        return cls(**values)

    def start(self, stage: str) -> None:
        """Forget the stage before but for its best weights and its history."""
        self.stage, self.epoch, self.numbers = stage, 0, {}
        self.best_epoch, self.best_quality, self.current, self.best = -1, -math.inf, {}, {}


OnEpoch = Callable[[EpochRecord, TrainingState], None]


class Learner(Protocol):
    """One stage. Everything random in an epoch is drawn from the seed and the epoch's number alone."""

    @property
    def stage(self) -> str: ...

    @property
    def epochs(self) -> int: ...

    def epoch(self, number: int) -> EpochRecord:
        """Train one epoch and validate it if it is due."""
        ...

    def quality(self, record: EpochRecord) -> float | None:
        """What the best epoch is chosen by; None when the epoch was not validated."""
        ...

    def parameters(self) -> Arrays:
        """The weights as they are now."""
        ...

    def progress(self) -> tuple[Arrays, dict[str, float]]:
        """All that the next epoch depends on."""
        ...

    def resume(self, arrays: Arrays, numbers: Mapping[str, float]) -> None:
        """Take up what `progress` gave."""
        ...


def learn(learner: Learner, state: TrainingState, on_epoch: OnEpoch | None = None) -> Arrays:
    """Run the epochs that are left and return the best weights; of equally good epochs the first is the best.

    `state` is updated in place and handed to `on_epoch` after every epoch. The best weights end up in `state.finished` under
    `<stage>/<name>`; a stage whose weights are there is not trained again. A state of another stage starts this one.
    """
    if done := _part(state.finished, learner.stage):
        return done
    if state.stage == learner.stage:
        learner.resume(state.current, state.numbers)
    else:
        state.start(learner.stage)
    while state.epoch < learner.epochs:
        record = learner.epoch(state.epoch)
        _advance(learner, record, state)
        if on_epoch is not None:
            on_epoch(record, state)
    return _part(state.finished, learner.stage)


def _advance(learner: Learner, record: EpochRecord, state: TrainingState) -> None:
    state.epoch += 1
    state.history.append(record)
    state.current, state.numbers = learner.progress()
    quality = learner.quality(record)
    if quality is not None and quality > state.best_quality:
        state.best_epoch, state.best_quality, state.best = record.epoch, quality, learner.parameters()
    if state.epoch == learner.epochs:
        state.best_epochs[learner.stage] = record.epoch if state.best_epoch < 0 else state.best_epoch
        state.finished |= {f"{learner.stage}/{name}": array for name, array in (state.best or learner.parameters()).items()}


def _part(arrays: Arrays, stage: str) -> Arrays:
    """The arrays of one stage, by their own names."""
    prefix = f"{stage}/"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def arrays_of(tensors: Mapping[str, Tensor]) -> Arrays:
    """Copies of tensors as arrays."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}


def moments(optimiser: Optimizer, names: Sequence[str]) -> Arrays:
    """Adam's moments and step counts as arrays, `adam/<name>/<moment>`; `names` are those of its parameters, in order."""
    state = optimiser.state_dict()["state"]
    return {
        f"adam/{names[index]}/{moment}": value.detach().cpu().numpy().copy()
        for index, values in state.items()
        for moment, value in values.items()
    }


def restore_moments(optimiser: Optimizer, names: Sequence[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give Adam back what `moments` took from it."""
    import torch

    state = optimiser.state_dict()
    state["state"] = {}
    for key, array in arrays.items():
        kind, _, rest = key.partition("/")
        if kind == "adam":
            name, _, moment = rest.rpartition("/")
            state["state"].setdefault(names.index(name), {})[moment] = torch.from_numpy(np.array(array))
    optimiser.load_state_dict(state)
