"""A model's server and the way to it, piece by piece: what is sent, waited for, read and said, without a network."""

import asyncio
import json
import types

import httpx
import pytest

from podium.errors import InputError
from podium.judge import HttpJudge, Verdict, wire
from podium.judge.http import UnreachableError
from podium.judge.limits import Crowd, Pace
from podium.judge.prompt import REMINDERS, Asked, Prompt
from podium.judge.wire import NO_ANSWER, TOO_LARGE, Rates, Reply, Wire, address_of

ASKED = Asked("7", "Which?", "good", "bad", fence="f00d")
GOOD = json.dumps({"reason": "so", "winner": "A"})


def chat(text, **more):
    return json.dumps({"choices": [{"message": {"content": text}}], **more}).encode()


class Sent:
    """In place of the wire: says what it is told to, one reply after the other, and notes what is posted."""

    def __init__(self, *replies):
        self.replies, self.bodies, self.amounts = list(replies), [], []
        self.headers, self.rates = {}, Rates(Pace(None), Pace(None), Crowd(1))

    async def post(self, body, tokens):
        self.bodies.append(json.loads(body))
        self.amounts.append(tokens)
        return self.replies.pop(0)

    def clean(self, text):
        return text.replace("hush", "[key]")


def model(*replies, **more):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    judge = HttpJudge("http://x/v1", "m", **{"clock": lambda: 0.0, "sleep": sleep, "seed": 1} | more)
    judge._wire = Sent(*replies)
    return judge, slept


def ask(judge, asked=ASKED):
    return asyncio.run(judge.answer(asked))


# ---- what a model is, and what is sent -------------------------------------------------------------------------------


def test_a_judge_says_all_of_itself_that_is_no_secret():
    judge = HttpJudge("http://x/v1/", "m", answer="word", temperature=0.5, max_tokens=9, extra_body={"top_p": 1},
                      headers={"X-B": "1", "A": "2"})  # fmt: skip
    assert judge.header() == {
        "model": "m", "server": "http://x/v1", "prompt": Prompt("word").hash, "answer": "word",
        "parameters": {"temperature": 0.5, "max_tokens": 9, "top_p": 1}, "headers": ["A", "X-B"],
    }  # fmt: skip
    own = HttpJudge("http://x/v1", "m", template="{{ left }} {{ right }}")
    assert own.header()["prompt"] == Prompt("json", "{{ left }} {{ right }}").hash


def test_what_holds_unless_said_otherwise():
    judge = HttpJudge("http://x/v1", "m")
    assert (judge.timeout, judge.concurrency, judge.prompt.form, judge.prompt.template) == (120.0, 16, "json", None)
    assert judge.header()["parameters"] == {"temperature": 0.0, "max_tokens": 1024}
    assert (judge._wire.timeout, judge._wire.base_url, judge._wire.headers) == (120.0, "http://x/v1", {})
    rates = judge._wire.rates
    assert (rates.requests.per_minute, rates.tokens.per_minute, rates.crowd.most) == (None, None, 16)
    assert judge.paid == {}
    other = HttpJudge("http://x/v1", "m", timeout=3.0, concurrency=5, rpm=70, tpm=80, headers={"A": 1})
    rates = other._wire.rates
    assert (rates.requests.per_minute, rates.tokens.per_minute, rates.crowd.most) == (70, 80, 5)
    assert (other._wire.timeout, dict(other._wire.headers)) == (3.0, {"A": "1"})
    logprobs = HttpJudge("http://x/v1", "m", answer="logprobs").header()["parameters"]
    assert logprobs == {"temperature": 0.0, "max_tokens": 1, "logprobs": True, "top_logprobs": 20}


