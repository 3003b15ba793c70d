"""podium ask: keys, the log on disk, resume, undo, and a real terminal."""

import json
import os
import pty
import select
import subprocess
import sys
import time
import warnings

import pytest
from click.testing import CliRunner

from podium import read_comparisons
from podium.active.journal import Standing, parse_log
from podium.cli import main

DRINKS = "id,text\ntea,Green tea\nmilk,Cold milk\ncoffee,Black coffee\njuice,Orange juice\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "drinks.csv"
    path.write_text(DRINKS)
    return path


def asked(table, keys, *options):
    log = table.parent / "answers.jsonl"
    return CliRunner().invoke(main, ["ask", str(table), "--log", str(log), "--seed", "1", *options], input=keys), log


def rows_of(log):
    return parse_log(log.read_bytes().splitlines())


def outcomes(log):
    """The answers that count, in the order of the log."""
    standing = Standing()
    for number, row in enumerate(rows_of(log)[1:], start=2):
        standing.take(number, row)
    return [row["outcome"] for _, row in standing.counting() if "outcome" in row]


def test_a_whole_interview_ends_with_the_ranking_on_stdout(table):
    result, log = asked(table, "1" * 10, "--judge", "ann", "--format", "csv")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "item,rank,rank_lower,rank_upper,tier,answers"
    assert {line.split(",")[0] for line in result.stdout.splitlines()[1:]} == {"tea", "milk", "coffee", "juice"}
    answers = [row for row in rows_of(log) if "outcome" in row]
    assert {row["judge"] for row in answers} == {"ann"}
    assert all(row["time"].endswith("+00:00") for row in answers)


def test_quitting_keeps_the_answers_and_the_next_call_goes_on(table):
    asked(table, "1q")
    log = table.parent / "answers.jsonl"
    first = rows_of(log)
    assert [row["outcome"] for row in first if "outcome" in row] == [1]
    result, _ = asked(table, "2=sq")
    assert "resumed" in result.stderr
    rows = rows_of(log)
    assert rows[: len(first)] == first  # only ever added to
    assert [row["outcome"] for row in rows if "outcome" in row] == [1, 0, 0.5]
    assert [row for row in rows if row.get("podium") == "skip"]


def test_undo_takes_the_answer_out_of_the_log_and_asks_again(table):
    result, log = asked(table, "1u2q")
    assert outcomes(log) == [0]
    assert [row["outcome"] for row in rows_of(log) if "outcome" in row] == [1, 0]  # an undo is a row
    assert len(read_comparisons(log)) == 1
    assert "took back" in result.stderr
    result, _ = asked(table.parent / "drinks.csv", "q")
    assert "resumed" in result.stderr


def test_the_last_answer_of_all_can_be_taken_back(table):
    _, log = asked(table, "1" * 10)
    first = outcomes(log)
    result, _ = asked(table, "u2q")  # done already: the prompt is at the end
    assert "took back" in result.stderr
    assert outcomes(log) == [*first[:-1], 0]
    assert result.stdout.splitlines()[0].split()[:2] == ["item", "rank"]


def test_texts_do_nothing_to_the_terminal(table):
    table.write_text('id,text\n"te[b]\x1b[2Ja","red \x1b[31m\tink\nsecond line"\nmilk,white\n')
    result, _ = asked(table, "1uq")
    assert "\x1b" not in result.stderr
    for part in (r"te[b]\x1b[2Ja", r"red \x1b[31m", "second line"):
        assert part in result.stderr


def test_the_log_is_read_as_votes(table):
    _, log = asked(table, "1" * 10, "--judge", "ann")
    command = [sys.executable, "-m", "podium", "rank", str(log), "--format", "csv"]
    seen = subprocess.run(command, capture_output=True, text=True, check=False)
    assert seen.returncode == 0, seen.stderr
    assert len(seen.stdout.splitlines()) == 5


def test_the_log_of_a_rater_without_a_name_is_read_as_votes(table):
    _, log = asked(table, "11q")
    votes = read_comparisons(log)
    assert len(votes) == 2
    assert votes.judge is None


def test_other_keys_explain_themselves_and_the_ranking_can_be_seen(table):
    result, _ = asked(table, "xr1q")
    assert "no answer on that key" in result.stderr
    assert "may be" in result.stderr


