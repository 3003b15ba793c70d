"""A program as judge, without one: how it is started, written to, listened to and ended."""

import asyncio
import json
import math
import sys
import types
import urllib.request

import pytest

from podium.errors import InputError
from podium.judge import CommandJudge, Verdict, command
from podium.judge.asking import FunctionJudge, as_asker, header_of_asker, shown_to
from podium.judge.prompt import Asked
from podium.judge.simulated import completion, simulated_model
from podium.judge.tally import Tally
from podium.judge.verdict import read_answer, read_response

ASKED = Asked("7", "Which?", "left text", "right text", "the task", "a good one", "Be fair.")


class Program:
    """In place of a process: answers each line that is written by `answer(row)`, a list of lines or of errors."""

    def __init__(self, answer=lambda row: [], returncode=None, broken=None):
        self.answer, self.returncode, self.broken = answer, returncode, broken
        self.rows, self.lines, self.done = [], asyncio.Queue(), []
        self.stdin = self.stdout = self

    def write(self, data):
        assert data.endswith(b"\n")
        self.rows.append(json.loads(data))
        for line in self.answer(self.rows[-1]):
            self.lines.put_nowait(line)

    async def drain(self):
        if self.broken is not None:
            raise self.broken

    async def readline(self):
        line = await self.lines.get()
        if isinstance(line, Exception):
            raise line
        return line

    def close(self):
        self.done.append("closed")

    def kill(self):
        self.done.append("killed")

    async def wait(self):
        self.done.append("waited")
        return self.returncode


def said(outcome, reason=None):
    return lambda row: [json.dumps({"id": row["id"], "outcome": outcome, "reason": reason}).encode() + b"\n"]


def started(monkeypatch, *programs):
    """Processes come from here, one after the other; how each was asked for is noted."""
    given, left = [], list(programs)

    async def start(*argv, **options):
        given.append((argv, options))
        program = left.pop(0)
        if isinstance(program, Exception):
            raise program
        return program

    monkeypatch.setattr(command.asyncio, "create_subprocess_exec", start)
    return given


def run(work):
    return asyncio.run(asyncio.wait_for(work, 20))


def test_a_program_is_started_once_with_its_words_and_pipes(monkeypatch):
    async def go():
        program = Program(said(1, "so"))
        given = started(monkeypatch, program)
        judge = CommandJudge(["judge", "--fast"])
        answers = [await judge.answer(ASKED), await judge.answer(ASKED)]
        assert judge._waiting == {}
        judge._reader.cancel()
        return answers, given, program.rows, judge.starts

    answers, given, rows, starts = run(go())
    raw = '{"id": "7", "outcome": 1, "reason": "so"}'
    assert answers == [Verdict(1.0, "so", raw=raw)] * 2
    assert (len(given), starts) == (1, 1)
    argv, options = given[0]
    pipe = asyncio.subprocess.PIPE
    assert argv == ("judge", "--fast")
    assert (options["stdin"], options["stdout"], options["limit"]) == (pipe, pipe, 4_000_000)
    assert options["start_new_session"] is True
    assert rows == [
        {"id": "7", "question": "Which?", "left": "left text", "right": "right text", "context": "the task",
         "reference": "a good one", "instructions": "Be fair."},
    ] * 2  # fmt: skip


@pytest.mark.parametrize("real", [True, False])
def test_what_a_program_complains_goes_to_our_own_errors_where_there_is_a_stream(monkeypatch, real):
    async def go():
        given = started(monkeypatch, Program(said(1)))
        judge = CommandJudge(["judge"])
        await judge.answer(ASKED)
        judge._reader.cancel()
        return given[0][1]["stderr"]

    stream = types.SimpleNamespace(fileno=lambda: 2 if real else -1)
    monkeypatch.setattr(sys, "__stderr__", stream)
    assert run(go()) == (stream if real else asyncio.subprocess.DEVNULL)
    assert command._is_real(types.SimpleNamespace(fileno=lambda: 0))


def test_only_pictures_that_are_there_go_along(monkeypatch):
    async def go():
        program = Program(said(0))
        started(monkeypatch, program)
        judge = CommandJudge(["judge"])
        await judge.answer(Asked("1", "q", "a", "b", right_image="data:b"))
        judge._reader.cancel()
        return program.rows[0]

    row = run(go())
    assert (row["right_image"], "left_image" in row) == ("data:b", False)


def test_a_line_that_is_too_long_answers_what_was_asked_first(monkeypatch):
    async def go():
        program = Program(lambda row: [ValueError("too long")] if row["id"] == "7" else said(0.5)(row))
        started(monkeypatch, program)
        judge = CommandJudge(["judge"])
        answers = [await judge.answer(ASKED), await judge.answer(Asked("8", "q", "a", "b"))]
        judge._reader.cancel()
        return answers

    first, second = run(go())
    assert first == Verdict(None, problem="form", raw="a line of more than 4 MB")
    assert second.outcome == 0.5


