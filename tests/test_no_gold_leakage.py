"""Nothing that is derived from gold answers, gold evidence or outcomes reaches a retriever, a prompt or a policy.

A small data set carries one word, the mark, in every gold answer, evidence reference, tempting answer, `success` flag and
verdict, and nowhere else. Wherever the mark turns up after a whole run, gold has leaked.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import models.prompts
from models.answer import AnswerTask
from models.prompts import judge as judge_prompt
from storage import schemas
from storage.artifacts import Home
from storage.shards import Shard, read_shard
from storage.structures.base import Query
from tasks.cases import cases
from tasks.plan import BuildPlan, vectors_uri
from tasks.report import write_report
from tasks.sections import ShardEvidence, answer_task
from tasks.settings import Settings
from tasks.tracking import RunRecord
from tests.input_cases.encoder import RecordingEncoder, install_encoder
from tests.input_cases.pipeline import Pipeline, Row, ama_episode, conversation, said, trajectory, write_jsonl
from tests.models.llm.server import reply, serving

ROOT = Path(__file__).parents[1]
STRUCTURES = "STGVRH"
POLICIES = ("all", "T", "random", "long-context")
GOLD = {
    "questions": ["answer", "evidence_refs", "evidence_steps", "unresolved_refs", "extra"],
    "episodes": ["extra"],
    "steps": ["extra"],
}
"""Columns of a shard that hold gold or outcomes."""


def ama_source(folder: Path, mark: str, gold_turn: int) -> Path:
    turns = trajectory((f"take {thing}", f"You hold the {thing} {i}.") for i, thing in enumerate(["cup", "key", "hat"] * 4))
    asked = ("At step 1, what did the agent take?", "Which hat was taken last?", "What happened in steps 3 to 5?")
    pairs = [
        {
            "question": text,
            "answer": f"{mark} {i}",
            "type": "ABC"[i],
            "evidence": [f"{mark}:{gold_turn + i}"],
            "verdict": mark,
        }
        for i, text in enumerate(asked)
    ]
    fields = {"success": mark, "outcome": {"reward": mark}, "qa_pairs": pairs}
    return write_jsonl(folder / "ama.jsonl", [ama_episode(turns, episode_id=i, **fields) for i in range(2)])


def locomo_source(folder: Path, mark: str, gold_turn: int) -> Path:
    hidden = f"hidden{mark}"
    turns = [said(f"D1:{i}", "Ann" if i % 2 else "Bo", f"I bought a kayak and {i} oars.", query=hidden) for i in range(1, 9)]
    pairs = [
        {
            "question": "When did Ann buy a kayak?",
            "answer": f"{mark} May",
            "category": 2,
            "evidence": [f"D1:{gold_turn}; D9:{mark}"],
        },
        {"question": "Who bought oars?", "answer": mark, "category": 1, "evidence": [mark]},
        {"question": "Which boat sank?", "answer": mark, "category": 5, "evidence": [], "adversarial_answer": mark},
    ]
    summaries = {name: {"events": hidden} for name in ("event_summary", "observation", "session_summary")}
    episode = conversation([("1:56 pm on 8 May, 2023", turns)], *pairs, success=mark, **summaries)
    return write_jsonl(folder / "locomo.jsonl", [episode])


SOURCES = {"ama-bench": ama_source, "locomo": locomo_source}


@dataclass(frozen=True)
class Run:
    """What a whole run left behind and sent out."""

    pipeline: Pipeline
    mark: str
    encoder: RecordingEncoder
    answer_prompts: list[str]
    judge_prompts: list[str]
    logged: list[RunRecord]
    answers: list[str]

    @property
    def home(self) -> Home:
        return self.pipeline.home


def whole_run(folder: Path, dataset: str, mark: str, gold_turn: int) -> Run:
    """Ingest, build, answer with a language model, score by judge and F1, and report; the source is deleted at the end."""
    folder.mkdir()
    logged: list[RunRecord] = []
    with pytest.MonkeyPatch.context() as patch, serving(lambda *_: reply("Answer: maybe no")) as server:
        encoder = install_encoder(patch)
        patch.setattr("tasks.report.log_runs", lambda home, name, stage, *runs: logged.extend(_flat(runs)) or "run")
        settings = Settings(answerer=f"openai:m@{server.url}", judge=f"openai:judge@{server.url}")
        pipeline = Pipeline(Home(folder / "home"), dataset, settings)
        source = SOURCES[dataset](folder, mark, gold_turn)
        pipeline.ingest(source)
        pipeline.build(STRUCTURES)
        outcomes = [
            row for metric in ("judge", "f1") for row in pipeline.evaluate(*POLICIES, metric=metric, letters=STRUCTURES)
        ]
        for metric in ("judge", "f1"):
            write_report(pipeline.home, pipeline.plan(*POLICIES, metric=metric, letters=STRUCTURES), None)
    source.unlink()
    prompts = {name: [b["messages"][0]["content"] for b in server.bodies if b["model"] == name] for name in ("m", "judge")}
    answers = [row["answer"] for row in outcomes]
    return Run(pipeline, mark, encoder, prompts["m"], prompts["judge"], logged, answers)


def _flat(runs: tuple[Any, ...]) -> Iterator[RunRecord]:
    for run in runs:
        yield from run if isinstance(run, list) else [run]


@pytest.fixture(scope="module", params=SOURCES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return whole_run(tmp_path_factory.mktemp("leak") / "run", request.param, "zzmarkzz", 1)


@pytest.fixture(scope="module")
def other(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same episodes and questions with other gold."""
    return whole_run(tmp_path_factory.mktemp("leak") / "other", run.pipeline.dataset, "qqotherqq", 6)


