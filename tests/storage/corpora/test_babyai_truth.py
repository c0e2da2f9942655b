"""What the generated corpus says is true: a second simulation confirms states, golds and evidence.

`replay` plays the recorded actions again in a plain MiniGrid environment and reads the answers from its grid.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import minigrid  # noqa: F401  (registers the levels)
import numpy as np
import pytest
from minigrid.utils.baby_ai_bot import Subgoal

from storage.corpora.babyai import BabyAI
from storage.corpora.babyai.describe import describe
from storage.corpora.babyai.expert import Expert
from storage.corpora.babyai.play import LEVELS, simulate
from storage.corpora.babyai.questions import MIX
from storage.corpora.babyai.trace import ACTIONS, Event, Front, Thing, Trace, obstacle
from storage.corpora.babyai.world import VIEW, World
from storage.corpora.base import ReadReport
from storage.records import Episode, Question, Step

WORDS = ("turn left", "turn right", "move forward", "pick up", "drop", "toggle")
COMPASS = ("east", "south", "west", "north")


@dataclass(frozen=True)
class State:
    """The world after one step as the second simulation has it."""

    pose: tuple[tuple[int, int], str]
    carrying: str | None
    front: str
    doors: tuple[tuple[str, str], ...]
    """(colour, state) of every door, row by row."""

    @property
    def world(self) -> tuple[object, ...]:
        return self.pose, self.carrying, self.front, self.doors


def replay(episode: Episode) -> list[State]:
    """Play the actions of an episode in a fresh environment, from the level and seed that its `extra` names."""
    env: Any = gymnasium.make(episode.extra["level"], disable_env_checker=True).unwrapped
    with contextlib.redirect_stdout(io.StringIO()):
        env.reset(seed=episode.extra["level_seed"])
    states = [state_of(env)]
    for step in episode.steps[1:]:
        env.step(WORDS.index(step.action))
        states.append(state_of(env))
    return states


def state_of(env: Any) -> State:
    x, y = (int(v) for v in env.agent_pos)
    return State(
        ((x, y), COMPASS[env.agent_dir]),
        env.carrying and f"{env.carrying.color} {env.carrying.type}",
        looks(env.grid.get(*env.front_pos)),
        tuple((cell.color, door_state(cell)) for cell in env.grid.grid if cell is not None and cell.type == "door"),
    )


def door_state(cell: Any) -> str:
    return "open" if cell.is_open else "locked" if cell.is_locked else "closed"


def looks(cell: Any) -> str:
    if cell is None:
        return "empty floor tile"
    if cell.type == "wall":
        return "wall"
    return f"{door_state(cell)} {cell.color} door" if cell.type == "door" else f"{cell.color} {cell.type}"


class Asked(NamedTuple):
    """A question with the episode it is about and the states of that episode's second simulation."""

    episode: Episode
    states: list[State]
    question: Question


@pytest.fixture(scope="module")
def everything() -> list[Asked]:
    """Every question that any template can ask about a few episodes, not only the twelve chosen ones."""
    asked = []
    for index in range(24):
        trace = simulate(LEVELS[index % len(LEVELS)], 60, 0.3, random.Random(f"everything/{index}"))
        episode = plain_episode(trace)
        states = replay(episode)
        for capability, _, templates in MIX:
            for template in (*templates.stepwise, *templates.global_):
                for draft in template(trace, random.Random(index)):
                    question = Question(0, draft.question, draft.answer, capability, evidence_steps=draft.steps)
                    asked.append(Asked(episode, states, question))
    return asked


def plain_episode(trace: Trace) -> Episode:
    wording = random.Random(0)
    steps = tuple(Step(m.step, m.action, describe(trace, m.step, wording)) for m in trace.moments)
    extra = {"level": trace.level, "level_seed": trace.level_seed}
    return Episode("babyai", "x", trace.missions[0], "", "", steps, (), extra=extra)


# --- the second simulation


def test_recorded_states_equal_the_second_simulation() -> None:
    for index, level in enumerate(LEVELS):
        trace = simulate(level, 80, 0.3, random.Random(index))
        for moment, state in zip(trace.moments, replay(plain_episode(trace)), strict=True):
            assert moment.facing == state.pose[1]
            assert (moment.carrying.label if moment.carrying else None) == state.carrying
            doors = tuple(trace.door_state(door, moment.step) for door in trace.doors)
            assert doors == moment.doors == tuple(door for _, door in state.doors)
            assert plain(moment.front.phrase) == state.front


def plain(phrase: str) -> str:
    """A phrase of the log without its article and without the rooms that a door joins."""
    return re.sub(r"^an? | between rooms \w+ and \w+", "", phrase)


