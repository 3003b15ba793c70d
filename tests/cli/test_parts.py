"""The parts of commands by themselves: values typed, words said, sentences of refusals, keys of an interview."""

import importlib
import io
import json
import types

import click
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from rich.console import Console

from podium.cli import COMMANDS, judge_words, model_words
from podium.cli.ask import ask
from podium.cli.compare import compare
from podium.cli.help import GROUPS, GroupedCommand, option
from podium.cli.interview import ANSWERS, HELP, Interview
from podium.cli.marking import Boundaries, Scale
from podium.cli.methods import _Anchor, _Norms
from podium.cli.predict import predict
from podium.cli.rank import rank
from podium.errors import InputError
from podium.judge.settings import Progress


def every_command():
    for place in COMMANDS.values():
        module, _, function = place.partition(":")
        command = getattr(importlib.import_module(module), function)
        yield from command.commands.values() if isinstance(command, click.Group) else [command]


# ---- help -----------------------------------------------------------------------------------------------------------


def test_every_option_says_in_a_sentence_what_it_does_and_stands_in_a_group():
    for command in every_command():
        for each in command.params:
            if isinstance(each, click.Option) and not each.hidden:
                assert each.help, (command.name, each.opts)
                assert each.help[0].isupper(), (command.name, each.help)
                assert each.group in GROUPS, (command.name, each.opts)


def test_help_is_in_groups_with_examples():
    @click.command(cls=GroupedCommand, examples=(("podium x a", "the first"),))
    @option("Output", "--last", type=float, help="Last.")
    @option("Data", "--first", help="First.")
    @option("Data", "--count", type=click.IntRange(1), help="Count.")
    @option("Model", "--kind", type=int, metavar="K", help="Kind.")
    def made(**given):
        """Do it."""

    text = CliRunner().invoke(made, ["--help"]).output
    places = [text.index(word) for word in ("Data:", "--first", "Model:", "--kind K", "Output:", "--last NUMBER")]
    assert places == sorted(places)
    assert "--count NUMBER" in text
    assert "Examples:\n  # the first\n  $ podium x a\n" in text
    with pytest.raises(AssertionError):
        option("Nowhere", "--x")(lambda: None)


# ---- values as they are typed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (
            Scale(),
            {"0:100": (0.0, 100.0), "5:1": (5.0, 1.0)},
            {
                "0": "is not LOW:HIGH, as 0:100",
                "1:1": "must be different",
                "0:inf": "must be different",
                "nan:1": "must be different",
            },
        ),
        (
            Boundaries(),
            {"A=70, B = 60": {"A": 70.0, "B": 60.0}, "a=b=1": {"a=b": 1.0}},
            {
                "A": "is not GRADE=MARK, as A=70",
                "=5": "is not GRADE=MARK",
                "A=x": "is not GRADE=MARK",
                "A=1,A=2": "grade 'A' is given twice; name each once",
            },
        ),
        (
            _Norms(),
            {"2,0.5": (2.0, 0.5)},
            {
                "2": "is not W,R: two numbers, as 2,0.5",
                "0,1": "finite numbers above 0",
                "1,0": "finite numbers above 0",
                "inf,1": "finite numbers above 0",
                "1,inf": "finite numbers above 0",
            },
        ),
        (
            _Anchor(),
            {"a=b=1.5": ("a=b", 1.5)},
            {"a": "is not ITEM=SCORE", "=1": "is not ITEM=SCORE", "a=x": "is not ITEM"},
        ),
    ],
)
def test_values_are_read_or_refused_in_words(kind, good, bad):
    for typed, value in good.items():
        assert kind.convert(typed, None, None) == value
        assert kind.convert(value, None, None) == value  # a default is taken as it is
    for typed, words in bad.items():
        with pytest.raises(click.BadParameter, match=words):
            kind.convert(typed, None, None)


# ---- what a judge's run says ----------------------------------------------------------------------------------------