def test_the_clock_and_the_sleep_of_a_judge_are_those_of_its_wire():
    def clock():
        return 5.0

    async def sleep(seconds):
        pass

    judge = HttpJudge("http://x/v1", "m", clock=clock, sleep=sleep)
    assert (judge._wire.clock, judge._wire.sleep) == (clock, sleep)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"temperature": 1e6 + 1}, "temperature is 1000001.0; give a number from -1e+06 to 1e+06"),
        ({"temperature": -1e6 - 1}, "temperature is -1000001.0; give"),
        ({"temperature": None}, "temperature is None"),
        ({"timeout": 0.0009}, "timeout is 0.0009; give a number from 0.001 to 86400"),
        ({"timeout": 86_400.5}, "timeout is 86400.5"),
        ({"max_tokens": 2**31}, "max_tokens is 2147483648; give a whole number from 1 to 2,147,483,647"),
        ({"rpm": 1e-7}, "rpm is 1e-07; give a number from 1e-06 to 1e+12"),
        ({"tpm": 1e13}, "tpm is 10000000000000.0; give a number from 1e-06 to 1e+12"),
    ],
)
def test_numbers_beyond_their_bounds_are_refused_with_the_bounds(given, words):
    with pytest.raises(InputError) as told:
        HttpJudge("http://x/v1", "m", **given)
    assert str(told.value).startswith(words)


def test_numbers_at_their_bounds_are_taken():
    for given in ({"temperature": 1e6}, {"timeout": 1e-3}, {"max_tokens": 2**31 - 1}, {"tpm": 1e-6}, {"rpm": 1e12}):
        assert HttpJudge("http://x/v1", "m", **given).model == "m"


@pytest.mark.parametrize(
    ("form", "asked"), [("json", ["json_schema", "json_object", None]), ("word", [None]), ("logprobs", [None])]
)
def test_the_form_of_an_answer_is_asked_for_the_strictest_way_first(form, asked):
    no = [Reply(400, b'{"error": "response_format: no"}') for _ in asked[1:]]
    text = "A"
    data = json.dumps({"choices": [{"message": {"content": text}, "logprobs": {"content": [{"top_logprobs": [
        {"token": "A", "logprob": 0.0}]}]}}]}).encode() if form == "logprobs" else chat(GOOD if form == "json" else text)  # fmt: skip  # noqa: E501
    judge, slept = model(*no, Reply(200, data), answer=form)
    said = ask(judge)
    assert [body.get("response_format", {}).get("type") for body in judge._wire.bodies] == asked
    assert (said.outcome, said.tries, slept) == (1.0, len(asked), [])


@pytest.mark.parametrize("words", ["response_format", "json_schema", "json_object", "structured output"])
@pytest.mark.parametrize("status", [400, 422])
def test_whatever_a_server_calls_the_form_the_next_is_tried(words, status):
    judge, _ = model(Reply(status, json.dumps({"error": f"no {words} here"}).encode()), Reply(200, chat(GOOD)))
    assert ask(judge).outcome == 1.0
    strict = judge._wire.bodies[0]["response_format"]["json_schema"]
    assert (strict["name"], strict["strict"]) == ("verdict", True)


def test_a_form_that_is_refused_by_another_status_or_in_other_words_is_not_tried_again():
    for status, words in ((413, "response_format"), (400, "too long")):
        judge, _ = model(Reply(status, words.encode()))
        assert ask(judge).problem == "rejected"
        assert judge._format == 0
    judge, _ = model(*[Reply(400, b"response_format")] * 3)
    said = ask(judge)
    assert (said.problem, said.raw, said.tries) == ("rejected", "400: response_format", 3)


def test_a_refusal_of_the_strict_form_that_comes_late_takes_nothing_back():
    """Two calls are out with the strict form; the second is refused when the first has already come to the last."""
    judge, _ = model(Reply(400, b"json_schema"), Reply(200, chat(GOOD)))
    post = judge._wire.post

    async def late(body, tokens):
        reply = await post(body, tokens)
        if reply.status == 400:
            judge._format = 2
        return reply

    judge._wire.post = late
    assert ask(judge).outcome == 1.0
    assert judge._format == 2
    assert "response_format" not in judge._wire.bodies[1]