def test_an_action_has_an_obstacle_exactly_when_the_world_stays_the_same() -> None:
    reasons: Counter[tuple[str, bool]] = Counter()
    for index, level in enumerate(LEVELS):
        trace = simulate(level, 80, 0.5, random.Random(index))
        states = replay(plain_episode(trace))
        for moment, before, after in zip(trace.moments[1:], states, states[1:], strict=False):
            assert bool(moment.obstacle) == (before.world == after.world)
            reasons[moment.action, bool(moment.obstacle)] += 1
    assert {reason for reason in reasons if reason[1]} == {(action, True) for action in ACTIONS[2:]}


def test_an_expert_whose_plan_never_ends_gives_no_advice() -> None:
    class AskMeAgain(Subgoal):
        def replan_before_action(self) -> None:
            self.bot.stack.append(AskMeAgain(self.bot))

    world = World(LEVELS[0].env_id, 0)
    seen = np.zeros((world.env.width, world.env.height), dtype=bool)
    expert = Expert(world.env, lambda: (tile for tile, _, _ in world.view()), seen)
    assert expert.advise(None) is not None
    expert.stack.append(AskMeAgain(expert))
    assert expert.advise(0) is None


def test_only_a_key_of_its_colour_opens_a_locked_door() -> None:
    door = Thing(0, "door", "red", ("A1", "A2"), True)
    red_key, blue_key, red_ball = (Thing(n, kind, color, (), True) for n, kind, color in _LOADS)
    locked = Front(door, "locked")
    assert obstacle("toggle", locked, red_key) == ""
    for load in (None, blue_key, red_ball):
        assert obstacle("toggle", locked, load).endswith("did not carry a red key.")


_LOADS = ((1, "key", "red"), (2, "key", "blue"), (3, "ball", "red"))


