"""A model behind a real server that misbehaves on request."""

import asyncio
import email.utils
import json
import time

import pytest

from judge.server import Model, Server, completion, verdict
from podium.errors import InputError
from podium.judge import HttpJudge
from podium.judge.http import UnreachableError
from podium.judge.prompt import Asked
from podium.judge.wire import MAX_BODY

ASKED = Asked("1", "Which?", "good", "bad", fence="f00d")
MODEL = Model({"good": 9.0, "bad": 0.0}, sure=True)
KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("PODIUM_API_KEY", KEY)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


class Clock:
    """Time that passes only while we sleep."""

    def __init__(self):
        self.now, self.slept = 0.0, []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def ask(server, asked=ASKED, clock=None, **options):
    clock = clock or Clock()

    async def run():
        judge = HttpJudge(server.url, "tiny", clock=clock, sleep=clock.sleep, seed=1, **options)
        try:
            return await judge.answer(asked)
        finally:
            await judge.close()

    return asyncio.run(run())


def once(first):
    """Misbehave at the first request only."""
    return lambda body, number: first if number == 1 else None


def test_a_verdict_comes_back_with_model_and_tokens():
    with Server(MODEL) as server:
        said = ask(server)
    assert (said.outcome, said.reason, said.model) == (1.0, "it is better", "tiny-1")
    assert (said.tokens_in, said.tokens_out, said.counted, said.tries) == (100, 10, False, 1)
    sent = server.requests[0]
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("tiny", 0.0, 1024)
    assert sent["response_format"]["json_schema"]["schema"]["properties"]["winner"]["enum"] == ["A", "B", "tie"]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_what_passes_is_tried_again(status):
    clock = Clock()
    with Server(MODEL, once((status, {}, {"error": {"message": "busy"}}))) as server:
        said = ask(server, clock=clock)
    assert (said.outcome, said.tries, len(server.requests)) == (1.0, 2, 2)
    assert all(0 <= each <= 1 for each in clock.slept)


@pytest.mark.parametrize("first", ["drop", "half", (200, {}, "half")])
def test_a_lost_connection_is_tried_again(first):
    with Server(MODEL, once(first)) as server:
        assert ask(server).outcome == 1.0


def test_a_slow_answer_is_a_timeout_and_tried_again():
    with Server(MODEL, once("hang")) as server:
        assert ask(server, timeout=0.3).tries == 2


def test_both_forms_of_retry_after_are_honoured():
    clock = Clock()
    with Server(MODEL, once((429, {"Retry-After": "7"}, {}))) as server:
        ask(server, clock=clock)
    assert clock.slept == [7.0]
    clock, date = Clock(), email.utils.formatdate(time.time() + 30, usegmt=True)
    with Server(MODEL, once((503, {"Retry-After": date}, {}))) as server:
        ask(server, clock=clock)
    assert len(clock.slept) == 1
    assert 20 < clock.slept[0] <= 30


def test_it_gives_up_after_six_more_tries_or_ten_minutes():
    with Server(MODEL, lambda body, number: (500, {}, {"error": "down"})) as server:
        with pytest.raises(UnreachableError, match="says 500 down; try again later"):
            ask(server)
        assert len(server.requests) == 7
    with Server(MODEL, lambda body, number: (429, {"Retry-After": "400"}, {})) as server:
        with pytest.raises(UnreachableError):
            ask(server)
        assert len(server.requests) == 2


def test_nobody_there_is_unreachable_with_the_address():
    with Server(MODEL) as server:
        pass
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1"):
        ask(server)


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, {"error": {"message": f"bad key {KEY}"}}, r"tiny.*401 bad key \[key\]; set PODIUM_API_KEY"),
        (403, {"detail": "no"}, "403 .*no.*; look whether the key may use this model"),
        (404, {"error": {"message": "no such model"}}, "404 no such model; check --base-url and --model"),
        (
            400,
            {"error": {"message": "The model `tiny` does not exist"}},
            "400 The model `tiny` does not exist; check --model",
        ),
    ],
)
def test_what_will_never_pass_stops_at_the_first(status, error, words):
    with Server(MODEL, lambda body, number: (status, {}, error)) as server:
        with pytest.raises(InputError, match=words) as problem:
            ask(server)
        assert len(server.requests) == 1
    assert KEY not in str(problem.value)


def test_a_pair_that_is_refused_is_a_skip_with_the_servers_words():
    too_long = {"error": {"message": "maximum context length is 4096 tokens"}}
    with Server(MODEL, lambda body, number: (400, {}, too_long)) as server:
        said = ask(server)
    assert (said.outcome, said.problem, said.raw) == (None, "rejected", "400: maximum context length is 4096 tokens")


