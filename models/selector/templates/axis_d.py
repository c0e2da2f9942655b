"""Axis D, evidence-aware selection: what the retrieved previews contain (MESA, Appendix D, directions 13 to 16)."""

from __future__ import annotations

from models.selector.templates import pieces
from models.selector.templates.constants import METADATA, Features, OneOf, Real
from models.selector.templates.family import BINS, COST_WEIGHT, SHRINK, Family

_LEAD = Features("FEATURES", METADATA, "what questions are grouped by besides previews", low=1, high=2, kinds=())

EVIDENCE_AVAILABILITY = Family(
    direction="evidence_availability",
    idea="what was retrieved at all decides what can be read.",
    constants=(
        COST_WEIGHT,
        Features("LEAD", METADATA, "what questions are grouped by first", low=1, high=2, kinds=()),
        Features(
            "STATES",
            ("size:S", "size:R", "size:T", "size:V", "size:G", "state:T", "state:R", "state:V"),
            "the states of previews that divide these groups",
            low=1,
            high=3,
            kinds=("size", "state"),
            others=("length",),
        ),
        SHRINK,
        BINS,
        OneOf("DROP", ("empty", "fallback"), "the state in which a structure is not read"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
FEATURES = LEAD + STATES


def learn(examples):
    """Mean scores of every subset by group and state of the previews."""
    return learn_groups(examples)


def usable(context):
    """The structures that retrieved something; with DROP `fallback`, something that matched. All if none did."""
    dropped = ["empty"] if DROP == "empty" else ["empty", "fallback"]
    left = [x for x in context["structures"] if state_of(context["previews"].get(x)) not in dropped]
    return set(left or context["structures"])


def route(question, context, params):
    """The best subset of the structures that retrieved something."""
    values, costs = group_values(question, context, params), costs_of(context, params)
    known = usable(context)
    fitting = [index for index, letters in enumerate(params["subsets"]) if set(letters) <= known]
    if not fitting:
        return sorted(known)
    return params["subsets"][max(fitting, key=lambda index: values[index] - costs[index])]
''',
)

EVIDENCE_RELEVANCE = Family(
    direction="evidence_relevance",
    idea="a structure gains by how well its preview matches the question.",
    constants=(
        COST_WEIGHT,
        _LEAD,
        SHRINK,
        BINS,
        OneOf("SIGNAL", ("score", "match", "shown"), "what says that a preview is relevant"),
        OneOf("LEVEL_SHRINK", (5, 10, 20, 40), "questions without effect that each level of relevance leans on"),
        Real("RELEVANCE", 0.3, 1.0, "weight of the effects of relevance"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def levels_of(question, context, edges):
    """The level of relevance of every structure, as in `V2`."""
    names = [(letter, SIGNAL + ":" + letter) for letter in context["structures"]]
    return [letter + describe(name, question, context, edges) for letter, name in names if name in edges]


def learn(examples):
    """Group means, and by structure and level of relevance the effect on subsets with it against those without it."""
    params = learn_groups(examples)
    names = [SIGNAL + ":" + letter for letter in params["subsets"][-1]]
    params["signals"] = edges_of(examples, names)
    rows = {}
    for example in examples:
        values = group_values(example["question"], example["context"], params)
        beyond = [own - value for own, value in zip(scores_of(example, params["subsets"]), values)]
        for level in levels_of(example["question"], example["context"], params["signals"]):
            rows.setdefault(level, []).append(beyond)
    params["effects"] = {}
    for level, found in rows.items():
        mean = [sum(column) / (len(found) + LEVEL_SHRINK) for column in zip(*found)]
        having = [value for value, letters in zip(mean, params["subsets"]) if level[0] in letters]
        lacking = [value for value, letters in zip(mean, params["subsets"]) if level[0] not in letters]
        params["effects"][level] = sum(having) / len(having) - (sum(lacking) / len(lacking) if lacking else 0.0)
    return params


def route(question, context, params):
    """The best subset for the group's estimates, each structure corrected by its relevance."""
    effect = {level[0]: params["effects"].get(level, 0.0) for level in levels_of(question, context, params["signals"])}
    values = group_values(question, context, params)
    corrected = [
        value + RELEVANCE * sum([effect.get(letter, 0.0) for letter in letters])
        for value, letters in zip(values, params["subsets"])
    ]
    return params["subsets"][best_of(corrected, costs_of(context, params))]
''',
)

EVIDENCE_COVERAGE = Family(
    direction="evidence_coverage",
    idea="a subset scores by the share of the question's needs that its previews show.",
    constants=(
        COST_WEIGHT,
        _LEAD,
        SHRINK,
        BINS,
        OneOf("NEEDS", ("steps", "words", "both"), "what a question needs: the steps it names, its content words, or both"),
        OneOf("MOST", (4, 6, 8), "needs of each kind that are looked at"),
        OneOf("COVER_SHRINK", (20, 40, 80), "questions without effect that each level of coverage leans on"),
        Real("COVERAGE", 0.2, 0.8, "weight of the effects of coverage"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def masks_of(question, context):
    """By structure, which needs of the question its preview shows, as bits; and how many needs there are."""
    steps = named_steps(question)[:MOST] if NEEDS != "words" else []
    words = sorted(content_words(question), key=lambda word: (-len(word), word))[:MOST] if NEEDS != "steps" else []
    masks = {}
    for letter, preview in context["previews"].items():
        shown, head = set(preview.get("steps") or []), content_words(preview.get("head") or "")
        met = [step in shown for step in steps] + [word in head for word in words]
        masks[letter] = sum([1 << place for place, one in enumerate(met) if one])
    return masks, len(steps) + len(words)


def levels_of(question, context, subsets):
    """By subset, whether it covers nothing (0), a part (1) or all (2) of the needs; 3 where there is no need."""
    masks, needs = masks_of(question, context)
    if not needs:
        return [3] * len(subsets)
    full = (1 << needs) - 1
    levels = []
    for letters in subsets:
        mask = 0
        for letter in letters:
            mask = mask | masks[letter]
        levels.append(2 if mask == full else 1 if mask else 0)
    return levels


def learn(examples):
    """Group means, and what every subset scores above or below them at each level of coverage."""
    params = learn_groups(examples)
    sums = [[0.0, 0.0, 0.0, 0.0] for _ in params["subsets"]]
    counts = [[0, 0, 0, 0] for _ in params["subsets"]]
    for example in examples:
        values = group_values(example["question"], example["context"], params)
        levels = levels_of(example["question"], example["context"], params["subsets"])
        for place, (own, value, level) in enumerate(zip(scores_of(example, params["subsets"]), values, levels)):
            sums[place][level] += own - value
            counts[place][level] += 1
    params["effects"] = [[s / (n + COVER_SHRINK) for s, n in zip(*pair)] for pair in zip(sums, counts)]
    return params


def route(question, context, params):
    """The best subset for the group's estimates, corrected by what each subset covers of the needs."""
    levels = levels_of(question, context, params["subsets"])
    values = group_values(question, context, params)
    values = [v + COVERAGE * effect[level] for v, effect, level in zip(values, params["effects"], levels)]
    return params["subsets"][best_of(values, costs_of(context, params))]
''',
)

EVIDENCE_REDUNDANCY = Family(
    direction="evidence_redundancy",
    idea="from a generous subset, drop what the others show anyway.",
    constants=(
        COST_WEIGHT,
        Features("FEATURES", METADATA, "what questions are grouped by, coarse to fine", low=1, high=3),
        SHRINK,
        BINS,
        Real("GENEROUS", 0.0, 0.5, "share of the charge for tokens in choosing the subset to begin with"),
        OneOf("LEVELS", (2, 3, 4), "levels of the share of a structure's steps that the others show"),
        OneOf("LOSS_SHRINK", (5, 10, 20, 40), "questions without effect that each level's loss leans on"),
        Real("OVERLAP_WEIGHT", 0.3, 1.0, "weight of a structure's overlap in its estimated loss"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def shown_by(context):
    """The steps that each structure's preview shows."""
    return {letter: set(preview.get("steps") or []) for letter, preview in context["previews"].items()}


def overlap_level(letter, others, steps):
    """The level of the share of a structure's steps that the others show; a level of its own if it shows none."""
    own = steps.get(letter)
    if not own:
        return -1
    known = set()
    for other in others:
        known = known | steps.get(other, set())
    return min(LEVELS - 1, int(LEVELS * len(own & known) / len(own)))


def learn(examples):
    """Group means, and by structure how the loss without it differs with its overlap with all others."""
    params = learn_groups(examples)
    every = params["subsets"][-1]
    places = {"".join(letters): index for index, letters in enumerate(params["subsets"])}
    without = {letter: places.get("".join([other for other in every if other != letter])) for letter in every}
    losses = {}
    for example in examples:
        values = group_values(example["question"], example["context"], params)
        beyond = [own - value for own, value in zip(scores_of(example, params["subsets"]), values)]
        steps = shown_by(example["context"])
        for letter in every:
            if without[letter] is not None:
                level = letter + str(overlap_level(letter, [other for other in every if other != letter], steps))
                losses.setdefault(level, []).append(beyond[-1] - beyond[without[letter]])
    params["losses"] = {level: sum(found) / (len(found) + LOSS_SHRINK) for level, found in losses.items()}
    return params


def route(question, context, params):
    """The generous subset, less every structure whose loss is smaller than the price of its tokens."""
    values = group_values(question, context, params)
    scores = {"".join(letters): value for letters, value in zip(params["subsets"], values)}
    costs = [GENEROUS * cost for cost in costs_of(context, params)]
    chosen = "".join(params["subsets"][best_of(values, costs)])
    steps = shown_by(context)
    while len(chosen) > 1:
        savings = {}
        for letter in chosen:
            rest = "".join([other for other in chosen if other != letter])
            overlap = params["losses"].get(letter + str(overlap_level(letter, rest, steps)), 0.0)
            loss = scores[chosen] - scores.get(rest, -9.0) + OVERLAP_WEIGHT * overlap
            savings[rest] = price_of([letter], context) - loss
        best = max(savings, key=lambda rest: savings[rest])
        if savings[best] <= 0:
            break
        chosen = best
    return list(chosen)
''',
)

FAMILIES = (EVIDENCE_AVAILABILITY, EVIDENCE_RELEVANCE, EVIDENCE_COVERAGE, EVIDENCE_REDUNDANCY)
