"""A small report with invented numbers and hostile names."""

from __future__ import annotations

from typing import Any

from models.aggregate import BootstrapConfig, Difference, summarise
from models.report import Comparison, PolicyRow, ReportData, StructureRow

HOSTILE = '<script>alert("x")</script> $a_1$ | **b** & \x00\ud800\n`c`'
_FEW = BootstrapConfig(resamples=50)


def rows(score: float, tokens: int, domains: tuple[str, ...] = ("WEB", "Game")) -> list[dict[str, Any]]:
    """Twelve questions of six episodes; each score varies a little around `score`."""
    return [
        {
            "question_id": f"d/{episode}/{index}",
            "score": score + 0.01 * (episode - 3),
            "status": "ok",
            "evidence_tokens": tokens,
            "n_structures": 2,
            "capability": ("recall", "causal")[index],
            "domain": domains[episode % len(domains)],
        }
        for episode in range(6)
        for index in range(2)
    ]


def policy(name: str, score: float, tokens: int, **more: Any) -> PolicyRow:
    return PolicyRow(name, summarise(rows(score, tokens), bootstrap=_FEW), **more)


def report(**more: Any) -> ReportData:
    fields: dict[str, Any] = {
        "title": "A comparison",
        "dataset": "ama_bench",
        "metric": "judge",
        "answerer": "model-a",
        "judge": "model-b",
        "policies": (
            policy("S", 0.5, 1000),
            policy("S+T", 0.4, 2000),
            policy("learned", 0.7, 9000, chosen=True, access_p50_ms=3.25),
        ),
        "structures": (StructureRow("S", "summary", 1000.0, recall=0.25, recall_n=8, support=None),),
        "comparisons": (Comparison("learned", "S", Difference(0.2, (0.1, 0.3), 12)),),
        "warnings": {"empty_observations": 170},
        "notes": ("One note.",),
        "command": "strata evaluate --seed 7",
        "versions": {"strata": "0.1.0"},
    }
    return ReportData(**{**fields, **more})


def hostile_report() -> ReportData:
    summary = summarise(rows(0.6, 4000, domains=(HOSTILE, "WEB")), bootstrap=_FEW)
    return report(
        title=HOSTILE,
        dataset=HOSTILE,
        answerer=HOSTILE,
        policies=(PolicyRow(HOSTILE, summary), policy("名前 🧭", 0.3, 10)),
        comparisons=(Comparison(HOSTILE, "b", Difference(None, None, 0)),),
        warnings={HOSTILE: 1},
        notes=(HOSTILE,),
        command=HOSTILE,
        versions={HOSTILE: HOSTILE},
    )
