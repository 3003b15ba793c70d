"""The parts of a run by themselves: budgets, resuming, stopping, what is put into words, what is shown."""

import asyncio
import dataclasses
import io
import json
import math
import types

import numpy as np
import pytest

from podium.campaign import setup
from podium.campaign.desk import Ballot
from podium.campaign.items import Items
from podium.campaign.options import Options
from podium.errors import InputError, RefusedError, UnavailableError
from podium.judge import HttpJudge, Verdict, command, judge_pairs, ledger, pairs, remote, run, simulated
from podium.judge.asking import FunctionJudge, as_asker, header_of_asker, shown_to
from podium.judge.command import CommandJudge
from podium.judge.http import UnreachableError
from podium.judge.limits import Crowd, Pace, check_number, check_whole
from podium.judge.markup import text_of
from podium.judge.prompt import Asked, Prompt
from podium.judge.report import against, pairs_of
from podium.judge.run import Run
from podium.judge.settings import Progress, Settings
from podium.judge.tally import Agreement, Estimate, Position, Tally, agreement, position, proportion
from podium.judge.verdict import read_answer, read_response
from podium.judge.wire import Rates, Wire
from podium.store import open_store
from podium.store.values import Call, Item, Media, Question, Vote, pair_of

ASKED = Asked("1", "Which?", "good", "bad", fence="f00d")


# ---- numbers and their words --------------------------------------------------------------------------------------


def test_a_share_of_clusters_has_the_interval_of_two_pairs_more():
    """By hand: points 1, 0.5, 0.5, 0 and one pair each way have mean 1/2 and a sum of squares of 1 about it."""
    found = position([1, 1, 0.5, 0], [1, 0, 0.5, 0])
    half = 1.959963984540054 * math.sqrt(1 / 5) / math.sqrt(6)
    assert found.first.value == 0.5
    assert (found.first.lower, found.first.upper) == pytest.approx((0.5 - half, 0.5 + half))
    assert (found.first.count, found.first_first, found.second_second) == (4, 1, 1)
    assert found.same.value == 0.5  # the turned win and the tie
    alone = position([], [], [1, 1, 0])
    assert (alone.first.value, alone.first.count, alone.same, alone.p_value) == (pytest.approx(2 / 3), 3, None, 1.0)
    assert position([], []) is None
    all_first = position([1] * 3, [1] * 3).first
    assert (all_first.value, all_first.upper) == (1.0, 1.0)
    assert 0 < all_first.lower < 1


def test_half_is_inside_or_outside():
    assert not Estimate(0.6, 0.5, 0.7, 9).is_off_half
    assert not Estimate(0.4, 0.3, 0.5, 9).is_off_half
    assert Estimate(0.6, 0.51, 0.7, 9).is_off_half
    assert Estimate(0.4, 0.3, 0.49, 9).is_off_half
    assert Estimate(0.614, 0.512, 0.708, 9).words() == "61 % (51–71)"
    assert proportion([]) is None


def test_bias_and_noise_begin_beyond_their_bounds():
    half = Estimate(0.5, 0.4, 0.55, 9)
    assert not Position(half, half, 1, 1, 0.01).is_biased
    assert Position(half, half, 1, 1, 0.0099).is_biased
    assert not Position(half, half, 1, 1, 1.0).is_noise
    assert Position(half, Estimate(0.5, 0.4, 0.549, 9), 1, 1, 1.0).is_noise
    assert not Position(half, None, 1, 1, 1.0).is_noise


def test_agreement_in_words():
    alike = Estimate(0.8, 0.6, 0.9, 10)
    assert Agreement(alike, 0.613).words() == "80 % (60–90) of 10 pairs alike, kappa 0.61"
    assert Agreement(alike, math.nan).words() == "80 % (60–90) of 10 pairs alike, kappa not defined"
    assert agreement([], []) is None


def test_a_judge_in_words():
    share = Estimate(0.8, 0.6, 0.9, 10)
    biased = Position(share, share, 9, 1, 0.0012)
    whole = Tally(
        calls=40, pairs=20, skips=1_234, position=biased, length=share, repeat=share, gold=share,
        against={"c.db:Ann": None, "c.db:Bob": Agreement(share, 0.5)}, problems={"form": 2, "strange": 1},
        tokens_in=99_999, tokens_out=100_000, counted=True, cost=0.126,
    )  # fmt: skip
    assert whole.words() == [
        "position: first place chosen 80 % (60–90); 80 % (60–90) of pairs the same in both orders; beyond chance: "
        "9 pairs went to the first place both times, 1 to the second (p = 0.0012)",
        "length: the longer of two won 80 % (60–90)",
        "gold: 80 % (60–90) of 10 known pairs as known",
        "against c.db:Ann: no pair in common",
        "against c.db:Bob: 80 % (60–90) of 10 pairs alike, kappa 0.50",
        "2 answers not in the form that was asked for; try another --answer, or another model",
        "1 answer strange",
        "repeat: 80 % (60–90) the same; not parsed 5.0 %; skipped 1,234; 40 calls, about 99,999 tokens in, 0.1 M out, "
        "cost 0.13",
    ]
    assert Tally().words() == ["not parsed 0.0 %; skipped 0; 0 calls"]
    assert Tally(calls=1, tokens_out=5).words() == ["not parsed 0.0 %; skipped 0; 1 call, 0 tokens in, 5 out"]
    plain = Tally(position=Position(share, None, 9, 1, 0.5)).words()
    assert plain[0] == "position: first place chosen 80 % (60–90)"


# ---- settings and limits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"preset": "slow"}, "preset 'slow' is unknown; there are "),
        ({"preset": 3}, "preset 3 is unknown"),
        ({"budget": 0}, "budget is 0; give a whole number from 1 to 2,147,483,647"),
        ({"budget": True}, "budget is True; give a whole number"),
        ({"budget": 2.0}, "budget is 2.0; give a whole number"),
        ({"max_calls": 2**31}, "max_calls is 2147483648"),
        ({"concurrency": 1001}, "concurrency is 1001; give a whole number from 1 to 1,000"),
        ({"concurrency": None}, "concurrency is None"),
        ({"max_cost": -1}, "max_cost is -1; give a number from 0 to 1e"),
        ({"price_in": True}, "price_in is True; give a number"),
        ({"price_out": "1"}, "price_out is '1'; give a number"),
        ({"repeat": 1.1}, "repeat is 1.1; give a number from 0 to 1"),
        ({"repeat": None}, "repeat is None"),
        ({"seed": -1}, r"seed is -1; give a whole number from 0 to 2\*\*63 - 1"),
        ({"seed": 2**63}, "seed is 9223372036854775808"),
        ({"seed": True}, "seed is True"),
        ({"seed": 1.0}, "seed is 1.0"),
    ],
)
def test_settings_that_cannot_be(given, words):
    with pytest.raises(InputError, match=words):
        Settings(**given)


def test_settings_at_their_ends_are_taken():
    Settings(budget=1, max_calls=2**31 - 1, concurrency=1000, max_cost=0, repeat=1, seed=0, price_in=1e12)
    Settings(seed=2**63 - 1, repeat=0.0, concurrency=1)
    check_whole("x", None, optional=True)
    check_number("x", None, optional=True)
    check_number("x", 1e-3, low=1e-3, high=2.0)
    for bad in (math.nan, math.inf, 2.1, 9e-4):
        with pytest.raises(InputError, match="x is "):
            check_number("x", bad, low=1e-3, high=2.0)


def test_how_many_pairs_are_asked_at_most():
    assert Settings(budget=7).most_pairs(4) == 7
    few = Settings().most_pairs(4)
    assert few == 6  # there are no more
    many = Settings().most_pairs(1000)
    assert Settings(one_order=True).most_pairs(1000) == 2 * many
    assert many < 1000 * 999 // 2


def test_what_a_call_costs_is_by_the_million():
    said = Verdict(1.0, tokens_in=2_000_000, tokens_out=500_000)
    assert Settings(price_in=3.0, price_out=8.0).cost(said) == 10.0
    assert Settings(price_in=3.0).cost(said) == 6.0
    assert Settings(price_out=8.0).cost(said) == 4.0
    assert Settings().cost(said) is None
    assert Settings(price_in=3.0, price_out=8.0).cost(Verdict(1.0)) == 0.0


def test_a_pace_without_a_limit_waits_for_nothing():
    free, held = Pace(None), Pace(60.0)
    assert (free.wait(0.0), free.wait(0.0, 1e9)) == (0.0, 0.0)
    free.correct(1.0, 2.0)
    held.correct(1.0, 9.0)  # before anything was reserved there is nothing to correct
    assert [held.wait(5.0), held.wait(5.0), held.wait(5.0, 3.0), held.wait(5.0)] == [0.0, 1.0, 2.0, 5.0]
    held.correct(3.0, 1.0)
    assert held.wait(5.0) == 4.0


