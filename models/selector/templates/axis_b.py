"""Axis B, backend value estimation: how useful each structure is (MESA, Appendix D, directions 5 to 8)."""

from __future__ import annotations

from models.selector.templates import pieces
from models.selector.templates.constants import METADATA, QUESTION_FEATURES, Features, OneOf, Real
from models.selector.templates.family import BINS, COST_WEIGHT, FEATURES, SHRINK, Family

MARGINAL_VALUE = Family(
    direction="marginal_value",
    idea="a structure is worth its average gain over the subsets without it.",
    constants=(
        COST_WEIGHT,
        FEATURES,
        SHRINK,
        BINS,
        Real("DISCOUNT", 0.3, 0.8, "what the gain of each further structure is multiplied with"),
        Real("ALREADY", 0.3, 1.0, "weight of gains over large subsets beside those over single structures"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def pairs_of(subsets):
    """For each structure, the indexes of subsets without it and with it, and how large those without it are."""
    places = {"".join(letters): index for index, letters in enumerate(subsets)}
    pairs = {letters[0]: [] for letters in subsets if len(letters) == 1}
    for index, letters in enumerate(subsets):
        for letter in letters:
            without = "".join([other for other in letters if other != letter])
            if without in places and letter in pairs:
                pairs[letter].append((places[without], index, len(letters) - 1))
    return pairs


def gain_of(pairs, values):
    """A structure's mean gain; gains over larger subsets have the weight ALREADY."""
    weights = [1.0 if size == 1 else ALREADY for _, _, size in pairs]
    gains = [values[after] - values[before] for before, after, _ in pairs]
    return sum([weight * gain for weight, gain in zip(weights, gains)]) / (sum(weights) or 1.0)


def learn(examples):
    """By group, every structure's score alone and its mean gain over others."""
    params = learn_groups(examples)
    pairs = pairs_of(params["subsets"])
    alone = {letters[0]: index for index, letters in enumerate(params["subsets"]) if len(letters) == 1}
    params["alone"] = {key: {k: values[i] for k, i in alone.items()} for key, values in params["means"].items()}
    params["gains"] = {key: {k: gain_of(pairs[k], values) for k in pairs} for key, values in params["means"].items()}
    params.pop("means")
    return params


def route(question, context, params):
    """The best single structure, and those whose discounted gain pays for their tokens."""
    keys = keys_of(question, context, FEATURES, params["edges"])
    alone, gains = look_up(params["alone"], keys), look_up(params["gains"], keys)
    prices = {letter: price_of([letter], context) for letter in alone}
    chosen = [max(alone, key=lambda letter: alone[letter] - prices[letter])]
    discount = DISCOUNT
    for letter in sorted(gains, key=lambda letter: prices[letter] - gains[letter]):
        if letter not in chosen and discount * gains[letter] > prices[letter]:
            chosen.append(letter)
            discount = discount * DISCOUNT
    return chosen
''',
)

CONDITIONAL_VALUE = Family(
    direction="conditional_value",
    idea="a structure is worth what it adds to those already chosen.",
    constants=(
        COST_WEIGHT,
        FEATURES,
        SHRINK,
        BINS,
        Real("SIZE_WEIGHT", 0.0, 0.3, "weight of a structure's mean gain over chosen sets of that size"),
        Real("MARGIN", -0.01, 0.01, "net gain that a further structure must exceed"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def learn(examples):
    """Mean scores of every subset by group."""
    return learn_groups(examples)


def route(question, context, params):
    """From the best single structure on, what gains most beyond the price of its tokens, until nothing does."""
    order = params["subsets"][-1]
    scores = {"".join(letters): v for letters, v in zip(params["subsets"], group_values(question, context, params))}
    prices = {letter: price_of([letter], context) for letter in order}
    chosen = max([name for name in scores if len(name) == 1], key=lambda name: scores[name] - prices[name])
    while len(chosen) < len(order):
        similar = [name for name in scores if len(name) == len(chosen)]
        nets = {}
        for letter in order:
            gains = {}
            for given in similar:
                larger = "".join([one for one in order if one in given or one == letter])
                if letter not in given and larger in scores:
                    gains[given] = scores[larger] - scores[given]
            if chosen in gains:
                mean = sum(gains.values()) / len(gains)
                nets[letter] = (1 - SIZE_WEIGHT) * gains[chosen] + SIZE_WEIGHT * mean - prices[letter]
        best = max(nets, key=lambda letter: nets[letter]) if nets else None
        if best is None or nets[best] <= MARGIN:
            break
        chosen = "".join([one for one in order if one in chosen or one == best])
    return list(chosen)
''',
)

HIERARCHICAL_SHRINKAGE = Family(
    direction="hierarchical_shrinkage",
    idea="estimates of fine groups lean on coarser ones by their number of questions.",
    constants=(
        COST_WEIGHT,
        FEATURES,
        SHRINK,
        BINS,
        Features("BESIDE", METADATA + QUESTION_FEATURES, "features that shift the estimates of groups, one by one", 1, 3),
        OneOf("BESIDE_SHRINK", (10, 20, 40, 80), "questions without a shift that each shift leans on"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def learn(examples):
    """Shrunk mean scores from all questions down to fine groups, then shrunk shifts of what is left by single features."""
    params = learn_groups(examples)
    params["edges"] = edges_of(examples, FEATURES + BESIDE)
    pairs = [(example["question"], example["context"]) for example in examples]
    left = []
    for (question, context), example in zip(pairs, examples):
        values = group_values(question, context, params)
        left.append([own - value for own, value in zip(scores_of(example, params["subsets"]), values)])
    params["shifts"] = {}
    for name in BESIDE:
        levels = [name + "=" + describe(name, question, context, params["edges"]) for question, context in pairs]
        rows = {}
        for level, row in zip(levels, left):
            rows.setdefault(level, []).append(row)
        for level, found in rows.items():
            params["shifts"][level] = [round(sum(c) / (len(found) + BESIDE_SHRINK), 4) for c in zip(*found)]
        left = [[a - b for a, b in zip(row, params["shifts"][level])] for level, row in zip(levels, left)]
    return params


def route(question, context, params):
    """The best subset for the estimates of the question's group, shifted by its other features."""
    values = group_values(question, context, params)
    for name in BESIDE:
        shift = params["shifts"].get(name + "=" + describe(name, question, context, params["edges"]))
        values = [value + more for value, more in zip(values, shift)] if shift else values
    return params["subsets"][best_of(values, costs_of(context, params))]
''',
)

LEARNED_GATING = Family(
    direction="learned_gating",
    idea="small trees of yes-or-no gates, grown by the objective that the routing reaches.",
    constants=(
        COST_WEIGHT,
        SHRINK,
        OneOf("DEPTH", (2, 3, 4, 6), "gates from the root of a tree to a leaf"),
        OneOf("LEAF", (10, 15, 25, 40), "training questions that each side of a gate must keep"),
        BINS,
        OneOf("WORDS", (10, 20, 30), "how many frequent words are tested"),
        OneOf("TREES", (1, 3, 6), "trees whose estimates are averaged"),
        OneOf("OFFERED", (16, 32, 64), "tests that are tried at each gate"),
        OneOf("SEED", tuple(range(10)), "which tests are offered where"),
        Real("GATE_GAIN", 0.0, 0.004, "what a gate must add to the objective of a training question"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES),
    body='''
import random


def numeric_features(context):
    """The numeric features that a question has."""
    kinds = [kind + ":" + letter for kind in ("size", "score", "shown") for letter in context["structures"]]
    return ["length", "words", "named"] + kinds


def word_in(word, question):
    return " " + word + " " in " " + " ".join(re.findall(r"[a-z]+|[0-9]+", question.lower())) + " "


def frequent_words(examples):
    """The most frequent words of training questions."""
    counts = {}
    for example in examples:
        for word in set(re.findall(r"[a-z]+", example["question"].lower())):
            counts[word] = counts.get(word, 0) + 1
    known = [word for word in counts if LEAF <= counts[word] <= len(examples) - LEAF]
    return sorted(known, key=lambda word: (-counts[word], word))[:WORDS]


def answer(test, question, context):
    """Whether a question passes a test: a word, a number above a cut, or a value of the metadata."""
    kind, name, value = test
    if kind == "word":
        return word_in(name, question)
    if kind == "above":
        return measure(name, question, context) > value
    return describe(name, question, context, {}) == value


def tests_of(examples):
    """Every test on offer with the answers of all training questions."""
    pairs = [(example["question"], example["context"]) for example in examples]
    found = [(["word", word, None], [word_in(word, q) for q, _ in pairs]) for word in frequent_words(examples)]
    for name in numeric_features(examples[0]["context"]):
        numbers = [measure(name, q, c) for q, c in pairs]
        found += [(["above", name, cut], [number > cut for number in numbers]) for cut in cut_points(numbers, BINS)]
    states = ["state:" + letter for letter in examples[0]["context"]["structures"]]
    for name in ["domain", "task_type", "capability"] + states:
        values = [describe(name, q, c, {}) for q, c in pairs]
        found += [(["is", name, one], [value == one for value in values]) for one in sorted(set(values))]
    return [(test, answers) for test, answers in found if LEAF <= sum(answers) <= len(pairs) - LEAF]


def best_total(rows):
    """The objective of the best fixed subset, summed over questions."""
    return max([sum(column) for column in zip(*rows)])


def net_rows(examples, subsets):
    """The objective of every subset for every training question."""
    names = ["+".join(letters) for letters in subsets]
    rows = []
    for example, scores in zip(examples, [scores_of(example, subsets) for example in examples]):
        tokens = [example["tokens"].get(name, 0) for name in names]
        rows.append([score - LAMBDA * COST_WEIGHT * count for score, count in zip(scores, tokens)])
    return rows


def grow(members, depth, tests, nets, rows, prior, rng):
    """A tree over the training questions `members`; a leaf's estimates lean on those of its parent."""
    own = mean_of([rows[i] for i in members])
    trust = len(members) / (len(members) + SHRINK)
    values = [round(trust * a + (1 - trust) * b, 4) for a, b in zip(own, prior)]
    best, gate, sides = GATE_GAIN * len(members), None, None
    whole = best_total([nets[i] for i in members])
    offered = rng.sample(tests, min(OFFERED, len(tests))) if depth > 0 else []
    for test, answers in offered:
        yes = [i for i in members if answers[i]]
        if LEAF <= len(yes) <= len(members) - LEAF:
            no = [i for i in members if not answers[i]]
            gain = best_total([nets[i] for i in yes]) + best_total([nets[i] for i in no]) - whole
            if gain > best:
                best, gate, sides = gain, test, (yes, no)
    if gate is None:
        return {"values": values}
    yes, no = [grow(side, depth - 1, tests, nets, rows, values, rng) for side in sides]
    return {"gate": gate, "yes": yes, "no": no}


def learn(examples):
    """Grow the trees."""
    params, rows = basics(examples, [])
    everything = list(range(len(examples)))
    nets, tests, prior, rng = net_rows(examples, params["subsets"]), tests_of(examples), mean_of(rows), random.Random(SEED)
    params["trees"] = [grow(everything, DEPTH, tests, nets, rows, prior, rng) for _ in range(TREES)]
    return params


def leaf_of(node, question, context):
    """The estimates in the leaf that a question falls into."""
    while "gate" in node:
        node = node["yes" if answer(node["gate"], question, context) else "no"]
    return node["values"]


def route(question, context, params):
    """The best subset by the mean estimates of the trees."""
    values = mean_of([leaf_of(tree, question, context) for tree in params["trees"]])
    return params["subsets"][best_of(values, costs_of(context, params))]
''',
)

FAMILIES = (MARGINAL_VALUE, CONDITIONAL_VALUE, HIERARCHICAL_SHRINKAGE, LEARNED_GATING)