def test_a_long_text_is_read_page_by_page_and_the_short_one_stays_in_view(table):
    words = [f"word{k}" for k in range(900)]
    table.write_text(f"id,text\nlong,{' '.join(words)}\nshort,[a] brief one\n")
    result, _ = asked(table, "q")
    pages = int(result.stderr.split("next of ")[1].split()[0])
    assert pages > 2
    assert words[0] in result.stderr
    assert words[-1] not in result.stderr
    result, log = asked(table, " " * (pages - 1) + "1")
    shown = set(result.stderr.replace("│", " ").split())
    assert set(words) <= shown
    assert result.stderr.count("[a] brief one") == pages
    assert sum("outcome" in row for row in rows_of(log)) == 1


def test_space_is_no_answer_where_there_is_one_page(table):
    result, log = asked(table, " q")
    assert "no answer on that key" in result.stderr
    assert not any("outcome" in row for row in rows_of(log))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--preset", "quick"), "was begun with --preset standard; leave --preset out to go on, or begin another log"),
        (("--budget", "9"), "was begun without --budget"),
        (("--top", "2"), "was begun without --top"),
        (("--random-share", "0.3"), "was begun with --random-share 0.1"),
    ],
)
def test_a_log_goes_on_as_it_was_begun(table, options, message):
    asked(table, "1q")
    result, _ = asked(table, "1q", *options)
    assert result.exit_code != 0
    assert message in str(result.exception)
    again, _ = asked(table, "q", "--preset", "standard")  # the same is no contradiction
    assert again.exit_code == 0


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("id\na\n", (), "1 item; an order needs at least two"),
        ("id\na\nb\na\n", (), "row 3: 'a' is there twice"),
        ("id,text\na,x\nb,y\n", ("--text", "body"), "no column 'body'; there are id, text"),
        ("id\na\nb\n", ("--top", "2"), "--top 2: there are 2 items; give 1 to 1"),
        ("id\na\nb\n", ("--top", "1", "--preset", "exact"), "--preset exact orders all items; leave --top out"),
        ("id\na\nb\n", ("--preset", "fast"), "'fast' is not one of"),
    ],
)
def test_bad_tables_and_options_are_one_line(tmp_path, text, options, message):
    path = tmp_path / "items.csv"
    path.write_text(text)
    seen = subprocess.run(
        [sys.executable, "-m", "podium", "ask", str(path), "--log", str(tmp_path / "a.jsonl"), *options],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert seen.returncode == 2
    assert message in seen.stderr
    assert "Traceback" not in seen.stderr


def test_a_log_of_other_items_is_refused(table):
    asked(table, "1q")
    table.write_text(DRINKS.replace("milk", "malt"))
    seen, _ = asked(table, "q")
    assert seen.exit_code != 0
    assert "the log is of other items" in str(seen.exception)


def test_a_torn_last_line_is_named_and_the_rest_is_kept(table):
    _, log = asked(table, "11q")
    with log.open("ab") as file:
        file.write('{"left": "th\u00e9'.encode()[:-1])  # inside a letter
    with pytest.warns(UserWarning, match=r"answers.jsonl, line \d+: not whole"):
        asked(table, "1q")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the torn line is gone: the log reads clean, also as votes
        assert sum("outcome" in row for row in rows_of(log)) == 3
        assert len(read_comparisons(log)) == 3


def test_labels_with_the_line_ends_of_unicode_are_logged_and_resumed(table):
    table.write_text("id\nte\u2028a\nmi\u0085lk\ncoffee\n", encoding="utf-8")
    asked(table, "1q")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result, log = asked(table, "1q")
    assert "1 answer" in result.stderr
    assert len(read_comparisons(log)) == 2


def test_in_a_terminal_one_key_is_an_answer_and_is_on_disk_before_the_next_question(table):
    log = table.parent / "pty.jsonl"
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "podium", "ask", str(table), "--log", str(log), "--seed", "1"]
    run = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=os.environ | {"COLUMNS": "90"})
    os.close(child)

    def read_until(text):
        seen, end = "", time.monotonic() + 60
        while text not in seen and time.monotonic() < end:
            if select.select([parent], [], [], 1)[0]:
                seen += os.read(parent, 65536).decode()
        assert text in seen, seen
        time.sleep(0.5)  # the question is shown a moment before the terminal gives single keys
        return seen

    screen = read_until("quit")
    assert "which goes first?" in screen
    os.write(parent, b"1")
    read_until("question 2")
    assert sum("outcome" in json.loads(line) for line in log.read_text().splitlines()) == 1
    os.write(parent, b"\x1b[C")
    read_until("question 3")
    assert [json.loads(line).get("outcome") for line in log.read_text().splitlines() if "outcome" in line] == [1, 0]
    os.write(parent, b"q")
    read_until("rank_upper")
    assert run.wait(timeout=60) == 0
    os.close(parent)