def test_those_sent_before_the_last_halving_say_nothing_new():
    crowd = Crowd(8)
    assert crowd.limit(-1e9) == 8
    crowd.too_much(now=100.0, sent=50.0)
    crowd.too_much(now=101.0, sent=99.9)
    assert crowd.limit(101.0) == 4
    crowd.too_much(now=102.0, sent=100.0)
    assert crowd.limit(102.0) == 2
    assert crowd.limit(0.0) == 2  # a clock that went back takes nothing


# ---- answers --------------------------------------------------------------------------------------------------------


def chat(**choice):
    return {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}


def tops(*offered):
    rows = [{"token": token, "logprob": value} for token, value in offered]
    return chat(message={"content": "A"}, logprobs={"content": [{"top_logprobs": rows}]})


def test_chances_of_the_first_token_are_added_up():
    said = read_response(tops(("A", math.log(0.3)), (" A", math.log(0.1)), ("B\n", math.log(0.1))), "logprobs")
    assert (said.outcome, said.p) == (1.0, pytest.approx(0.8))
    assert read_response(tops(("A", -1.0), ("B", -1.0)), "logprobs").outcome == 0.5
    assert read_response(tops(("A", -2.0), ("B", -1.0)), "logprobs").outcome == 0.0
    assert read_response(tops(("A", 1e-7)), "logprobs").p == 1.0  # a rounding above 0 is 0
    for odd in (("A", True), ("A", 2.0), ("a", -1.0), ("A", "0"), (3, -1.0), ("A", None)):
        assert read_response(tops(odd), "logprobs").problem == "form", odd
    assert read_response(tops(("A", -5000.0)), "logprobs").problem == "form"  # a chance of nothing
    nothing = read_response(chat(message={"content": " "}, logprobs=None), "logprobs")
    assert (nothing.problem, nothing.outcome) == ("empty", None)
    assert read_response(chat(message={"content": "A"}), "logprobs").problem == "form"


def test_what_a_server_says_beside_the_answer():
    good = '{"reason": "", "winner": "A"}'
    said = read_response(chat(message={"content": good}, finish_reason="stop"))
    assert (said.outcome, said.reason, said.model, said.tokens_in, said.tokens_out) == (1.0, None, "m", 3, 4)
    assert read_response(chat(message={"content": good}, finish_reason="length")).problem == "length"
    assert read_response(chat(message={"content": good}, finish_reason="content_filter")).problem == "refusal"
    assert read_response(chat(message={"content": good, "refusal": "no"})).raw == "no"
    assert read_response(chat(message={"content": good, "refusal": ""})).outcome == 1.0
    for usage in ({"prompt_tokens": -1}, {"prompt_tokens": True}, {"prompt_tokens": 2**31}, {"prompt_tokens": "3"}):
        assert read_response(chat(message={"content": good}) | {"usage": usage}).tokens_in is None
    assert read_response(chat(message={"content": good}) | {"usage": {"prompt_tokens": 0}}).tokens_in == 0
    assert read_response({"choices": [], "model": 3}).model is None


def test_long_answers_are_kept_to_two_thousand_letters():
    long = "x" * 5000
    assert len(read_answer(long).raw) == 2000
    worded = read_answer(f"{long}\nB", "word")
    assert (worded.outcome, len(worded.reason)) == (0.0, 2000)
    assert len(read_answer(json.dumps({"winner": "tie", "reason": long})).reason) == 2000
    assert len(read_response(chat(message={"content": long}, finish_reason="length")).raw) == 2000
    assert len(read_response(chat(message={"content": "", "refusal": long})).raw) == 2000
    assert len(command._verdict({"outcome": 1, "reason": long}, long).reason) == 2000


def test_thoughts_before_an_answer_are_taken_off_each():
    said = read_answer('<think>a</think>\n <think>b\nc</think>{"winner": "B", "reason": "r"}')
    assert (said.outcome, said.reason) == (0.0, "r")
    assert read_answer("<think>only</think>").problem == "empty"
    assert read_answer('{"winner": "A", "winner": "B"}').problem == "form"
    assert read_answer("A", "word").reason is None


@pytest.mark.parametrize(
    ("row", "outcome", "problem"),
    [
        ({"outcome": 1}, 1.0, None), ({"outcome": 0}, 0.0, None), ({"outcome": 0.5}, 0.5, None),
        ({"outcome": None}, None, "refusal"), ({}, None, "unknown-value"), ({"outcome": True}, None, "unknown-value"),
        ({"outcome": 2}, None, "unknown-value"), ({"outcome": "A"}, None, "unknown-value"),
    ],
)  # fmt: skip
def test_rows_of_a_command(row, outcome, problem):
    said = command._verdict(row | {"reason": "why"}, "raw")
    assert (said.outcome, said.problem, said.reason, said.raw) == (outcome, problem, "why", "raw")
    assert command._verdict(row | {"reason": ""}, "").reason is None
    assert command._verdict(row | {"reason": 3}, "").reason is None


def test_a_stream_without_a_file_is_not_handed_on(tmp_path):
    assert not command._is_real(None)
    assert not command._is_real(io.StringIO())
    with (tmp_path / "x").open("w") as file:
        assert command._is_real(file)
    assert not command._is_real(file)  # closed


def test_lines_of_a_command_go_to_whom_they_answer():
    async def go():
        judge = CommandJudge(["cat"])
        loop = asyncio.get_running_loop()
        judge._waiting = {name: loop.create_future() for name in ("1", "2", "3")}
        judge._asked = {"0", "1", "2", "3"}
        judge._take(b"  \n")
        judge._take(b'{"id": 2, "outcome": 1}\n')
        judge._take(b'{"id": "2", "outcome": 0}\n')  # a second answer to the same changes nothing
        judge._take(b'{"id": "0", "outcome": 0}\n')  # nobody waits for it any more
        assert [each.done() for each in judge._waiting.values()] == [False, True, False]
        judge._take(b"[1]\n")
        judge._take(b'{"id": "unknown", "outcome": 1}')
        judge._take(b"not json")
        return [each.result() for each in judge._waiting.values()]

    said = asyncio.run(go())
    assert [(each.outcome, each.problem) for each in said] == [(None, "form"), (1.0, None), (None, "form")]
    assert [each.raw for each in said] == ["[1]", '{"id": 2, "outcome": 1}', '{"id": "unknown", "outcome": 1}']


@pytest.mark.parametrize("argv", ["cat", [], [1], None])
def test_a_command_is_a_list_of_words(argv):
    with pytest.raises(InputError, match="a command is a list of words"):
        CommandJudge(argv)


def test_a_command_says_what_it_is():
    judge = CommandJudge(("judge", "x" * 200))
    assert judge.header() == {"model": f"judge {'x' * 94}", "command": ["judge", "x" * 200]}
    for bad in ({"timeout": 0}, {"timeout": 86_401}, {"concurrency": 0}, {"concurrency": 1001}):
        with pytest.raises(InputError, match=f"{next(iter(bad))} is "):
            CommandJudge(["x"], **bad)
    CommandJudge(["x"], timeout=86_400, concurrency=1000)


# ---- whom to ask ----------------------------------------------------------------------------------------------------


def test_what_a_function_says():
    def ask(said):
        return asyncio.run(FunctionJudge(lambda question: said).answer(ASKED))

    whole = Verdict(0.5, "same", p=0.4)
    assert ask(whole) is whole
    assert ask(None) == Verdict(None, problem="refusal")
    assert [ask(said).outcome for said in (1, 0, 0.5, True)] == [1.0, 0.0, 0.5, 1.0]
    for bad in (2, "A", 0.7, math.nan):
        with pytest.raises(InputError, match=r"the judge said .*; it is 1 for the left item, 0, 0.5, or None"):
            ask(bad)