def test_progress_in_words():
    plain = Progress(pairs=1_000, limit=2_000, calls=30, here=20, seconds=10.0, out=3)
    assert judge_words._words(plain) == "1,000 of at most 2,000 pairs; 30 calls (2.0/s, 3 out); at most 17 min more"
    whole = Progress(
        pairs=10,
        limit=40,
        calls=30,
        here=20,
        seconds=10.0,
        out=3,
        calibrating=True,
        tokens_in=90_000,
        tokens_out=10_000,
        cost=2.5,
        same=3,
        both=4,
        agreed=0.75,
        skips=2,
        until_stable=8,
        orders=2,
    )
    assert judge_words._words(whole) == (
        "calibration; 10 of at most 40 pairs; 30 calls (2.0/s, 3 out); 0.10 M tokens; cost 2.50, about 10.00 in all; "
        "75 % the same in both orders; 75 % of check pairs as predicted; 2 skipped; about 8 pairs or more until "
        "stable, 8 s"
    )
    early = Progress(pairs=200, limit=9000, here=400, seconds=200.0, until_stable=1237, lost=3)
    assert judge_words._words(early).endswith(
        "3 requests without an answer; about 1,200 pairs or more until stable, 21 min"
    )
    few = Progress(pairs=100, limit=9000, here=200, seconds=100.0, until_stable=1237)
    assert "until stable" not in judge_words._words(few), "more than ten times the votes there are"
    far = Progress(pairs=10, limit=40, here=20, seconds=10.0, until_stable=31)
    assert judge_words._words(far).endswith("at most 30 s more")
    assert "more" not in judge_words._words(Progress(pairs=40, limit=40, here=20, seconds=10.0))
    assert "more" not in judge_words._words(Progress(limit=10**9, here=20, seconds=10.0))
    assert "more" not in judge_words._words(Progress(limit=40, here=20, seconds=10.0, calibrating=True))
    assert "more" not in judge_words._words(Progress(limit=40))


def test_durations_and_tokens():
    told = [judge_words._duration(seconds) for seconds in (99.4, 100, 5999, 6000, 36_000)]
    assert told == ["99 s", "2 min", "100 min", "1.7 h", "10.0 h"]
    assert [judge_words._tokens(count) for count in (99_999, 100_000, 2_345_678)] == ["99,999", "0.10 M", "2.35 M"]


def test_what_ended_a_run_is_said(capsys, monkeypatch):
    def ended(why="budget", until=30, pairs=3, path="c.db", **more):
        tally = types.SimpleNamespace(words=lambda: ["numbers"], pairs=pairs, skips=1, length=None)
        standing = types.SimpleNamespace(until_stable=until, until_stable_upper=until, far=until > 10 * pairs)
        given = {
            "tally": tally,
            "why": why,
            "path": path,
            "judge": "m",
            "words": "stopped",
            "standing": standing,
            "ranking": None,
            "order": tuple("abcde"),
        }
        return types.SimpleNamespace(**given | more)

    def told(*args, **more):
        judge_words.tell(*args, None, **more)
        return capsys.readouterr().err.splitlines()

    assert told(None, ended(until=31))[-2] == (
        "far from stable: it may take more than 10 times the votes so far, more than the 6 pairs this judge has left"
    )
    assert told("Style", ended()) == [
        "Style:",
        "numbers",
        "m: stopped",
        "about 30 more votes until stable, more than the 6 pairs this judge has left",
        "kept in c.db; intervals cover this judge's noise and the pairs drawn, not whether it is right",
    ]
    assert told(None, ended(until=6))[-2] == "about 6 more votes until stable"
    assert len(told(None, ended(), alone=False)) == 3
    assert len(told(None, ended(ranking=1))) == 3
    assert len(told(None, ended(until=0))) == 3
    assert told(None, ended("unheard", path=None)) == ["m: stopped"]
    assert len(told(None, ended("stable"))) == 3
    assert "fewer than 55 % of the pairs have the same verdict" in told(None, ended("noise"))[-2]
    for kind in ("group", "sandwich"):
        monkeypatch.setattr(judge_words, "_length_errors", lambda *_, kind=kind: kind)
        assert told(None, ended("stable"))[1] == (
            "with length held constant: `podium campaign export calls --db c.db -o calls.jsonl`, then "
            f"`podium rank calls.jsonl --covariates length --side-effect --ci {kind}`"
        )


def test_places_by_several_criteria_stand_side_by_side():
    def judged(order, why="stable"):
        frame = pl.DataFrame({"item": list(order)})
        return types.SimpleNamespace(order=tuple(order), why=why, ranking=None, to_frame=lambda: frame)

    written = []
    out = types.SimpleNamespace(room=80, write=lambda frame, table=None: written.append((frame, table)))
    judge_words.write([("style", judged("abc")), ("truth", judged("cab"))], out)
    assert written[0][0].to_dicts() == [
        {"item": "a", "style": 1, "truth": 2, "mean_place": 1.5},
        {"item": "c", "style": 3, "truth": 1, "mean_place": 2.0},
        {"item": "b", "style": 2, "truth": 3, "mean_place": 2.5},
    ]
    judge_words.write([("judge", judged("ab"))], out)
    assert written[1][0]["item"].to_list() == ["a", "b"]
    judge_words.write([("judge", judged("", "gone"))], out)
    judge_words.write([("judge", judged("", "interrupted"))], out)
    assert len(written) == 2
    with pytest.raises(InputError, match="nothing was answered, so there is no ranking"):
        judge_words.write([("judge", judged("", "budget"))], out)


