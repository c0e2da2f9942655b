"""From the words of a user to what is read for each question: fixed and random policies, and those saved in the home.

`policies/<dataset>/<name>.json` holds a searched policy's source, fitted parameters and where it came from;
`champion.json` beside them names the one in use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.selector.contract import Case, Params
from models.selector.policies import Policy, parse_policy
from models.selector.sandbox import PolicyError, Selection, select
from storage.artifacts import ArtifactError, Home
from tasks.settings import SettingsError

CHAMPION = "champion"


@dataclass(frozen=True)
class SavedPolicy:
    """A policy found by a search, for the data set that it was searched on.

    `structures` are those it chooses from and whose previews it sees; `split` is the one it was searched on; without
    `metadata` it sees neither capability nor domain nor task type.
    """

    name: str
    source: str
    params: Params
    structures: tuple[str, ...]
    split: int
    metadata: bool

    @classmethod
    def load(cls, home: Home, dataset: str, name: str = CHAMPION) -> SavedPolicy:
        """Read a policy of the home. `ArtifactError` lists the policies when there is none of this name."""
        found = load_policy(home, dataset, name)
        return cls(
            found["name"],
            found["source"],
            found["params"],
            tuple(found["structures"]),
            found["split"],
            found["metadata"],
        )

    def choose(self, cases: Sequence[Case]) -> list[Selection]:
        """What is read for some cases; all structures, with the reason, where the policy fails.

        `ArtifactError` when its source does not run at all.
        """
        try:
            return select(self.source, self.params, cases, self.structures)
        except PolicyError as error:
            raise ArtifactError(f"policy {self.name} does not run: {error}") from error


def policy_path(home: Home, dataset: str, name: str) -> str:
    """Where a policy is kept."""
    return home.path("policies", dataset, f"{name}.json")


def load_policy(home: Home, dataset: str, name: str = CHAMPION) -> dict[str, Any]:
    """A saved policy as it was written; `champion` is the one in use. `ArtifactError` lists the policies there are."""
    if name == CHAMPION:
        pointer = home.read_json(policy_path(home, dataset, CHAMPION))
        if pointer is None:
            raise ArtifactError(f"{dataset} has no champion policy yet: run `strata search --dataset {dataset}` first")
        name = pointer["name"]
    found = home.read_json(policy_path(home, dataset, name))
    if found is None:
        raise ArtifactError(f"{dataset} has no policy {name!r}; it has {', '.join(saved_names(home, dataset)) or 'none'}")
    return dict(found)


def saved_names(home: Home, dataset: str) -> list[str]:
    """The names of a data set's saved policies."""
    paths = home.fs.glob(policy_path(home, dataset, "*"))
    return sorted({path.rsplit("/", 1)[-1].removesuffix(".json") for path in paths} - {CHAMPION})


def parse_policies(
    home: Home, dataset: str, words: Sequence[str], letters: Sequence[str], seed: int
) -> list[Policy | SavedPolicy]:
    """The policies that a user names, each once: words of `parse_policy`, `champion`, or the name of a saved policy.

    `SettingsError` for an unknown word or a saved policy that needs a structure not in `letters`.
    """
    policies = [_parse(home, dataset, word.strip(), letters, seed) for word in words]
    return list({policy.name: policy for policy in policies}.values())


def _parse(home: Home, dataset: str, word: str, letters: Sequence[str], seed: int) -> Policy | SavedPolicy:
    saved = saved_names(home, dataset)
    if word != CHAMPION and word not in saved:
        try:
            return parse_policy(word, letters, seed)
        except ValueError as error:
            known = f"; saved policies are {', '.join(saved)}" if saved else ""
            raise SettingsError(f"{error}{known}") from error
    policy = SavedPolicy.load(home, dataset, word)
    if missing := [letter for letter in policy.structures if letter not in letters]:
        raise SettingsError(f"policy {policy.name} needs structure {', '.join(missing)}; chosen are {', '.join(letters)}")
    return policy


def choose(policy: Policy | SavedPolicy, questions: Sequence[str], cases: Mapping[str, Case]) -> list[Selection]:
    """What `policy` reads for each question; `cases` holds those of the questions when the policy is a saved one."""
    if isinstance(policy, SavedPolicy):
        return policy.choose([cases[question] for question in questions])
    return [Selection(policy.select(question)) for question in questions]