def test_who_can_be_asked():
    class Own:
        async def answer(self, question):
            return Verdict(1.0)

    own = Own()
    assert as_asker(own) is own
    assert header_of_asker(own) == {"model": "Own"}
    named = as_asker(test_who_can_be_asked)
    assert header_of_asker(named) == {"model": "test_who_can_be_asked"}
    with pytest.raises(InputError, match="7 cannot be asked; give HttpJudge"):
        as_asker(7)
    assert json.loads(shown_to(own, ASKED)) == ["Which?", "good", "bad"]
    model = types.SimpleNamespace(prompt=Prompt())
    assert json.loads(shown_to(model, ASKED)) == Prompt().messages(ASKED)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"answer": "xml"}, "answer is 'xml'; it is 'json', 'word' or 'logprobs'"),
        ({"model": " "}, "base_url and model are text"),
        ({"model": 3}, "base_url and model are text"),
        ({"base_url": 3}, "base_url and model are text"),
        ({"template": 3}, "template is 3; give the text of a prompt file"),
        ({"temperature": 2e6}, "temperature is 2000000.0"),
        ({"timeout": 0.0}, "timeout is 0.0"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"concurrency": 1001}, "concurrency is 1001"),
        ({"rpm": 0.0}, "rpm is 0.0"),
        ({"tpm": 0.0}, "tpm is 0.0"),
        ({"extra_body": {"a": {1}}}, "extra_body or headers are no names with values"),
        ({"headers": [1]}, "extra_body or headers are no names with values"),
        ({"extra_body": {"n": 2}}, "extra_body sets 'n', which the judge sets itself"),
    ],
)
def test_a_model_that_cannot_be_asked(given, words):
    with pytest.raises(InputError, match=words):
        HttpJudge(**({"base_url": "http://x/v1", "model": "m"} | given))


def test_a_key_or_header_that_http_does_not_take(monkeypatch):
    async def ask(**more):
        await HttpJudge("http://127.0.0.1:1/v1", "m", **more).answer(ASKED)

    monkeypatch.setenv("PODIUM_API_KEY", "schlüssel")
    with pytest.raises(InputError, match="the key in PODIUM_API_KEY or OPENAI_API_KEY holds a character"):
        asyncio.run(ask())
    monkeypatch.setenv("PODIUM_API_KEY", "a\nb")
    with pytest.raises(InputError, match="holds a character that no header can; copy it again"):
        asyncio.run(ask())
    monkeypatch.delenv("PODIUM_API_KEY")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="--header: a name or value is not what HTTP takes"):
        asyncio.run(ask(headers={"X-Name": "größer"}))


def test_the_wait_before_the_next_try_doubles_and_ends():
    judge = HttpJudge("http://x/v1", "m", clock=lambda: 100.0, seed=1)
    silent, busy = run.UnreachableError, types.SimpleNamespace(status=503, wait=None)
    for tries in range(1, 7):
        waits = [judge._pause(busy, "busy", tries, 90.0) for _ in range(200)]
        assert 0.8 * 2 ** (tries - 1) < max(waits) <= 2 ** (tries - 1)
        assert min(waits) < 0.2 * 2 ** (tries - 1)
    with pytest.raises(silent, match="http://x/v1 says 503 busy"):
        judge._pause(busy, "busy", 7, 90.0)
    asked = types.SimpleNamespace(status=0, wait=30.0)
    assert judge._pause(asked, "", 1, 100.0 - 570.0) == 30.0
    with pytest.raises(silent, match=r"does not answer \(no words\)"):
        judge._pause(asked, "", 1, 100.0 - 571.0)


def test_a_call_that_is_ended_while_it_waits_for_its_turn_is_not_out():
    rates = Rates(Pace(60.0), Pace(None), Crowd(2))

    async def never(seconds):
        raise asyncio.CancelledError

    wire = Wire("http://x", {}, timeout=1.0, rates=rates, clock=lambda: 0.0, sleep=never)

    async def go():
        await wire._turn(1.0)
        assert rates.out == 1
        with pytest.raises(asyncio.CancelledError):
            await wire._turn(1.0)

    asyncio.run(go())
    assert rates.out == 1


def test_no_more_than_the_crowd_are_out():
    rates, slept = Rates(Pace(None), Pace(None), Crowd(2)), []

    async def sleep(seconds):
        slept.append(seconds)
        rates.out -= 1

    wire = Wire("http://x", {}, timeout=1.0, rates=rates, clock=lambda: 0.0, sleep=sleep)

    async def go():
        for _ in range(4):
            await wire._turn(1.0)

    asyncio.run(go())
    assert (rates.out, slept) == (2, [0.05, 0.05])


# ---- what is shown --------------------------------------------------------------------------------------------------


def test_the_whole_prompt_word_for_word():
    asked = dataclasses.replace(ASKED, context="the task", reference="a good one", instructions="Be fair.")
    system, user = Prompt("word").messages(asked)
    assert user == {
        "role": "user",
        "content": "Which?\n\n[context f00d]\nthe task\n[/context f00d]\n\nA reference answer, known to be good:\n"
        "[reference f00d]\na good one\n[/reference f00d]\n\n[A f00d]\ngood\n[/A f00d]\n\n[B f00d]\nbad\n[/B f00d]",
    }
    assert system["role"] == "system"
    assert "between [A f00d] and [/A f00d]" in system["content"]
    assert "{fence}" not in system["content"]
    assert system["content"].endswith("\nBe fair.\nThink briefly if you must; the last line of your answer is exactly "
                                      "A, B or TIE.")  # fmt: skip
    with_picture = Prompt().messages(dataclasses.replace(ASKED, right_image="data:x"))[1]["content"]
    assert with_picture[1:] == [
        {"type": "text", "text": "The picture of B:"},
        {"type": "image_url", "image_url": {"url": "data:x"}},
    ]


def test_a_page_as_text():
    page = "<p>one</p><p>two<br>three</p><ul><li>a</li><li>b</li></ul><table><tr><td>c</td><td>d</td></tr></table><hr>e"
    assert text_of(page) == "one\n\ntwo\nthree\n\n- a\n- b\n\n | c | d\n\n---\n\ne"
    assert text_of("<b>x</b> &amp; <i>y</i>") == "x & y"


def test_texts_that_go_with_both_items_are_shown_once():
    texts = {0: "same", 1: "same", 2: "other", 4: ""}
    assert ledger._common(texts, 0, 1) == "same"
    assert ledger._common(texts, 0, 2) == "of A: same\nof B: other"
    assert ledger._common(texts, 3, 2) == "of A: (none)\nof B: other"
    assert ledger._common(texts, 0, 3) == "same"
    assert ledger._common(texts, 0, 4) == "same"
    assert ledger._common(texts, 3, 3) is None


def test_what_has_changed_of_a_judge_is_named():
    told = ledger.difference
    assert told({"model": "a", "podium": "1", "server": "x"}, {"model": "a", "podium": "2", "server": "y"}) is None
    assert told({"parameters": {"t": 0}}, {"parameters": {"t": 1}}) == "with --extra-body t 0, now with 1"
    assert told({"a": 1}, {}) == "with the a 1, now without it"
    assert told({"a": {"b": 1}}, {"a": 2}) == "with the a {'b': 1}, now with 2"
    assert told({"b": 1, "a": 1}, {"b": 2, "a": 2}) == "with the a 1, now with 2"


# ---- the simulated model ------------------------------------------------------------------------------------------


def completed(system="x", logprobs=False, likes=len, left="long text", right="text"):
    text = f"[A f]\n{left}\n[/A f]\n\n[B f]\n{right}\n[/B f]"
    body = {"messages": [{"content": system}, {"content": text}]} | ({"logprobs": True} if logprobs else {})
    return simulated.completion(body, likes), text


