"""Parts of `podium judge`: what reaches the library, what is refused, and in which order all is done."""

import contextlib
import json
import types
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner

from podium.cli import judge as judging
from podium.cli import judge_items, judge_options, judge_server, judge_words
from podium.cli.judge_items import Read, _check_shown, check_extra, criteria_of, read_source
from podium.cli.judge_options import Amount, Model, Source, _body, _headers
from podium.errors import InputError
from podium.judge.settings import Progress, Settings

from helpers import Noted

SOURCE = dict.fromkeys(Source.__slots__) | {"criteria": ()}
MODEL = dict.fromkeys(Model.__slots__) | {
    "answer": "json", "temperature": 0.0, "max_tokens": 1024, "concurrency": 16, "headers": ()}  # fmt: skip
AMOUNT = dict.fromkeys(Amount.__slots__) | {
    "preset": "standard", "goal": "order", "one_order": False, "repeat": 0.0, "against": (), "anyway": False,
    "keep_prompts": False, "dry_run": False,
}  # fmt: skip


def source(**more):
    return Source(**SOURCE | more)


def model(**more):
    return Model(**MODEL | more)


def amount(**more):
    return Amount(**AMOUNT | more)


def refusal(call, *args, **more):
    with pytest.raises((InputError, click.UsageError)) as told:
        call(*args, **more)
    return getattr(told.value, "message", None) or str(told.value)


# ---- who judges -----------------------------------------------------------------------------------------------------


def test_a_model_is_asked_with_all_that_was_typed(monkeypatch, tmp_path):
    asked = Noted("asker")
    monkeypatch.setattr("podium.judge.http.HttpJudge", asked)
    (tmp_path / "prompt.txt").write_text("{{ left }}", "utf-8")
    who = model(
        base_url="http://x", model="m", answer="word", prompt=tmp_path / "prompt.txt", temperature=0.5, max_tokens=7,
        timeout=9.0, concurrency=3, rpm=4.0, tpm=5.0, extra_body='{"top_p": 0.9}', headers=("X-Team=red",),
    )  # fmt: skip
    assert who.asker(11) == "asker"
    assert asked.calls == [(("http://x", "m"), {
        "answer": "word", "template": "{{ left }}", "temperature": 0.5, "max_tokens": 7, "timeout": 9.0,
        "concurrency": 3, "rpm": 4.0, "tpm": 5.0, "extra_body": {"top_p": 0.9}, "headers": {"X-Team": "red"},
        "seed": 11,
    })]  # fmt: skip
    model(base_url="http://x", model="m").asker(None)
    more = asked.calls[1][1]
    assert (more["timeout"], more["template"], more["extra_body"], more["headers"]) == (120.0, None, {}, {})


def test_a_program_is_asked_with_its_words(monkeypatch):
    asked = Noted("asker")
    monkeypatch.setattr("podium.judge.command.CommandJudge", asked)
    assert model(command="./my 'two words' -q", concurrency=3).asker(1) == "asker"
    model(command="cat", timeout=9.0).asker(1)
    assert asked.calls == [
        ((["./my", "two words", "-q"],), {"timeout": 600.0, "concurrency": 3}),
        ((["cat"],), {"timeout": 9.0, "concurrency": 16}),
    ]


def test_one_of_both_judges():
    either = "give either --base-url and --model, or --command; one of them judges"
    assert refusal(model().asker, None) == either
    assert refusal(model(base_url="http://x", model="m", command="cat").asker, None) == either
    for name in (None, ""):
        lacking = "--base-url needs --model; name the model as the server does"
        assert refusal(model(base_url="http://x", model=name).asker, None) == lacking
    told = refusal(model(command="'").asker, None)
    assert told == '--command "\'" cannot be read: No closing quotation; correct its quotes'


@pytest.mark.parametrize("flag", [
    "model", "answer", "prompt", "temperature", "max-tokens", "rpm", "tpm", "extra-body", "header",
])  # fmt: skip
def test_options_about_a_model_are_no_use_to_a_program(flag):
    name = "headers" if flag == "header" else flag.replace("-", "_")
    typed = types.SimpleNamespace(
        get_parameter_source=lambda each: click.core.ParameterSource.COMMANDLINE if each == name else None
    )
    words = f"--{flag} is for a model behind a server; leave it out with --command"
    assert refusal(model(command="cat").refuse_idle, typed) == words
    model(base_url="http://x").refuse_idle(typed)
    nothing = types.SimpleNamespace(get_parameter_source=lambda each: click.core.ParameterSource.DEFAULT)
    model(command="cat").refuse_idle(nothing)


def test_more_fields_are_a_json_object():
    assert _body(None) == {}
    assert _body('{"a": [1]}') == {"a": [1]}
    for text in ("[1]", "1", "null"):
        assert refusal(_body, text) == "--extra-body is no JSON object; give one, as '{\"top_p\": 0.9}'"
    assert refusal(_body, "{").startswith("--extra-body is no JSON (")
    assert refusal(_body, "[" * 100_000).startswith("--extra-body is no JSON (")


