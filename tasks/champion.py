"""The champion policy of a data set: a file in the home (`tasks/policies.py`), replaced only by a policy that beats it.

MLflow's registry has the same under `strata-<dataset>-selector`, alias `champion`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.selector.evaluate import evaluate
from models.selector.lookups import letters_of
from models.selector.sandbox import PolicyError
from models.selector.search import rejection
from storage.artifacts import ArtifactKey, Home, digest
from storage.shards import writer_lock
from tasks.outcomes import outcome_table
from tasks.policies import CHAMPION, load_policy, policy_path
from tasks.search import part_of, run_champion
from tasks.selector_config import SelectorConfig
from tasks.sweep import Sweep
from tasks.tracking import register_model


def save_champion(
    home: Home, sweep: Sweep, config: SelectorConfig, key: ArtifactKey, found: Mapping[str, Any], run_id: str
) -> dict[str, Any]:
    """Save a search's champion, and promote it when it beats the present one on the same validation questions.

    The objective of the new search decides, whatever the present champion was searched for. Returns the policy's name,
    whether it was promoted, and why.
    """
    name = f"{config.metric}-split{config.split}-{digest(str(key))[:8]}"
    policy = {
        "name": name,
        "dataset": sweep.dataset,
        "metric": config.metric,
        "structures": list(config.structures),
        "cost": config.cost,
        "split": config.split,
        "metadata": config.metadata,
        "search": str(key),
        "run_id": run_id,
        **found["champion"],
    }
    with writer_lock(home, f"champion-{sweep.dataset}"):
        home.replace_json(policy_path(home, sweep.dataset, name), policy)
        promoted, reason = _beats(home, sweep, config, found, name)
        if promoted:
            home.replace_json(policy_path(home, sweep.dataset, CHAMPION), {"name": name, "reason": reason})
            register_model(home, f"strata-{sweep.dataset}-selector", run_id, CHAMPION)
    return {"name": name, "promoted": promoted, "reason": reason}


def _beats(home: Home, sweep: Sweep, config: SelectorConfig, found: Mapping[str, Any], name: str) -> tuple[bool, str]:
    present = home.read_json(policy_path(home, sweep.dataset, CHAMPION))
    if present is None:
        return True, "the first champion"
    if present["name"] == name:
        return False, "it is the champion already"
    old = load_policy(home, sweep.dataset)
    table = part_of(outcome_table(home, sweep, config.structures, config.metadata), found["split"]["validation"])
    mine = found["champion"]["validation"]["objective"]
    try:
        theirs = evaluate(run_champion(old, table.cases, letters_of(table)), table, config.cost)
    except PolicyError as error:
        return True, f"the champion {old['name']} no longer runs: {error}"
    if reason := rejection(theirs):
        return True, f"the champion {old['name']} is no longer valid: {reason}"
    comparison = f"validation objective {mine:.4f} against {theirs.objective:.4f} of {old['name']}"
    return mine > theirs.objective, comparison