def test_a_server_without_schemas_gets_a_simpler_form_which_is_kept():
    def act(body, number):
        form = body.get("response_format", {}).get("type")
        return None if form is None else (400, {}, {"error": {"message": f"response_format {form} is not supported"}})

    clock = Clock()
    with Server(MODEL, act) as server:

        async def run():
            judge = HttpJudge(server.url, "tiny", clock=clock, sleep=clock.sleep)
            said = [await judge.answer(ASKED) for _ in range(3)]
            await judge.close()
            return said

        assert [each.outcome for each in asyncio.run(run())] == [1.0] * 3
    forms = [body.get("response_format", {}).get("type") for body in server.requests]
    assert forms == ["json_schema", "json_object", None, None, None]


@pytest.mark.parametrize(
    ("text", "outcome"), [(f"```json\n{verdict('B')}\n```", 0.0), (f"<think>A?</think>{verdict('tie')}", 0.5)]
)
def test_fences_and_thoughts_are_taken_off(text, outcome):
    with Server(MODEL, once(completion(text))) as server:
        said = ask(server)
    assert (said.outcome, len(server.requests)) == (outcome, 1)


def test_another_form_is_asked_for_once_more_with_a_reminder():
    with Server(MODEL, once(completion("I like A."))) as server:
        said = ask(server)
    assert (said.outcome, said.tries, said.tokens_in) == (1.0, 2, 200)
    assert [each["role"] for each in server.requests[1]["messages"]] == ["system", "user", "assistant", "user"]
    with Server(MODEL, lambda body, number: completion("I like A.")) as server:
        said = ask(server)
    assert (said.outcome, said.problem, said.raw, len(server.requests)) == (None, "form", "I like A.", 2)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (completion("", finish="stop"), "empty"),
        (completion('{"reason": "so', finish="length"), "length"),
        (completion(None, refusal="I cannot help"), "refusal"),
        ((200, {}, b"proxy"), "form"),
        ((200, {}, b"\xff\xfe not text"), "form"),
        ([1, 2], "empty"),
    ],
)
def test_what_is_no_verdict_is_a_skip_that_says_why(body, problem):
    with Server(MODEL, lambda _, number: body) as server:
        said = ask(server)
    assert (said.outcome, said.problem) == (None, problem)


@pytest.mark.parametrize("page", [b"<html>hello</html>", b"\n<!DOCTYPE html>\n<title>Sign in</title>"])
def test_a_wrong_address_that_shows_a_web_page_is_told_at_once(page):
    with Server(MODEL, lambda body, number: (200, {"Content-Type": "text/html"}, page)) as server:
        with pytest.raises(
            InputError, match=r"answers with a web page, not a chat completion; check --base-url .* /v1"
        ):
            ask(server)
        assert len(server.requests) == 1


def test_a_page_of_a_server_that_has_answered_before_is_tried_again():
    """As while it is repaired: the run goes on."""
    page = (200, {}, b"<html>We are back soon</html>")
    with Server(MODEL, lambda body, number: page if number == 2 else None) as server:
        clock = Clock()

        async def run():
            judge = HttpJudge(server.url, "tiny", clock=clock, sleep=clock.sleep, seed=1)
            try:
                return [await judge.answer(ASKED) for _ in range(2)]
            finally:
                await judge.close()

        said = asyncio.run(run())
    assert [(each.outcome, each.tries) for each in said] == [(1.0, 1), (1.0, 2)]


def test_a_server_that_does_not_count_is_counted_by_length():
    with Server(MODEL, lambda body, number: completion(verdict("A"), usage=None, model="other")) as server:
        said = ask(server)
    assert said.counted
    assert said.model == "other"
    length = sum(len(each["content"]) for each in server.requests[0]["messages"])
    assert said.tokens_in == length // 4


def test_an_endless_answer_is_cut():
    with Server(MODEL, lambda body, number: (200, {}, b"x" * 10_000_000)) as server:
        said = ask(server)
    assert (said.outcome, said.problem) == (None, "too-long")
    bomb = json.dumps(completion("y" * (3 * MAX_BODY))).encode()
    with Server(MODEL, lambda body, number: (200, {"Content-Encoding": "gzip"}, bomb)) as server:
        assert ask(server).problem == "too-long"


@pytest.mark.parametrize("headers", [{"Content-Encoding": "gzip"}, {"Transfer-Encoding": "chunked"}])
def test_packed_and_chunked_answers_are_read(headers):
    with Server(MODEL, lambda body, number: (200, headers, completion(verdict("A")))) as server:
        assert ask(server).outcome == 1.0