def tables(home: Home) -> dict[str, list[pa.Table]]:
    """Every table of the home by kind and name (`evidence/T`; `corpus/ama-bench/questions`), the vectors of LanceDB too."""
    import lancedb

    found: dict[str, list[pa.Table]] = {}
    for path in sorted(Path(home.root).rglob("*.parquet")):
        kind, name, *_ = path.relative_to(home.root).parts
        found.setdefault(f"{kind}/{name}" + (f"/{path.stem}" if kind == "corpus" else ""), []).append(pq.read_table(path))
    database = lancedb.connect(vectors_uri(home))
    found["vectors"] = [database.open_table(name).to_arrow() for name in database.list_tables().tables]
    return found


def holds(table: pa.Table, mark: str) -> bool:
    return mark in json.dumps(table.to_pylist(), default=str)


def build_plan(run: Run) -> BuildPlan:
    return BuildPlan.of(run.pipeline.home, run.pipeline.live, tuple(STRUCTURES), run.pipeline.settings)


def answer_tasks(run: Run) -> list[AnswerTask]:
    """What an answerer is given in the evaluation of every policy."""
    found = []
    for plan in run.pipeline.plan(*POLICIES, letters=STRUCTURES).plans:
        source = ShardEvidence(run.home, plan.shard.shard, plan.evidence, run.pipeline.settings.compose)
        found += [answer_task(source, question, subset) for question, subset in plan.assignment]
    return found


def test_the_mark_is_where_gold_belongs(run: Run) -> None:
    """Otherwise the other tests would find nothing because there is nothing to find."""
    stored = tables(run.home)
    [questions] = stored[f"corpus/{run.pipeline.dataset}/questions"]
    [episodes] = stored[f"corpus/{run.pipeline.dataset}/episodes"]
    assert all(holds(questions.select([column]), run.mark) for column in ("answer", "extra"))
    assert holds(episodes.select(["extra"]), run.mark)
    assert holds(questions.select(["unresolved_refs"]), run.mark) == (run.pipeline.dataset == "locomo")
    assert any(run.mark in text for text in run.judge_prompts)