def test_keys_may_come_through_a_pipe(table):
    log = table.parent / "piped.jsonl"
    command = [sys.executable, "-m", "podium", "ask", str(table), "--log", str(log), "--seed", "1"]
    done = subprocess.run(command, input="1\n2\nq\n", capture_output=True, text=True, check=True)
    assert [row["outcome"] for row in rows_of(log) if "outcome" in row] == [1, 0]
    assert done.stdout.split()[:2] == ["item", "rank"]


def start(table, log, *options):
    command = [sys.executable, "-m", "podium", "ask", str(table), "--log", str(log), "--seed", "1", *options]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=0
    )


def answer(run, log, key, count):
    """Press a key in a running interview and wait until `count` answers are on disk."""
    run.stdin.write(key)
    run.stdin.flush()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if log.exists() and log.read_text().count('"outcome"') == count:
            return
        time.sleep(0.05)
    raise AssertionError(log.read_text() if log.exists() else "no log")


def test_two_people_share_a_log_and_nobody_gets_what_the_other_has_in_hand(table):
    log = table.parent / "shared.jsonl"
    first, second = start(table, log, "--judge", "reader-1"), None
    answer(first, log, "1", 1)
    second = start(table, log, "--judge", "reader-2")
    answer(second, log, "2", 2)
    answer(first, log, "1", 3)
    answer(first, log, "u", 3)  # takes back its own, not the other's
    for run in (first, second):
        _, said = run.communicate("q", timeout=60)
        assert run.returncode == 0, said
    standing = Standing()
    held = {}
    for number, row in enumerate(rows_of(log)[1:], start=2):
        standing.take(number, row)
        if row.get("podium") == "lease":
            pair = frozenset((row["left"], row["right"]))
            assert held.get(pair, row["judge"]) == row["judge"]
            held[pair] = row["judge"]
        elif "left" in row:
            held.pop(frozenset((row["left"], row["right"])), None)
    assert [(row["judge"], row["outcome"]) for _, row in standing.counting()] == [("reader-1", 1), ("reader-2", 0)]


def standing_of(log):
    standing = Standing()
    for number, row in enumerate(rows_of(log)[1:], start=2):
        standing.take(number, row)
    return standing


def test_who_takes_an_answer_back_has_that_pair_in_hand_again(table):
    log = table.parent / "shared.jsonl"
    first = start(table, log, "--judge", "ann")
    answer(first, log, "1", 1)
    first.stdin.write("u")
    first.stdin.flush()
    end = time.monotonic() + 60
    while '"undo"' not in log.read_text() and time.monotonic() < end:
        time.sleep(0.05)
    vote = next(row for row in rows_of(log) if "outcome" in row)
    held = [frozenset(pair) for pair in standing_of(log).out(time.time(), but="bob")]
    assert frozenset((vote["left"], vote["right"])) in held
    assert len(set(held)) == 2  # and the question that was on the screen
    first.communicate("q", timeout=60)
    assert standing_of(log).out(time.time(), but="bob") == []


def test_who_quits_keeps_nothing_from_the_others(table):
    _, log = asked(table, "1q", "--judge", "ann")
    assert standing_of(log).out(time.time(), but="bob") == []
    asked(table, "1" * 20, "--judge", "bob")
    votes = [frozenset((row["left"], row["right"])) for row in rows_of(log) if "outcome" in row]
    assert len(set(votes)) == 6  # every pair of four items


def test_who_has_no_question_left_because_another_holds_a_pair_is_told_so(table):
    """Ties for ever: a judge who only repeats earlier answers is asked nothing again, but a pair is still out."""
    _, log = asked(table, "=q", "--judge", "ann", "--budget", "90")
    lease = next(row for row in rows_of(log) if row.get("podium") == "lease" and row["until"] == 0)
    with log.open("a") as file:
        file.write(json.dumps(lease | {"until": time.time() + 600}) + "\n")
    result, _ = asked(table, "=" * 90, "--judge", "bob")
    assert "No question is left for you: 1 pair is in the hands of others." in " ".join(result.stderr.split())
    assert "Done" not in result.stderr


def test_the_end_of_the_questions_is_told_apart_from_a_stable_order(table):
    result, _ = asked(table, "12" * 10, "--budget", "4")
    assert "Done: all 4 questions of --budget were asked." in " ".join(result.stderr.split())