def test_headers_are_plain_names_and_values():
    typed = ("X-Team = red ", "a_b=", "N1=x=y")
    assert _headers(typed) == {"X-Team": "red", "a_b": "", "N1": "x=y"}
    assert _headers(()) == {}
    for bad in ("X-Team", "=red", "-=red", "X Team=red", "X:=red", "X=r\x07", "X=rød", "Ø=r"):
        words = "--header: one is not NAME=VALUE in plain letters; give it as X-Team=red"
        assert refusal(_headers, ("A=b", bad)) == words


# ---- how much is asked ----------------------------------------------------------------------------------------------


def test_settings_are_those_typed_each_in_its_place():
    typed = amount(
        preset="quick", budget=2, max_calls=3, max_cost=4.0, price_in=5.0, price_out=6.0, one_order=True, repeat=0.5,
        anyway=True, keep_prompts=True, seed=8,
    )  # fmt: skip
    assert typed.settings(7) == Settings(
        preset="quick", budget=2, max_calls=3, max_cost=4.0, price_in=5.0, price_out=6.0, concurrency=7, one_order=True,
        repeat=0.5, anyway=True, keep_prompts=True, seed=8,
    )  # fmt: skip
    assert amount().settings(16) == Settings()


def test_a_most_cost_needs_one_price():
    words = "--max-cost needs prices; give --price-in and --price-out, per million tokens"
    assert refusal(amount(max_cost=1.0).settings, 16) == words
    for prices in ({"price_in": 0.0}, {"price_out": 0.0}, {"price_in": 1.0, "price_out": 2.0}):
        assert amount(max_cost=1.0, **prices).settings(16).max_cost == 1.0
    amount(price_in=1.0).settings(16)


@pytest.mark.parametrize(("goal", "top"), [
    ("order", None), ("top:1", 1), ("top:20", 20), ("top:2147483647", 2**31 - 1), ("top:007", 7),
])  # fmt: skip
def test_a_goal_is_the_order_or_the_first(goal, top):
    assert amount(goal=goal).top == top


@pytest.mark.parametrize("goal", [
    "top", "top:", "top:0", "top:-1", "top:x", "top:2147483648", "first:3", "order:3", "top:٣", "top:²", "top:1.5", "",
])  # fmt: skip
def test_another_goal_is_none(goal):
    told = refusal(lambda: amount(goal=goal).top)
    assert told == f"--goal {goal!r} is neither order nor top:K; give one, as top:20"


def test_judges_to_compare_with_are_files_and_names():
    assert amount(against=("a.db:ann", "c:\\b.db:bob")).others == [("a.db", "ann"), ("c:\\b.db", "bob")]
    assert amount().others == []
    for bad in ("a.db", ":ann", "a.db:", ":"):
        words = f"--against {bad!r} names no judge; give FILE:JUDGE, as campaign.db:reader-1"
        assert refusal(lambda bad=bad: amount(against=("x:y", bad)).others) == words


def test_waits_are_two_minutes_for_a_model_and_ten_for_a_program():
    assert (judge_options.MODEL_TIMEOUT, judge_options.COMMAND_TIMEOUT) == (120.0, 600.0)


# ---- items ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_items_come_with_context_and_reference_where_they_have_some(folder):
    Path("items.csv").write_text("id,text,prompt,good\na,tea,ask one,yes\nb,milk,,\nc,coffee,ask three,no\n")
    read = read_source("items.csv", source(reference="good"))
    assert [(item.label, item.body) for item in read.items.items] == [("a", "tea"), ("b", "milk"), ("c", "coffee")]
    assert read.extra == {"context": {0: "ask one", 2: "ask three"}, "reference": {0: "yes", 2: "no"}}
    assert read.gold == ()
    Path("items.csv").write_text("id,text,prompt,context,good\na,tea,p,c,1\nb,milk,p,c,2\n")
    assert read_source("items.csv", source()).extra == {"context": {0: "c", 1: "c"}}
    Path("items.csv").write_text("name,words,body\na,tea,x\nb,milk,y\n")
    read = read_source("items.csv", source(id="words", text="name"))
    assert [(item.label, item.body) for item in read.items.items] == [("tea", "a"), ("milk", "b")]
    assert read.extra == {}


def test_known_answers_are_read_beside_the_items(folder):
    Path("items.csv").write_text("id,text\na,tea\nb,milk\n")
    Path("gold.csv").write_text("winner,loser\nb,a\n")
    assert read_source("items.csv", source(gold=Path("gold.csv"))).gold == (("b", "a", 1),)
    Path("gold.csv").write_text("winner,loser\nb,a\nb,zoe\n")
    words = "gold.csv, row 2: there is no item 'zoe'; check its name"
    assert refusal(read_source, "items.csv", source(gold=Path("gold.csv"))) == words