def test_the_view_follows_the_visibility_rule_of_minigrid() -> None:
    rng = random.Random(0)
    for level in LEVELS:
        world = World(level.env_id, rng.getrandbits(31))
        for _ in range(60):
            world.perform(rng.choice((0, 1, 2, 2, 2, 5)))
            _, mask = world.env.gen_obs_grid()
            width, height = world.env.width, world.env.height
            theirs = {
                (ahead, k - VIEW // 2)
                for ahead in range(VIEW)
                for k in range(VIEW)
                if mask[k, VIEW - 1 - ahead] and inside(world, ahead, k - VIEW // 2, width, height)
            }
            assert {(ahead, right) for _, ahead, right in world.view()} == theirs


def inside(world: World, ahead: int, right: int, width: int, height: int) -> bool:
    tile = world.env.agent_pos + ahead * world.env.dir_vec + right * world.env.right_vec
    return bool(0 <= tile[0] < width and 0 <= tile[1] < height)


# --- golds, checked against the second simulation for every question any template can ask


Answer = Callable[[Episode, list[State], "re.Match[str]"], str]


def answer_action(episode: Episode, states: list[State], named: re.Match[str]) -> str:
    return episode.steps[int(named[1])].action


def answer_load(episode: Episode, states: list[State], named: re.Match[str]) -> str:
    load = states[int(named[1])].carrying
    return f"a {load}" if load else "nothing"


def answer_count(episode: Episode, states: list[State], named: re.Match[str]) -> str:
    n = sum(s.action == named["action"] for s in episode.steps[: int(named["n"]) + 1])
    return "once" if n == 1 else f"{n} times"


def answer_failures(episode: Episode, states: list[State], named: re.Match[str]) -> str:
    first, last = int(named[1]), int(named[2])
    return str(sum(states[n].world == states[n - 1].world for n in range(max(first, 1), last + 1)))


def answer_door(episode: Episode, states: list[State], named: re.Match[str]) -> str:
    """A door that is named by its colour alone must be the only one of that colour."""
    [state] = [state for color, state in states[int(named["n"])].doors if color == named["color"]]
    return state


def answer_final_door(episode: Episode, states: list[State], named: re.Match[str]) -> str:
    [state] = [state for color, state in states[-1].doors if color == named["color"]]
    return state


def answer_final_load(episode: Episode, states: list[State], named: re.Match[str]) -> str:
    return f"a {states[-1].carrying}" if states[-1].carrying else "nothing"


CHECKS: dict[str, Answer] = {
    r"^(?:What action did the agent take at|Which action was performed at) step (\d+)\?$": answer_action,
    r"^At step (\d+), what did the agent do\?$": answer_action,
    r"^What was the agent carrying at step (\d+)\?$": answer_load,
    r"^At step (\d+), what did the agent hold in its hands\?$": answer_load,
    r"^How many times was '(?P<action>[\w ]+)' performed until step (?P<n>\d+),": answer_count,
    r"step (?P<n>\d+), how often did the agent perform '(?P<action>[\w ]+)'": answer_count,
    r"^How many actions (?:between|from|in) steps? (\d+)\D+(\d+) had no effect": answer_failures,
    r"^What was the state of the (?P<color>\w+) door after step (?P<n>\d+)": answer_door,
    r"^In what state did the agent see the (?P<color>\w+) door at step (?P<n>\d+)": answer_door,
    r"^(?:In what state is|Is) the (?P<color>\w+) door (?:at the end|open, closed).* the episode": answer_final_door,
    r"^What is the agent carrying when the episode ends": answer_final_load,
}


@pytest.mark.parametrize("pattern", CHECKS)
def test_gold_answers_are_those_of_the_second_simulation(pattern: str, everything: list[Asked]) -> None:
    checked = 0
    for episode, states, question in everything:
        if named := re.search(pattern, question.question):
            assert question.answer.lower() == CHECKS[pattern](episode, states, named), question
            checked += 1
    assert checked >= 12


def test_chosen_questions_also_hold_in_the_second_simulation() -> None:
    """The same checks through the reader: `extra` names the world, the steps name the actions."""
    checked = 0
    for episode in BabyAI(episodes=24).read(None, ReadReport()):
        states = replay(episode)
        for question in episode.questions:
            for pattern, answer in CHECKS.items():
                if named := re.search(pattern, question.question):
                    assert question.answer.lower() == answer(episode, states, named)
                    checked += 1
    assert checked > 24


def test_what_would_have_happened_is_what_happens_when_it_is_tried(
    everything: list[Asked],
) -> None:
    verdicts: Counter[tuple[str, bool]] = Counter()
    for episode, states, question in random.Random(0).sample(everything, 1500):
        named = re.search(r"chosen '([\w ]+)' right after step (\d+)|after step (\d+), could '([\w ]+)'", question.question)
        if named:
            action, step = named[1] or named[4], int(named[2] or named[3])
            tried = Episode(
                "", "", "", "", "", (*episode.steps[: step + 1], Step(step + 1, action, "")), (), extra=episode.extra
            )
            worked = replay(tried)[-1].world != states[step].world
            assert question.answer.startswith("Yes." if worked else "No."), question
            verdicts[action, worked] += 1
    assert {worked for _, worked in verdicts} == {True, False}
    assert {action for action, _ in verdicts} == set(WORDS[2:])


def test_whereabouts_after_a_step_are_where_the_thing_lies(everything: list[Asked]) -> None:
    seen: Counter[bool] = Counter()
    for _, states, question in everything:
        named = re.search(
            r"^Where was the ([\w ]+) after step (\d+)|^After step (\d+), where could the ([\w ]+) be", question.question
        )
        if named:
            thing, step = named[1] or named[4], int(named[2] or named[3])
            carried = states[step].carrying == thing
            assert (question.answer == "Carried by the agent") == carried, question
            seen[carried] += 1
    assert set(seen) == {True, False}


# --- evidence


def test_evidence_is_enough_to_answer_recall_questions(everything: list[Asked]) -> None:
    """Each part of the answer stands in the action or observation of an evidence step."""
    for episode, _, question in everything:
        if question.capability == "recall":
            text = " ".join(
                f"step {n} {episode.steps[n].action} {episode.steps[n].observation}" for n in question.evidence_steps
            )
            for part in re.split(r", facing |, ", question.answer):
                assert spelled(part, text), (question, text)


def spelled(part: str, text: str) -> bool:
    if part == "Nothing":
        return any(words in text for words in ("carrying nothing", "hold nothing", "hands are empty"))
    return part.lower() in text.lower()


def test_things_first_seen_are_named_at_no_earlier_step(everything: list[Asked]) -> None:
    checked = 0
    for episode, _, question in everything:
        named = re.search(r"^At which step did the (\w+ (?:ball|key|box)) first come into view", question.question)
        if named:
            [step] = question.evidence_steps
            others = (re.sub(r"mission.*?[.\"]", "", s.observation) for s in episode.steps[:step])
            assert not any(named[1] in text for text in others), question
            checked += 1
    assert checked > 5


def test_evidence_of_changes_are_the_steps_of_these_changes(everything: list[Asked]) -> None:
    """A change log names exactly its evidence steps, and the inventory did change at each of them."""
    checked = 0
    for _, states, question in everything:
        if "inventory" in question.question:
            assert [int(n) for n in re.findall(r"step (\d+):", question.answer.lower())] == list(question.evidence_steps)
            assert all(states[n].carrying != states[n - 1].carrying for n in question.evidence_steps)
            checked += 1
    assert checked > 20


def test_the_text_of_a_failed_action_never_spells_out_the_reason(
    everything: list[Asked],
) -> None:
    for episode, _, question in everything:
        if question.question.startswith(("Why did the action", "Why did '")):
            assert question.answer not in episode.steps[question.evidence_steps[0]].observation


def test_a_door_shares_its_label_with_no_other_thing() -> None:
    for level in LEVELS:
        for seed in range(5):
            labels = [door.label for door in World(level.env_id, seed).doors]
            assert len(labels) == len(set(labels))


def test_an_event_reads_as_a_sentence() -> None:
    door = Thing(0, "door", "grey", ("A1", "B1"), False)
    assert Event("unlocked", door).words == "unlocked the grey door between rooms A1 and B1"
    assert door.can_be_named
    assert not Thing(1, "ball", "grey", (), False).can_be_named