def test_the_simulated_model_answers_in_each_form():
    said, text = completed()
    assert said["choices"][0]["message"] == {"role": "assistant", "content": "A"}
    assert said["usage"] == {"prompt_tokens": len(text) // 4, "completion_tokens": 1}
    said, _ = completed("Answer with one JSON object")
    content = said["choices"][0]["message"]["content"]
    assert json.loads(content)["winner"] == "A"
    assert said["usage"]["completion_tokens"] == len(content) // 4
    said, _ = completed(logprobs=True)
    offered = said["choices"][0]["logprobs"]["content"][0]
    chances = {each["token"]: math.exp(each["logprob"]) for each in offered["top_logprobs"]}
    truth = simulated.chance_of_first("long text", "text", len)
    assert chances == pytest.approx({"A": truth, "B": 1 - truth})
    assert (offered["token"], offered["logprob"]) == ("A", pytest.approx(math.log(truth)))
    assert completed(left="a", right="a much longer text")[0]["choices"][0]["message"]["content"] == "B"


def test_the_simulated_model_leans_and_draws_by_a_logistic_law():
    draws = np.array([simulated._draw("x", str(k)) for k in range(4000)])
    assert abs(draws.mean()) < 4 * math.pi / math.sqrt(3 * 4000)
    assert draws.std() == pytest.approx(math.pi / math.sqrt(3), rel=0.06)
    assert np.mean(draws < math.log(3)) == pytest.approx(0.75, abs=0.03)
    odds = [math.log(p / (1 - p)) - simulated._draw("noise", "a", str(k))
            for k in range(5) for p in [simulated.chance_of_first("a", str(k), lambda text: 0.0)]]  # fmt: skip
    assert odds == pytest.approx([0.7] * 5)
    assert simulated.hidden_quality("tea") == 2 * simulated._draw("quality", "tea")
    assert 0 < simulated.chance_of_first("a", "b", lambda text: 1e6 if text == "b" else 0.0) < 1e-20


# ---- a run, step by step ----------------------------------------------------------------------------------------


class Quiet:
    """A ledger that does nothing: for what a run decides by itself."""

    plans = True

    def __init__(self, **more):
        self.store = types.SimpleNamespace(remote=False)
        self.campaign = types.SimpleNamespace(id=1)
        self.answered, self.begun = 0, []
        self.questions, self.calls, self.used = [], [], ledger.Spent()
        vars(self).update(more)

    def spent(self):
        return self.used

    def held(self):
        return self.questions, self.calls

    def begin(self, calls):
        self.begun += calls

    def new_call(self, question, turned, now):
        return Call(f"n{question.id}-{turned}", question.id, 0, 0, 1, turned, at=now)


def made(settings=None, items=10, **more):
    return Run(Quiet(**more), None, None, settings or Settings(), items=items)


def in_loop(work):
    async def go():
        return work()

    return asyncio.run(go())


def question(id):
    return Question(0, 1, id=id)


def call(id, turned=0, **more):
    return Call(f"r{id}-{turned}", id, 0, turned, 1 - turned, turned, **more)


def test_how_many_pairs_and_calls_are_left():
    one = made(Settings(budget=20, max_calls=30))
    one.progress = Progress(pairs=5, skips=2, limit=20, calls=27)
    one._pairs = {1: None, 2: None}
    assert (one._left(), one._rooms()) == (11, 3)
    assert made()._rooms() == 10**9


def test_how_many_calls_the_cost_allows():
    """By hand: 8 of 10 calls came back for 4.0, the dearest for 0.5; two that are out will cost 1.0; 5.0 are left."""
    one = made(Settings(max_cost=10.0))
    one.progress = Progress(calls=10, out=1, cost=4.0)
    one._dearest = 0.5
    one._todo.append(call(1))
    assert one._rooms() == 10
    one.settings = Settings(max_cost=10.0, max_calls=13)
    assert one._rooms() == 3
    one.settings = Settings(max_cost=4.4)
    assert one._rooms() < 1
    assert made(Settings(max_cost=1.0))._rooms() == 10**9  # nothing is known of the cost yet


def test_why_no_more_is_asked():
    one = made(Settings(max_calls=30), items=4)
    one.progress = Progress(limit=6, calls=29)
    assert (one._used(), one._spent()) == ("finished", "max-calls")
    one.progress = Progress(limit=5, calls=28)
    assert (one._used(), one._spent()) == ("budget", "max-cost")
    told = made(Settings(budget=6, max_cost=1.0), items=4)
    told.progress = Progress(limit=6)
    assert (told._used(), told._spent()) == ("budget", "max-cost")
    stops = [made(Settings(preset=preset, budget=budget))._stops_when_stable()
             for preset, budget in (("quick", None), ("standard", None), ("thorough", None), ("quick", 9))]  # fmt: skip
    assert stops == [True, True, False, False]


def test_the_first_reason_to_stop_stays_and_some_send_nothing_more():
    def go():
        one = made()
        one._todo.append(call(1))
        one._stop("stable")
        assert len(one._todo) == 1
        one._stop("interrupted")
        return one.why, len(one._todo)

    assert in_loop(go) == ("stable", 0)


def test_what_was_in_hand_is_taken_up():
    """Of four pairs one is answered one way, one both ways, one not at all, and one was never begun."""
    calls = [
        call(1, 0, outcome=1.0, done=5), call(1, 1),
        call(2, 0, outcome=0.0, done=5), call(2, 1, outcome=1.0, done=5, reason="so"),
        call(3, 0), call(3, 0, done=7, again="r3-0", outcome=1.0),
    ]  # fmt: skip
    used = ledger.Spent(6, 2, 11, 12, 0.5, 3, 1)
    assert used.answered == 4

    def go():
        one = made(Settings(budget=50), questions=[question(k) for k in (1, 2, 3, 4)], calls=calls, used=used)
        one._resume()
        return one

    one = in_loop(go)
    assert [each.request for each in one._todo] == ["r1-1", "r3-0", "n4-0", "n4-1"]
    assert [each.request for each in one.ledger.begun] == ["n4-0", "n4-1"]
    assert {id: pair.needed for id, pair in one._pairs.items()} == {1: 2, 2: 2, 3: 1, 4: 2}
    assert one._pairs[1].said[0].outcome == 1.0
    assert (one._pairs[2].said[1].outcome, one._pairs[2].said[1].reason) == (0.0, "so")  # for the left item
    assert one._pairs[3].said == {}
    done = one.progress
    assert (done.pairs, done.limit, done.calls, done.skips, done.orders) == (3, 50, 8, 1, 2)
    assert (done.tokens_in, done.tokens_out, done.cost) == (11, 12, 0.5)
    single = in_loop(lambda: (each := made(Settings(one_order=True), questions=[question(4)]), each._resume())[0])
    assert [each.request for each in single._todo] == ["n4-0"]
    assert single.progress.orders == 1


def test_the_vote_of_a_pair_is_that_of_both_calls():
    one = made()

    def vote(*said, orders=2):
        one._pairs[1] = run._Pair(question(1), orders)
        found = [one._vote(call(1, turned, ms=7), each) for turned, each in enumerate(said)]
        return found[-1]

    def outcome(*said, orders=2):
        (ballot,) = vote(*map(Verdict, said), orders=orders)
        assert (ballot.id, ballot.question, ballot.ms) == ("judge-1", 1, 7)
        return ballot.outcome

    assert vote(Verdict(1.0)) == []  # the other order is still out
    assert [outcome(1.0, 0.0), outcome(0.0, 1.0), outcome(0.5, 0.5)] == [1.0, 0.0, 0.5]
    assert (one.progress.both, one.progress.same, one.progress.pairs) == (3, 3, 3)
    assert [outcome(1.0, 1.0), outcome(0.0, 0.0), outcome(0.5, 1.0)] == [0.5, 0.5, 0.5]
    assert (one.progress.both, one.progress.same, one.progress.pairs) == (6, 3, 6)
    assert [outcome(None, 1.0), outcome(1.0, None), outcome(None, orders=1)] == [None, None, None]
    assert (one.progress.both, one.progress.skips, one.progress.pairs) == (6, 3, 6)
    assert outcome(0.0, orders=1) == 0.0
    assert one._unwritten == 10
    assert one._pairs == {}
    assert one._vote(call(9, again="r"), Verdict(1.0)) == []  # asked again: it only measures
    assert vote(Verdict(1.0), Verdict(0.0, "why"))[0].reason == "why"
    assert vote(Verdict(1.0, "first"), Verdict(0.0, "why"))[0].reason == "first"


def test_what_calls_use_is_added_up_and_ten_rejected_of_fifty_end_the_run():
    one = made()
    one._count(call(1, cost=0.5), Verdict(1.0, tokens_in=3, tokens_out=4))
    one._count(call(1, cost=None, again="r"), Verdict(1.0))
    done = one.progress
    assert (done.here, done.calls, done.tokens_in, done.tokens_out, done.cost) == (2, 1, 3, 4, 0.5)
    bad = Verdict(None, problem="rejected", raw="400: no")

    def go():
        for _ in range(9):
            one._count(call(1), bad)
        for _ in range(42):
            one._count(call(1), Verdict(1.0))
        one._count(call(1), bad)
        assert one.why is None  # the first ones are further back than fifty
        for _ in range(9):
            one._count(call(1), bad)
        return one.why, one.words

    assert in_loop(go) == ("rejected", "400: no")


def test_a_server_that_is_not_heard_is_waited_for_ten_minutes_once_it_answered(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(run.time, "monotonic", lambda: clock[0])

    def go():
        never, before, one = made(), made(used=ledger.Spent(4, 1)), made()
        never._unreachable("a")
        before._unreachable("b")
        one.progress.here = 1
        clock[0] += 600.0
        one._unreachable("c")
        assert one.why is None
        clock[0] += 0.1
        one._unreachable("d")
        return [(each.why, each.words) for each in (never, before, one)]

    assert in_loop(go) == [("unheard", "a"), ("gone", "b"), ("gone", "d")]


def test_a_verdict_is_turned_to_the_left_item():
    assert run._for_left(call(1, 0), Verdict(1.0)).outcome == 1.0
    assert run._for_left(call(1, 1), Verdict(1.0)).outcome == 0.0
    assert run._for_left(call(1, 1), Verdict(0.5)).outcome == 0.5
    assert run._for_left(call(1, 1), Verdict(None)).outcome is None


def test_a_completed_call_holds_all_that_came_back():
    said = Verdict(0.5, "why", 0.25, None, "raw", "m", 3, 4, True, 2)
    done = run._completed(call(1, at=2), said, 9, 0.75, 8)
    assert done == call(
        1, at=2, model="m", raw="raw", reason="why", outcome=0.5, p=0.25, problem=None, tokens_in=3, tokens_out=4,
        counted=1, ms=9, tries=2, cost=0.75, done=8,
    )  # fmt: skip
    assert run._completed(call(1), Verdict(None, problem="form"), 0, None, 1).problem == "form"


def test_pairs_that_are_put_go_out_in_their_order():
    def go():
        one = made()
        one._put(([question(3), question(4)], [call(3), call(3, 1), call(4)]), 2)
        return one

    one = in_loop(go)
    assert [each.request for each in one._todo] == ["r3-0", "r3-1", "r4-0"]
    assert ([*one._pairs], one._pairs[4].needed, one.progress.calls) == ([3, 4], 2, 3)
    assert one._is_busy()
    one._pairs.clear()
    assert not one._is_busy()
    one._unwritten = 1
    assert one._is_busy()


def test_the_first_task_that_fails_is_told_and_one_that_was_cancelled_has_ended():
    async def fails():
        await asyncio.sleep(0)
        raise ValueError("first")

    async def waits():
        await asyncio.sleep(60)

    async def go():
        slow, cancelled = asyncio.create_task(waits()), asyncio.create_task(waits())
        cancelled.cancel()
        with pytest.raises(ValueError, match="first"):
            await run._first_problem([slow, cancelled, asyncio.create_task(fails())])
        slow.cancel()
        await run._first_problem([slow, asyncio.create_task(asyncio.sleep(0))])

    asyncio.run(go())


def test_votes_that_count_elsewhere_go_there():
    def lost(ballots):
        raise UnavailableError("no network; try again")

    async def go():
        here, there, gone = made(), made(plans=False, deliver=lambda ballots: ["no"]), made(plans=False, deliver=lost)
        said = [await here._delivered([1]), await there._delivered([1]), await there._delivered([])]
        return [*said, await gone._delivered([1]), gone.why, gone.words]

    assert asyncio.run(go()) == [[], ["no"], [], [], "gone", "no network; try again"]


def test_a_run_whose_lock_is_lost_ends(monkeypatch):
    monkeypatch.setattr(run, "TOLD_EVERY", 0.0)
    monkeypatch.setattr(run, "KEEP_EVERY", -1.0)
    told = []

    async def go(kept):
        one = made()
        one.keep, one.told = (lambda: kept), told.append
        task = asyncio.create_task(one._report())
        while not told:
            await asyncio.sleep(0)
        task.cancel()
        return one.why, one.words

    assert asyncio.run(go(False)) == ("refused", "another run has taken the campaign over")
    assert told[0].seconds >= 0
    told.clear()
    assert asyncio.run(go(True)) == (None, "")


@pytest.mark.parametrize(("problem", "why"), [(RefusedError("closed", "it is closed"), "refused"),
                                              (UnavailableError("no disk; try again"), "gone")])  # fmt: skip
def test_a_desk_that_refuses_ends_the_run_with_its_words(problem, why):
    async def go():
        one = made(stage=lambda: "done")
        one._fill = fails
        await one._feed()
        return one.why, one.words

    async def fails():
        raise problem

    assert asyncio.run(go()) == (why, str(problem))


def test_asking_again_ends_where_the_run_does():
    class Silent:
        asked = 0

        async def answer(self, question):
            self.asked += 1
            raise UnreachableError("gone")

    async def go(why=None, calls=0):
        one = Run(Quiet(), Silent(), None, Settings(max_calls=3), items=9)
        one.why, one.progress.calls = why, calls
        await one._again(call(1), ASKED)
        return one.asker.asked, len(one.ledger.begun), [each.again for each in one.ledger.begun]

    assert asyncio.run(go()) == (1, 1, ["r1-0"])
    assert asyncio.run(go("stable")) == (0, 0, [])
    assert asyncio.run(go(calls=2)) == (1, 1, ["r1-0"])
    assert asyncio.run(go(calls=3)) == (0, 0, [])


# ---- on a file ----------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "judge.db"), new=True) as store:
        yield store


def begun(store, texts=("a text", "b", "c", "d"), title="judge", **more):
    items = Items([Item(-1, f"item {k}", body=text) for k, text in enumerate(texts)])
    given = {"title": title, "question": "Which?", "instructions": "", "options": Options(), "seed": 1} | more
    return ledger.new_campaign(store, items, {"context": {0: "c0"}}, **given)


def test_a_campaign_is_found_by_its_title(store):
    one, two = begun(store), begun(store, title="other", instructions="Be fair.")
    assert ledger.found_campaign(store, "other").id == two.id
    assert ledger.found_campaign(store, "judge") == store.read(lambda reader: reader.campaign(one.id))
    assert ledger.found_campaign(store, "none") is None
    material = ledger.Material(store, two)
    assert (material.question, material.instructions, material.contexts) == ("Which?", "Be fair.", {0: "c0"})
    assert material.length(0) == 6
    asked = material.asked(Call("r", 1, 0, 0, 1, 0), "f")
    assert asked == Asked("r", "Which?", "a text", "b", "c0", None, "Be fair.", None, None, "f")


def test_pictures_are_shown_and_other_files_refused(store):
    material = ledger.Material(store, begun(store))
    picture = Media("ab", "image/png", b"\x00\x01")
    material.add([Item(7, "a picture", "image", None, "ab"), Item(8, "named", "text")], {"ab": picture})
    assert material.pictures == {7: "data:image/png;base64,AAE="}
    assert (material.texts[7], material.texts[8], material.labels[7]) == ("(a picture)", "named", "a picture")
    with pytest.raises(InputError, match="'song' is of kind audio; a model is shown texts and pictures only"):
        material.add([Item(9, "song", "audio", None, "cd")], {})


CHANGES = {
    "--one-order": ({"orders": "both"}, {"orders": "one"}, "without --one-order, now with it"),
    "two orders": ({"orders": "one"}, {"orders": "both"}, "with --one-order, now without it"),
    "--answer": (
        {"answer": "json", "prompt": "ab"},
        {"answer": "word", "prompt": "cd"},
        "with --answer 'json', now with 'word'",
    ),
    "--prompt": ({"prompt": "ab"}, {"prompt": "cd"}, "with the prompt (--prompt) of hash 'ab', now with 'cd'"),
    "--max-tokens": (
        {"parameters": {"max_tokens": 1}},
        {"parameters": {"max_tokens": 2}},
        "with --max-tokens 1, now with 2",
    ),
    "--extra-body": ({"parameters": {}}, {"parameters": {"top_p": 0.9}}, "without --extra-body top_p, now with 0.9"),
    "--header": ({"headers": ["X-Team"]}, {"headers": []}, "with --header 'X-Team', now without it"),
    "--command": ({"command": ["a", "b c"]}, {"command": ["a"]}, "with --command \"a 'b c'\", now with 'a'"),
    "a model": (
        {"model": "m", "command": ["a"]},
        {"model": "m", "answer": "json"},
        "with --command 'a', now without it",
    ),
    "words": ({"question": "Taller?"}, {"question": "Older?"}, "with the question 'Taller?', now with 'Older?'"),
    "own": ({"mood": (1, 2)}, {"mood": [1, 3]}, "with the mood [1, 2], now with [1, 3]"),
    "moved": ({"server": "a", "podium": "1"}, {"server": "b", "podium": "2"}, None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_setting_is_told_by_its_option(change):
    before, now, words = CHANGES[change]
    assert ledger.difference(before, now) == words


def test_a_judge_is_the_same_as_before_or_another(store):
    campaign = begun(store, instructions="Be fair.")
    first = ledger.joined(store, campaign, "m", {"model": "m"})
    assert (first.name, first.kind) == ("m", "model")
    again = ledger.joined(store, campaign, "m", {"model": "m"})
    assert again.id == first.id
    headers = store.read(lambda reader: [each for each in reader.events(campaign.id) if each.verb == "header"])
    assert len(headers) == 1
    kept = store.read(lambda reader: ledger.header_of(reader, campaign.id, first.id))
    assert (kept["question"], kept["instructions"], kept["model"]) == ("Which?", "Be fair.", "m")
    assert store.read(lambda reader: ledger.header_of(reader, campaign.id, 99)) is None
    with pytest.raises(InputError, match=r"'m' judged with --model 'm', now with 'x'; go on with the same"):
        ledger.joined(store, campaign, "m", {"model": "x"})
    store.write(campaign.id, lambda writer: setup.invite(writer, ["Ann"], store.now()) and None)
    with pytest.raises(InputError, match="'Ann' is a person in this campaign; give the model another name by --as"):
        ledger.joined(store, campaign, "Ann", {"model": "m"})


def test_one_model_at_a_time_and_none_beside_a_server(store):
    campaign = begun(store)
    with ledger.locked(store, campaign, "m"), pytest.raises(InputError, match=r"another model judges here \(process"):
        ledger.locked(store, campaign, "other")
    with store.serve(), pytest.raises(InputError, match=r"is served by process .*; judge through it by --server"):
        ledger.locked(store, campaign, "m")
    ledger.locked(store, campaign, "m").release()


def booked(store, campaign, header=None):
    judge = ledger.joined(store, campaign, "m", {"model": "m"})
    return ledger.Ledger(store, campaign, judge, header or {"model": "m", "parameters": {"b": 1, "a": 2}})


def test_the_stages_of_a_calibration_and_what_was_used(store):
    campaign = begun(store)
    book = booked(store, campaign)
    assert (book.stage(), book.draws_more(), book.deliver([1])) == ("new", False, [])
    assert json.loads(book.parameters) == {"a": 2, "b": 1}
    assert len(book.prompt_hash) == 16
    questions, calls = book.draw(3, 2, calibration=True)
    assert book.stage() == "drawn"
    assert (len(questions), len(calls), len(book.held()[0]), len(book.held()[1])) == (3, 6, 3, 6)
    for turned in (0, 1):
        mine = [each for each in calls if each.turned == turned]
        sides = [(each.left, each.right)[:: -1 if turned else 1] for each in questions]
        assert [(each.first, each.second) for each in mine] == sides
    assert {each.kind for each in questions} == {"check"}
    assert {each.prompt_hash for each in calls} == {book.prompt_hash}
    book.calibrated()
    assert book.stage() == "done"
    ended = dataclasses.replace(calls[0], done=5, tokens_in=3, tokens_out=4, cost=0.5, outcome=1.0)
    store.write(campaign.id, lambda writer: writer.end_calls([ended]))
    assert book.spent() == ledger.Spent(6, 5, 3, 4, 0.5, 0, 0, dearest=0.5)
    other = ledger.Ledger(store, campaign, ledger.joined(store, campaign, "n", {"model": "n"}), {})
    assert (other.stage(), other.spent(), other.held()) == ("new", ledger.Spent(), ([], []))


def test_what_is_drawn_are_known_pairs_then_wanted_ones_then_others(store):
    gold = (("item 0", "item 1", 1), ("item 2", "item 3", 0))
    campaign = begun(store, options=Options(gold=gold))
    questions, _ = booked(store, campaign).draw(9, 1, [(0, 1), (0, 2), (3, 1)], calibration=True, most=5)
    kinds = {(each.left, each.right): (each.kind, each.predicted) for each in questions}
    assert kinds[0, 1] == ("gold", 1.0)
    assert kinds[2, 3] == ("gold", 0.0)
    assert kinds[0, 2] == ("chosen", None)
    assert kinds[3, 1] == ("chosen", None)
    assert len(kinds) == 5
    assert sorted(kind for kind, _ in kinds.values()) == ["check", "chosen", "chosen", "gold", "gold"]
    assert {pair_of(*each) for each in kinds} < {pair_of(a, b) for a in range(4) for b in range(a)}


def test_known_pairs_alone_may_use_all_there_is(store):
    campaign = begun(store, options=Options(gold=(("item 0", "item 1", 1), ("item 2", "item 3", 0))))
    questions, calls = booked(store, campaign).draw(9, 2, [(0, 2)], calibration=True, most=1)
    assert ([(each.left, each.right) for each in questions], len(calls)) == ([(0, 1)], 2)


def test_pairs_of_the_queue_are_taken_while_campaign_and_judge_are_there(store):
    campaign = begun(store)
    book = booked(store, campaign)
    store.write(campaign.id, lambda writer: writer.add_questions([Question(0, 1), Question(2, 1)]))
    questions, calls = book.take(5, 2)
    assert [(each.left, each.right, each.state) for each in questions] == [(0, 1, "out"), (2, 1, "out")]
    assert len(calls) == 4
    store.write(campaign.id, lambda writer: writer.change_judge(book.judge.id, state="excluded"))
    with pytest.raises(RefusedError, match="the judge 'm' is excluded in this campaign"):
        book.take(1, 2)
    store.write(campaign.id, lambda writer: writer.change(state="paused") and None)
    with pytest.raises(RefusedError, match="the campaign is paused; open it first"):
        book.take(1, 2)


def test_a_model_is_not_asked_what_it_judged(store):
    """A queue that has only what the judge has seen gives repeats to people, and nothing to a model."""
    campaign = begun(store)
    book = booked(store, campaign)
    (first,), _ = book.draw(1, 1, [(0, 1)], most=1)
    store.write(campaign.id, lambda writer: writer.change_question(first, state="done", judge=None, until=None))
    again = Question(first.left, first.right, "repeat")
    store.write(campaign.id, lambda writer: writer.add_questions([again, Question(2, 3)]))
    questions, _ = book.take(5, 2)
    assert [(each.left, each.right) for each in questions] == [(2, 3)]


def test_every_item_is_drawn_about_equally_often_and_no_pair_twice():
    rng = np.random.default_rng(1)
    seen = {pair_of(0, 1), pair_of(2, 3)}
    found = ledger._balanced(range(8), seen, 12, rng)
    keys = [pair_of(*each) for each in found]
    assert len(set(keys)) == len(keys) == 12
    assert not seen & set(keys)
    times = np.bincount(np.ravel(found), minlength=8)
    assert times.max() - times.min() <= 1
    assert len(ledger._balanced(range(4), set(), 99, rng)) == 6  # there are no more
    assert ledger._balanced(range(4), set(), 0, rng) == []
    busy = [pair_of(0, 1), pair_of(0, 2), pair_of(1, 2)]  # three items that were asked already
    assert set(np.ravel(ledger._balanced(range(6), set(busy), 1, rng, busy)).tolist()) <= {3, 4, 5}
    met = [pair_of(0, 1)]  # both stood once before: after two pairs of the others item 1 is due as they are
    thirds = [ledger._balanced(range(5), set(met), 3, rng, met)[2] for _ in range(100)]
    assert any(1 in third for third in thirds)
    sides = [ledger._balanced([0, 1], set(), 1, rng)[0] for _ in range(200)]
    assert 60 < sum(side == (0, 1) for side in sides) < 140


def test_votes_of_two_judges_are_compared_whichever_side_stood_where(store, tmp_path):
    campaign = begun(store)
    store.write(campaign.id, lambda writer: setup.invite(writer, ["x", "y"], store.now()) and None)
    rows = [Vote(0, "1", 0, 1, 1.0), Vote(0, "2", 2, 1, 1.0), Vote(0, "3", 0, 1, 0.0), Vote(0, "4", 2, 3, 0.5),
            Vote(1, "5", 1, 0, 1.0), Vote(1, "6", 1, 2, 1.0), Vote(1, "7", 3, 2, 0.5)]  # fmt: skip
    store.write(campaign.id, lambda writer: writer.append_votes(rows))
    content = store.read(lambda reader: reader.content(campaign.id))
    found = against(content, 0, content, 1)
    assert (found.alike.value, found.alike.count) == (pytest.approx(2 / 3), 3)  # 0-1 and 2-3 alike; 1-2 not
    assert pairs_of(content, 1) == [("item 1", "item 0"), ("item 1", "item 2"), ("item 3", "item 2")]
    assert against(content, 0, content, 9) is None
    material = ledger.Material(store, campaign)
    assert pairs._wanted(material, [(content, 1)]) == [(1, 0), (1, 2), (3, 2)]
    material.labels.pop(3)
    assert pairs._wanted(material, [(content, 1), (content, 1)]) == [(1, 0), (1, 2)]
    path = str(tmp_path / "judge.db")
    assert pairs._found_judge(path, "y")[1] == 1
    with pytest.raises(InputError, match="has no judge 'z'; there are 'x', 'y'"):
        pairs._found_judge(path, "z")
    with pytest.raises(InputError, match=r"no such file: none\.db; check the path"):
        pairs._found_judge("none.db", "z")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"question": " "}, "question is ' '; give some words"),
        ({"question": 3}, "question is 3; give some words"),
        ({"name": " "}, "name is ' '; give some words"),
        ({"instructions": "\ud800"}, "instructions is .*; give some words"),
        ({"items": "ab"}, "items are a mapping of labels to texts, or a list of texts"),
        ({"items": ["a", 3]}, "items are a mapping of labels to texts, or a list of texts"),
        ({"items": ["a", "a"]}, "a text appears twice; give a mapping"),
        ({"items": {"a": "x", "b": "\ud800"}}, "item 'b' holds half a character"),
        ({"items": {"a": "x", 3: "y"}}, "item 3: labels and texts are strings"),
        ({"items": {"a": "x", "b": " "}}, "item 'b' has no label or no text"),
        ({"items": ["a"]}, r"campaign 'judge' has 1 item; an order needs at least two|at least two"),
    ],
)
def test_what_cannot_be_judged_is_said_first(given, words):
    def never(question):
        raise AssertionError

    with pytest.raises(InputError, match=words):
        judge_pairs(**({"items": ["a", "b"], "ask": never, "question": "Which?"} | given))