def test_a_key_never_goes_to_another_host():
    with (
        Server(MODEL) as other,
        Server(MODEL, lambda b, n: (307, {"Location": f"{other.url}/chat/completions"}, {})) as server,
    ):
        with pytest.raises(
            InputError, match=f"307, go to http://127.0.0.1:{other.port}; give that address as --base-url"
        ):
            ask(server)
        assert not other.requests
    with Server(MODEL, once((307, {"Location": "/v2/chat/completions"}, {}))) as server:
        assert ask(server).outcome == 1.0
        assert [each["path"] for each in server.headers] == ["/v1/chat/completions", "/v2/chat/completions"]
    circle = (307, {"Location": "/v1/chat/completions"}, {})
    with Server(MODEL, lambda b, n: circle) as server, pytest.raises(InputError, match="from one address to the next"):
        ask(server)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_every_way_to_say_that_an_address_has_moved_is_followed(status):
    with Server(MODEL, once((status, {"Location": "/v2/chat/completions"}, {}))) as server:
        assert ask(server).outcome == 1.0
        assert [each["path"] for each in server.headers] == ["/v1/chat/completions", "/v2/chat/completions"]


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_later_is_asked_again(status):
    clock = Clock()
    with Server(MODEL, once((status, {}, {"error": "later"}))) as server:
        assert ask(server, clock=clock).outcome == 1.0
        assert len(server.requests) == 2
    assert len(clock.slept) == 1


@pytest.mark.parametrize("status", [401, 402, 403, 404, 405])
def test_what_will_not_pass_for_any_pair_ends_the_run(status):
    with Server(MODEL, lambda body, number: (status, {}, {"error": "no"})) as server:
        with pytest.raises(InputError, match=f"{status} no"):
            ask(server)
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", [304, 400, 406, 410, 413, 422, 501])
def test_what_a_server_says_of_one_pair_alone_is_a_skip(status):
    with Server(MODEL, lambda body, number: (status, {}, {"error": "too long"})) as server:
        said = ask(server)
        assert len(server.requests) == 1
    assert (said.outcome, said.problem) == (None, "rejected")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"concurrency": 0}, "concurrency"), ({"concurrency": 1001}, "concurrency"), ({"max_tokens": 0}, "max_tokens"),
        ({"concurrency": 2.0}, "concurrency"), ({"timeout": 0}, "timeout"), ({"timeout": 86_401}, "timeout"),
        ({"temperature": 2e6}, "temperature"), ({"rpm": 0}, "rpm"), ({"tpm": -1}, "tpm"), ({"rpm": "many"}, "rpm"),
        ({"answer": "yes"}, "answer is 'yes'"), ({"template": 3}, "template is 3"),
        ({"extra_body": {"model": "x"}}, "extra_body sets 'model'"), ({"extra_body": {"n": 2}}, "extra_body sets 'n'"),
        ({"extra_body": {"x": {1}}}, "extra_body or headers"), ({"headers": 3}, "extra_body or headers"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_are_refused_by_name(options, name):
    with pytest.raises(InputError, match=name):
        HttpJudge("http://127.0.0.1:9/v1", "tiny", **options)


def test_options_at_their_ends_are_taken():
    judge = HttpJudge(
        "http://127.0.0.1:9/v1", "tiny", concurrency=1000, max_tokens=1, timeout=86_400, temperature=-1e6, rpm=1e-6
    )
    assert judge.concurrency == 1000
    assert HttpJudge("http://127.0.0.1:9/v1", "tiny", concurrency=1).concurrency == 1


def test_logprobs_ask_for_one_token():
    offered = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.4}]
    body = completion("A")
    body["choices"][0]["logprobs"] = {"content": [{"token": "A", "top_logprobs": offered}]}
    with Server(MODEL, lambda _, number: body) as server:
        said = ask(server, answer="logprobs")
    assert said.outcome == 1.0
    assert said.p == pytest.approx(0.909, abs=1e-3)
    assert (server.requests[0]["max_tokens"], server.requests[0]["logprobs"]) == (1, True)
    assert "response_format" not in server.requests[0]


