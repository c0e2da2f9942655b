"""The data sets that Strata reads, by name. A new one is one file here and one line in `CORPORA`."""

from __future__ import annotations

from storage.corpora.ama_bench import AmaBench
from storage.corpora.babyai import BabyAI
from storage.corpora.base import Corpus
from storage.corpora.hotpotqa import HotpotQA
from storage.corpora.locomo import Locomo

CORPORA: dict[str, Corpus] = {
    "ama-bench": AmaBench(),
    "locomo": Locomo(),
    "babyai": BabyAI(),
    "hotpotqa": HotpotQA(),
}
