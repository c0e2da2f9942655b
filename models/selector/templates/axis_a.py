"""Axis A, demand inference: what the question requires (MESA, Appendix D, directions 1 to 4)."""

from __future__ import annotations

from models.selector.templates import pieces
from models.selector.templates.constants import METADATA, Features, OneOf, Real
from models.selector.templates.family import BINS, COST_WEIGHT, SHRINK, Family

_ALL_BUT_CAPABILITY = ("domain", "task_type", "cue", "named", "words", "length")

CAPABILITY_PRIOR = Family(
    direction="capability_prior",
    idea="the question type shifts the estimates of the question's group.",
    constants=(
        COST_WEIGHT,
        Features(
            "FEATURES",
            ("domain", "task_type"),
            "what questions are grouped by besides their type, coarse to fine",
            low=1,
            high=3,
            others=_ALL_BUT_CAPABILITY,
        ),
        SHRINK,
        BINS,
        Real("TYPE_WEIGHT", 0.3, 1.2, "weight of the question type's difference from the average question"),
        OneOf("TYPE_SHRINK", (5, 10, 20, 40), "how many questions of average type each type's difference leans on"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def type_of(question, context):
    """The question type, or what its wording asks for where the context has no type."""
    return context.get("capability") or cue_of(question)


def learn(examples):
    """Group means, and what each question type scores above or below the groups of its questions."""
    params = learn_groups(examples)
    differences = {}
    for example in examples:
        values = group_values(example["question"], example["context"], params)
        row = [own - value for own, value in zip(scores_of(example, params["subsets"]), values)]
        differences.setdefault(type_of(example["question"], example["context"]), []).append(row)
    params["types"] = {
        kind: [sum(column) / (len(rows) + TYPE_SHRINK) for column in zip(*rows)] for kind, rows in differences.items()
    }
    return params


def route(question, context, params):
    """The best subset for the group's estimates plus the type's difference."""
    values = group_values(question, context, params)
    shift = params["types"].get(type_of(question, context)) or [0.0] * len(values)
    values = [value + TYPE_WEIGHT * more for value, more in zip(values, shift)]
    return params["subsets"][best_of(values, costs_of(context, params))]
''',
)

DOMAIN_TASK_PRIOR = Family(
    direction="domain_task_prior",
    idea="estimates by domain, and by task type and demand within it.",
    constants=(
        COST_WEIGHT,
        Features("WITHIN", ("task_type", "capability", "cue"), "what a domain is divided by, coarse to fine", low=1, high=3),
        SHRINK,
        BINS,
        Real("DOMAIN_WEIGHT", 0.0, 0.6, "weight of the whole domain's estimates beside those of its finer groups"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
FEATURES = ["domain"] + WITHIN


def learn(examples):
    """Mean scores of every subset by domain and its divisions."""
    return learn_groups(examples)


def route(question, context, params):
    """The best subset for the estimates of the domain and of the question's place in it."""
    keys = keys_of(question, context, FEATURES, params["edges"])
    domain, fine = look_up(params["means"], keys[:2]), look_up(params["means"], keys)
    values = [DOMAIN_WEIGHT * a + (1 - DOMAIN_WEIGHT) * b for a, b in zip(domain, fine)]
    return params["subsets"][best_of(values, costs_of(context, params))]
''',
)

LEXICAL_DEMAND = Family(
    direction="lexical_demand",
    idea="the words of a question shift the estimates of its group.",
    constants=(
        COST_WEIGHT,
        Features("FEATURES", METADATA, "what questions are grouped by, coarse to fine", low=1, high=3),
        SHRINK,
        BINS,
        OneOf("VOCABULARY", (10, 20, 30, 40, 60), "how many of the most frequent words are looked at"),
        Real("RARE", 0.01, 0.08, "share of training questions that a word must occur in"),
        OneOf("WORD_SHRINK", (10, 20, 40, 80), "how many questions without effect each word's effect leans on"),
        Real("WORD_WEIGHT", 0.1, 0.6, "weight of the sum of word effects, which overlap"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def words_of(question):
    """Its distinct words; all numbers count as one."""
    return sorted({"#" if word.isdigit() else word for word in re.findall(r"[a-z]+|[0-9]+", question.lower())})


def vocabulary(examples):
    """The most frequent words that are neither rare nor in nearly every question."""
    counts = {}
    for example in examples:
        for word in words_of(example["question"]):
            counts[word] = counts.get(word, 0) + 1
    low, high = max(2, RARE * len(examples)), 0.8 * len(examples)
    known = [word for word in counts if low <= counts[word] <= high]
    return sorted(known, key=lambda word: (-counts[word], word))[:VOCABULARY]


def learn(examples):
    """Group means, and by word what its questions score above or below their groups."""
    params = learn_groups(examples)
    effects = {word: [] for word in vocabulary(examples)}
    for example in examples:
        values = group_values(example["question"], example["context"], params)
        row = [own - value for own, value in zip(scores_of(example, params["subsets"]), values)]
        for word in words_of(example["question"]):
            if word in effects:
                effects[word].append(row)
    params["words"] = {
        word: [sum(column) / (len(rows) + WORD_SHRINK) for column in zip(*rows)] for word, rows in effects.items()
    }
    return params


def route(question, context, params):
    """The best subset for the group's estimates plus the effects of the question's words."""
    effects = [params["words"][word] for word in words_of(question) if word in params["words"]]
    values = group_values(question, context, params)
    if effects:
        values = [value + WORD_WEIGHT * sum(more) for value, more in zip(values, zip(*effects))]
    return params["subsets"][best_of(values, costs_of(context, params))]
''',
)

QUERY_DECOMPOSITION = Family(
    direction="query_decomposition",
    idea="every part of a question states a demand, and the subset must serve them all.",
    constants=(
        COST_WEIGHT,
        Features("FEATURES", METADATA, "what parts of a question are grouped by besides their kind", low=1, high=2),
        SHRINK,
        BINS,
        OneOf("SPLIT", ("[.?!;]", "[.?!;,:]", "[.?!;,:]| and | or | then "), "where a question is divided"),
        Real("DEMANDING", 0.0, 1.0, "weight of the most demanding part beside the mean of the parts"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def parts_of(question):
    """The kinds of a question's parts: the cue of each, and whether it names a step or quotes something."""
    kinds = set()
    for part in re.split(SPLIT, question):
        if len(part.split()) > 1:
            named = "numbered" if re.search(r"[0-9]", part) else "quoting" if re.search("[`'\\"]", part) else "plain"
            kinds.add(cue_of(part) + " " + named)
    return sorted(kinds) or ["other plain"]


def part_keys(question, context, edges):
    """The groups of each part of a question."""
    keys = keys_of(question, context, FEATURES, edges)
    return [keys + [keys[-1] + "|" + kind] for kind in parts_of(question)]


def learn(examples):
    """Mean scores by group and kind of part; a question counts in each of its parts."""
    params, rows = basics(examples, FEATURES)
    groups = {}
    for example, row in zip(examples, rows):
        keys = part_keys(example["question"], example["context"], params["edges"])
        for key in keys[0][:-1] + [part[-1] for part in keys]:
            groups.setdefault(key, []).append(row)
    params["means"] = shrunk_means(kept(groups))
    return params


def route(question, context, params):
    """The best subset for the parts: what it gives the one that loses most against reading all, and the mean one."""
    parts = [look_up(params["means"], keys) for keys in part_keys(question, context, params["edges"])]
    losses = [[value - values[-1] for value in values] for values in parts]
    values = [DEMANDING * min(column) + (1 - DEMANDING) * sum(column) / len(column) for column in zip(*losses)]
    return params["subsets"][best_of(values, costs_of(context, params))]
''',
)

FAMILIES = (CAPABILITY_PRIOR, DOMAIN_TASK_PRIOR, LEXICAL_DEMAND, QUERY_DECOMPOSITION)
