"""Selection by a language model without training (MESA, Table 3, "LLM zero-shot"): one request per question.

requests = [request(case, letters) for case in cases]
selections = [selection(completion, letters) for completion in chat.complete(requests)]
"""

from __future__ import annotations

from collections.abc import Sequence

from models.llm.asking import Asking
from models.llm.chat import ChatRequest, Completion, Message
from models.prompts import choose as prompt
from models.prompts.choose import ChoiceError
from models.selector.contract import Case
from models.selector.sandbox import Selection
from models.selector.subsets import subset_name

MAX_TOKENS = 1_024
"""Room for a reasoning model; the reply itself is a dozen tokens."""


def choose(case: Case, letters: Sequence[str]) -> Asking[Selection]:
    """What the model selects for one question."""
    [completion] = yield [request(case, letters)]
    return selection(completion, letters)


def request(case: Case, letters: Sequence[str]) -> ChatRequest:
    """What the model is asked for one question."""
    text = prompt.render(case.question, case.context, letters)
    return ChatRequest((Message("user", text),), max_tokens=MAX_TOKENS, schema=prompt.schema(letters))


def selection(completion: Completion, letters: Sequence[str]) -> Selection:
    """What the model chose; all structures, with the reason, where it chose nothing usable."""
    if completion.status != "ok":
        return Selection(subset_name(letters), valid=False, reason=completion.error or completion.status)
    try:
        return Selection(subset_name(prompt.parse(completion.text, letters)))
    except ChoiceError as error:
        return Selection(subset_name(letters), valid=False, reason=str(error))