def test_going_on_with_other_items_or_another_question_is_refused(store, tmp_path):
    def longer(question):
        return float(len(question.left) > len(question.right))

    path = str(tmp_path / "own.db")
    given = {"items": {"x": "a", "y": "bb", "z": "ccc"}, "ask": longer, "question": "Longer?", "db": path, "seed": 1}
    done = judge_pairs(**given)
    assert (done.order, done.path, done.judge) == (("z", "y", "x"), path, "longer")
    assert judge_pairs(**given).tally.calls == done.tally.calls
    for change, words in (
        ({"items": {"x": "a", "y": "other", "z": "ccc"}}, "was begun with other items: 'y' is new or changed"),
        ({"items": {"x": "a", "y": "bb"}}, "was begun with other items: 'z' is gone; take another file"),
        ({"question": "Else?"}, r"was begun with another question \('Longer\?', now 'Else\?'\); take another file"),
        ({"instructions": "Be fair."}, r"was begun with another instructions \('', now 'Be fair\.'\)"),
    ):
        with pytest.raises(InputError, match=words):
            judge_pairs(**given | change)


def test_a_campaign_that_is_not_open_is_not_judged(store):
    campaign = begun(store)
    for state in ("paused", "closed"):
        with pytest.raises(InputError, match=f"the campaign 'judge' is {state}; `podium campaign open` opens it"):
            pairs.judged(store, dataclasses.replace(campaign, state=state), FunctionJudge(len), Settings())


