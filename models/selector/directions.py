"""The 20 prior directions: classes of routing mechanisms that proposals may follow, and the arms of UCB (MESA, Appendix D).

A direction names a routing signal that a policy can observe and the way from that signal to a non-empty subset. It never
says which subset is right for anything: that is learned from training outcomes. The set is fixed before a search; further
directions may be registered before it starts. The descriptions are ours, in the order and under the axes of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Axis = Literal["A", "B", "C", "D", "E"]

AXES: Mapping[Axis, str] = {
    "A": "Demand inference: what the question requires",
    "B": "Backend value estimation: how useful each structure is",
    "C": "Subset construction: how to form the selected set",
    "D": "Evidence-aware selection: what the retrieved previews contain",
    "E": "Robustness and cost shaping: how to control risk and context cost",
}


@dataclass(frozen=True, slots=True)
class Direction:
    """One mechanism class. `number` is the paper's: 1 to 20, higher for additions, 0 for no particular mechanism."""

    name: str
    axis: Axis
    number: int
    description: str


def _direction(number: int, axis: Axis, name: str, description: str) -> Direction:
    return Direction(name, axis, number, " ".join(description.split()))


DIRECTIONS: tuple[Direction, ...] = (
    _direction(
        1,
        "A",
        "capability_prior",
        """The signal is the question type in the context: recall, causal, update, abstraction and the like. Learn from
        training outcomes what each type gains or loses with every subset against the average question, add that to a
        baseline estimate and take the subset with the best sum net of its tokens.""",
    ),
    _direction(
        2,
        "A",
        "domain_task_prior",
        """The signal is the task metadata: domain first, then task type within the domain. Estimate the score of every
        subset in each of these nested groups, use the finest one that training has seen, and take the subset with the
        best estimate net of its tokens.""",
    ),
    _direction(
        3,
        "A",
        "lexical_demand",
        """The signal is the wording: question words, identifiers, step numbers. Learn which words of training questions go
        with gains or losses of each subset, sum the effects of the words that a new question contains, and choose by the
        adjusted estimates net of tokens.""",
    ),
    _direction(
        4,
        "A",
        "query_decomposition",
        """The signal is the question's parts: clauses that name steps, ask for a cause, a list, a count or a comparison.
        Estimate what each kind of part needs, and choose a subset that serves the most demanding part as well as the
        average one, so that a compound question is not routed by its first half alone.""",
    ),
    _direction(
        5,
        "B",
        "marginal_value",
        """The signal is the average gain from adding a structure to the subsets without it, within a group of similar
        questions. Rank structures by that gain, discount each further pick, and keep those whose discounted gain is worth
        the tokens that the preview announces; never return nothing.""",
    ),
    _direction(
        6,
        "B",
        "conditional_value",
        """The signal is what a structure adds to the very structures already chosen. Learn the gain of each structure given
        each chosen set, lean on sets of equal size where that is uncertain, and add structures while the conditional gain
        exceeds the price of their tokens.""",
    ),
    _direction(
        7,
        "B",
        "hierarchical_shrinkage",
        """The signal is a chain of groups from all questions down to a fine cell of metadata and preview features. Shrink
        the estimate of each cell towards its parent by the number of its questions, and take the best subset net of
        tokens under the shrunk estimates.""",
    ),
    _direction(
        8,
        "B",
        "learned_gating",
        """The signals are many observable features at once: metadata, words, preview sizes, scores and coverage. Learn from
        training outcomes small trees of yes-or-no gates, grown by the objective that the routing itself reaches, and
        choose by the mean estimates of the leaves that a question falls into.""",
    ),
    _direction(
        9,
        "C",
        "independent_gating",
        """The signal is one value estimate per structure: what is lost without it, and what it adds to a single other one.
        Decide for each structure on its own whether that value exceeds its token price; if every gate stays shut, open
        the one with the best net value.""",
    ),
    _direction(
        10,
        "C",
        "cardinality_first",
        """The signal is how many structures questions of a group need before further ones stop paying. Predict the size of
        the subset first, then choose the best subset of that size by its estimated score net of the tokens of this
        question's previews.""",
    ),
    _direction(
        11,
        "C",
        "forward_selection",
        """The signal is the net gain of one more structure under estimates for the question's group. Start from the best
        small subset, add the best structure while it pays more than a margin, and after each addition drop any structure
        that no longer earns its tokens.""",
    ),
    _direction(
        12,
        "C",
        "complementarity",
        """The signal is how many steps a structure's preview shows that the chosen structures do not. Learn the gain of a
        second structure by that share of new steps, and add structures that bring new evidence worth its tokens rather
        than more of the same.""",
    ),
    _direction(
        13,
        "D",
        "evidence_availability",
        """The signal is the state of each preview: empty, a fallback that matched nothing, short or long. Remove structures
        that retrieved nothing, group questions by the states of the others, and take the subset with the best estimate
        for that situation.""",
    ),
    _direction(
        14,
        "D",
        "evidence_relevance",
        """The signal is how well each preview matches the question: retrieval scores and words in common. Learn what each
        structure's gain is at each level of relevance, correct the estimates of all subsets by it, and so remove
        structures whose evidence looks irrelevant.""",
    ),
    _direction(
        15,
        "D",
        "evidence_coverage",
        """The signals are the needs in the question, such as named steps and content words, and which previews show them.
        Learn the score of every subset by the share of needs that it covers, and take the cheapest way to cover the
        distinct needs that are worth covering.""",
    ),
    _direction(
        16,
        "D",
        "evidence_redundancy",
        """The signal is the overlap of previews: which share of a structure's steps the others show anyway. Begin with a
        generous subset and remove one structure after the other whose loss, learned by overlap, is smaller than the
        price of its tokens; keep at least one.""",
    ),
    _direction(
        17,
        "E",
        "confidence_fallback",
        """The signal is how certain the best subset's lead over a safe subset is: its size against the standard error in
        the question's group. Follow the specific choice when the lead is clear, else fall back to the safe subset.""",
    ),
    _direction(
        18,
        "E",
        "disagreement_policy",
        """The signals are the choices of several simple routers, each with its own grouping of questions. Where enough of
        them agree, follow them; where they disagree, resolve the conflict by their mean estimate, by a vote on each
        structure or by the union of what they chose.""",
    ),
    _direction(
        19,
        "E",
        "parsimony",
        """The signal is the number and the tokens of the structures in a subset against what they are estimated to add.
        Charge a fee for each structure, and among the subsets whose estimate is within a tolerance of the best one take
        the cheapest.""",
    ),
    _direction(
        20,
        "E",
        "support_aware",
        """The signal is the number of training questions behind an estimate. Use the finest group of questions that enough
        training examples support, back off to coarser groups below that, and choose the best subset net of tokens from
        the estimates that are left.""",
    ),
)


def direction_named(name: str) -> Direction:
    """The direction called `name`; KeyError names the known ones."""
    for direction in DIRECTIONS:
        if direction.name == name:
            return direction
    raise KeyError(f"no prior direction {name!r}; known are {', '.join(d.name for d in DIRECTIONS)}")
