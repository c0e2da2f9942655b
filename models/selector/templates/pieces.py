"""Pieces of source that policy families share. Every family's source is self-contained: it includes the pieces it uses.

The words of the pieces: a *group* is the set of questions that share some features, named by a key such as
`all|Game|recall`; keys go coarse to fine and a group's parent is its key without the last part. *Values* are estimated
scores in the order of `params["subsets"]`, *costs* what those subsets cost this question in points of the objective.
Params are kept small, since every question gets a copy of its own.

They run in pydantic-monty 1.4.0, hence its subset of Python; `[sum(column) for column in zip(*rows)]` is the fast way there.
"""

from __future__ import annotations

FEATURES = '''
def named_steps(question):
    """Numbers in the question, which in trajectories are mostly steps."""
    return sorted({int(number) for number in re.findall(r"\\d+", question) if len(number) < 7})


def cue_of(question):
    """What kind of answer the wording asks for: the first cue that occurs."""
    text = " " + " ".join(re.findall(r"[a-z]+", question.lower())) + " "
    for cue, words in CUES.items():
        if any([" " + word + " " in text for word in words]):
            return cue
    return "other"


CUES = {
    "count": ["how many", "how often", "number of", "count"],
    "cause": ["why", "because", "cause", "caused", "reason", "explain", "led to", "role"],
    "change": ["before", "after", "until", "change", "changed", "became", "between", "still"],
    "sequence": ["sequence", "order", "first", "last", "next", "previous", "steps"],
    "summary": ["summarize", "overall", "strategy", "pattern", "general", "main", "throughout"],
    "when": ["when", "which step", "which turn", "what step", "at what"],
    "fact": ["what", "which", "who", "where"],
}


def share_of(wanted, shown):
    """The share of `wanted` that is in `shown`; 0 if nothing is wanted."""
    return sum([one in shown for one in wanted]) / len(wanted) if wanted else 0.0


def content_words(text):
    """Its longer words and its numbers, each once."""
    return {word for word in re.findall(r"[a-z0-9_]+", text.lower()) if len(word) > 3 or word.isdigit()}


def measure(name, question, context):
    """A numeric feature of the question, or of a structure's preview, such as `size:S`."""
    kind, _, letter = name.partition(":")
    preview = context["previews"].get(letter, {})
    if kind == "length":
        return context.get("n_steps", 0)
    if kind == "words":
        return len(question.split())
    if kind == "named":
        return len(named_steps(question))
    if kind == "size":
        return preview.get("n_tokens", 0)
    if kind == "score":
        return max(preview.get("top_scores") or [0.0])
    if kind == "shown":
        return share_of(named_steps(question), set(preview.get("steps") or []))
    if kind == "match":
        return share_of(content_words(question), content_words(preview.get("head") or ""))
    return None


def state_of(preview):
    """Whether a structure found something: empty, a fallback, or a match."""
    if not preview or not preview["n_tokens"]:
        return "empty"
    return "match" if preview.get("localised", True) else "fallback"


def describe(name, question, context, edges):
    """A feature as a short word; a number becomes the index of the interval that it falls into."""
    if name in edges:
        value = measure(name, question, context)
        return str(sum([value > edge for edge in edges[name]]))
    if name == "cue":
        return cue_of(question)
    if name.startswith("state:"):
        return state_of(context["previews"].get(name[6:]))
    return str(context.get(name, ""))


def cut_points(values, parts):
    """Where to cut sorted values into `parts` of about equal size."""
    ordered = sorted(values)
    return sorted({ordered[len(ordered) * part // parts] for part in range(1, parts)})


def edges_of(examples, features):
    """Cut points of the numeric features among `features`, from the training questions."""
    edges = {}
    for name in features:
        values = [measure(name, example["question"], example["context"]) for example in examples]
        if None not in values:
            edges[name] = cut_points(values, BINS)
    return edges


def keys_of(question, context, features, edges):
    """The groups of a question, coarse to fine: all questions, then one more feature at a time."""
    keys = ["all"]
    for name in features:
        keys.append(keys[-1] + "|" + describe(name, question, context, edges))
    return keys
'''
"""Needs BINS."""