def test_extra_fields_and_headers_go_along_and_secrets_stay_out_of_the_header_of_the_judge():
    with Server(MODEL) as server:
        ask(server, extra_body={"top_p": 0.5}, headers={"X-Team": "hush-hush"})
        judge = HttpJudge(server.url, "tiny", extra_body={"top_p": 0.5}, headers={"X-Team": "hush-hush"})
    assert server.requests[0]["top_p"] == 0.5
    assert server.headers[0]["x-team"] == "hush-hush"
    assert judge.header()["parameters"]["top_p"] == 0.5
    assert "hush-hush" not in json.dumps(judge.header()) + repr(judge)
    assert KEY not in json.dumps(judge.header()) + repr(judge) + repr(vars(judge))


def test_a_short_header_value_is_not_taken_out_of_texts():
    with Server(MODEL, lambda body, number: completion("1 of 11 texts")) as server:
        said = ask(server, headers={"X-Try": "1"})
    assert said.raw == "1 of 11 texts"


def test_requests_keep_the_rate_under_a_fake_clock():
    clock = Clock()
    with Server(MODEL) as server:

        async def run():
            judge = HttpJudge(server.url, "tiny", rpm=120, clock=clock, sleep=clock.sleep)
            for _ in range(41):
                await judge.answer(ASKED)
            await judge.close()

        asyncio.run(run())
    assert clock.now == pytest.approx(20.0, rel=0.05)


def test_a_busy_server_gets_fewer_at_a_time():
    def act(body, number):
        return (429, {"Retry-After": "0.05"}, {}) if number <= 8 else None

    with Server(MODEL, act, delay=0.05) as server:

        async def run():
            judge = HttpJudge(server.url, "tiny", concurrency=8)
            await asyncio.gather(*(judge.answer(ASKED) for _ in range(8)))
            first = len(server.requests)
            server.most_out = 0
            await asyncio.gather(*(judge.answer(ASKED) for _ in range(12)))
            await judge.close()
            return first

        assert asyncio.run(run()) == 16
    assert server.most_out == 4


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://x/v1/", "http://x/v1"),
        ("https://x/v1/chat/completions", "https://x/v1"),
        (" http://[::1]:8/v1", "http://[::1]:8/v1"),
    ],
)
def test_an_address_is_mended(url, kept):
    assert HttpJudge(url, "m").base_url == kept


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "", "ftp://x", "http://", "http://u:p@x/v1", "http://x/v1?a=b", "http://[x"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(InputError, match="--base-url"):
        HttpJudge(url, "m")


def test_a_secret_in_an_address_is_not_repeated():
    with pytest.raises(InputError, match="http://x/v1' holds more than an address") as problem:
        HttpJudge("http://x/v1?api_key=hush-hush", "m")
    assert "hush" not in str(problem.value)


@pytest.mark.parametrize("name", ["model", "messages", "response_format", "stream", "n"])
def test_fields_that_the_judge_sets_itself_are_refused(name):
    with pytest.raises(InputError, match=f"extra_body sets '{name}', which the judge sets itself"):
        HttpJudge("http://x/v1", "m", extra_body={name: 1})


@pytest.mark.parametrize("where", ["http:x", "http://127.0.0.1:1/", "//", "javascript:x", ""])
def test_a_server_that_sends_nowhere_ends_the_run_in_a_sentence(where):
    with Server(MODEL, lambda body, number: (307, {"Location": where} if where else {}, {})) as server:
        with pytest.raises(InputError) as told:
            ask(server)
        assert len(str(told.value).splitlines()) == 1


def reminded(body):
    return len(body["messages"]) == 4


def test_an_answer_that_was_paid_for_counts_where_its_reminder_is_lost_and_sent_again():
    with Server(MODEL, lambda body, number: {1: completion("Sorry"), 2: "drop", 3: "half"}.get(number)) as server:
        said = ask(server)
    assert (said.outcome, said.tokens_in, said.tokens_out) == (1.0, 200, 20)
    assert (said.tries, said.lost, len(server.requests)) == (4, 2, 4)


@pytest.mark.parametrize(("how", "lost"), [("drop", 7), ((503, {}, {}), 0)])
def test_an_answer_whose_reminder_is_never_answered_is_a_skip_that_was_paid_for(how, lost):
    with Server(MODEL, lambda body, number: how if reminded(body) else completion("Sorry")) as server:
        said = ask(server)
    assert (said.outcome, said.problem, said.raw) == (None, "form", "Sorry")
    assert (said.tokens_in, said.tokens_out, said.tries, said.lost) == (100, 10, 8, lost)
    assert len(server.requests) == 8


def test_a_call_that_was_never_answered_says_how_often_it_was_sent():
    with Server(MODEL, lambda body, number: "drop" if number % 2 else (503, {}, {})) as server:
        with pytest.raises(UnreachableError) as problem:
            ask(server)
        assert (problem.value.tries, problem.value.lost) == (7, 4)