def test_a_folder_is_items_and_needs_two(folder):
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text("tea")
    assert refusal(read_source, "texts", source()) == "texts: 1 item; an order needs at least two"
    (folder / "texts" / "b.txt").write_text("milk")
    read = read_source("texts", source())
    assert len(read.items.items) == 2
    assert read.extra == {}


@pytest.mark.parametrize(("head", "votes"), [
    ("winner,loser,text", True), ("left,right,outcome", True), ("left,right,text", False), ("winner,text,id", False),
    ("loser,text,id", False), ("left,outcome,text", False),
])  # fmt: skip
def test_votes_are_not_items(folder, head, votes):
    Path("v.csv").write_text(f"{head}\nx,y,1\nz,w,0\n")
    if votes:
        words = "v.csv holds votes, not items; give a table with a row for each item, or `podium rank` it"
        assert refusal(read_source, "v.csv", source()) == words
    else:
        assert len(read_source("v.csv", source()).items.items) == 2


def test_a_reference_that_is_no_column_is_named(folder):
    Path("i.csv").write_text("id,text\na,x\nb,y\n")
    assert refusal(read_source, "i.csv", source(reference="r")) == "i.csv has no column 'r'; there are id, text"


@pytest.mark.parametrize(("names", "given", "others"), [
    (["id", "text", "more"], {}, None), (["id", "body", "more"], {}, None), (["id", "file", "more"], {}, None),
    (["id", "more"], {"text": "more"}, None), (["id"], {}, None), (["id", "context", "prompt"], {}, None),
    (["id", "good"], {"reference": "good"}, None), (["id", "more", "most"], {}, ("id", "more, most")),
    (["first", "second"], {}, ("first", "second")), (["first", "second"], {"id": "second"}, ("second", "first")),
    (["more", "id"], {}, ("id", "more")),
])  # fmt: skip
def test_labels_are_not_shown_where_another_column_may_be_meant(names, given, others):
    if others is None:
        _check_shown("i.csv", names, source(**given))
        return
    label, rest = others
    assert refusal(_check_shown, "i.csv", names, source(**given)) == (
        f"i.csv has no column text or body; name the one that is shown by --text ({rest}), or --text {label} to show "
        "the labels"
    )


def test_criteria_have_a_name_and_words_each_once():
    assert criteria_of(()) == [("judge", "")]
    assert criteria_of((" a = x=y ", "b=z")) == [("a", "x=y"), ("b", "z")]
    for bad in ("a", "=x", " =x", "a=", "a= "):
        words = f"--criterion {bad!r} is not NAME=TEXT; give both, as clarity='The text is easy to follow'"
        assert refusal(criteria_of, ("b=z", bad)) == words
    assert refusal(criteria_of, ("a=x", " a =y")) == "--criterion 'a' appears twice; names must differ"


@pytest.mark.parametrize(("lacking", "words"), [
    ((), None), (("httpx",), "httpx"), (("jinja2",), "jinja2"), (("sqlalchemy", "httpx"), "httpx, sqlalchemy"),
])  # fmt: skip
def test_what_is_not_installed_is_named(monkeypatch, lacking, words):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in lacking else "there")
    if words is None:
        check_extra()
    else:
        assert refusal(check_extra) == f"a model as judge needs {words}; pip install 'podium[judge]'"


# ---- before it runs -------------------------------------------------------------------------------------------------


class Prompt:
    """Messages of a made-up asker: ten letters around the two texts."""

    @staticmethod
    def messages(first):
        Prompt.first = first
        return [{"role": "system", "content": "01234"}, {"role": "user", "content": f"{first.left}{first.right}56789"}]


def read_of(texts, extra=None):
    rows = [types.SimpleNamespace(label=label, body=body) for label, body in texts.items()]
    return Read(types.SimpleNamespace(items=rows), extra or {}, ())


def dry(capsys, texts, asker, *, given=None, extra=None, answer="json", **more):
    read = read_of(texts, extra)
    judge_words.dry_run(read, source(question="Q?", **given or {}), model(answer=answer), amount(**more), asker)
    out, err = capsys.readouterr()
    return out, err.splitlines()


def test_a_dry_run_prints_the_first_prompt_with_all_that_goes_with_it(capsys):
    asker = types.SimpleNamespace(prompt=Prompt)
    extra = {"context": {0: "about", 1: "no"}, "reference": {0: "good", 1: "no"}}
    given = {"criteria": ("style=Which reads better?",)}
    out, _ = dry(capsys, {"a": "tea", "b": None, "c": "coffee"}, asker, given=given, extra=extra)
    assert out == "[system]\n01234\n\n[user]\nteab56789\n"
    first = Prompt.first
    assert (first.id, first.question, first.left, first.right) == ("dry-run", "Q?", "tea", "b")
    assert (first.context, first.reference, first.instructions) == ("about", "good", "Which reads better?")
    dry(capsys, {"a": "tea", "b": "milk"}, asker)
    assert (Prompt.first.context, Prompt.first.reference, Prompt.first.instructions) == (None, None, "")