def test_words_that_are_no_text_are_shown_as_far_as_they_are(monkeypatch):
    async def go():
        started(monkeypatch, Program(lambda row: [b" \n", b"h\xffm \n"]))
        judge = CommandJudge(["judge"])
        answer = await judge.answer(ASKED)
        judge._reader.cancel()
        return answer

    assert run(go()) == Verdict(None, problem="form", raw="h�m")


def test_what_is_kept_of_a_line_are_two_thousand_letters():
    long = "x" * 3000
    for row, problem in (({"outcome": 1}, None), ({"outcome": None}, "refusal"), ({"outcome": 3}, "unknown-value")):
        found = command._verdict(row | {"reason": "why"}, long)
        assert (found.raw, found.problem, found.reason) == (long[:2000], problem, "why")

    async def go():
        judge = CommandJudge(["judge"])
        judge._waiting["1"] = asyncio.get_running_loop().create_future()
        judge._give_up(long)
        judge._give_up("nobody waits any more")
        return judge._waiting["1"].result()

    assert run(go()).raw == long[:2000]


def test_a_program_that_ends_is_started_anew_with_the_same_question(monkeypatch):
    async def go():
        def ends(row):
            first.returncode = 3
            return [b""]

        first, second = Program(ends), Program(said(1))
        given = started(monkeypatch, first, second)
        judge = CommandJudge(["judge"])
        answer = await judge.answer(ASKED)
        judge._reader.cancel()
        return answer.outcome, len(given), judge.starts, first.rows == second.rows, first.done

    assert run(go()) == (1.0, 2, 2, True, ["waited"])


@pytest.mark.parametrize("broken", [BrokenPipeError(), RuntimeError("closed")])
def test_a_pipe_that_breaks_is_a_program_that_ended(monkeypatch, broken):
    async def go():
        first, second = Program(broken=broken), Program(said(0))
        first.wait = lambda: ended(first)
        started(monkeypatch, first, second)
        judge = CommandJudge(["judge"])
        answer = await judge.answer(ASKED)
        judge._reader.cancel()
        return answer.outcome, judge.starts

    async def ended(program):
        program.returncode = 1

    assert run(go()) == (0.0, 2)


def test_a_program_is_started_four_times_at_most(monkeypatch):
    async def go():
        programs = [Program(broken=BrokenPipeError(), returncode=None) for _ in range(5)]
        for each in programs:
            each.wait = lambda each=each: ended(each)
        started(monkeypatch, *programs)
        judge = CommandJudge(["judge", "x"])
        try:
            await judge.answer(ASKED)
        finally:
            assert judge.starts == 4

    async def ended(program):
        program.returncode = 9

    with pytest.raises(InputError) as told:
        run(go())
    assert str(told.value) == "judge ended 4 times, at last with exit code 9; see its words above"


@pytest.mark.parametrize(
    ("problem", "words"),
    [(PermissionError(13, "Permission denied"), "Permission denied"), (ValueError("null byte"), "null byte")],
)
def test_a_program_that_cannot_be_run_is_tried_once(monkeypatch, problem, words):
    async def go():
        given = started(monkeypatch, problem)
        judge = CommandJudge(["judge"])
        told = []
        for _ in range(2):
            with pytest.raises(InputError) as why:
                await judge.answer(ASKED)
            told.append(str(why.value))
        return told, len(given)

    assert run(go()) == ([f"cannot run 'judge': {words}; check --command"] * 2, 1)


def test_no_answer_in_time_is_a_skip_and_the_program_goes_on(monkeypatch):
    async def go():
        program = Program()
        started(monkeypatch, program)
        judge = CommandJudge(["judge"], timeout=0.01)
        answer = await judge.answer(ASKED)
        program.lines.put_nowait(b'{"id": "7", "outcome": 1}\n')  # too late: it answers nobody
        await asyncio.sleep(0)
        judge._reader.cancel()
        return answer, judge._waiting, judge.starts

    assert run(go()) == (Verdict(None, problem="empty", raw="no answer in 0.01 seconds"), {}, 1)


@pytest.mark.parametrize(("slow", "done"), [(False, ["closed"]), (True, ["closed", "killed", "waited"])])
def test_a_program_is_ended_by_closing_its_input_or_else_killed(monkeypatch, slow, done):
    waited = []

    async def wait_for(work, seconds):
        waited.append(seconds)
        work.close()
        if slow:
            raise TimeoutError

    async def go():
        judge, program = CommandJudge(["judge"]), Program()
        judge._process = program
        judge._reader = asyncio.create_task(asyncio.sleep(60))
        with monkeypatch.context() as patch:
            patch.setattr(command.asyncio, "wait_for", wait_for)
            await judge.close()
        assert judge._reader.cancelled()
        assert judge._process is None
        return program.done

    assert asyncio.run(go()) == done
    assert waited == [5.0]