# ---- what is said of a model ----------------------------------------------------------------------------------------


def crowd(flags, sd=1.0, side=False):
    rows = [
        {"judge": f"j{k}", "reliability": 0.5 + k, "std_error": 0.1, "votes": 1200.0, "flag": flag, "p_value": 0.002}
        for k, flag in enumerate(flags)
    ]
    return types.SimpleNamespace(
        reliability_sd_=sd,
        judge_frame=lambda: pl.DataFrame(rows, schema_overrides={"flag": pl.String}),
        side_effect=side,
        side_effect_=0.25,
        lean_sd_=0.1,
        lean_=np.array([0.5, -0.5])[: len(flags)],
        judges_=["j0", "j1"],
        lean_std_errors_=np.array([0.1, 0.2]),
    )


def test_judges_are_told_least_reliable_first():
    lines = model_words._about_judges(crowd([None, "slow"]), 0.95)
    assert lines[0] == "reliability of judges, least first (1: average, 0: chance)"
    assert [line.split() for line in lines[1:]] == [
        ["judge", "reliability", "votes", "flag", "p"],
        ["j0", "0.50", "±", "0.20", "1,200"],
        ["j1", "1.50", "±", "0.20", "1,200", "slow", "0.0020"],
    ]
    alike = model_words._about_judges(crowd([None, "slow"], sd=0), 0.95)
    assert alike[0] == "reliability: too few votes to weigh 2 judges, so all count alike; a test of each flags"
    assert [line.split()[0] for line in alike[1:]] == ["judge", "j1"]
    assert model_words._about_judges(crowd([None], sd=0), 0.95) == [
        "reliability: 1 judge not shown to differ; all count alike"
    ]
    many = model_words._about_judges(crowd([None] * (model_words.MAX_SHOWN + 2)), None)
    assert many[-1] == "  … and 2 more"
    assert "±" not in many[1]
    leaning = model_words._about_judges(crowd([None, None], side=True), None)
    assert leaning[-4] == "position bias, in favour of the left side: +0.25 log-odds; between judges ± 0.1"
    assert [line.split() for line in leaning[-3:]] == [["judge", "bias"], ["j1", "-0.50"], ["j0", "+0.50"]]


def test_sides_and_ties_of_a_model():
    assert model_words._side_words("game") == "home advantage, in favour of the side at home"
    assert model_words._side_words("vote") == "position bias, in favour of the left side"
    assert model_words._tie_words(1.0) == "equals tie with chance 33.3 % (Davidson's ν = 1)"
    most = "no tie was seen: equals tie with chance 20.0 % at most (Davidson's ν = 0)"
    assert model_words._tie_words(0.0, (0.0, 0.5)) == most
    assert model_words._tie_words(0.0) == "no tie was seen: its chance is taken to be 0 (Davidson's ν = 0)"
    assert (model_words._per(None, "game"), model_words._per(np.ones(1), "game")) == (
        "per unit",
        "per standard deviation over the games",
    )


# ---- an interview, key by key ---------------------------------------------------------------------------------------


def interview(keys, monkeypatch, pages=1, **ranker):
    made = Interview.__new__(Interview)
    given = {"answered": 3, "items": list("abcd"), "ranking_": types.SimpleNamespace(order=("a", "b", "c", "d"))}
    made.ranker = types.SimpleNamespace(**given | ranker)
    made.texts, made.console = {"a": "text a", "b": "text b"}, Console(file=io.StringIO(), width=100)
    made.told_stable, made.judge, made.again = False, None, []
    monkeypatch.setattr("sys.stdin", io.StringIO(keys))
    if pages > 1:
        made.texts = dict.fromkeys("ab", "long text " * 400)
    return made


def said(made):
    return made.console.file.getvalue()


def test_a_question_is_put_with_its_number_and_who_leads(monkeypatch):
    made = interview("x1", monkeypatch)
    key = made._put(("a", "b"))
    assert key == "1"
    text = said(made)
    assert "question 4: which goes first?" in text
    assert "so far: a › b › c …" in text
    assert "no answer on that key:" in text
    assert "pages" not in text
    fresh = interview("1", monkeypatch, answered=0)
    fresh._put(("a", "b"))
    assert "so far" not in said(fresh)