@pytest.mark.parametrize(("more", "given", "calls"), [
    ({}, {}, 12), ({"max_calls": 5}, {}, 5), ({"max_calls": 50}, {}, 12), ({"budget": 2}, {}, 4),
    ({}, {"criteria": ("a=x", "b=y")}, 24), ({"one_order": True}, {}, 6 + 1),
    ({"one_order": True, "budget": 4}, {}, 4 + 1), ({"max_calls": 5}, {"criteria": ("a=x", "b=y")}, 10),
])  # fmt: skip
def test_a_dry_run_counts_calls_and_tokens(capsys, more, given, calls):
    """Four items have six pairs, each in two orders; in one order an eighth of twelve, rounded down, is asked in both.

    A call holds ten letters around two texts of eight letters in the mean, and four letters are a token.
    """
    texts = dict(zip("abcd", ("x" * 2, "x" * 6, "x" * 10, "x" * 14), strict=True))
    asker = types.SimpleNamespace(prompt=Prompt)
    _, err = dry(capsys, texts, asker, given=given, **more)
    pairs = more.get("budget", 6)
    tokens = (10 + 2 * 8) / 4 * calls
    told = f"nothing was asked; up to {pairs} pairs of 4 items, {calls} calls, about"
    assert err == [f"{told} {tokens:,.0f} tokens in and {60 * calls:,} out"]
    _, err = dry(capsys, texts, asker, given=given, answer="logprobs", **more)
    assert err == [f"{told} {tokens:,.0f} tokens in and {calls} out"]
    _, err = dry(capsys, texts, types.SimpleNamespace(), given=given, **more)
    assert err == [f"nothing was asked; up to {pairs} pairs of 4 items, {calls} calls"]


@pytest.mark.parametrize(("prices", "cost"), [
    ({"price_in": 1e6}, 78.0), ({"price_out": 1e6}, 720.0), ({"price_in": 1e6, "price_out": 1e5}, 150.0),
    ({"price_in": 0.0}, 0.0), ({"price_out": 0.0}, 0.0),
])  # fmt: skip
def test_a_dry_run_says_what_all_costs_by_both_prices(capsys, prices, cost):
    """Twelve calls of 6.5 tokens in and sixty out."""
    texts = dict.fromkeys("abcd", "x" * 8)
    asker = types.SimpleNamespace(prompt=Prompt)
    assert dry(capsys, texts, asker, **prices)[1][1:] == [f"about {cost:.2f} in all"]
    assert dry(capsys, texts, asker, **prices, max_cost=2.5)[1][1:] == [
        f"about {cost:.2f} in all; --max-cost stops at 2.5"]  # fmt: skip
    assert len(dry(capsys, texts, asker)[1]) == 1


def test_what_has_no_price_costs_nothing_however_many_calls_are_made(capsys):
    asker = types.SimpleNamespace(prompt=Prompt)
    many = {f"i{k}": "x" * 1000 for k in range(60)}
    for price in ("price_in", "price_out"):
        assert dry(capsys, many, asker, **{price: 0.0})[1][1] == "about 0.00 in all"