def test_after_a_kill_the_open_question_comes_again(table):
    log = table.parent / "shared.jsonl"
    first = start(table, log, "--judge", "ann")
    answer(first, log, "1", 1)
    end = time.monotonic() + 60
    while log.read_text().count('"lease"') < 2 and time.monotonic() < end:
        time.sleep(0.05)
    first.kill()
    first.communicate(timeout=60)
    lease = [row for row in rows_of(log) if row.get("podium") == "lease"][-1]
    second = start(table, log, "--judge", "ann")
    _, said = second.communicate("2q", timeout=60)
    assert second.returncode == 0, said
    last = [row for row in rows_of(log) if "outcome" in row][-1]
    assert {last["left"], last["right"]} == {lease["left"], lease["right"]}
    assert outcomes(log) == [1, 0]


@pytest.mark.parametrize(
    ("kind", "answered"), [("check", "check"), ("chosen", "chosen"), (None, "chosen"), (3, "chosen")]
)
def test_an_open_question_comes_again_as_what_it_was(table, kind, answered):
    _, log = asked(table, "1q", "--judge", "ann")
    lease = {"podium": "lease", "left": "juice", "right": "milk", "judge": "ann", "until": 4e9}
    with log.open("a") as file:  # as a kill leaves it; earlier versions wrote no kind
        file.write(json.dumps(lease | ({} if kind is None else {"kind": kind})) + "\n")
    asked(table, "2u2q", "--judge", "ann")  # answered, taken back, answered again
    votes = [row for row in rows_of(log) if "outcome" in row]
    assert {votes[-1]["left"], votes[-1]["right"]} == {"juice", "milk"}
    assert [row["kind"] for row in votes[1:]] == [answered, answered]


def test_more_items_join_a_log(table):
    _, log = asked(table, "11q")
    table.write_text(DRINKS + "cola,Cola\n")
    result, _ = asked(table, "1q")
    assert result.exit_code == 0, result.exception
    assert "1 more item\n" in result.stderr
    assert len(outcomes(log)) == 3
    again, _ = asked(table, "q", "--format", "csv")
    assert len(again.stdout.splitlines()) == 6


def test_standard_input_that_is_closed_ends_the_interview(table):
    command = f"exec {sys.executable} -m podium ask {table} --log {table.parent / 'none.jsonl'} --seed 1 <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "nothing was answered" in done.stderr


@pytest.mark.parametrize("keys", ["q", "", "sq", "1uq", "ssssssssssssss"])
@pytest.mark.parametrize("preset", ["standard", "paper", "exact"])
def test_without_an_answer_there_is_no_ranking(table, keys, preset):
    result, _ = asked(table, keys, "--preset", preset, "-o", str(table.parent / "ranks.csv"))
    assert "nothing was answered" in str(result.exception)
    assert not result.stdout
    assert not (table.parent / "ranks.csv").exists()
    answered, _ = asked(table, "u1q" if "ss" in keys else "1q", "--format", "csv")
    assert answered.exit_code == 0, answered.exception
    assert len(answered.stdout.splitlines()) == 5


def refused(table, log, *options):
    """Start a session that has to end at once; what it says in its one line."""
    run = start(table, log, *options)
    shown, said = run.communicate("1u1u", timeout=60)
    assert run.returncode == 2
    assert not shown
    return said


@pytest.mark.parametrize("name", [["--judge", "ann"], []], ids=["a name", "no name"])
def test_a_second_session_of_the_same_judge_is_refused_and_undoes_nothing(table, name):
    log = table.parent / "shared.jsonl"
    other = ["--judge", "bob"] if name else ["--judge", "ann"]
    first = start(table, log, *name)
    answer(first, log, "1", 1)
    said = refused(table, log, *name)
    assert said.count("\n") == 1
    assert "right now" in said
    assert "--judge NAME" in said
    link = table.parent / "link.jsonl"
    link.symlink_to(log)
    assert "right now" in refused(table, link, *name)  # the same log by another path
    second = start(table, log, *other)  # another judge goes on beside it
    answer(second, log, "2", 2)
    first.kill()  # frees the name, whatever it had no time to do
    first.communicate(timeout=60)
    third = start(table, log, *name)
    answer(third, log, "1", 3)
    for run in (second, third):
        _, said = run.communicate("q", timeout=60)
        assert run.returncode == 0, said
    assert outcomes(log) == [1, 0, 1]
    assert not list(table.parent.glob(".*"))  # no lock is left


