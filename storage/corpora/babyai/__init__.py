"""Generated episodes in BabyAI worlds: the corpus of a first run, of the tests and of scale runs.

No download: MiniGrid's levels are played by its expert mixed with random moves, and everything that is asked is known
from the simulator. Any number of episodes of any length; episode i depends on the seed and i alone.

    babyai_0_00002: open the red door after you open the grey door (42 steps)
    Step 41: Action: toggle
             Observation: You pull the blue door between rooms B2 and B3 open. Position: room B2 (column 4, row 4); ...
    Which changes of state did the blue door go through, and at which steps?
    Step 41: opened the blue door between rooms B2 and B3  (update; evidence: step 41)

Differences from AMA-Bench's generator, whose faults are listed in FACTS.md section 5.3: observations are those *after*
the action and tell what is carried, step 0 shows the start, gold comes from the true state, quotas always hold.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from storage.corpora.babyai.describe import describe
from storage.corpora.babyai.questions import MIN_STEPS, ask_about
from storage.corpora.base import CorpusError, ReadReport
from storage.records import Episode, Step


@dataclass(frozen=True)
class BabyAI:
    """The generator. An episode has `min_steps` to `max_steps` steps; `random_ratio` of the moves are random."""

    episodes: int = 12
    min_steps: int = 30
    max_steps: int = 90
    random_ratio: float = 0.25
    seed: int = 0

    @property
    def name(self) -> str:
        return "babyai"

    def read(self, source: str | None, report: ReadReport) -> Iterator[Episode]:
        """Yield the episodes. `source` overrides fields: `"episodes=200,min_steps=60,max_steps=60"`.

        `report` stays empty, since there is nothing to repair. `CorpusError` names a setting that cannot be used.
        """
        settings = self._overridden(source) if source else self
        settings.check()
        return (settings.episode(index) for index in range(settings.episodes))

    def _overridden(self, source: str) -> BabyAI:
        """The settings with the `key=value` pairs of `source` applied."""
        types: dict[str, type] = {field.name: type(getattr(BabyAI, field.name)) for field in fields(self)}
        values: dict[str, int | float] = {}
        for pair in source.split(","):
            key, equals, text = (part.strip() for part in pair.partition("="))
            if not equals or key not in types:
                raise CorpusError(f"babyai: {pair.strip()!r} is no setting; write key=value with one of {', '.join(types)}")
            if key in values:
                raise CorpusError(f"babyai: {key} is set twice in {source!r}")
            try:
                values[key] = types[key](text)
            except ValueError:
                raise CorpusError(f"babyai: {key}={text} is not {_NUMBERS[types[key]]}") from None
        return replace(self, **values)  # type: ignore[arg-type]  # the values have the types of their fields

    def check(self) -> None:
        """Raise `CorpusError` for a setting that makes no episodes."""
        if self.episodes < 1:
            raise CorpusError(f"babyai: episodes={self.episodes} must be at least 1")
        if self.min_steps < MIN_STEPS:
            raise CorpusError(f"babyai: min_steps={self.min_steps} must be at least {MIN_STEPS}, to ask twelve questions")
        if self.max_steps < self.min_steps:
            raise CorpusError(f"babyai: max_steps={self.max_steps} is below min_steps={self.min_steps}; set both")
        if not 0 <= self.random_ratio <= 1:
            raise CorpusError(f"babyai: random_ratio={self.random_ratio} must lie between 0 and 1")

    def episode(self, index: int) -> Episode:
        """Episode number `index`. World, wording and questions draw from sources of their own, so that a new wording
        changes no world."""
        from storage.corpora.babyai.play import LEVELS, simulate  # imports the simulator

        level = LEVELS[index % len(LEVELS)]
        world, wording, asking = (random.Random(f"{self.seed}/{index}/{use}") for use in ("world", "wording", "questions"))
        trace = simulate(level, world.randint(self.min_steps, self.max_steps), self.random_ratio, world)
        return Episode(
            dataset=self.name,
            episode_id=f"babyai_{self.seed}_{index:05d}",
            task=trace.missions[0],
            task_type=level.family,
            domain=level.domain,
            steps=tuple(Step(m.step, m.action, describe(trace, m.step, wording)) for m in trace.moments),
            questions=ask_about(trace, asking),
            extra={"level": trace.level, "level_seed": trace.level_seed},
        )


_NUMBERS = {int: "a whole number", float: "a number"}