# ---- a desk elsewhere ----------------------------------------------------------------------------------------------


class Far:
    """A server's desk with pairs of texts, which says what it is told to."""

    url = "http://far"

    def __init__(self, count=3, **said):
        texts = ["<p>tea</p>", "<p>milk</p>", "<p>juice</p>"]
        views = [{"kind": "text", "html": text, "media": None} for text in texts]
        shown = [(views[0], views[1]), (views[1], views[2]), (views[2], views[0])]
        self.questions = [{"id": 70 + k, "left": a, "right": b} for k, (a, b) in enumerate(shown)][:count]
        self.card = {"title": "Far", "question": "Which?", "instructions": "<p>Be fair.</p>", "ties": True}
        self.said, self.votes, self.asked, self.refuse = said, [], [], None

    def next(self, count=3):
        self.asked.append(count)
        answer = {"questions": self.questions[:count], "why": "done", "target": 5, "who": "Ann & Bob",
                  "campaign": self.card}  # fmt: skip
        return answer | self.said

    def vote(self, question, outcome, **more):
        if self.refuse is not None:
            raise self.refuse
        self.votes.append((question, outcome, more))
        return "kept"

    def media(self, path):
        return {"/page": b"<p>whole</p>", "/pixel": b"\x89PNG\r\n\x1a\n" + bytes(60)}[path]


