"""Axis E, robustness and cost shaping: how to control risk and context cost (MESA, Appendix D, directions 17 to 20)."""

from __future__ import annotations

from models.selector.templates import pieces
from models.selector.templates.constants import METADATA, Features, Groupings, OneOf, Real
from models.selector.templates.family import BINS, COST_WEIGHT, FEATURES, SHRINK, Family

CONFIDENCE_FALLBACK = Family(
    direction="confidence_fallback",
    idea="a specific choice must lead the safe one by more than its uncertainty.",
    constants=(
        COST_WEIGHT,
        FEATURES,
        SHRINK,
        BINS,
        Real("CERTAINTY", 0.0, 1.5, "standard errors by which the specific choice must lead"),
        OneOf(
            "SAFE", ("overall", "parent", "all"), "the safe choice: by estimates over all or the parent group, or everything"
        ),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def spreads_of(rows, safe):
    """By subset, the standard error of its mean lead over the safe subset."""
    columns = list(zip(*rows))
    spreads = []
    for column in columns:
        leads = [a - b for a, b in zip(column, columns[safe])]
        mean = sum(leads) / len(leads)
        spreads.append((sum([(lead - mean) ** 2 for lead in leads]) / (len(leads) + 1) / len(leads)) ** 0.5)
    return spreads


def learn(examples):
    """Group means, and the standard errors of leads over the subset that is best over all training questions."""
    params, rows = basics(examples, FEATURES)
    groups = rows_by_group(examples, rows, FEATURES, params["edges"])
    params["means"] = shrunk_means(groups)
    names = ["+".join(letters) for letters in params["subsets"]]
    tokens = mean_of([[example["tokens"].get(name, 0) for name in names] for example in examples])
    costs = [LAMBDA * COST_WEIGHT * count for count in tokens]
    params["safe"] = best_of(params["means"]["all"], costs) if SAFE != "all" else len(names) - 1
    params["spreads"] = {key: spreads_of(found, params["safe"]) for key, found in groups.items()}
    return params


def route(question, context, params):
    """The best subset of the question's group, or the safe one where the lead is not clear."""
    keys = keys_of(question, context, FEATURES, params["edges"])
    known = [key for key in keys if key in params["means"]]
    values, costs = params["means"][known[-1]], costs_of(context, params)
    nets = [value - cost for value, cost in zip(values, costs)]
    best, safe = nets.index(max(nets)), params["safe"]
    if SAFE == "parent" and len(known) > 1:
        safe = best_of(params["means"][known[-2]], costs)
    clear = nets[best] - nets[safe] > CERTAINTY * params["spreads"][known[-1]][best]
    return params["subsets"][best if clear else safe]
''',
)

DISAGREEMENT_POLICY = Family(
    direction="disagreement_policy",
    idea="several routers vote, and their conflicts are resolved.",
    constants=(
        COST_WEIGHT,
        Groupings(
            "VOTERS",
            Features("VOTER", METADATA, "", low=1, high=3),
            "what each router groups questions by, coarse to fine",
        ),
        SHRINK,
        BINS,
        Real("QUORUM", 0.6, 1.0, "share of routers that must agree on a subset"),
        OneOf("RESOLVE", ("vote", "mean", "union"), "otherwise: by mean estimate, a vote on each structure, or their union"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def learn(examples):
    """Mean scores of every subset by the groups of each router."""
    params, rows = basics(examples, sorted({name for features in VOTERS for name in features}))
    params["routers"] = [shrunk_means(rows_by_group(examples, rows, features, params["edges"])) for features in VOTERS]
    return params


def route(question, context, params):
    """The subset that enough routers choose; else their conflict resolved."""
    costs = costs_of(context, params)
    estimates = [
        look_up(means, keys_of(question, context, features, params["edges"]))
        for features, means in zip(VOTERS, params["routers"])
    ]
    votes = [best_of(values, costs) for values in estimates]
    leader = max(sorted(set(votes)), key=lambda index: votes.count(index))
    if votes.count(leader) >= QUORUM * len(votes):
        return params["subsets"][leader]
    chosen = [params["subsets"][index] for index in votes]
    letters = sorted({letter for subset in chosen for letter in subset})
    if RESOLVE == "union":
        return letters
    voted = [letter for letter in letters if 2 * sum([letter in subset for subset in chosen]) > len(chosen)]
    if RESOLVE == "vote" and voted:
        return voted
    return params["subsets"][best_of(mean_of(estimates), costs)]
''',
)

PARSIMONY = Family(
    direction="parsimony",
    idea="every structure pays a fee, and of nearly equal subsets the cheapest is read.",
    constants=(
        COST_WEIGHT,
        FEATURES,
        SHRINK,
        BINS,
        Real("FEE", 0.0, 0.01, "points of the objective that each structure is charged"),
        Real("TOLERANCE", 0.0, 0.01, "points within which subsets count as equal"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
def learn(examples):
    """Mean scores of every subset by group."""
    return learn_groups(examples)


def route(question, context, params):
    """The cheapest subset among those within the tolerance of the best, after fees."""
    values, costs = group_values(question, context, params), costs_of(context, params)
    nets = [v - c - FEE * len(letters) for v, c, letters in zip(values, costs, params["subsets"])]
    enough = max(nets) - TOLERANCE
    near = [index for index, net in enumerate(nets) if net >= enough]
    return params["subsets"][min(near, key=lambda index: (costs[index], len(params["subsets"][index])))]
''',
)

SUPPORT_AWARE = Family(
    direction="support_aware",
    idea="an estimate counts only with enough training questions behind it.",
    constants=(
        COST_WEIGHT,
        FEATURES,
        BINS,
        OneOf("ENOUGH", (8, 12, 20, 30, 45, 60), "training questions that a group's estimates need"),
        Real("CAUTION", 0.0, 0.5, "weight of the parent group's estimates where a group has just enough questions"),
    ),
    parts=(pieces.FEATURES, pieces.OUTCOMES, pieces.GROUPS),
    body='''
SHRINK = 0


def learn(examples):
    """Plain means of groups that enough questions support, a little of their parents' in the smallest of them."""
    params, rows = basics(examples, FEATURES)
    means = {}
    for key, found in rows_by_group(examples, rows, FEATURES, params["edges"]).items():
        if key == "all":
            means[key] = mean_of(found)
        elif len(found) >= ENOUGH:
            caution, parent = CAUTION * ENOUGH / len(found), means[key.rpartition("|")[0]]
            means[key] = [round((1 - caution) * a + caution * b, 4) for a, b in zip(mean_of(found), parent)]
    params["means"] = means
    return params


def route(question, context, params):
    """The best subset by the estimates of the finest supported group."""
    return params["subsets"][best_of(group_values(question, context, params), costs_of(context, params))]
''',
)

FAMILIES = (CONFIDENCE_FALLBACK, DISAGREEMENT_POLICY, PARSIMONY, SUPPORT_AWARE)