def test_the_last_table_counts_what_others_wrote_meanwhile(table):
    log = table.parent / "shared.jsonl"
    first = start(table, log, "--judge", "ann", "--format", "csv")
    answer(first, log, "1", 1)
    second = start(table, log, "--judge", "bob")
    answer(second, log, "1", 2)
    second.communicate("2q", timeout=60)
    shown, said = first.communicate("q", timeout=60)
    assert first.returncode == 0, said
    whole = CliRunner().invoke(main, ["ask", str(table), "--log", str(log), "--judge", "eve", "--format", "csv"], "q")
    assert shown == whole.stdout
    assert len(outcomes(log)) == 3
    assert sum(int(line.rsplit(",", 1)[1]) for line in shown.splitlines()[1:]) == 2 * 3


def test_items_added_by_another_session_end_this_one_with_its_answers_kept(table):
    log = table.parent / "shared.jsonl"
    first = start(table, log, "--judge", "ann")
    answer(first, log, "1", 1)
    longer = table.parent / "longer.csv"
    longer.write_text(DRINKS + "cola,Cola\n")
    second = start(longer, log, "--judge", "bob")
    answer(second, log, "1", 2)
    second.communicate("q", timeout=60)
    _, said = first.communicate("2", timeout=60)
    assert first.returncode == 2
    assert "['cola']" in said
    assert "Traceback" not in said
    assert outcomes(log) == [1, 1, 0]


WITH_FEATURES = (
    "id,text,strength,price\ntea,Green tea,3,2.5\nmilk,Cold milk,1,1.2\ncoffee,Black coffee,4,2\n7,Juice,2,3\n"
)


def test_with_the_papers_preset_and_features_the_order_is_a_score_of_them_and_is_resumed(tmp_path):
    table = tmp_path / "drinks.csv"
    table.write_text(WITH_FEATURES)
    strength = {"tea": 3, "milk": 1, "coffee": 4, "7": 2}
    options = ("--preset", "paper", "--features", str(table), "--format", "csv", "--random-share", "0")
    for _ in range(30):  # one question a call: each goes on from the log, and the stronger drink wins
        result, log = asked(table, "q", *options)
        open_pair = [row for row in rows_of(log) if row.get("podium") == "ask"]
        if "Done." in result.stderr or not open_pair:
            break
        first, second = (name for name in _pair_shown(result.stderr, strength))
        result, _ = asked(table, "1q" if strength[first] > strength[second] else "2q", *options)
        if "Done." in result.stderr:
            break
    assert "ordered by a linear score of 2 features (columns standardised, rows divided by" in result.stderr
    assert [line.split(",")[0] for line in result.stdout.splitlines()[1:]] == ["coffee", "tea", "7", "milk"]
    without = CliRunner().invoke(main, ["ask", str(table), "--log", str(log)])
    assert "the log was begun with features; give the same now" in _one_line(without)


def _pair_shown(text, strength):
    """The two labels of the last question."""
    last = text[text.rindex("which goes first?") :]
    names = {"Green tea": "tea", "Cold milk": "milk", "Black coffee": "coffee", "Juice": "7"}
    found = sorted((last.index(shown), label) for shown, label in names.items() if shown in last)
    return [label for _, label in found][:2]


def _one_line(result):
    return str(result.exception) if not isinstance(result.exception, SystemExit) else result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--missing", "mean"), "--missing is about --features, which is not given; drop it"),
        (("--one-hot",), "--one-hot is about --features, which is not given; drop it"),
        (("--features", "{table}"), "'kind' holds text; leave it out, or set --one-hot"),
        (("--features", "{table}", "--one-hot"), "'price' is missing for 'milk'"),
        (("--features", "{table}", "--one-hot", "--missing", "mean", "--preset", "exact"), "has no use for features"),
        (("--features", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_features_that_do_not_fit_are_one_line(tmp_path, options, message):
    table = tmp_path / "drinks.csv"
    table.write_text("id,kind,price\ntea,hot,2\nmilk,cold,\n")
    given = [option.format(table=table) for option in options]
    seen = subprocess.run(
        [sys.executable, "-m", "podium", "ask", str(table), "--log", str(tmp_path / "a.jsonl"), *given],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert seen.returncode == 2
    assert message in seen.stderr
    assert seen.stderr.count("\n") <= 1 or "Usage" in seen.stderr