def test_long_texts_are_turned_page_by_page(monkeypatch):
    made = interview("  1", monkeypatch, pages=9)
    assert made._put(("a", "b")) == "1"
    text = said(made)
    assert " next of " in text
    assert text.count("question 4: which goes first?") == 3


def test_keys_that_end_and_keys_that_are_none(monkeypatch):
    for typed, key in (("\n\nq", "q"), ("", "q"), ("\x03", "q"), ("\x04", "q"), ("u", "u")):
        assert interview(typed, monkeypatch)._press() == key
    made = interview(" 1", monkeypatch)
    assert made._key("keys", turns=False) == "1"
    assert "no answer on that key: keys" in said(made)
    assert interview(" ", monkeypatch)._key("keys", turns=True) == " "
    monkeypatch.setattr("sys.stdin", None)
    assert Interview._press(made) == "q"


def test_keys_of_the_help_mean_what_it_says():
    """Left, right, tie and skip, by number, by letter and by arrow."""
    left, right = "\x1b[D", "\x1b[C"  # as terminals send the arrows
    meant = {"1": 1, "a": 1, left: 1, "2": 0, "b": 0, right: 0, "=": 0.5, "t": 0.5, "s": None}
    assert meant == ANSWERS
    for words in ("[b]1[/b]/← left", "[b]2[/b]/→ right", "[b]=[/b] tie", "[b]s[/b] skip", "[b]u[/b] undo"):
        assert words in HELP


@pytest.mark.parametrize("key", ["q", "u", "r", "1", "2", "=", "s"])
def test_each_key_does_its_own(monkeypatch, key):
    """Two pairs, the key at the first of them: what it does, and which pair is put next."""
    made, done = interview("", monkeypatch), []
    made.again = [(("c", "d"), "check"), (("a", "b"), "chosen")]
    keys = [key, "q"]
    made._next = lambda: made.again.pop() if made.again else None
    made._put = lambda pair: done.append(pair) or keys.pop(0)
    made._undo = lambda: done.append("undo")
    made._standing = lambda: done.append("ranking")
    made._answer = lambda pair, kind, outcome: done.append((pair, kind, outcome))
    made._signal = lambda: done.append("signal")
    assert made._ask() is False
    first, second = ("a", "b"), ("c", "d")
    outcome = {"1": 1, "2": 0, "=": 0.5, "s": None}
    expected = {
        "q": [first], "u": [first, "undo", first], "r": [first, "ranking", first],
        **{each: [first, (first, "chosen", value), "signal", second] for each, value in outcome.items()},
    }  # fmt: skip
    assert done == expected[key]


def test_an_interview_without_a_question_ends_by_itself(monkeypatch):
    made = interview("", monkeypatch)
    made._next = lambda: None
    assert made._ask() is True


@pytest.mark.parametrize("judge", [None, "ann"])
@pytest.mark.parametrize(("outcome", "row"), [(1, {"outcome": 1}), (0.5, {"outcome": 0.5}), (None, {"podium": "skip"})])
def test_an_answer_is_a_row_of_the_journal(monkeypatch, judge, outcome, row):
    made, rows = interview("", monkeypatch), []
    made.journal, made.judge, made._catch_up = (
        types.SimpleNamespace(append=rows.extend),
        judge,
        lambda: rows.append("taken"),
    )
    made._answer(("a", "b"), "check", outcome)
    said, taken = rows
    assert taken == "taken"
    assert said.pop("time").endswith("+00:00")
    assert said == {"left": "a", "right": "b", "kind": "check", **row, **({"judge": judge} if judge else {})}


def test_undoing_nothing_and_undoing_a_vote(monkeypatch):
    made = interview("", monkeypatch)
    made.journal = types.SimpleNamespace(undo=lambda judge, now, until: None)
    made._undo()
    assert "nothing to undo" in said(made)
    assert made.again == []
    taken = []
    made.journal = types.SimpleNamespace(undo=lambda judge, now, until: {"left": "a", "right": "b"})
    made._catch_up, made.told_stable = (lambda: taken.append(1)), True
    made._undo()
    assert (made.again, made.told_stable, taken) == ([(("a", "b"), "chosen")], False, [1])
    assert "took back a against b" in said(made)


def test_a_stable_order_is_told_once(monkeypatch):
    summary = types.SimpleNamespace(stable=True)
    made = interview("", monkeypatch, answered=10, summary=lambda: summary)
    made._signal()
    made._signal()
    assert said(made).count("The order looks stable:") == 1
    for answered, stable in ((7, True), (11, True), (10, False)):
        calm = interview("", monkeypatch, answered=answered, summary=lambda s=stable: types.SimpleNamespace(stable=s))
        calm._signal()
        assert said(calm) == ""