def test_no_stored_table_holds_gold_but_the_corpus_itself(run: Run) -> None:
    stored = tables(run.home)
    assert {
        "derived/summary",
        "derived/triples",
        "derived/embeddings",
        "derived/question_vectors",
        "vectors",
    } <= stored.keys()
    assert {f"{kind}/{letter}" for kind in ("structures", "evidence") for letter in STRUCTURES} <= stored.keys()
    for name, found in stored.items():
        kept = GOLD.get(name.rsplit("/", 1)[-1], []) if name.startswith("corpus/") else []
        assert not any(holds(table.drop_columns(kept), run.mark) for table in found), name


def test_no_other_file_of_the_home_holds_gold(run: Run) -> None:
    """Manifests, journals, reports, heads, and the bytes of the vector store."""
    files = [path for path in Path(run.home.root).rglob("*") if path.is_file() and path.suffix != ".parquet"]
    assert {"answer", "judge"} == {path.parent.name for path in files if "journal" in path.parts}
    assert {"report.html", "report.md", "summary.json", "manifest.json", "head.json", "ingest.json"} <= {
        p.name for p in files
    }
    assert [path for path in files if run.mark.encode() in path.read_bytes()] == []


def test_what_says_more_than_the_participants_do_is_not_even_ingested(run: Run) -> None:
    """LoCoMo's search words and summaries."""
    assert not any(holds(table, f"hidden{run.mark}") for found in tables(run.home).values() for table in found)


def test_no_gold_reaches_an_encoder_an_answer_model_or_the_experiment_log(run: Run) -> None:
    n_questions = len(run.pipeline.table("questions"))
    assert len(run.encoder.queries) == n_questions
    assert len(run.answer_prompts) == len(set(run.answer_prompts)) > n_questions  # equal prompts are paid once
    assert len(run.logged) == 2 * (1 + len(POLICIES))
    sent = [*run.encoder.documents, *run.encoder.queries, *run.answer_prompts, *map(repr, run.logged), *run.answers]
    assert not any(run.mark in text for text in sent)
    assert not any(run.mark in repr(task) for task in answer_tasks(run))


def test_no_gold_reaches_a_policy(run: Run) -> None:
    seen = [case for plan in build_plan(run).shards for case in cases(run.home, plan, STRUCTURES).values()]
    assert len(seen) == len(run.pipeline.table("questions"))
    assert run.mark not in repr(seen)
    assert not {"answer", "evidence_steps", "evidence_refs", "success", "score"} & {
        key for case in seen for key in case.context
    }


def test_the_judge_reads_the_reference_of_its_own_question(run: Run) -> None:
    gold = {row["question"]: row["answer"] for row in run.pipeline.table("questions")}
    for text in run.judge_prompts:
        question = text.split("\n\nQuestion: ")[1].split("\n\n")[0]
        assert f"\n\nReference Answer: {gold[question]}\n\n" in text
        assert text.count(run.mark) == gold[question].count(run.mark)


def test_other_gold_changes_nothing_before_the_scores(run: Run, other: Run) -> None:
    """Gold step numbers carry no mark. So: derived tables, structures, evidence, prompts and answers are equal."""
    first, second = (comparable(each.home) for each in (run, other))
    assert first.keys() == second.keys()
    assert {"derived/summary", "structures/G", "evidence/V", "vectors"} <= first.keys()
    assert all(first[name] == second[name] for name in first), [name for name in first if first[name] != second[name]]
    assert sorted(run.answer_prompts) == sorted(other.answer_prompts)
    assert run.answers == other.answers
    assert run.encoder.documents == other.encoder.documents
    assert sorted(run.judge_prompts) != sorted(other.judge_prompts)


def comparable(home: Home) -> dict[str, list[list[Row]]]:
    """Tables that must not depend on gold, without measured times and without names of shards, which digest the gold."""
    return {
        name: [table.drop_columns([c for c in ("ms", "shard") if c in table.column_names]).to_pylist() for table in found]
        for name, found in tables(home).items()
        if name.split("/")[0] in ("derived", "structures", "evidence", "vectors")
    }


