"""A program as judge: lines in, lines out, in any order."""

import asyncio
import sys

import pytest

from podium.errors import InputError
from podium.judge import CommandJudge
from podium.judge.prompt import Asked

HEAD = "import json, sys\nrows = (json.loads(line) for line in sys.stdin)\n"
SAY = "print(json.dumps({'id': row['id'], 'outcome': %s}), flush=True)\n"


def answers(code, count=3, **options):
    async def run():
        judge = CommandJudge([sys.executable, "-c", HEAD + code], **options)
        try:
            asked = [Asked(str(k), "Which?", "x" * k, "xx", context="c") for k in range(count)]
            return await asyncio.gather(*(judge.answer(each) for each in asked)), judge.starts
        finally:
            await judge.close()

    return asyncio.run(asyncio.wait_for(run(), 60))


def test_answers_are_matched_by_id_in_any_order():
    code = (
        "seen = [next(rows) for _ in range(3)]\nfor row in reversed(seen):\n    " + SAY % "float(len(row['left']) >= 2)"
    )
    said, starts = answers(code)
    assert [each.outcome for each in said] == [0.0, 0.0, 1.0]
    assert starts == 1


def test_the_row_holds_the_whole_question():
    said, _ = answers("for row in rows:\n    print(json.dumps({'id': row['id'], 'outcome': 1, 'reason': ' '.join(sorted(row))}), flush=True)\n", 1)  # fmt: skip  # noqa: E501
    assert said[0].reason == "context id instructions left question reference right"


def test_pictures_go_along_as_data_addresses():
    async def run():
        say = "for row in rows:\n    print(json.dumps({'id': row['id'], 'outcome': 1, 'reason': row['left_image'] + row['right_image']}), flush=True)\n"  # noqa: E501
        judge = CommandJudge([sys.executable, "-c", HEAD + say])
        try:
            return await judge.answer(Asked("1", "Which?", "", "", left_image="data:a", right_image="data:b"))
        finally:
            await judge.close()

    assert asyncio.run(asyncio.wait_for(run(), 60)).reason == "data:adata:b"


@pytest.mark.parametrize(
    ("value", "problem"),
    [("None", "refusal"), ("2", "unknown-value"), ("'A'", "unknown-value"), ("True", "unknown-value")],
)
def test_other_values_are_skips(value, problem):
    said, _ = answers("for row in rows:\n    " + SAY % value, 1)
    assert (said[0].outcome, said[0].problem) == (None, problem)


def test_a_line_that_is_no_json_is_a_skip_with_its_text():
    said, _ = answers("for row in rows:\n    print('thinking hard', flush=True)\n", 2)
    assert {(each.problem, each.raw) for each in said} == {("form", "thinking hard")}


def test_an_id_that_was_never_sent_is_a_skip_at_once():
    said, _ = answers('for row in rows:\n    print(\'{"id": "of my own", "outcome": 1}\', flush=True)\n', 2)
    assert {each.problem for each in said} == {"form"}


def test_a_dead_process_is_started_again_three_times():
    code = "row = next(rows)\n" + SAY % "1" + "sys.exit(3)\n"  # one answer each
    said, starts = answers(code, 4)
    assert [each.outcome for each in said] == [1.0] * 4
    assert starts == 4
    with pytest.raises(InputError, match="ended 4 times, at last with exit code 3"):
        answers("sys.exit(3)\n", 1)


def test_a_program_that_is_not_there_is_named():
    async def run():
        judge = CommandJudge(["/no/such/program"])
        many = [judge.answer(Asked(str(k), "q", "a", "b")) for k in range(8)]
        return await asyncio.gather(*many, return_exceptions=True)

    said = "cannot run '/no/such/program': No such file or directory; check --command"
    assert [str(each) for each in asyncio.run(run())] == [said] * 8, "whichever call comes first"
    with pytest.raises(InputError, match="list of words"):
        CommandJudge([])


def test_no_answer_in_time_is_a_skip():
    said, _ = answers("for row in rows:\n    pass\n", 1, timeout=0.5)
    assert (said[0].problem, said[0].raw) == ("empty", "no answer in 0.5 seconds")
