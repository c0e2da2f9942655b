"""Axis C, subset construction: how to form the selected set (MESA, Appendix D, directions 9 to 12)."""

from __future__ import annotations

from models.selector.templates import pieces
from models.selector.templates.constants import METADATA, Features, OneOf, Real
from models.selector.templates.family import BINS, COST_WEIGHT, FEATURES, SHRINK, Family

INDEPENDENT_GATING = Family(
    direction="independent_gating",
    idea="each structure passes a gate of its own, whose threshold is learned.",
    constants=(
        COST_WEIGHT,
        FEATURES,
        SHRINK,
        BINS,
        Real("LAST", 0.0, 0.8, "weight of what is lost without the structure beside what it adds to the best other"),
        OneOf("ROUNDS", (1, 2), "times that every threshold is tuned while the others stay"),
        Real("STEP", 0.005, 0.03, "distance of the thresholds that are tried"),
        OneOf("STEPS", (2, 3, 4), "thresholds that are tried on each side of zero"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def value_of(letter, scores):
    """What is lost without a structure, and what it adds to the best other one; `scores` are by subset."""
    every = max(scores, key=len)
    rest = "".join([other for other in every if other != letter])
    lost = scores[every] - scores.get(rest, scores[every])
    others = [other for other in rest if other in scores]
    if not others:
        return lost
    best = max(others, key=lambda other: scores[other])
    pair = "".join([other for other in every if other in (best, letter)])
    return LAST * lost + (1 - LAST) * (scores.get(pair, scores[best]) - scores[best])


def gates_of(values, subsets):
    """By structure, its value and its score alone."""
    scores = {"".join(letters): value for letters, value in zip(subsets, values)}
    return {x: [round(value_of(x, scores), 4), scores[x]] for x in subsets[-1] if x in scores}


def nets_of(question, context, params):
    """By structure, its value net of the price of its tokens, and so its score alone."""
    gates = look_up(params["gates"], keys_of(question, context, FEATURES, params["edges"]))
    prices = {letter: price_of([letter], context) for letter in gates}
    return {letter: [gate[0] - prices[letter], gate[1] - prices[letter]] for letter, gate in gates.items()}


def through(nets, thresholds):
    """The structures whose gates open, or the one with the best net score alone."""
    return [x for x in nets if nets[x][0] > thresholds[x]] or [max(nets, key=lambda letter: nets[letter][1])]


def learn(examples):
    """By group, every structure's value; then the thresholds with the best objective on the training questions."""
    params = learn_groups(examples)
    params["gates"] = {key: gates_of(values, params["subsets"]) for key, values in params.pop("means").items()}
    nets = [nets_of(example["question"], example["context"], params) for example in examples]
    worth = []
    for example in examples:
        price = {name: LAMBDA * COST_WEIGHT * count for name, count in example["tokens"].items()}
        worth.append({name.replace("+", ""): score - price[name] for name, score in example["scores"].items()})
    thresholds = {letter: 0.0 for letter in params["subsets"][-1]}
    for _ in range(ROUNDS):
        for letter in thresholds:
            totals = {}
            for step in range(-STEPS, STEPS + 1):
                tried = thresholds | {letter: step * STEP}
                totals[step] = sum([w.get("".join(through(n, tried)), 0.0) for n, w in zip(nets, worth)])
            thresholds[letter] = STEP * max(totals, key=lambda step: (totals[step], -abs(step)))
    params["thresholds"] = thresholds
    return params


def route(question, context, params):
    """Every structure whose own value exceeds its own threshold."""
    return through(nets_of(question, context, params), params["thresholds"])
''',
)

CARDINALITY_FIRST = Family(
    direction="cardinality_first",
    idea="first how many structures, then which.",
    constants=(
        COST_WEIGHT,
        FEATURES,
        SHRINK,
        BINS,
        Features("SIZE_FEATURES", METADATA, "what questions are grouped by to predict the size", low=1, high=2),
        OneOf("SLACK", (0, 1), "how many structures fewer or more than predicted are allowed"),
        Real("SIZE_PRICE", 0.5, 1.2, "share of the token price that is charged when the size is predicted"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def best_size(subsets, scores, tokens):
    """The size of the subset with the best mean objective."""
    nets = [score - SIZE_PRICE * LAMBDA * count for score, count in zip(scores, tokens)]
    return len(subsets[nets.index(max(nets))])


def learn(examples):
    """By group, mean scores of subsets and the predicted size."""
    params = learn_groups(examples)
    subsets = params["subsets"]
    params["size_edges"] = edges_of(examples, SIZE_FEATURES)
    names = ["+".join(letters) for letters in subsets]
    rows = [scores_of(example, subsets) for example in examples]
    tokens = [[example["tokens"].get(name, 0) for name in names] for example in examples]
    scores = shrunk_means(rows_by_group(examples, rows, SIZE_FEATURES, params["size_edges"]))
    counts = shrunk_means(rows_by_group(examples, tokens, SIZE_FEATURES, params["size_edges"]))
    params["sizes"] = {key: best_size(subsets, scores[key], counts[key]) for key in scores}
    return params


def route(question, context, params):
    """The best subset of about the predicted size."""
    size = look_up(params["sizes"], keys_of(question, context, SIZE_FEATURES, params["size_edges"]))
    values = group_values(question, context, params)
    nets = [value - cost for value, cost in zip(values, costs_of(context, params))]
    fitting = [i for i, letters in enumerate(params["subsets"]) if abs(len(letters) - size) <= SLACK]
    return params["subsets"][max(fitting, key=lambda i: nets[i])]
''',
)

FORWARD_SELECTION = Family(
    direction="forward_selection",
    idea="add what pays, drop what no longer does.",
    constants=(
        COST_WEIGHT,
        FEATURES,
        SHRINK,
        BINS,
        OneOf("START", (1, 2), "structures in the subset that selection starts from"),
        Real("MARGIN", -0.005, 0.01, "net gain that an addition must exceed"),
        Real("KEEP", -0.01, 0.005, "net gain below which a structure is dropped again"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def learn(examples):
    """Mean scores of every subset by group."""
    return learn_groups(examples)


def best_move(chosen, nets, by):
    """The best subset that differs from `chosen` by one structure more (`by` 1) or fewer (`by` -1), or None."""
    moves = [s for s in nets if len(s) == len(chosen) + by and len(set(s) & set(chosen)) == min(len(s), len(chosen))]
    return max(moves, key=lambda subset: nets[subset]) if moves else None


def route(question, context, params):
    """From the best small subset, additions that pay, each followed by dropping what does not."""
    values = group_values(question, context, params)
    nets = {"".join(s): v - c for s, v, c in zip(params["subsets"], values, costs_of(context, params))}
    small = [subset for subset in nets if len(subset) == START] or list(nets)
    chosen = max(small, key=lambda subset: nets[subset])
    for _ in range(2 * len(context["structures"])):
        more = best_move(chosen, nets, 1)
        if more is None or nets[more] - nets[chosen] <= MARGIN:
            break
        chosen = more
        fewer = best_move(chosen, nets, -1)
        if fewer is not None and nets[chosen] - nets[fewer] < KEEP:
            chosen = fewer
    return list(chosen)
''',
)

COMPLEMENTARITY = Family(
    direction="complementarity",
    idea="a further structure is worth the new steps that it shows.",
    constants=(
        COST_WEIGHT,
        Features("FEATURES", METADATA, "what questions are grouped by, coarse to fine", low=1, high=3),
        SHRINK,
        BINS,
        OneOf("LEVELS", (2, 3, 4), "levels of the share of new steps"),
        OneOf("NEW_SHRINK", (5, 10, 20, 40), "questions of any level that each level's gain leans on"),
        Real("NEW_WEIGHT", 0.3, 1.0, "weight of the gain at this share of new steps beside the group's gain"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def shown_by(context):
    """The steps that each structure's preview shows."""
    return {letter: set(preview.get("steps") or []) for letter, preview in context["previews"].items()}


def new_level(letter, others, steps):
    """The level of the share of a structure's steps that the others do not show; its own level if it shows none."""
    own = steps.get(letter)
    if not own:
        return -1
    known = set()
    for other in others:
        known = known | steps.get(other, set())
    return min(LEVELS - 1, int(LEVELS * len(own - known) / len(own)))


def learn(examples):
    """Group means, and by structure how its gain over a single other differs with the share of new steps."""
    params = learn_groups(examples)
    places = {"".join(letters): index for index, letters in enumerate(params["subsets"])}
    pairs = [letters for letters in params["subsets"] if len(letters) == 2 and letters[0] in places and letters[1] in places]
    gains = {}
    for example in examples:
        values = group_values(example["question"], example["context"], params)
        beyond = [own - value for own, value in zip(scores_of(example, params["subsets"]), values)]
        steps = shown_by(example["context"])
        for one, two in pairs:
            for first, second in ((one, two), (two, one)):
                name = second + str(new_level(second, [first], steps))
                gains.setdefault(name, []).append(beyond[places[one + two]] - beyond[places[first]])
    params["new"] = {name: sum(found) / (len(found) + NEW_SHRINK) for name, found in gains.items()}
    params["order"] = params["subsets"][-1]
    return params


def route(question, context, params):
    """From the best single structure on, add what gains most by the group's estimate and its share of new steps."""
    values = {"".join(s): v for s, v in zip(params["subsets"], group_values(question, context, params))}
    steps = shown_by(context)
    prices = {letter: price_of([letter], context) for letter in params["order"]}
    chosen = max([name for name in values if len(name) == 1], key=lambda name: values[name] - prices[name])
    while True:
        best, most = None, 0.0
        for letter in params["order"]:
            larger = "".join([other for other in params["order"] if other in chosen or other == letter])
            if letter not in chosen and larger in values:
                extra = params["new"].get(letter + str(new_level(letter, chosen, steps)), 0.0)
                net = values[larger] - values[chosen] + NEW_WEIGHT * extra - prices[letter]
                if net > most:
                    best, most = larger, net
        if best is None:
            return list(chosen)
        chosen = best
''',
)

FAMILIES = (INDEPENDENT_GATING, CARDINALITY_FIRST, FORWARD_SELECTION, COMPLEMENTARITY)