def test_the_calibration_of_one_order_is_bounded(capsys):
    texts = {f"i{k}": "x" for k in range(60)}
    both = min(Settings().calibration, 60 * 59 // 8)
    assert both == Settings().calibration
    _, err = dry(capsys, texts, types.SimpleNamespace(), one_order=True)
    pairs = Settings(one_order=True).most_pairs(60)
    assert err == [f"nothing was asked; up to {pairs:,} pairs of 60 items, {pairs + both:,} calls"]
    _, err = dry(capsys, {"a": "x", "b": "y"}, types.SimpleNamespace(), one_order=True)
    assert err == ["nothing was asked; up to 1 pair of 2 items, 2 calls"]


def test_a_dry_run_of_a_program_is_one_line_of_json(capsys):
    extra = {"context": {0: "über"}, "reference": {0: "good"}}
    given = {"criteria": ("style=Which?",)}
    out, _ = dry(capsys, {"a": "tea", "b": "milk"}, types.SimpleNamespace(), given=given, extra=extra)
    assert json.loads(out) == {
        "id": "dry-run", "question": "Q?", "left": "tea", "right": "milk", "context": "über", "reference": "good",
        "instructions": "Which?",
    }  # fmt: skip
    assert "über" in out
    words = "--dry-run is for items; a campaign's first pair is known when it is asked"
    assert refusal(judge_words.dry_run, None, source(), model(), amount(), None) == words


# ---- while it runs --------------------------------------------------------------------------------------------------


def test_where_nobody_watches_a_line_is_told_every_half_minute(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(judge_words.time, "monotonic", lambda: now[0])
    with judge_words.progress() as told:
        for seconds in (110.0, 130.0, 130.5, 140.0, 160.5, 160.6):
            now[0] = seconds
            told(Progress(pairs=int(seconds), limit=1000))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["130", "160"]


def test_on_a_terminal_one_line_changes(monkeypatch):
    shown = []

    class Screen:
        def __init__(self, **options):
            shown.append(options)

        def status(self, words):
            shown.append(words)
            return contextlib.nullcontext(types.SimpleNamespace(update=shown.append))

    monkeypatch.setattr("sys.stderr", types.SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("rich.console.Console", Screen)
    with judge_words.progress() as told:
        told(Progress(pairs=1, limit=2))
        told(Progress(pairs=2, limit=2))
    assert shown[:2] == [{"stderr": True, "highlight": False}, "beginning"]
    assert [words.split(";")[0] for words in shown[2:]] == ["1 of at most 2 pairs", "2 of at most 2 pairs"]


def test_what_has_no_number_is_not_told_while_it_runs():
    assert judge_words._words(Progress(pairs=1, limit=2)) == "1 of at most 2 pairs; 0 calls (0.0/s, 0 out)"
    assert "0 % the same in both orders" in judge_words._words(Progress(both=4))
    assert "0 % of check pairs as predicted" in judge_words._words(Progress(agreed=0.0))
    assert "about 30.00 in all" in judge_words._words(Progress(cost=1.0, limit=30))  # not yet one pair
    assert "1 request without an answer" in judge_words._words(Progress(lost=1))
    few = judge_words._words(Progress(pairs=10, limit=40, here=20, seconds=10.0, until_stable=30))
    assert few.endswith("about 30 pairs or more until stable, 30 s")  # two calls a pair, half a second each
    skipped = judge_words._words(Progress(pairs=10, skips=1, limit=40, here=20, seconds=10.0, until_stable=30))
    assert skipped.endswith("at most 29 s more")
    edge = Progress(pairs=1, limit=1 + 10**8, here=20, seconds=1e-6)
    assert "more" not in judge_words._words(edge)
    below = Progress(pairs=1, limit=10**8, here=20, seconds=1e-6)
    assert judge_words._words(below).endswith(" more")


# ---- after it -------------------------------------------------------------------------------------------------------


def test_a_ranking_with_intervals_is_a_leaderboard_and_one_without_a_table():
    frame = pl.DataFrame({
        "rank": [1, 2], "item": ["a", "b"], "score": [1.25, -1.25], "lower": [0.5, -2.0], "upper": [2.0, -0.5],
        "rank_lower": [1, 1], "rank_upper": [2, 2], "tier": [1, 1], "comparisons": [3.0, 3.0],
    })  # fmt: skip
    written = []
    out = types.SimpleNamespace(room=None, write=lambda *args: written.append(args))
    for ranking in (None, object()):
        each = types.SimpleNamespace(order=("a", "b"), why="stable", ranking=ranking, to_frame=lambda: frame)
        judge_words.write([("judge", each)], out)
    assert written[0] == (frame, None)
    out.room = 40
    judge_words.write([("judge", each)], out)
    assert written.pop()[1].splitlines()[0].split() == ["rank", "item", "score", "interval", "ranks"]
    assert written[1][1].splitlines()[1].split()[:6] == ["1", "a", "1.25", "0.50", "…", "2.00"]


def test_a_criterion_that_came_to_nothing_is_left_out_of_the_table():
    def judged(order, why="stable"):
        return types.SimpleNamespace(order=tuple(order), why=why, ranking=None)

    written = []
    out = types.SimpleNamespace(room=None, write=written.append)
    judge_words.write([("style", judged("ba")), ("truth", judged("", "gone"))], out)
    assert written[0].to_dicts() == [
        {"item": "b", "style": 1, "mean_place": 1.0}, {"item": "a", "style": 2, "mean_place": 2.0}]  # fmt: skip
    judge_words.write([("style", judged("ab")), ("truth", judged("b"))], out)
    assert written[1].to_dicts() == [
        {"item": "a", "style": 1, "truth": None, "mean_place": 1.0},
        {"item": "b", "style": 2, "truth": 1, "mean_place": 1.5},
    ]
    judge_words.write([("style", judged("ab")), ("truth", judged("ba"))], out)
    assert [row["item"] for row in written[2].to_dicts()] == ["a", "b"], "equal places by name"
    for why in judge_words.FAILED:
        judge_words.write([("style", judged("", why))], out)
    assert len(written) == 3


# ---- through a server -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "given"), [
    ("question", {"question": "Q?"}), ("campaign", {"campaign": "c"}), ("id", {"id": "i"}), ("text", {"text": "t"}),
    ("reference", {"reference": "r"}), ("criterion", {"criteria": ("a=b",)}), ("gold", {"gold": Path("g")}),
    ("against", {"against": ("a:b",)}), ("one-order", {"one_order": True}), ("report", {"report": Path("r.html")}),
    ("dry-run", {"dry_run": True}), ("goal", {"goal": "top:3"}), ("preset", {"preset": "quick"}),
])  # fmt: skip
def test_what_a_server_decides_is_refused(name, given):
    of_source = {key: value for key, value in given.items() if key in SOURCE}
    of_amount = {key: value for key, value in given.items() if key in AMOUNT}
    told = refusal(judge_server._refuse_idle, None, source(**of_source), amount(**of_amount), given.get("report"))
    assert told == f"--{name} is for items or a file; the server chooses the pairs, so leave it out"


def test_a_server_has_the_items_and_takes_the_rest():
    told = refusal(judge_server._refuse_idle, "items.csv", source(), amount(), None)
    assert told == "--server has the items; leave items.csv out"
    judge_server._refuse_idle(None, source(server="x", db="d"), amount(budget=3, seed=1, repeat=0.1), None)


@pytest.mark.parametrize(("server", "link", "url", "token"), [
    ("http://h:8000", "http://elsewhere/j#s3cret", "http://h:8000", "s3cret"),
    ("https://h/path?x=1", " s3cret ", "https://h", "s3cret"), ("http://h", "a#b#c", "http://h", "c"),
])  # fmt: skip
def test_the_link_is_in_the_environment_and_the_address_is_typed(monkeypatch, server, link, url, token):
    monkeypatch.setenv("PODIUM_JUDGE_LINK", link)
    desk = judge_server._desk(server)
    assert (desk.url, desk._token) == (url, token)


@pytest.mark.parametrize(("server", "link", "words"), [
    ("http://h/j#s", "x", "--server holds a secret, which others can see; give the address, and set "
     "PODIUM_JUDGE_LINK to the link"),
    ("ftp://h", "x", "--server 'ftp://h' is no address; give one as http://127.0.0.1:8000"),
    ("http://", "x", "--server 'http://' is no address; give one as http://127.0.0.1:8000"),
    ("h:80", "x", "--server 'h:80' is no address; give one as http://127.0.0.1:8000"),
    ("http://h", " ", "--server needs a judge's link; set PODIUM_JUDGE_LINK to the one that the organiser sent"),
    ("http://h", None, "--server needs a judge's link; set PODIUM_JUDGE_LINK to the one that the organiser sent"),
    ("http://h", "x#ö", "PODIUM_JUDGE_LINK holds no link; copy all of it, with the part after #"),
    ("http://h", "x#a b", "PODIUM_JUDGE_LINK holds no link; copy all of it, with the part after #"),
    ("http://h", "x#a\x07b", "PODIUM_JUDGE_LINK holds no link; copy all of it, with the part after #"),
])  # fmt: skip
def test_an_address_or_a_link_that_is_none_is_refused(monkeypatch, server, link, words):
    monkeypatch.delenv("PODIUM_JUDGE_LINK", raising=False)
    if link is not None:
        monkeypatch.setenv("PODIUM_JUDGE_LINK", link)
    assert refusal(judge_server._desk, server) == words


def test_an_address_that_cannot_be_parsed_says_why(monkeypatch):
    monkeypatch.setenv("PODIUM_JUDGE_LINK", "x")
    told = refusal(judge_server._desk, "http://[::1")
    assert told.startswith("--server 'http://[::1' is no address (")
    assert told.endswith("); give one as http://127.0.0.1:8000")


@pytest.mark.parametrize("db", [None, "own.db"])
def test_a_judge_at_a_server_is_told_as_one_of_several(monkeypatch, capsys, db):
    ended, desk = object(), object()
    remote, told = Noted(ended), Noted()
    monkeypatch.setattr("podium.store.open_store", lambda path: contextlib.nullcontext(("store", path)))
    monkeypatch.setattr("podium.judge.remote.judge_remote", remote)
    monkeypatch.setattr("podium.judge.remote.file_of", lambda each: "file.db" if each is desk else None)
    monkeypatch.setattr(
        judge_server, "_desk", lambda server: contextlib.nullcontext(desk) if server == "http://h" else None
    )
    monkeypatch.setattr(judge_server, "tell", told)
    monkeypatch.setattr(judge_server, "progress", lambda: contextlib.nullcontext("progress"))
    monkeypatch.setattr(Model, "asker", lambda self, seed: ("asker", seed))
    who = model(command="cat", name="robot", concurrency=3)
    made = judge_server.judge_at(None, source(server="http://h", db=db), who, amount(seed=4, budget=9), None)
    assert made == ("judge", ended)
    settings = Settings(budget=9, concurrency=3, seed=4)
    assert remote.calls == [
        ((desk, ("asker", 4), settings), {"db": db or "file.db", "name": "robot", "told": "progress"})]  # fmt: skip
    assert told.calls == [((None, ended, ("store", db or "file.db")), {"alone": False})]
    assert capsys.readouterr().err == (
        "the ranking is of this judge's votes alone; the organiser's page has that of all\n"
    )


# ---- the whole command ----------------------------------------------------------------------------------------------


def ended(why="stable", places=("a",), campaign="judge"):
    return types.SimpleNamespace(
        why=why, standing=types.SimpleNamespace(places=places), campaign=campaign, order=("a", "b"), ranking=None,
        tally=types.SimpleNamespace(words=lambda: ["numbers"]), to_frame=lambda: pl.DataFrame({"item": ["a", "b"]}),
    )  # fmt: skip


@pytest.fixture
def runs(monkeypatch, folder):
    """`podium judge` without a judge: what each run is given, and how it ends."""
    Path("items.csv").write_text("id,text\na,tea\nb,milk\nc,coffee\n")
    noted = types.SimpleNamespace(judged=[], told=[], askers=[], reports=[], ends=[])

    def judged(store, campaign, asker, settings, **more):
        noted.judged.append((campaign, asker, settings, more))
        return noted.ends.pop(0)

    def asker(self, seed):
        noted.askers.append(seed)
        return f"asker {len(noted.askers)}"

    monkeypatch.setattr("podium.judge.pairs.judged", judged)
    monkeypatch.setattr(Model, "asker", asker)
    monkeypatch.setattr(judging, "tell", lambda *args: noted.told.append(args[:2]))
    monkeypatch.setattr(judging, "progress", lambda: contextlib.nullcontext("progress"))
    monkeypatch.setattr(judging, "_write_report", lambda store, *args: noted.reports.append(args))

    def call(*args, ends):
        noted.ends = list(ends)
        return CliRunner().invoke(judging.judge, ["items.csv", "--question", "Q?", "--command", "cat", *args])

    noted.call = call
    return noted


def test_a_run_is_given_the_campaign_the_judge_and_the_settings(runs):
    end = ended()
    typed = ("--as", "robot", "--concurrency", "3", "--seed", "4", "--budget", "9", "--against", "x.db:ann")
    done = runs.call(*typed, "--goal", "top:2", "--format", "csv", ends=[end])
    assert done.exit_code == 0, done.output
    ((campaign, asker, settings, more),) = runs.judged
    assert (campaign.title, campaign.question, campaign.instructions) == ("judge", "Q?", "")
    chosen = campaign.options if isinstance(campaign.options, dict) else vars(campaign.options)
    assert (chosen["top"], chosen["tired_after"], campaign.seed) == (2, 1, 4)
    assert asker == "asker 1"
    assert settings == Settings(budget=9, concurrency=3, seed=4)
    assert more == {"name": "robot", "others": [("x.db", "ann")], "told": "progress"}
    assert runs.told == [(None, end)]
    assert set(runs.askers) == {4}
    assert done.stdout.splitlines() == ["item", "a", "b"]
    assert "one order" not in done.stderr
    assert Path("items.podium.db").exists()
    assert runs.reports == []


def test_what_is_not_installed_is_told_before_anything_is_read(runs, monkeypatch):
    monkeypatch.setattr(judging, "check_extra", lambda: (_ for _ in ()).throw(InputError("not installed")))
    assert str(runs.call(ends=[]).exception) == "not installed"
    assert runs.askers == []


def test_known_answers_are_kept_with_the_campaign(runs):
    Path("gold.csv").write_text("winner,loser\nb,a\n")
    assert runs.call("--gold", "gold.csv", ends=[ended()]).exit_code == 0
    options = runs.judged[0][0].options
    gold = options["gold"] if isinstance(options, dict) else options.gold
    assert [tuple(row) for row in gold] == [("b", "a", 1)]


def test_one_order_is_said_and_a_database_may_be_named(runs):
    done = runs.call("--one-order", "--db", "own.db", ends=[ended()])
    assert "one order: pairs are random, and the advantage of the first place is fitted" in done.stderr
    assert Path("own.db").exists()
    assert not Path("items.podium.db").exists()


def test_each_criterion_is_a_campaign_with_a_judge_of_its_own(runs):
    ends = [ended(), ended()]
    done = runs.call(
        "--criterion", "style=Reads better?", "--criterion", "truth=True?", "--report", "r.html", ends=ends
    )
    assert done.exit_code == 0, done.output
    assert [(each[0].title, each[0].question, each[0].instructions) for each in runs.judged] == [
        ("style", "Q?", "Reads better?"), ("truth", "Q?", "True?")]  # fmt: skip
    assert [each[1] for each in runs.judged] == ["asker 1", "asker 2"]
    assert runs.told == [("style", ends[0]), ("truth", ends[1])]
    assert runs.reports == [("items.csv", "truth", ends[1], Path("r.html"))]


def test_one_criterion_has_no_heading(runs):
    end = ended()
    runs.call("--criterion", "style=Reads better?", ends=[end])
    assert runs.told == [(None, end)]


@pytest.mark.parametrize(("why", "code"), [
    *((why, 1) for why in judge_words.FAILED), ("interrupted", 130), ("stable", 0), ("budget", 0),
])  # fmt: skip
def test_a_run_that_fails_is_the_last_and_leaves_its_code(runs, why, code):
    done = runs.call(
        "--criterion", "a=x", "--criterion", "b=y", ends=[ended(why), ended()] if code else [ended(why)] * 2
    )
    assert done.exit_code == code, done.output
    assert len(runs.judged) == (1 if code else 2)


def test_a_page_is_written_where_there_are_places(runs):
    end = ended()
    runs.call("--report", "r.html", ends=[end])
    assert runs.reports == [("items.csv", "judge", end, Path("r.html"))]
    runs.call("--report", "r.html", "--db", "other.db", ends=[ended(places=())])
    assert len(runs.reports) == 1


def test_the_same_campaign_goes_on_and_another_question_is_refused(runs):
    for _ in range(2):
        assert runs.call("--seed", "3", "--goal", "top:1", ends=[ended()]).exit_code == 0
    first, second = (each[0] for each in runs.judged)
    assert first.id == second.id
    done = runs.call("--question", "Other?", ends=[ended()])
    assert isinstance(done.exception, InputError)
    assert len(runs.judged) == 2


def test_a_campaign_file_is_judged_as_it_is(runs, monkeypatch):
    runs.call(ends=[ended()])
    own = runs.judged[0][0]

    def there(*args, ends=()):
        runs.ends = list(ends)
        return CliRunner().invoke(judging.judge, [args[0], "--command", "cat", *args[1:]])

    for name, more in (
        ("items.podium.db", []),
        ("items.podium.db#judge", []),
        ("items.podium.db", ["--campaign", "judge"]),
    ):
        assert there(name, *more, ends=[ended()]).exit_code == 0
        assert runs.judged[-1][0].id == own.id
    assert isinstance(there("items.podium.db#other").exception, InputError)
    assert isinstance(there("items.podium.db", "--campaign", "other").exception, InputError)
    for flag, value in (("question", "Q?"), ("db", "x"), ("id", "i"), ("text", "t"), ("reference", "r"),
                        ("criterion", "a=b"), ("gold", "items.csv")):  # fmt: skip
        told = str(there("items.podium.db", f"--{flag}", value).exception)
        assert told == f"--{flag}: items.podium.db is a campaign, which has its own; leave it out"
    told = str(there("items.podium.db", "--dry-run").exception)
    assert told == "--dry-run is for items; a campaign's first pair is known when it is asked"


def test_a_dry_run_writes_nothing(runs):
    done = runs.call("--dry-run", ends=[])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["left"] == "tea"
    assert runs.judged == []
    assert not Path("items.podium.db").exists()


@pytest.mark.parametrize(("title", "of_campaign", "named"), [
    ("style", "style", "items: style"), ("judge", "Essays", "Essays"), ("judge", "judge", "items"),
])  # fmt: skip
def test_a_page_is_called_as_what_was_judged(monkeypatch, capsys, title, of_campaign, named):
    written = Noted()
    monkeypatch.setattr("podium.campaign.report.write_report", written)
    monkeypatch.setattr("podium.campaign.setup.campaign_named", lambda reader, name: reader.named(name))
    it = types.SimpleNamespace(title=of_campaign, id=7)
    reader = types.SimpleNamespace(
        named=lambda name: it if name == "slug" else None, content=lambda number: f"content {number}"
    )
    store = types.SimpleNamespace(read=lambda job: job(reader))
    judging._write_report(store, "folder/items.csv", title, ended(campaign="slug"), Path("r.html"))
    assert written.calls == [(("content 7", "r.html"), {"title": named, "judge": ["numbers"]})]
    assert capsys.readouterr().err == "wrote r.html\n"


def test_a_server_takes_the_place_of_items(monkeypatch):
    asked = Noted(("judge", ended("budget")))
    monkeypatch.setattr("podium.cli.judge_server.judge_at", asked)
    done = CliRunner().invoke(judging.judge, ["--server", "http://h", "--command", "cat", "--format", "csv"])
    assert (done.exit_code, done.stdout.splitlines()) == (0, ["item", "a", "b"])
    ((args, more),) = asked.calls
    assert (args[0], args[1].server, args[2].command, args[3].preset, args[4], more) == (
        None, "http://h", "cat", "standard", None, {})  # fmt: skip


def test_names_of_campaigns_without_criteria():
    assert judge_items.UNNAMED == "judge"
