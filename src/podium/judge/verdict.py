"""What a model said, read strictly: a verdict in the exact form, or a skip with its words. No I/O.

Nothing is searched for inside prose: a verdict found "anywhere in the text" may be a quotation of an item.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

__all__ = ["PROBLEMS", "Form", "Problem", "Verdict", "read_answer", "read_response"]

Form: TypeAlias = Literal["json", "word", "logprobs"]
Problem: TypeAlias = Literal["form", "refusal", "empty", "length", "rejected", "too-long", "unknown-value"]

# Why there is no verdict, and what to do about it.
PROBLEMS: dict[str, str] = {
    "form": "not in the form that was asked for; try another --answer, or another model",
    "refusal": "refused by the model; look at the items, or leave them out",
    "empty": "empty; look whether the server knows the model's chat template",
    "length": "cut off; raise --max-tokens",
    "rejected": "rejected by the server; see its words in `podium campaign export calls`",
    "too-long": "larger than any verdict; look at what the server sends",
    "unknown-value": "neither 1, 0, 0.5 nor null; correct the command",
}
MOST_RAW = 2000  # characters kept of what cannot be read
OUTCOMES = {"A": 1.0, "B": 0.0, "tie": 0.5}
WORDS = {"A": 1.0, "B": 0.0, "TIE": 0.5}
THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
FENCED = re.compile(r"```(?:json|JSON)?[ \t]*\n(.*)\n```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one call: outcome 1 for the left item, 0 for the right, 0.5 for a tie, None for none.

    Attributes
    ----------
    reason : str or None
        Why, in the judge's words.
    p : float or None
        Chance of the left item, where the judge gave one.
    problem : str or None
        Why there is no outcome: "form", "refusal", "empty", "length", "rejected", "too-long", "unknown-value".
    raw : str
        The text as it came, its first 2,000 characters.
    model : str or None
        The model as the server named it.
    tokens_in, tokens_out : int or None
        Tokens as reported; where `counted`, as estimated from the length of the text.
    tries : int
        Requests that were sent for it.
    lost : int
        Of these, the ones that got no answer: the connection was lost, or it took too long.
    """

    outcome: float | None
    reason: str | None = None
    p: float | None = None
    problem: Problem | None = None
    raw: str = ""
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    counted: bool = False
    tries: int = 1
    lost: int = 0


def read_answer(text: str, form: Form = "json") -> Verdict:
    """The verdict in the text of an answer, or a skip; any text gives one of the two.

    >>> read_answer('{"reason": "shorter", "winner": "B"}').outcome
    0.0
    >>> read_answer("I prefer A, so my answer is A.").problem
    'form'
    >>> read_answer("Both are fine.\\nTIE", "word").outcome
    0.5
    """
    raw = text[:MOST_RAW]
    bare = text
    while found := THOUGHT.match(bare):
        bare = bare[found.end() :]
    bare = bare.strip()
    if not bare:
        return Verdict(None, problem="empty", raw=raw)
    if form == "word":
        *before, last = bare.splitlines()
        outcome = WORDS.get(last.strip())
        reason = "\n".join(before).strip()[:MOST_RAW] or None
        return Verdict(outcome, reason, problem=None if outcome is not None else "form", raw=raw)
    if found := FENCED.fullmatch(bare):
        bare = found[1]
    outcome, reason = _of_json(bare)
    return Verdict(outcome, reason, problem=None if outcome is not None else "form", raw=raw)


def _of_json(text: str) -> tuple[float | None, str | None]:
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None, None
    winner = value.get("winner") if isinstance(value, dict) else None
    if not isinstance(winner, str) or winner not in OUTCOMES:
        return None, None
    reason = value.get("reason")
    return OUTCOMES[winner], reason[:MOST_RAW] if isinstance(reason, str) and reason else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no key appears twice: of two winners, which?"""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key appears twice")
    return value


def read_response(body: Any, form: Form = "json") -> Verdict:
    """The verdict in the body of a chat completion; any JSON value gives a verdict or a skip."""
    choice = _first(_get(body, "choices"))
    message = _get(choice, "message")
    content = _get(message, "content")
    text = content if isinstance(content, str) else ""
    finish = _get(choice, "finish_reason")
    refusal = _get(message, "refusal")
    if isinstance(refusal, str) and refusal:
        verdict = Verdict(None, problem="refusal", raw=refusal[:MOST_RAW])
    elif finish == "content_filter":
        verdict = Verdict(None, problem="refusal", raw=text[:MOST_RAW])
    elif form == "logprobs":
        verdict = _of_logprobs(choice, text)
    elif finish == "length":
        verdict = Verdict(None, problem="length", raw=text[:MOST_RAW])
    else:
        verdict = read_answer(text, form)
    model, usage = _get(body, "model"), _get(body, "usage")
    return replace(
        verdict,
        model=model if isinstance(model, str) else None,
        tokens_in=_count(_get(usage, "prompt_tokens")),
        tokens_out=_count(_get(usage, "completion_tokens")),
    )


def _of_logprobs(choice: Any, text: str) -> Verdict:
    """P(A) / (P(A) + P(B)) of the first token; the vote is the larger."""
    first = _first(_get(_get(choice, "logprobs"), "content"))
    offered = _get(first, "top_logprobs")
    chance = {"A": 0.0, "B": 0.0}
    for each in offered if isinstance(offered, list) else []:
        token, value = _get(each, "token"), _get(each, "logprob")
        plain = isinstance(value, int | float) and not isinstance(value, bool) and value <= 1e-6
        if isinstance(token, str) and token.strip() in chance and plain:
            chance[token.strip()] += math.exp(min(value, 0.0))
    both = chance["A"] + chance["B"]
    if not both > 0:
        return Verdict(None, problem="form" if text.strip() else "empty", raw=text[:MOST_RAW])
    p = chance["A"] / both
    return Verdict(1.0 if p > 0.5 else 0.0 if p < 0.5 else 0.5, p=p, raw=text[:MOST_RAW])


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None