def test_why_there_is_no_question(monkeypatch):
    def ended(held=0, **ranker):
        made = interview("", monkeypatch, **{"done": True, "preset": "quick", "budget": None} | ranker)
        standing = types.SimpleNamespace(out=lambda now, but: range(held))
        made.journal = types.SimpleNamespace(standing=standing, time=lambda now: now)
        return made._ended()

    def summary(**more):
        given = {"pairs": 1, "skipped": 0, "items": 4, "stable": False, "finished": False}
        return lambda: types.SimpleNamespace(**given | more)

    assert ended(summary=summary(stable=True)) == ended(summary=summary(finished=True)) == "[b]Done.[/b]"
    assert ended(summary=summary(pairs=4, skipped=2)) == "[b]Done.[/b]"
    assert ended(summary=summary(pairs=4, skipped=1)) == "[b]Done:[/b] all 3 questions of --preset quick were asked."
    assert ended(summary=summary(), budget=3) == "[b]Done:[/b] all 3 questions of --budget were asked."
    assert ended(done=False) == "[b]No question is left for you.[/b]"
    assert ended(1, done=False) == "[b]No question is left for you:[/b] 1 pair is in the hands of others."
    assert ended(2, done=False).endswith("2 pairs are in the hands of others.")


# ---- whole commands -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = []
    for k in range(240):
        a, b = rng.choice(4, 2, replace=False).tolist()
        left = rng.random() < 1 / (1 + np.exp(a - b))
        rows.append(
            (f"i{a}", f"i{b}", "left" if left else "right", f"2026-0{1 + k // 60}-{1 + k % 28:02}", f"j{k % 3}")
        )
    pl.DataFrame(rows, schema=["left", "right", "outcome", "date", "judge"], orient="row").write_csv("votes.csv")
    return tmp_path


def call(command, *args):
    done = CliRunner().invoke(command, args)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return done.exit_code, str(done.exception), done.stderr
    return done.exit_code, done.stdout, done.stderr


def test_nested_models_are_compared_in_a_table(folder):
    code, out, err = call(compare, "votes.csv", "--nested")
    assert code == 0, out
    lines = out.splitlines()
    assert lines[0].split() == ["model", "parameters", "log-likelihood", "AIC", "BIC", "χ²", "df", "p"]
    assert len(lines) > 2
    assert "240 votes; each model against the one before it, without a penalty" in err
    said_no = call(compare, "votes.csv", "--nested", "--method", "elo")[1]
    assert "does not apply to" in said_no


def test_curves_of_so_many_items_are_drawn(folder):
    for top, names in (((), {"i0", "i1", "i2", "i3"}), (("--top", "2"), {"i0", "i1"})):
        options = ("--method", "dynamic", "--time", "date", "--plot", "c.svg", "--picture", "curves", *top)
        code, out, err = call(rank, "votes.csv", *options)
        assert code == 0, out + err
        text = (folder / "c.svg").read_text()
        assert {name for name in ("i0", "i1", "i2", "i3") if f">{name}<" in text} == names


def test_games_before_the_first_vote_have_no_chances(folder):
    code, out, err = call(rank, "votes.csv", "--method", "dynamic", "--time", "date", "--save", "m.podium")
    assert code == 0, out + err
    days = ("2025-12-31", "2025-12-30", "2026-01-01", "2026-02-01", "2026-06-01")
    (folder / "new.csv").write_text("left,right,date\n" + "".join(f"i0,i1,{day}\n" for day in days))
    code, out, err = call(predict, "new.csv", "--model", "m.podium", "--time", "date", "--format", "json")
    assert code == 0, out + err
    rows = json.loads(out)
    empty = [any(value is None for name, value in row.items() if name not in ("left", "right", "time")) for row in rows]
    assert empty == [True, True, False, False, False]
    assert "its chances are left empty" in err
    assert "… and 1 row more before it" in err


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ("id\na\nb\n", ["--top", "2"], "--top 2: there are 2 items; give 1 to 1"),
        ("id\na\nb\nc\n", ["--top", "1", "--preset", "exact"], "--preset exact orders all items; leave --top out"),
        ("id\na\na\n", [], "row 2: 'a' is there twice; names must differ"),
        ('id,text\na,x\n"",y\n', [], "row 2: column 'id' is empty; every item needs a name"),
        ("id\na\n", [], "1 item; an order needs at least two"),
    ],
)
def test_what_cannot_be_asked_about(folder, table, options, words):
    (folder / "items.csv").write_text(table)
    assert words in call(ask, "items.csv", "--log", "log.jsonl", *options)[1]