OUTCOMES = '''
def subsets_of(examples):
    """Every subset with an outcome as a list of letters, small ones first."""
    names = {name for example in examples for name in example["scores"]}
    return [name.split("+") for name in sorted(names, key=lambda name: (len(name), name))]


def limits_of(examples, subsets):
    """The most tokens that each subset was seen to cost: long evidence is cut to the answer model's window."""
    names = ["+".join(letters) for letters in subsets]
    return [max(column) for column in zip(*[[example["tokens"].get(name, 0) for name in names] for example in examples])]


def scores_of(example, subsets):
    """The example's scores in the order of `subsets`; a missing outcome counts as the mean of the others."""
    scores = example["scores"]
    mean = sum(scores.values()) / len(scores)
    return [scores.get("+".join(letters), mean) for letters in subsets]


def basics(examples, features):
    """What every estimate needs: the subsets, the most tokens they cost, their scores, and cut points of features."""
    subsets = subsets_of(examples)
    rows = [scores_of(example, subsets) for example in examples]
    params = {"subsets": subsets, "limits": limits_of(examples, subsets), "edges": edges_of(examples, features)}
    return params, rows


def mean_of(rows):
    """The mean of equally long rows, column by column."""
    return [sum(column) / len(rows) for column in zip(*rows)]


def price_of(letters, context):
    """What structures cost this question, in points of the objective."""
    return LAMBDA * COST_WEIGHT * sum([context["previews"][letter]["n_tokens"] for letter in letters])


def costs_of(context, params):
    """What every subset costs this question, in points of the objective."""
    price = {letter: LAMBDA * COST_WEIGHT * preview["n_tokens"] for letter, preview in context["previews"].items()}
    return [
        min(LAMBDA * COST_WEIGHT * limit, sum([price[letter] for letter in letters]))
        for letters, limit in zip(params["subsets"], params["limits"])
    ]


def best_of(values, costs):
    """The index of the best value net of its cost; of equals the first, which is the smallest subset."""
    nets = [value - cost for value, cost in zip(values, costs)]
    return nets.index(max(nets))
'''
"""Needs LAMBDA and COST_WEIGHT, and `FEATURES`."""

GROUPS = '''
FEW = 8  # groups of fewer questions are left to their parents


def rows_by_group(examples, rows, features, edges):
    """The score rows of every group that is kept. A group comes after its parent."""
    groups = {}
    for example, row in zip(examples, rows):
        for key in keys_of(example["question"], example["context"], features, edges):
            groups.setdefault(key, []).append(row)
    return kept(groups)


def kept(groups):
    """The groups that are large enough for estimates of their own."""
    return {key: rows for key, rows in groups.items() if len(rows) >= FEW or key == "all"}


def shrunk_means(groups):
    """Mean scores by group; a group of few questions leans on its parent as if by SHRINK further questions."""
    means = {}
    for key, rows in groups.items():
        own = mean_of(rows)
        parent = means.get(key.rpartition("|")[0], own)
        trust = len(rows) / (len(rows) + SHRINK)
        means[key] = [round(trust * a + (1 - trust) * b, 4) for a, b in zip(own, parent)]
    return means


def look_up(table, keys):
    """The entry of the finest group that training has seen."""
    for key in reversed(keys):
        if key in table:
            return table[key]


def learn_groups(examples):
    """Mean scores of every subset by group of questions."""
    params, rows = basics(examples, FEATURES)
    params["means"] = shrunk_means(rows_by_group(examples, rows, FEATURES, params["edges"]))
    return params


def group_values(question, context, params):
    """The estimates for the question's group."""
    return look_up(params["means"], keys_of(question, context, FEATURES, params["edges"]))
'''
"""Needs FEATURES and SHRINK, and `OUTCOMES`."""

FRAME = '''
def fit(examples):
    """Learn from the training examples that have an outcome."""
    examples = [example for example in examples if example["scores"]]
    return learn(examples) if examples else None


def select(question, context, params):
    """The structures to read; all of them if there was nothing to learn from."""
    return context["structures"] if params is None else route(question, context, params)
'''
"""The two functions of a policy, around a family's `learn` and `route`."""

REPAIR_FRAME = '''
def cell_of(context):
    return str(context.get("domain", "")) + "|" + str(context.get("capability", ""))


def learn_cell(examples, params):
    """Mean scores in one weak cell, which lean on all questions as if by REPAIR_SHRINK further examples."""
    rows = [scores_of(example, params["subsets"]) for example in examples]
    means = params["overall"]
    trust = len(rows) / (len(rows) + REPAIR_SHRINK)
    return [trust * a + (1 - trust) * b for a, b in zip(mean_of(rows), means)] if rows else means


def fit(examples):
    """Learn the policy, and estimates of their own for the cells that it is weak in."""
    examples = [example for example in examples if example["scores"]]
    if not examples:
        return None
    params, rows = basics(examples, [])
    params["overall"] = mean_of(rows)
    params["cells"] = {}
    for cell in REPAIRS:
        members = [example for example in examples if cell_of(example["context"]) == cell]
        params["cells"][cell] = learn_cell(members, params)
    return {"policy": learn(examples), "repairs": params}


def mend(chosen, context, params):
    """The best subset for a weak cell; with REPAIR_MOVE `add`, only more structures than the policy chose."""
    values = params["cells"][cell_of(context)]
    nets = [value - REPAIR_PRICE * cost for value, cost in zip(values, costs_of(context, params))]
    if REPAIR_MOVE == "add":
        nets = [net if set(chosen) <= set(subset) else -9.0 for net, subset in zip(nets, params["subsets"])]
    return params["subsets"][nets.index(max(nets))]


def select(question, context, params):
    """The policy's choice, mended in the weak cells; all structures if there was nothing to learn from."""
    if params is None:
        return context["structures"]
    chosen = route(question, context, params["policy"])
    return mend(chosen, context, params["repairs"]) if cell_of(context) in params["repairs"]["cells"] else chosen
'''
"""Like FRAME with repairs of weak cells (domain|capability). Needs REPAIRS, REPAIR_SHRINK, REPAIR_PRICE, REPAIR_MOVE."""
