"""The generated corpus: the same everywhere, of any size, always with its twelve questions."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from storage.corpora.babyai import BabyAI
from storage.corpora.babyai.play import LEVELS, simulate
from storage.corpora.babyai.questions import MIN_STEPS, ask_about
from storage.corpora.babyai.trace import Front, Moment, Trace
from storage.corpora.babyai.world import World
from storage.corpora.base import CorpusError, ReadReport
from storage.records import Episode, content_hash


def generate(**settings: Any) -> list[Episode]:
    return list(BabyAI(**settings).read(None, ReadReport()))


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return generate(episodes=24, min_steps=40, max_steps=90)


# --- one seed, one corpus


def test_another_process_with_another_hash_seed_generates_the_same_bytes(episodes: list[Episode]) -> None:
    code = (
        "import json; from storage.corpora.babyai import BabyAI; from storage.corpora.base import ReadReport;"
        "from storage.records import content_hash;"
        "print(json.dumps([content_hash(e) for e in BabyAI(6, 40, 90).read(None, ReadReport())]))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=Path(__file__).parents[3],
        env={"PYTHONHASHSEED": "12345", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [content_hash(e) for e in episodes[:6]], "and nothing else was printed"
    assert done.stderr == ""


def test_asking_for_more_episodes_leaves_the_first_ones_equal(episodes: list[Episode]) -> None:
    assert generate(episodes=14, min_steps=40, max_steps=90) == episodes[:14]


def test_another_seed_plays_other_worlds() -> None:
    first, second = generate(episodes=12), generate(episodes=12, seed=1)
    assert not {e.extra["level_seed"] for e in first} & {e.extra["level_seed"] for e in second}
    assert not {content_hash(e) for e in first} & {content_hash(e) for e in second}


def test_episodes_come_one_at_a_time() -> None:
    endless = BabyAI(episodes=10**9).read(None, ReadReport())
    assert next(iter(endless)).episode_id == "babyai_0_00000"


# --- shape


def test_the_default_corpus_holds_every_family_and_domain_twice() -> None:
    default = generate()
    assert len(default) == 12
    assert set(Counter(e.task_type for e in default).values()) == {2}
    assert {e.domain for e in default} == {"navigation", "manipulation", "doors", "composite"}
    assert len({e.episode_id for e in default}) == 12


def test_lengths_lie_within_the_bounds_and_steps_count_from_zero(episodes: list[Episode]) -> None:
    lengths = {len(e.steps) for e in episodes}
    assert min(lengths) >= 40
    assert max(lengths) <= 90
    assert len(lengths) > 12, "lengths are drawn, not fixed"
    assert all([s.step for s in e.steps] == list(range(len(e.steps))) for e in episodes)


def test_the_mission_is_the_task_and_part_of_the_first_observation(episodes: list[Episode]) -> None:
    for episode in episodes:
        assert episode.steps[0].action == "look around"
        assert episode.task in episode.steps[0].observation


def test_no_question_or_evidence_reaches_task_or_extra(episodes: list[Episode]) -> None:
    """The task is MiniGrid's own mission for that seed, and `extra` names the level and its seed only."""
    for episode in episodes:
        world = World(episode.extra["level"], episode.extra["level_seed"])
        assert episode.task == world.env.mission
        assert set(episode.extra) == {"level", "level_seed"}


def test_every_episode_has_twelve_different_questions_in_the_mix_of_ama_bench(episodes: list[Episode]) -> None:
    for episode in episodes:
        assert_quota(episode)


def assert_quota(episode: Episode) -> None:
    mix = Counter(q.capability for q in episode.questions)
    assert mix == {"recall": 4, "causal": 3, "update": 3, "abstraction": 2}
    assert [q.index for q in episode.questions] == list(range(12))
    assert len({q.question for q in episode.questions}) == 12
    labels = {s.step for s in episode.steps}
    for question in episode.questions:
        assert question.answer
        assert question.evidence_steps
        assert set(question.evidence_steps) <= labels
        assert list(question.evidence_steps) == sorted(set(question.evidence_steps))