def test_the_file_of_calls_is_named_by_the_judge():
    assert remote.file_of(Far()) == "Ann---Bob.podium.db"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"questions": [], "why": "paused"}, "http://far: the campaign is paused; go on when it is open; ask its org"),
        ({"questions": [], "why": "waiting"}, "for this judge are in others' hands; go on in a few minutes"),
        ({"questions": [], "why": "odd"}, "http://far: odd; ask its organiser"),
        ({"target": None}, "http://far sets no number of votes for this judge; give --budget"),
    ],
)
def test_a_desk_that_gives_nothing(said, words, tmp_path):
    with pytest.raises(InputError, match=words):
        remote.judge_remote(Far(**said), FunctionJudge(len), Settings(), db=str(tmp_path / "far.db"))


def test_the_mirror_of_a_campaign_elsewhere_is_the_same_when_going_on(store):
    desk = Far()
    made = remote._mirror(store, desk, desk.next(1))
    assert (made.title, made.question, made.instructions) == ("Far", "Which?", "Be fair.")
    labels = [item.label for item in store.read(lambda reader: reader.items(made.id))]
    assert labels == ["tea", "milk"]
    assert remote._mirror(store, desk, desk.next(1)).id == made.id
    for name, words in (("question", "question"), ("instructions", "instructions")):
        other = desk.next(1) | {"campaign": desk.card | {name: "<p>New</p>"}}
        with pytest.raises(InputError, match=f"was begun with another {words} .*; take another --db"):
            remote._mirror(store, desk, other)


def test_items_as_a_server_shows_them():
    shown = remote._Shown(Far())
    page = {"kind": "html", "html": "", "media": "/page"}
    pixel = {"kind": "image", "html": "", "media": "/pixel"}
    empty = {"kind": "text", "html": "", "media": None}
    text = {"kind": "text", "html": "<p>tea</p>", "media": None}
    found = shown.items([page, pixel, empty, text, text, pixel], [Item(0, "tea", body="other")])
    assert [item.body for item in found.items] == ["<p>whole</p>", None, "(empty)", "tea"]
    assert found.items[3].label == "tea (2)"  # the name is taken
    assert (found.items[1].kind, found.items[1].label[:6], len(found.items[1].label)) == ("image", "image ", 14)
    assert list(found.media) == [found.items[1].media]
    assert found.media[found.items[1].media].type == "image/png"
    assert shown.items([text], [Item(0, "x", body="tea")]).items == []
    assert shown.key(text) == ("text", "tea")
    assert shown.key(pixel) == ("media", found.items[1].media)


def test_a_long_text_is_named_by_its_beginning():
    assert remote._label("one\n  two", set()) == "one two"
    assert remote._label("x" * 40, set()) == "x" * 40
    assert remote._label("x" * 41, set()) == "x" * 39 + "…"
    assert remote._label("a", {"a", "a (2)"}) == "a (3)"


def test_pairs_come_from_a_desk_and_votes_go_there(store):
    desk = Far()
    campaign = remote._mirror(store, desk, desk.next(1))
    judge = ledger.joined(store, campaign, "m", {"model": "m"})
    material = ledger.Material(store, campaign)
    book = remote.RemoteLedger(store, campaign, judge, {}, desk, material, ties=True)
    assert book.take(0, 2) == ([], [])
    assert not book.draws_more()
    questions, calls = book.draw(9, 2, most=2)
    assert (len(questions), len(calls), book.drawn) == (2, 4, 2)
    assert book.draws_more()
    assert desk.asked[-1] == 2
    first = book.take(9, 1)
    assert (len(first[0]), desk.asked[-1]) == (1, 10)
    texts = [(material.texts[each.left], material.texts[each.right]) for each in [*questions, *first[0]]]
    assert texts == [("tea", "milk"), ("milk", "juice"), ("juice", "tea")]
    assert book.draw(9, 2) == ([], [])
    assert not book.draws_more()  # the server has no more
    ballots = [Ballot(f"judge-{each.id}", each.id, 0.5, "why", 7) for each in questions]
    assert book.deliver(ballots[:1]) == []
    assert desk.votes == [(70, 0.5, {"id": "judge-70", "ms": 7, "reason": "why"})]
    book.ties = False
    desk.refuse = RefusedError("answered", "there is a vote")
    assert book.deliver(ballots[1:]) == []
    desk.refuse = RefusedError("closed", "it is closed")
    last = [Ballot("x", first[0][0].id, 0.5)]
    assert book.deliver(last) == ["it is closed"]
    desk.refuse = None
    assert book.deliver(last) == []
    assert desk.votes[-1][:2] == (72, None)  # the campaign takes no ties
    events = store.read(lambda reader: reader.events(campaign.id))
    assert [each.data["pairs"] for each in events if each.verb == "delivered"] == [[70], [71], [72]]
    desk.said = {"questions": [], "why": "closed"}
    with pytest.raises(RefusedError, match="the campaign is closed"):
        book.take(1, 2)


