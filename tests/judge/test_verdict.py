"""A verdict is read only in its exact form; every other text is a skip, and nothing is an exception."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.judge.verdict import MOST_RAW, PROBLEMS, read_answer, read_response

OK = '{"reason": "clear", "winner": "A"}'
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)

# How models of different make answer: the text, and what it is by hand.
STYLES = [
    (OK, 1.0),
    ('{"winner":"B"}', 0.0),
    ('  {"reason": "both good", "winner": "tie"}\n', 0.5),
    (f"```json\n{OK}\n```", 1.0),
    (f"```\n{OK}\n```", 1.0),
    (f'<think>\nA says B is better. {{"winner": "B"}}\n</think>\n\n{OK}', 1.0),
    (f"<think></think>```json\n{OK}\n```", 1.0),
    ('{"winner": "A", "reason": "the text says {\\"winner\\": \\"B\\"}"}', 1.0),
    ("Answer A is better.", None),
    (f"Here is my verdict: {OK}", None),
    (f"{OK} I hope this helps!", None),
    (f"{OK}\n{OK}", None),
    ('{"winner": "A", "winner": "B"}', None),
    ('{"winner": "a"}', None),
    ('{"winner": "Answer A"}', None),
    ('{"winner": ["A"]}', None),
    ('{"winner": null}', None),
    ('{"Winner": "A"}', None),
    ('[{"winner": "A"}]', None),
    ('{"verdict": {"winner": "A"}}', None),
    ('<think>cut off in the middle {"winner": "A"}', None),
    ("[[A]]", None),
    ("A", None),
    ("{'winner': 'A'}", None),
    ("[" * 100_000, None),
    ('{"winner": "A"', None),
]


@pytest.mark.parametrize(("text", "outcome"), STYLES, ids=range(len(STYLES)))
def test_answers_of_many_styles(text, outcome):
    verdict = read_answer(text)
    assert verdict.outcome == outcome
    assert (verdict.problem is None) == (outcome is not None)
    assert len(verdict.raw) <= MOST_RAW


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("A", 1.0),
        ("B is longer.\nB", 0.0),
        ("x\n  TIE  ", 0.5),
        ("tie", None),
        ("A.", None),
        ("A\nbecause", None),
        ("**A**", None),
    ],
)
def test_the_last_line_is_the_word(text, outcome):
    assert read_answer(text, "word").outcome == outcome


@given(st.text(max_size=300))
def test_any_text_gives_a_verdict_or_a_skip(text):
    for form in ("json", "word"):
        verdict = read_answer(text, form)
        assert (verdict.outcome is None) == (verdict.problem in PROBLEMS)


@given(st.text(max_size=60), st.text(max_size=60))
def test_prose_around_a_verdict_is_never_searched(before, after):
    """Whatever stands beside the object, other than blanks, makes it a skip: it may be a quotation of an item."""
    if before.strip() or after.strip():
        text = before + OK + after
        if not before.strip().startswith(("<think>", "```")):
            assert read_answer(text).outcome is None


@given(json_values)
def test_a_winner_needs_the_exact_key_and_value(value):
    verdict = read_answer(json.dumps(value))
    exact = isinstance(value, dict) and value.get("winner") in ("A", "B", "tie") and isinstance(value["winner"], str)
    assert (verdict.outcome is not None) == exact


@given(json_values, st.sampled_from(["json", "word", "logprobs"]))
def test_any_body_gives_a_verdict_or_a_skip(body, form):
    tokens = {"content": [{"top_logprobs": body}]}
    for shape in (
        body,
        {"choices": body},
        {"choices": [{"message": body}]},
        {"choices": [{"message": {"content": body}}]},
        {"choices": [{"logprobs": tokens, "message": {}}], "usage": body},
    ):
        verdict = read_response(shape, form)
        assert (verdict.outcome is None) == (verdict.problem in PROBLEMS)


def body(text, finish="stop", **message):
    return {"choices": [{"message": {"content": text, **message}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (body(""), "empty"),
        (body(None), "empty"),
        (body(OK[:9], "length"), "length"),
        (body(OK, "content_filter"), "refusal"),
        (body(None, refusal="I cannot"), "refusal"),
        (body("hm"), "form"),
        ({}, "empty"),
    ],
)
def test_what_is_no_verdict_says_why(given, problem):
    assert read_response(given).problem == problem


@given(st.floats(0.001, 0.98), st.floats(0.001, 0.98))
def test_logprobs_are_the_chances_of_the_first_token(a, b):
    offered = [
        {"token": " A", "logprob": math.log(a)},
        {"token": "B", "logprob": math.log(b)},
        {"token": "C", "logprob": -1},
    ]
    choice = {"message": {"content": "A"}, "logprobs": {"content": [{"top_logprobs": offered}]}}
    verdict = read_response({"choices": [choice]}, "logprobs")
    assert verdict.p == pytest.approx(a / (a + b))
    assert verdict.outcome == (1.0 if verdict.p > 0.5 else 0.0 if verdict.p < 0.5 else 0.5)


def test_the_server_names_the_model_and_counts_tokens():
    verdict = read_response(body(OK) | {"model": "tiny-2", "usage": {"prompt_tokens": 7, "completion_tokens": True}})
    assert (verdict.model, verdict.tokens_in, verdict.tokens_out) == ("tiny-2", 7, None)