def test_about_seventy_percent_of_the_questions_name_a_step(episodes: list[Episode]) -> None:
    questions = [q.question for e in episodes for q in e.questions]
    share = sum(bool(re.search(r"\bsteps? \d", q)) for q in questions) / len(questions)
    assert 0.6 < share < 0.8


def test_observations_are_as_long_as_a_realistic_log(episodes: list[Episode]) -> None:
    words = sorted(len(s.observation.split()) for e in episodes for s in e.steps)
    assert words[len(words) // 10] >= 30
    assert words[len(words) * 9 // 10] <= 120


@pytest.mark.parametrize("steps", [MIN_STEPS, 10])
def test_a_tiny_episode_still_has_twelve_questions(steps: int) -> None:
    for episode in generate(episodes=24, min_steps=steps, max_steps=steps, seed=3):
        assert len(episode.steps) == steps
        assert_quota(episode)


def test_an_episode_in_which_nothing_ever_works_still_has_twelve_questions() -> None:
    """The same bump into a wall again and again, in a world without a thing."""
    bump = "The way was blocked by a wall."
    wall = Front(wall=True)
    moments = tuple(
        Moment(
            n,
            "move forward" if n else "look around",
            bump if n else "",
            None,
            "room A1",
            (1, 1),
            "east",
            wall,
            None,
            (),
            (),
            1,
            "",
        )
        for n in range(10)
    )
    questions = ask_about(Trace("none", 0, ("go",), (), moments), random.Random(0))
    assert Counter(q.capability for q in questions) == {"recall": 4, "causal": 3, "update": 3, "abstraction": 2}
    assert len({q.question for q in questions}) == 12


def test_a_long_episode_goes_on_with_new_missions_in_the_same_world() -> None:
    for episode in generate(episodes=4, min_steps=500, max_steps=500):
        assert len(episode.steps) == 500
        assert_quota(episode)
        announced = [s for s in episode.steps if re.search(r"[Nn]ew mission|[Nn]ext mission|From now on", s.observation)]
        assert len(announced) >= 3


def test_the_expert_alone_completes_missions_and_random_moves_alone_rarely_do() -> None:
    def completed(ratio: float) -> int:
        traces = (simulate(level, 60, ratio, random.Random(level.env_id)) for level in LEVELS)
        return sum(moment.outcome == "completed" for trace in traces for moment in trace.moments)

    assert completed(0.0) > 24
    assert completed(0.0) > 4 * completed(1.0)


# --- settings


def test_a_source_overrides_the_settings() -> None:
    [first, second] = BabyAI().read(" episodes=2, min_steps=7,max_steps=7,seed=4,random_ratio=0.5", ReadReport())
    assert len(first.steps) == len(second.steps) == 7
    assert first == generate(episodes=1, min_steps=7, max_steps=7, seed=4, random_ratio=0.5)[0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("epsiodes=3", "'epsiodes=3' is no setting"),
        ("episodes", "'episodes' is no setting"),
        ("episodes=3,", "'' is no setting"),
        ("episodes=many", "episodes=many is not a whole number"),
        ("episodes=1.5", "episodes=1.5 is not a whole number"),
        ("random_ratio=half", "random_ratio=half is not a number"),
        ("random_ratio=nan", "random_ratio=nan must lie between 0 and 1"),
        ("random_ratio=1.5", "random_ratio=1.5 must lie between 0 and 1"),
        ("episodes=0", "episodes=0 must be at least 1"),
        ("min_steps=4", "min_steps=4 must be at least 5"),
        ("min_steps=100", "max_steps=90 is below min_steps=100"),
        ("seed=1,seed=2", "seed is set twice"),
    ],
)
def test_a_bad_setting_is_named_before_anything_is_generated(source: str, message: str) -> None:
    with pytest.raises(CorpusError, match=re.escape(message)):
        BabyAI().read(source, ReadReport())