def test_votes_that_did_not_reach_the_server_are_sent_when_somebody_goes_on(store):
    desk = Far()
    campaign = remote._mirror(store, desk, desk.next(1))
    judge = ledger.joined(store, campaign, "m", {"model": "m"})
    book = remote.RemoteLedger(store, campaign, judge, {}, desk, ledger.Material(store, campaign), ties=True)
    (one, two), calls = book.take(2, 1)
    ballots = [Ballot(f"judge-{one.id}", one.id, 1.0, "so", 5), Ballot(f"judge-{two.id}", two.id, 0.0)]
    assert store.write(campaign.id, lambda writer: book.end(writer, calls, ballots, store.now())) == []
    book.deliver(ballots[:1])
    desk.votes.clear()
    again = remote.RemoteLedger(store, campaign, judge, {}, desk, ledger.Material(store, campaign), ties=True)
    assert [(number, outcome) for number, outcome, _ in desk.votes] == [(71, 0.0)]
    assert (again._served, again._delivered) == ({one.id: 70, two.id: 71}, {70, 71})


# ---- what is asked next ---------------------------------------------------------------------------------------------


class Stock(Quiet):
    """A ledger with pairs to give, which notes what it is asked for."""

    def __init__(self, pairs, **more):
        super().__init__(**more)
        self.pairs, self.asked = list(pairs), []

    def take(self, count, orders):
        self.asked.append(("take", count, orders))
        given, self.pairs = self.pairs[:count], self.pairs[count:]
        return [question(k) for k in given], [call(k, turned) for k in given for turned in range(orders)]

    def draw(self, count, orders, wanted=(), **more):
        self.asked.append(("draw", count, orders, *more.values()))
        given, self.pairs = self.pairs[:count], self.pairs[count:]
        return [question(k) for k in given], [call(k, turned) for k in given for turned in range(orders)]


def filled(ledger, monkeypatch, items=60, settings=None, planned=True, before=None, **progress):
    """One step of filling, with a plan that is made at once."""
    plans = []

    def plan(store, campaign, now):
        plans.append(1)
        return

    monkeypatch.setattr(run, "plan_once", plan)
    ledger.store.now = lambda: 5

    async def go():
        one = Run(ledger, None, None, settings or Settings(), items=items)
        one.progress = Progress(**{"limit": 1000} | progress)
        one.plan = run.Plan(1, 0, 0) if planned else None
        if before is not None:
            before(one)
        await asyncio.wait_for(one._fill(), 10)
        return one

    return asyncio.run(go()), len(plans)


def test_few_pairs_are_out_where_items_are_few(monkeypatch):
    """Of 60 items ten pairs side by side; of 6 two; the calls at a time are 16, so of both orders eight pairs."""
    for items, asked in ((600, 8), (60, 8), (30, 5), (6, 2)):
        ledger = Stock(range(100))
        one, _ = filled(ledger, monkeypatch, items=items)
        assert ledger.asked == [("take", asked, 2)]
        assert len(one._todo) == 2 * asked
    ledger = Stock(range(100))
    filled(ledger, monkeypatch, items=30, before=lambda one: one._pairs.update({901: None, 902: None}))
    assert ledger.asked == [("take", 3, 2)]


def test_random_pairs_of_one_order_are_drawn_many_at_once(monkeypatch):
    ledger = Stock(range(1000))
    one, _ = filled(ledger, monkeypatch, settings=Settings(one_order=True))
    assert ledger.asked == [("draw", 256, 1)]
    assert len(one._todo) == 256
    ledger = Stock(range(1000))
    filled(ledger, monkeypatch, settings=Settings(one_order=True), limit=7)
    assert ledger.asked == [("draw", 7, 1)]


def test_what_stops_a_run_that_has_no_room(monkeypatch):
    for progress, settings, why in (
        ({"limit": 5, "pairs": 5}, Settings(budget=5), "budget"), ({"calls": 9}, Settings(max_calls=10), "max-calls"),
        ({"calls": 1, "cost": 3.0}, Settings(max_cost=3.0), "max-cost"),
    ):  # fmt: skip
        ledger = Stock(range(9))
        one, _ = filled(
            ledger, monkeypatch, settings=settings, before=lambda one: setattr(one, "_dearest", 3.0), **progress
        )
        assert (one.why, ledger.asked) == (why, [])


def test_where_nothing_is_left_the_run_is_finished_unless_votes_are_on_their_way(monkeypatch):
    one, _ = filled(Stock([]), monkeypatch)
    assert one.why == "finished"

    def busy(one):
        one._unwritten = 1
        asyncio.get_running_loop().call_later(0.01, one._notify)

    ledger = Stock([])
    one, _ = filled(ledger, monkeypatch, before=busy)  # it waits until something has changed
    assert (one.why, len(ledger.asked)) == (None, 1)


def test_a_new_plan_is_made_once_a_quarter_of_the_items_came(monkeypatch):
    for came, planned, plans in ((0, True, 0), (14, True, 0), (15, True, 1), (0, False, 1)):
        ledger = Stock(range(100))
        _, made_plans = filled(
            ledger, monkeypatch, planned=planned, before=lambda one, c=came: setattr(one, "_came", c)
        )
        assert made_plans == plans, (came, planned)
    empty = Stock([])
    one, made_plans = filled(empty, monkeypatch, settings=Settings(budget=50))
    assert (made_plans, empty.asked[-1]) == (0, ("draw", 8, 2))  # with a budget, pairs at random
    assert one.why == "finished"


def test_a_stable_order_ends_the_run_that_may_end_so(monkeypatch):
    stable = run.Plan(2, 5, 9, stable=True, until_stable=0, agreement=Estimate(0.75, 0.5, 0.9, 9))

    async def go(settings):
        ledger = Stock(range(9))
        ledger.store.now = lambda: 5
        one = Run(ledger, None, None, settings, items=9)
        one._came = 4
        monkeypatch.setattr(run, "plan_once", lambda *_: stable)
        return await one._plan(), one.why, one.progress.agreed, one._came, one.plan

    assert asyncio.run(go(Settings())) == (False, "stable", 0.75, 0, stable)
    assert asyncio.run(go(Settings(budget=9))) == (True, None, 0.75, 0, stable)


def test_a_calibration_is_a_quarter_of_the_pairs_and_ends_before_anything_else(monkeypatch):
    async def calibrated(items, **progress):
        ledger = Stock(range(100))
        one = Run(ledger, None, None, Settings(budget=30), items=items)
        one.progress = Progress(limit=30, **progress)
        stage = await one._calibrate()
        return stage, ledger.asked[0]

    assert asyncio.run(calibrated(5)) == ("drawn", ("draw", 2, 2, True, 30))
    assert asyncio.run(calibrated(100)) == ("drawn", ("draw", 40, 2, True, 30))
    assert asyncio.run(calibrated(2, pairs=29)) == ("drawn", ("draw", 1, 2, True, 1))

    async def ends(tally, more=False, pairs=None, **settings):
        ledger = Stock([], draws_more=lambda: more, calibrated=lambda: None)
        one = Run(ledger, None, None, Settings(**settings), items=9)
        one.progress = Progress(limit=30, calibrating=True)
        one._pairs = pairs or {}
        monkeypatch.setattr(run, "tally_of", lambda *_: tally)
        if pairs:
            asyncio.get_running_loop().call_later(0.01, one._notify)
        return await asyncio.wait_for(one._calibration_ends(), 10), one.why, one.progress.calibrating

    noise = Tally(pairs=3, position=Position(Estimate(0.5, 0.4, 0.6, 9), Estimate(0.1, 0.0, 0.2, 9), 1, 1, 1.0))
    assert asyncio.run(ends(Tally(pairs=3))) == ("done", None, False)
    assert asyncio.run(ends(Tally(pairs=3), pairs={1: None})) == ("drawn", None, True)
    assert asyncio.run(ends(Tally(pairs=3), more=True)) == ("new", None, True)
    assert asyncio.run(ends(Tally(skips=3))) == ("drawn", "unread", True)
    assert asyncio.run(ends(Tally(skips=3, pairs=1))) == ("done", None, False)
    assert asyncio.run(ends(Tally(skips=3), anyway=True)) == ("done", None, False)
    assert asyncio.run(ends(noise)) == ("drawn", "noise", True)
    assert asyncio.run(ends(noise, anyway=True)) == ("done", None, False)