def test_everything_up_to_the_prompt_works_where_the_gold_columns_do_not_exist(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(home: Home, shard: Shard, table: str) -> pa.Table:
        return read_shard(home, shard, table).drop_columns(GOLD[table])

    sighted = answer_tasks(run)
    encoder = install_encoder(monkeypatch)
    run.home.fs.copy(run.home.path("corpus"), str(tmp_path / "home" / "corpus"), recursive=True)
    run.home.fs.copy(run.home.path("corpora"), str(tmp_path / "home" / "corpora"), recursive=True)
    for module in ("access", "build", "cases", "derivations", "evaluation", "sections"):
        monkeypatch.setattr(f"tasks.{module}.read_shard", blind)
    pipeline = Pipeline(Home(tmp_path / "home"), run.pipeline.dataset, run.pipeline.settings)
    pipeline.build(STRUCTURES)
    blinded = dataclasses.replace(run, pipeline=pipeline, encoder=encoder)
    assert comparable(pipeline.home) == comparable(run.home)
    assert answer_tasks(blinded) == sighted
    assert all(cases(pipeline.home, plan, STRUCTURES) for plan in build_plan(blinded).shards)


GOLD_COLUMNS = {"answer", "evidence_refs", "evidence_steps", "unresolved_refs", "adversarial_answer", "success", "extra"}
SEES_NO_GOLD = sorted(
    path
    for part in ("storage/structures", "models/extract", "models/extractive", "models/baselines", "tasks/access.py")
    for path in ([ROOT / part] if part.endswith(".py") else (ROOT / part).rglob("*.py"))
)


@pytest.mark.parametrize("path", SEES_NO_GOLD, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_retriever_names_a_gold_column_or_imports_what_reads_one(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert not texts & GOLD_COLUMNS
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not attributes & (GOLD_COLUMNS - {"answer", "extra"}), "`.answer` may be a method"
    imported = {
        (node.module or "", name.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }
    modules = {module for module, _ in imported}
    assert not {name for _, name in imported} & {"Question", "Episode", "JudgeItem"}
    assert not any(
        module.startswith(("models.metrics", "models.judge", "models.retrieval", "storage.corpora")) for module in modules
    )


def test_the_access_reads_three_columns_of_the_questions_and_the_task_of_an_episode() -> None:
    """Every table that it reads of a shard, with the columns that it keeps; steps hold no gold."""
    source = (ROOT / "tasks" / "access.py").read_text(encoding="utf-8")
    read = re.findall(r"read_shard\(home, shard, \"(\w+)\"\)(?:\.select\((\[[^]]*\])\))?", source)
    assert sorted(read) == [
        ("episodes", '["episode_id", "task"]'),
        ("questions", '["question_id", "episode_id", "question"]'),
        ("steps", ""),
    ]
    assert source.count("read_shard(") == len(read)


def test_a_query_and_an_answer_task_have_no_field_for_gold() -> None:
    assert {field.name for field in dataclasses.fields(Query)} == {
        "text",
        "vector",
        "extra_steps",
        "router",
        "intent",
    }
    fields = {field.name for field in dataclasses.fields(AnswerTask)}
    assert fields == {"question_id", "question", "task", "sections", "localised", "conversation"}
    assert not GOLD_COLUMNS & {*schemas.EVIDENCE.names, *schemas.SUMMARIES.names, *schemas.TRIPLES.names}


def test_the_judge_prompt_is_the_only_one_with_a_place_for_the_reference() -> None:
    names = [module.name for module in pkgutil.iter_modules(models.prompts.__path__)]
    assert {"answer", "judge"} <= set(names)
    with_reference = {
        name
        for name in names
        for _, function in inspect.getmembers(importlib.import_module(f"models.prompts.{name}"), inspect.isfunction)
        if {"reference", "gold", "answer", "evidence_steps"} & set(inspect.signature(function).parameters)
    }
    assert with_reference == {"judge"}
    assert "Reference Answer: " in judge_prompt.render("Q", "R", "P")