def test_the_tokens_of_a_request_are_guessed_from_the_letters_of_all_messages():
    judge, _ = model(Reply(200, chat(GOOD)))
    ask(judge)
    letters = sum(len(each["content"]) for each in Prompt().messages(ASKED))
    assert judge._wire.amounts == [letters / 4]
    assert judge._wire.bodies[0]["messages"] == Prompt().messages(ASKED)
    assert {name: judge._wire.bodies[0][name] for name in ("model", "temperature", "max_tokens")} == {
        "model": "m", "temperature": 0.0, "max_tokens": 1024,
    }  # fmt: skip


# ---- what comes back ---------------------------------------------------------------------------------------------


def test_a_reminder_repeats_what_was_said_and_all_that_both_took_is_added_up():
    first = chat("I like A.", usage={"prompt_tokens": 30, "completion_tokens": 3})
    judge, _ = model(Reply(NO_ANSWER, b"lost"), Reply(200, first), Reply(NO_ANSWER, b"lost"), Reply(200, chat(GOOD)))
    said = ask(judge)
    messages = Prompt().messages(ASKED)
    reminder = [{"role": "assistant", "content": "I like A."}, {"role": "user", "content": REMINDERS["json"]}]
    assert [body["messages"] for body in judge._wire.bodies] == [*[messages] * 2, *[[*messages, *reminder]] * 2]
    letters = sum(len(each["content"]) for each in [*messages, *reminder])
    assert (said.outcome, said.tokens_in, said.tokens_out) == (1.0, 30 + letters // 4, 3 + len(GOOD) // 4)
    assert (said.tries, said.lost, said.counted) == (4, 2, True)
    assert judge.paid == {}


def test_an_answer_that_is_no_json_has_no_tokens_out():
    second = chat(GOOD, usage={"prompt_tokens": 40, "completion_tokens": 7})
    judge, _ = model(Reply(200, b"A!"), Reply(200, second))
    said = ask(judge)
    letters = sum(len(each["content"]) for each in Prompt().messages(ASKED))
    assert (said.tokens_in, said.tokens_out, said.counted) == (40 + letters // 4, 7, True)
    assert judge._wire.bodies[1]["messages"][2] == {"role": "assistant", "content": "A!"}


def test_an_answer_that_was_guessed_stays_so_when_the_second_is_counted():
    second = chat(GOOD, usage={"prompt_tokens": 1, "completion_tokens": 2})
    judge, _ = model(Reply(200, chat("")), Reply(200, second))
    said = ask(judge)
    assert (said.counted, said.outcome) == (True, 1.0)
    assert judge._wire.bodies[1]["messages"][2]["content"] == "(nothing)"


def test_other_problems_are_not_asked_for_again():
    for data, problem in (
        (json.dumps({"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]}).encode(), "length"),
        (json.dumps({"choices": [{"message": {"refusal": "no"}}]}).encode(), "refusal"),
    ):
        judge, _ = model(Reply(200, data))
        assert ask(judge).problem == problem


def test_what_was_paid_for_is_known_by_its_question_while_the_reminder_is_out():
    judge, _ = model(Reply(200, chat("hm")), Reply(401, b"no"))
    with pytest.raises(InputError, match="401 no"):
        ask(judge)
    assert {id: (each.problem, each.raw) for id, each in judge.paid.items()} == {"7": ("form", "hm")}


def test_a_reminder_that_is_never_answered_leaves_the_first_answer():
    judge, _ = model(Reply(200, chat("hm", usage={"prompt_tokens": 5, "completion_tokens": 6})),
                     *[Reply(NO_ANSWER, b"lost")] * 7)  # fmt: skip
    said = ask(judge)
    assert (said.problem, said.raw, said.tokens_in, said.tokens_out) == ("form", "hm", 5, 6)
    assert (said.tries, said.lost, said.counted) == (8, 7, False)
    assert judge.paid == {}


def test_what_is_no_json_is_a_skip_with_its_words_and_a_guess_of_its_tokens():
    judge, _ = model()
    said = judge._verdict(b"<hush>\xff" + b"x" * 3000, 401, 3)
    assert said == Verdict(None, problem="form", raw="<[key]>�" + "x" * 1993, tokens_in=100, counted=True, tries=3)
    deep = judge._verdict(b"[" * 100_000, 40, 1)
    assert (deep.problem, len(deep.raw)) == ("form", 2000)


def test_tokens_as_the_server_counts_them_or_else_by_letters():
    judge, _ = model()
    said = judge._verdict(chat(GOOD, usage={"prompt_tokens": 5, "completion_tokens": 6}), 400, 2)
    assert (said.tokens_in, said.tokens_out, said.counted, said.tries) == (5, 6, False, 2)
    for usage in ({"prompt_tokens": 5}, {"completion_tokens": 6}, {}):
        said = judge._verdict(chat(GOOD, usage=usage), 403, 1)
        assert (said.tokens_in, said.tokens_out, said.counted) == (100, len(GOOD) // 4, True)
    hidden = judge._verdict(chat("hush hush"), 4, 1)
    assert (hidden.raw, hidden.tokens_out) == ("[key] [key]", 2)  # nine letters came


def test_the_pace_of_tokens_learns_how_many_there_were():
    judge = HttpJudge("http://x/v1", "m", tpm=60.0)
    pace = judge._wire.rates.tokens
    assert pace.wait(0.0, 100.0) == 0.0
    judge._verdict(chat(GOOD, usage={"prompt_tokens": 120, "completion_tokens": 30}), 400, 1)
    assert pace.wait(0.0, 1.0) == pytest.approx(150.0)
    judge._verdict(chat(GOOD, usage={"prompt_tokens": 0, "completion_tokens": 0}), 400, 1)
    assert pace.wait(0.0, 1.0) == pytest.approx(51.0)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"error": {"message": "too  \\n busy", "code": 3}}', "too busy"), (b'{"error": "plain"}', "plain"),
        (b'{"error": {"detail": "so"}}', "so"), (b'{"error": {"code": 3}}', "{'code': 3}"),
        (b'{"error": {"message": "", "detail": "so"}}', "so"), (b'{"message": "above"}', "above"),
        (b'{"detail": ["a", 1]}', "['a', 1]"), (b'["listed"]', "['listed']"), (b"3", "3"), (b"", ""),
        (b"no\n  json", "no json"), (b"\xff", "�"), (b"a hush b", "a [key] b"), (b'{"error": "hush"}', "[key]"),
        (b"x" * 400, "x" * 300), (json.dumps({"error": "y" * 400}).encode(), "y" * 300),
        (b" " * 19_999 + b"xy", "x"),
        (b"[" * 19_000, "[" * 300),
    ],
)  # fmt: skip
def test_the_words_of_a_server_are_one_short_line_without_secrets(data, words):
    assert model()[0]._said(data) == words


# ---- what will not be otherwise ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "now"),
    [
        (401, "set PODIUM_API_KEY to a key that it takes"), (402, "look at the account's credit"),
        (403, "look whether the key may use this model"), (404, "check --base-url and --model"),
        (405, "check --base-url"),
    ],
)  # fmt: skip
def test_what_ends_a_run_says_what_to_do(status, now):
    judge, _ = model(Reply(status, b"no"))
    with pytest.raises(InputError) as told:
        ask(judge)
    assert str(told.value) == f"http://x/v1, model 'm': the server says {status} no; {now}"
    with pytest.raises(InputError) as silent:
        judge._rejected(status, "", 1)
    assert f"the server says {status}; {now}" in str(silent.value)


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("words", ["was not found", "does not exist", "is unknown", "may not exist"])
def test_a_model_that_is_not_there_ends_the_run(status, words):
    judge, _ = model()
    with pytest.raises(InputError, match=f"the server says {status} The Model {words}; check --model"):
        judge._rejected(status, f"The Model {words}", 1)
    for said in ("invalid model id", "m is not a valid model"):
        with pytest.raises(InputError, match="check --model"):
            judge._rejected(status, said, 1)
    assert judge._rejected(status, f"the picture {words}", 1).problem == "rejected"  # of this pair, not of the model
    assert judge._rejected(status, "the model is busy", 1).problem == "rejected"
    assert judge._rejected(413, f"The model {words}", 1).problem == "rejected"


def test_a_pair_that_is_rejected_keeps_the_words_and_the_tries():
    judge, _ = model()
    assert judge._rejected(413, "too long", 3) == Verdict(None, problem="rejected", raw="413: too long", tries=3)
    assert judge._rejected(TOO_LARGE, "4 MB", 2) == Verdict(None, problem="too-long", raw="1: 4 MB", tries=2)
    assert len(judge._rejected(413, "x" * 3000, 1).raw) == 2000
    lost, _ = model(Reply(NO_ANSWER, b""), Reply(413, b"no"))
    assert (ask(lost).tries, ask(model(Reply(NO_ANSWER, b""), Reply(413, b"no"))[0]).lost) == (2, 1)


def test_a_server_that_asks_for_a_wait_gets_it_and_each_try_counts():
    judge, slept = model(Reply(503, b"busy", 7.0), Reply(NO_ANSWER, b"lost", 0.0), Reply(200, chat(GOOD)))
    said = ask(judge)
    assert (slept, said.tries, said.lost) == ([7.0, 0.0], 3, 1)


def test_what_was_never_answered_is_told_with_its_numbers():
    judge, slept = model(*[Reply(NO_ANSWER, b"lost", 1.0), Reply(503, b"busy", 2.0)] * 4)
    with pytest.raises(UnreachableError) as told:
        ask(judge)
    assert (told.value.words, told.value.tries, told.value.lost) == ("http://x/v1 does not answer (lost)", 7, 4)
    assert str(told.value) == "http://x/v1 does not answer (lost); try again later"
    assert slept == [1.0, 2.0] * 3
    assert (UnreachableError("w").tries, UnreachableError("w").lost) == (0, 0)


def test_ten_minutes_are_counted_from_the_first_request_also_of_a_reminder():
    now = [0.0]

    async def sleep(seconds):
        now[0] += seconds

    replies = [Reply(503, b"", 400.0), Reply(200, chat("hm")), Reply(503, b"", 200.0), Reply(503, b"", 1.0)]
    judge, _ = model(*replies, clock=lambda: now[0], sleep=sleep)
    said = ask(judge)
    assert (said.problem, said.tries, now[0]) == ("form", 4, 600.0)


# ---- the way -----------------------------------------------------------------------------------------------------


class Client:
    """In place of a connection: answers (status, headers, parts), one after the other."""

    def __init__(self, *answers):
        self.answers, self.asked, self.closed = list(answers), [], False

    def stream(self, method, url, content):
        self.asked.append((method, str(url), content))
        return self

    async def __aenter__(self):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, headers, parts = answer

        async def each():
            for part in parts:
                yield part

        return types.SimpleNamespace(status_code=status, headers=headers, aiter_bytes=each)

    async def __aexit__(self, *_):
        return False

    async def aclose(self):
        self.closed = True


def way(*answers, clock=lambda: 0.0, **rates):
    given = {"requests": Pace(None), "tokens": Pace(None), "crowd": Crowd(4)} | rates
    one = Wire("http://x/v1", {}, timeout=1.0, rates=Rates(**given), clock=clock)
    one._free, one._url = [Client(*answers)], "http://x/v1/chat/completions"
    return one


def post(one, tokens=1.0):
    return asyncio.run(one.post(b"body", tokens))


def test_an_answer_is_put_together_and_its_connection_kept():
    one = way((200, {"retry-after": "9"}, [b"a", b"", b"bc"]))
    (client,) = one._free
    assert post(one) == Reply(200, b"abc", 9.0)
    assert client.asked == [("POST", "http://x/v1/chat/completions", b"body")]
    assert (one._free, one.rates.out) == ([client], 0)
    assert post(way((200, {}, [b"x"]))) == Reply(200, b"x", None)


def test_an_answer_may_be_as_large_as_the_limit(monkeypatch):
    monkeypatch.setattr(wire, "MAX_BODY", 10)
    assert post(way((200, {}, [b"x" * 6, b"y" * 4]))).data == b"xxxxxxyyyy"
    assert post(way((200, {"retry-after": "3"}, [b"x" * 6, b"y" * 5]))) == Reply(
        TOO_LARGE, b"an answer of more than 4 MB", None
    )


def test_four_million_bytes_are_read_and_one_more_is_too_large():
    whole = [b"x" * 2_000_000] * 2
    assert len(post(way((200, {}, whole))).data) == 4_000_000
    assert post(way((200, {}, [*whole, b"y"]))).status == TOO_LARGE


def test_a_lost_connection_is_no_answer_with_its_words():
    one = way(httpx.ConnectError("refused"), httpx.ReadTimeout(""), httpx.DecodingError("gzip?"))
    assert [post(one) for _ in range(3)] == [
        Reply(NO_ANSWER, b"ConnectError refused"), Reply(NO_ANSWER, b"ReadTimeout"),
        Reply(NO_ANSWER, b"DecodingError gzip?"),
    ]  # fmt: skip
    assert (one.rates.out, len(one._free)) == (0, 1)


def test_an_address_that_is_none_ends_the_run():
    words = r"^http://x/v1 sends to an address that is none \(port\?\); look at what runs there$"
    with pytest.raises(InputError, match=words):
        post(way(httpx.InvalidURL("port?")))


def test_too_much_halves_the_crowd_by_when_it_was_sent():
    now = [100.0]
    one = way((429, {}, []), (429, {}, []), (503, {}, []), (429, {}, []), clock=lambda: now[0])
    post(one)
    assert one.rates.crowd.limit(100.0) == 2
    post(one)
    assert one.rates.crowd.limit(100.0) == 1
    crowd = Crowd(8)
    late = way((429, {}, []), clock=lambda: now[0], crowd=crowd)
    crowd.too_much(now=150.0, sent=120.0)  # while the call of 100 was out
    post(late)
    assert crowd.limit(150.0) == 4
    assert post(way((503, {}, []), crowd=crowd)).status == 503
    assert crowd.limit(150.0) == 4


def test_five_addresses_are_tried_and_no_more():
    moved = [(307, {"location": f"/{k}"}, []) for k in range(9)]
    one = way(*moved)
    with pytest.raises(InputError, match="http://x/v1 sends from one address to the next; give the last one as --base"):
        post(one)
    assert [url for _, url, _ in one._free[0].asked] == [
        "http://x/v1/chat/completions", *(f"http://x/{k}" for k in range(4))
    ]  # fmt: skip
    assert post(way(*moved[:4], (200, {}, [b"there"]))).data == b"there"


@pytest.mark.parametrize(
    ("to", "where"),
    [("https://x/v1", "https://x"), ("http://y/v1", "http://y"), ("http://x:81/v1", "http://x:81"),
     ("//y/v1", "http://y"), (None, "http://x"), ("", "http://x"), ("http://[", "nowhere"), ("mailto:a", "nowhere")],
)  # fmt: skip
def test_another_host_is_named_and_never_asked(to, where):
    with pytest.raises(InputError) as told:
        way()._redirected("http://x/v1/chat/completions", to, 308)
    assert str(told.value) == (
        f"http://x/v1: the server says 308, go to {where}; give that address as --base-url if you trust it"
    )


def test_the_same_host_is_followed():
    redirected = way()._redirected
    for to, new in (("/v2", "http://x/v2"), ("http://x/v3?a", "http://x/v3?a"), ("done", "http://x/v1/chat/done")):
        assert redirected("http://x/v1/chat/completions", to, 307) == new


def test_a_turn_is_waited_for_by_requests_and_by_tokens_whichever_is_later():
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    one = way(requests=Pace(60.0), tokens=Pace(600.0))
    one.sleep = sleep

    async def go():
        for tokens in (5.0, 30.0, 1.0):
            await one._turn(tokens)
            one.rates.out -= 1

    asyncio.run(go())
    assert slept == pytest.approx([1.0, 3.5])  # by hand: requests at 0, 1, 2; tokens at 0, 0.5, 3.5


def test_connections_are_opened_as_the_address_and_the_headers_say(monkeypatch):
    made, contexts = [], []
    monkeypatch.setattr(httpx, "AsyncClient", lambda **given: made.append(given) or Client())
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: contexts.append(1) or "tls")
    monkeypatch.setenv("PODIUM_API_KEY", "first-key")
    monkeypatch.setenv("OPENAI_API_KEY", "second-key")
    plain = Wire("http://x/v1", {"X-A": "b"}, timeout=3.0, rates=None)
    opened = [plain._new_client(), plain._new_client()]
    assert [given["verify"] for given in made] == [False, False]
    assert (made[0]["timeout"], made[0]["follow_redirects"]) == (3.0, False)
    assert dict(made[0]["headers"]) == {
        "Content-Type": "application/json", "X-A": "b", "Authorization": "Bearer first-key",
    }  # fmt: skip
    assert str(plain._url) == "http://x/v1/chat/completions"
    limits = made[0]["limits"]
    assert (limits.max_connections, limits.max_keepalive_connections) == (1, 1)
    plain._free = [opened[0]]
    asyncio.run(plain.close())
    assert [each.closed for each in opened] == [True, True]
    assert (plain._free, plain._opened) == ([], [])
    secure = Wire("https://x/v1", {}, timeout=3.0, rates=None)
    secure._new_client()
    secure._new_client()
    assert ([given["verify"] for given in made[2:]], contexts) == (["tls", "tls"], [1])


@pytest.mark.parametrize(
    ("first", "second", "key"),
    [("one-key", "two-key", "one-key"), ("", "two-key", "two-key"), (None, "two-key", "two-key"), (None, None, None)],
)
def test_the_key_is_the_first_that_the_environment_has(monkeypatch, first, second, key):
    for name, value in (("PODIUM_API_KEY", first), ("OPENAI_API_KEY", second)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    one = Wire("http://x/v1", {"Content-Type": "own"}, timeout=1.0, rates=None)
    headers = one._with_key()
    assert headers.get("Authorization") == (None if key is None else f"Bearer {key}")
    assert headers["Content-Type"] == "own"
    assert one.clean("one-key two-key") == ("one-key two-key" if key is None else
                                            "one-key two-key".replace(key, "[key]"))  # fmt: skip


def test_values_of_headers_are_secrets_from_eight_letters_on(monkeypatch):
    monkeypatch.setenv("PODIUM_API_KEY", "tiny")  # a key is one however short
    one = Wire("http://x/v1", {"A": "1234567", "B": "abcdefgh"}, timeout=1.0, rates=None)
    assert one.clean("abcdefgh") == "abcdefgh"  # nothing was sent yet
    one._with_key()
    assert one.clean("1234567 abcdefgh tiny, abcdefgh") == "1234567 [key] [key], [key]"
    assert repr(one._secrets) == "<2 hidden>"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("http://x", "http://x"), (" https://x/v1// ", "https://x/v1"), ("http://x:80/a/chat/completions//", "http://x:80/a"),
        ("http://x/chat/completions/v1", "http://x/chat/completions/v1"), ("http://x//chat/completions", "http://x"),
    ],
)  # fmt: skip
def test_an_address_without_what_we_add(given, kept):
    assert address_of(given) == kept


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("http://x:port/v1", r"--base-url 'http://x:port/v1' is no address \(Port could not .*\); give one as http://loc"),
        ("file:///x", "--base-url 'file:///x' is no address; give one that begins with http:// or https://"),
        ("http:///v1", "--base-url 'http:///v1' is no address; give one that begins"),
        ("http://me@x/v1", "--base-url holds a name or a password; take it out, and set PODIUM_API_KEY"),
        ("http://:pw@x/v1", "--base-url holds a name or a password"),
        ("http://x/v1?k=secret", "--base-url 'http://x/v1' holds more than an address; give one as http://localhost:80"),
        ("http://x/v1#secret", "--base-url 'http://x/v1' holds more than an address"),
        ("http://x/v 1", "--base-url 'http://x/v 1' holds more than an address"),
        ("http://x/v\x001", "holds more than an address"),
    ],
)  # fmt: skip
def test_what_is_no_address_or_more_than_one_is_refused_in_its_own_words(given, words):
    with pytest.raises(InputError, match=f"^{words}" if words.startswith("--") else words):
        address_of(given)