def test_what_has_ended_or_was_never_begun_is_closed_at_once():
    async def go():
        judge, program = CommandJudge(["judge"]), Program(returncode=0)
        await judge.close()
        judge._process = program
        await judge.close()
        return program.done, judge._process

    assert asyncio.run(go()) == ([], None)


def test_options_of_a_command():
    judge = CommandJudge(["a", "b"])
    assert (judge.argv, judge.timeout, judge.concurrency, judge.starts) == (("a", "b"), 600.0, 16, 0)
    assert CommandJudge(["a"], timeout=1e-3).timeout == 1e-3
    with pytest.raises(InputError, match=r"timeout is 0\.0009; give a number from 0\.001 to 86400"):
        CommandJudge(["a"], timeout=0.0009)


# ---- functions as judges -----------------------------------------------------------------------------------------


def test_a_function_without_a_name_is_called_by_its_class():
    class Longer:
        def __call__(self, question):
            return float(len(question.left) > len(question.right))

    judge = as_asker(Longer())
    assert isinstance(judge, FunctionJudge)
    assert judge.header() == {"model": "Longer"}
    assert asyncio.run(judge.answer(ASKED)).outcome == 0.0


def test_a_coroutine_is_waited_for():
    async def ask(question):
        return 0.5

    assert asyncio.run(FunctionJudge(ask).answer(ASKED)) == Verdict(0.5)


def test_a_header_that_cannot_be_called_says_nothing():
    class Own:
        header = "words"

    class Telling:
        def header(self):
            return {"model": "x", "answer": "word"}

    assert header_of_asker(Own()) == {"model": "Own"}
    assert header_of_asker(Telling()) == {"model": "x", "answer": "word"}


def test_what_was_shown_is_kept_in_its_own_letters():
    assert shown_to(object(), Asked("1", "Süß?", "é", "日本")) == '["Süß?", "é", "日本"]'


# ---- answers and their numbers at the edge -----------------------------------------------------------------------


def offered(*rows, text="A"):
    tops = [{"token": token, "logprob": value} for token, value in rows]
    return {"choices": [{"message": {"content": text}, "logprobs": {"content": [{"top_logprobs": tops}]}}]}


def test_a_chance_may_be_a_millionth_above_one_and_counts_as_one():
    said = read_response(offered(("A", 1e-6), ("B", math.log(0.5))), "logprobs")
    assert (said.p, said.raw) == (pytest.approx(1 / 1.5, rel=1e-9), "A")
    assert read_response(offered(("A", 1.5e-6)), "logprobs").problem == "form"


def test_what_was_said_is_kept_beside_every_problem():
    refused = {"choices": [{"message": {"content": "words"}, "finish_reason": "content_filter"}]}
    assert (read_response(refused).problem, read_response(refused).raw) == ("refusal", "words")
    unread = read_response(offered(("C", -1.0), text="Hm"), "logprobs")
    assert (unread.problem, unread.raw, unread.p) == ("form", "Hm", None)
    cut = {"choices": [{"message": {"content": "so"}, "finish_reason": "length"}]}
    assert read_response(cut) == Verdict(None, problem="length", raw="so")
    assert read_answer("<think>x</think> ") == Verdict(None, problem="empty", raw="<think>x</think> ")
    assert read_answer("so\nA\n", "word") == Verdict(1.0, "so", raw="so\nA\n")


def test_requests_are_told_where_they_are_more_than_calls():
    assert Tally(calls=2, requests=2).words() == ["not parsed 0.0 %; skipped 0; 2 calls"]
    assert Tally(calls=2, requests=3).words() == ["not parsed 0.0 %; skipped 0; 2 calls in 3 requests"]
    assert Tally(calls=1, requests=1, lost=1).words()[0] == (
        "1 request of this run got no answer: connection lost, or too slow; what the server may charge for that is not "
        "known here"
    )


def test_the_simulated_model_is_a_server_that_says_what_it_sends():
    text = "[A f]\nlonger\n[/A f]\n[B f]\nx\n[/B f]"
    body = json.dumps({"messages": [{"content": "one word"}, {"content": text}]}).encode()
    with simulated_model(likes=lambda item: 99.0 * len(item)) as url:
        request = urllib.request.Request(f"{url}/chat/completions", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            data = answer.read()
            assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
            assert answer.headers["Content-Length"] == str(len(data))
    assert json.loads(data) == completion(json.loads(body), lambda item: 99.0 * len(item))
    assert json.loads(data)["choices"][0]["message"]["content"] == "A"
