"""Pictures and pages of `podium rank`, part by part: what reaches the library that draws them, and what is refused."""

import re
import shlex
import sys
import types
import warnings
from base64 import b64decode
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest
from click.core import ParameterSource
from click.testing import CliRunner

from podium import BradleyTerry, Comparisons, PlackettLuce, Rankings
from podium.cli import main
from podium.cli import show as shown
from podium.cli.columns import Columns
from podium.cli.show import Intervals, Pictures, Selection, Show
from podium.errors import DataWarning, InputError, Option
from podium.ranking.ranks import ranks

from helpers import Noted, simulate, thin_data

PICTURES = dict.fromkeys(Pictures.__slots__) | {"picture": "intervals"}
SELECTION = {"top": None, "min_votes": 0, "by": None, "pool": False, "differences": False}
INTERVALS = {"ci": None, "level": 0.9, "simultaneous": False, "ranks": None, "reference": None, "seed": 5}


def columns(**more):
    return Columns(**dict.fromkeys(Columns.__slots__) | {"rank_columns": ()} | more)


def intervals(**more):
    return Intervals(**INTERVALS | more)


def pictures(**more):
    return Pictures(**PICTURES | more)


def show(pictured=None, selected=None, of_intervals=None, method="elo (k=20)", of_columns=None):
    return Show(
        pictures(**pictured or {}), Selection(**SELECTION | (selected or {})), intervals(**of_intervals or {}), method,
        columns(**of_columns or {}),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def as_before():
    """A page listens to warnings."""
    with warnings.catch_warnings():
        yield


@pytest.fixture
def typed(monkeypatch):
    """Options that are said to have been typed."""
    names = set()
    monkeypatch.setattr(shown, "is_typed", lambda name: name in names)
    return names


def voted(m=60, n=4, **more):
    winner, loser, _ = simulate(n, m, np.random.default_rng(1))
    return Comparisons(list("abcdefgh"[:n]), winner.astype(np.int32), loser.astype(np.int32), **more)


def fitted(votes, **more):
    with thin_data():
        return BradleyTerry(l2=0.1, **more).fit(votes)


# ---- intervals ------------------------------------------------------------------------------------------------------


class Asked:
    """A ranking that notes what is asked of it."""

    items = ("a", 2, "2.0")

    def __init__(self, information=None, clusters=()):
        self.information = types.SimpleNamespace(clusters=clusters) if information else None
        self.calls = []

    def with_uncertainty(self, *args, **more):
        self.calls.append(("with_uncertainty", args, more))
        return self

    def shown(self, **more):
        self.calls.append(("shown", (), more))
        return self


def test_a_level_is_shown_unless_no_intervals_are_wanted():
    assert [intervals(ci=ci).shown_level for ci in (None, "auto", "none")] == [0.9, 0.9, None]


@pytest.mark.parametrize("ci", ["auto", "hessian", "sandwich", "bootstrap"])
def test_intervals_are_asked_for_with_seed_jobs_and_engine(typed, ci):
    ranking = Asked(True)
    assert intervals(ci=ci).applied(ranking, 3, "cluster") is ranking
    assert ranking.calls == [("with_uncertainty", (ci,), {"seed": 5, "jobs": 3, "engine": "cluster"})]
    again = Asked(True)
    intervals(ci=ci).applied(again)
    intervals(ci=ci).applied(again, None)
    assert again.calls == [("with_uncertainty", (ci,), {"seed": 5, "jobs": 1, "engine": None})] * 2


@pytest.mark.parametrize("ci", [None, "none"])
def test_without_a_source_a_ranking_stays_as_it_is(typed, ci):
    ranking = Asked(True)
    assert intervals(ci=ci).applied(ranking, 3) is ranking
    assert ranking.calls == []


@pytest.mark.parametrize("ci", ["judge", "group", "ranking"])
def test_clusters_are_asked_for_by_name_and_refused_where_no_column_has_them(typed, ci):
    for ranking in (Asked(True, ("judge", "group")), Asked(False)):
        intervals(ci=ci).applied(ranking)
        assert ranking.calls == [("with_uncertainty", ("cluster",), {"cluster": ci})]
    if ci == "ranking":
        intervals(ci=ci).applied(Asked(True))
        return
    with pytest.raises(InputError) as told:
        intervals(ci=ci).applied(Asked(True, ("other",)))
    assert str(told.value) == f"ci={ci!r}: no column of the votes is known as the {ci}; name its column by {ci}="


def test_a_reference_is_taken_as_the_item_that_reads_so(typed):
    for reference, item in (("a", "a"), ("2", 2), ("2.0", "2.0"), ("nobody", "nobody"), ("mean", "mean")):
        ranking = Asked(True)
        intervals(reference=reference, ranks="guaranteed").applied(ranking)
        assert ranking.calls == [("shown", (), {"reference": item, "rank_method": "guaranteed"})]
        assert type(ranking.calls[0][2]["reference"]) is type(item)
    twice = Asked(True)
    twice.items = (2, "2")
    intervals(reference="2").applied(twice)
    assert twice.calls == [("shown", (), {"reference": "2", "rank_method": None})]
    assert type(twice.calls[0][2]["reference"]) is str


def test_ranks_alone_keep_the_reference(typed):
    ranking = Asked(True)
    intervals(ranks="pairwise").applied(ranking)
    assert ranking.calls == [("shown", (), {"reference": None, "rank_method": "pairwise"})]
    with pytest.raises(InputError, match=r"ranks='pairwise' goes by the posterior's own errors; drop ci='sandwich'"):
        intervals(ranks="pairwise", ci="sandwich").applied(Asked(True))
    intervals(ranks="guaranteed", ci="sandwich").applied(Asked(True))


@pytest.mark.parametrize("name", ["level", "simultaneous", "ranks", "reference", "seed"])
def test_what_is_typed_about_intervals_that_are_not_there_is_refused(typed, name):
    typed.add(name)
    about = "the bootstrap only; add --ci bootstrap" if name == "seed" else "intervals, and there are none"
    for ci, information in (("none", True), (None, False)):
        with pytest.raises(InputError) as told:
            intervals(ci=ci).applied(Asked(information))
        assert str(told.value) == f"{name}= is about {about}"
    intervals(ci="bootstrap").applied(Asked(True))
    if name != "seed":
        intervals().applied(Asked(True))


# ---- options that would do nothing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "words"), [
    ({"since": Path("x")}, "since= is about report=, which is not given; add it"),
    ({"fixtures": Path("x")}, "fixtures= is about report=, which is not given; add it"),
    ({"title": "T"}, "title= is about plot=, report= or embed=; add one of them"),
])  # fmt: skip
def test_an_option_about_a_page_needs_a_page(typed, given, words):
    with pytest.raises(InputError) as told:
        pictures(**given).refuse_idle()
    assert str(told.value) == words
    pictures(report=Path("r.html"), **given).refuse_idle()
    pictures().refuse_idle()


@pytest.mark.parametrize("where", ["plot", "report", "embed"])
def test_a_title_stands_on_any_picture(typed, where):
    assert pictures(title="T", **{where: Path("x")}).refuse_idle() is None


def test_a_picture_that_is_typed_needs_a_plot(typed):
    pictures(picture="wins").refuse_idle()
    typed.add("picture")
    with pytest.raises(InputError, match=r"^picture= is about plot=, which is not given; add it$"):
        pictures(picture="wins").refuse_idle()
    pictures(picture="wins", plot=Path("x.svg")).refuse_idle()


# ---- what is asked for, before any vote is read ---------------------------------------------------------------------


@pytest.mark.parametrize(("given", "needed"), [
    ({}, False), ({"report": Path("r.html")}, True), ({"plot": Path("x.svg")}, False), ({"picture": "history"}, False),
    ({"plot": Path("x.svg"), "picture": "history"}, True), ({"report": Path("r.html"), "picture": "history"}, True),
])  # fmt: skip
def test_the_order_of_votes_is_needed_for_a_page_and_a_picture_of_the_past(given, needed):
    assert show(given).in_order is needed


def test_names_of_pages_are_checked_at_once():
    with pytest.raises(InputError, match="html"):
        show({"report": Path("page.txt")})
    with pytest.raises(InputError, match="svg"):
        show({"embed": Path("page.txt")})


def test_at_the_beginning_nothing_is_said():
    made = show(method="elo")
    assert (made.marking, made.warnings, made.remarks, made.part, made.reliability) == (None, [], {}, None, [])
    assert (made.method, made.since, made._ranks_before()) == ("elo", None, None)


def test_warnings_are_kept_for_the_page_by_part_and_told_as_before(tmp_path):
    told = []
    warnings.showwarning = lambda message, category, *rest, **more: told.append((str(message), category, rest, more))
    made = show({"report": tmp_path / "r.html"})
    first = DataWarning("few votes; raise ", Option("l2"))
    warnings.showwarning(first, DataWarning, "f.py", 3, line="x")
    warnings.showwarning("not ours", UserWarning, "f.py", 4)
    made.part = "fr"
    warnings.showwarning(DataWarning("one"), DataWarning, "f.py", 5)
    warnings.showwarning(DataWarning("two"), DataWarning, "f.py", 5)
    made.part = None
    warnings.showwarning(DataWarning("last"), DataWarning, "f.py", 5)
    assert made.warnings == ["few votes; raise --l2", "last"]
    assert made.remarks == {"fr": ["one", "two"]}
    assert [each[:2] for each in told] == [
        ("few votes; raise l2=", DataWarning), ("not ours", UserWarning), ("one", DataWarning), ("two", DataWarning),
        ("last", DataWarning),
    ]  # fmt: skip
    assert told[0][2:] == (("f.py", 3), {"line": "x"})


def test_without_a_page_nobody_listens():
    before = warnings.showwarning
    show({"plot": Path("x.svg"), "embed": Path("x.svg")})
    assert warnings.showwarning is before


BOARD = "item,score,settings\na,1.0,method=bradley-terry l2=0.1\nb,3.0,method=bradley-terry l2=0.1\nc,1.0,method=bradley-terry l2=0.1\n"  # noqa: E501


def test_an_earlier_leaderboard_is_read_with_its_ranks(tmp_path):
    (tmp_path / "old.csv").write_text(BOARD)
    made = show({"since": tmp_path / "old.csv"})
    assert made._ranks_before() == {"a": 2, "b": 1, "c": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.warn_if_unlike("method=bradley-terry l2=0.1")
        show().warn_if_unlike("method=elo")
    with pytest.warns(DataWarning, match=r"^since old\.csv: ") as heard:
        made.warn_if_unlike("method=elo")
    assert len(heard) == 1
    assert "method" in str(heard[0].message)


@pytest.mark.parametrize(
    ("given", "before"),
    [((1, 3, 3), (1, 3, 3)), ((1, "", 3), (1, 2, 2)), (("1st", "2nd", "3rd"), (1, 2, 2)), ((0, 1, 1), (1, 2, 2))],
)
def test_ranks_before_count_items_that_were_not_listed(tmp_path, given, before):
    rows = zip("abc", (2.0, 1.0, 1.0), given, strict=True)
    (tmp_path / "old.csv").write_text("item,score,rank\n" + "".join(f"{i},{s},{r}\n" for i, s, r in rows))
    made = show({"since": tmp_path / "old.csv"})
    assert made._ranks_before() == dict(zip("abc", before, strict=True))


def test_fixtures_are_read_by_the_columns_of_the_votes_where_they_have_them(tmp_path):
    path = tmp_path / "next.csv"
    path.write_text("host,guest,day,wind\na,b,2026-01-02,3\nc,a,2026-01-03,4\n")
    made = show({}, of_columns={"left": "host", "right": "guest", "time": "day"})
    read = made._fixtures(path)
    assert [(read.items[i], read.items[j]) for i, j in zip(read.left, read.right, strict=True)] == [
        ("a", "b"), ("c", "a")]  # fmt: skip
    assert read.time is not None
    assert read.covariates is None
    path.write_text("home,away\nb,a\n")
    other = made._fixtures(path)
    assert (other.items[other.left[0]], other.items[other.right[0]]) == ("b", "a")
    path.write_text("left,right,x_a,x_b\na,b,5,2\n")
    assert show()._fixtures(path, ["x"]).covariates.tolist() == [[3.0]]
    path.write_text("nothing\n1\n")
    with pytest.raises(InputError, match=r"^next\.csv: "):
        made._fixtures(path)
    with pytest.raises(InputError, match=r"^next\.csv: "):
        show({"fixtures": path, "report": tmp_path / "r.html"})


# ---- what is shown --------------------------------------------------------------------------------------------------


def test_items_with_votes_enough_are_shown():
    votes = Comparisons.from_pairs([("a", "b")] * 3 + [("b", "a")] * 2 + [("b", "c"), ("c", "b")])
    ranking = fitted(votes).ranking_  # a has five votes, b seven, c two
    for least, expected in ((0, None), (2, {"a", "b", "c"}), (3, {"a", "b"}), (5, {"a", "b"}), (6, {"b"}), (8, set())):
        assert show(selected={"min_votes": least})._shown(ranking) == expected
    without = types.SimpleNamespace(record=None, items=("a",))
    assert show(selected={"min_votes": 2})._shown(without) is None
    tied = Comparisons(["a", "b"], [0, 0, 0], [1, 1, 1], outcome=[1, -1, 0])
    assert show(selected={"min_votes": 3})._shown(fitted(tied).ranking_) == {"a", "b"}


@pytest.fixture
def drawn(monkeypatch):
    """What is asked of the functions that draw."""
    from podium.show import plots, time_plots

    noted = {name: Noted(f"figure of {name}") for name in ("intervals", "wins", "history", "curves")}
    for name in ("intervals", "wins", "history"):
        monkeypatch.setattr(plots, name, noted[name])
    monkeypatch.setattr(time_plots, "curves", noted["curves"])
    noted |= {"save": Noted(), "unit_of": Noted("log-odds")}
    for name in ("save", "unit_of"):
        monkeypatch.setattr(plots, name, noted[name])
    return noted


ABOUT = {"title": "T", "plot": Path("x.svg")}


@pytest.mark.parametrize(("ci", "level"), [(None, 0.9), ("none", None)])
def test_a_picture_of_intervals_is_given_all_that_was_typed(drawn, ci, level):
    votes = voted()
    model = fitted(votes)
    show(ABOUT, {"top": 3, "min_votes": 7}, {"ci": ci}).write(model, votes, {})
    expected = {"level": level, "top": 3, "unit": "log-odds", "min_votes": 7, "title": "T"}
    assert drawn["intervals"].calls == [((model.ranking_,), expected)]
    assert drawn["unit_of"].calls == [((model.ranking_, model), {})]
    assert drawn["save"].calls == [(("figure of intervals", Path("x.svg")), {})]


def test_a_picture_of_wins_is_of_pairs(drawn):
    votes = voted()
    model = fitted(votes)
    show(ABOUT | {"picture": "wins"}, {"top": 3, "min_votes": 7}).write(model, votes, {})
    assert drawn["wins"].calls == [((votes, model.ranking_), {"top": 3, "min_votes": 7, "title": "T"})]
    lists = Rankings.from_lists([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]])
    with thin_data():
        ranked = PlackettLuce(l2=0.1).fit(lists)
    show(ABOUT | {"picture": "wins"}).write(ranked, lists, {})
    pairs = drawn["wins"].calls[1][0][0]
    assert isinstance(pairs, Comparisons)
    assert len(pairs) == 9  # three in each of three lists


def test_a_picture_of_the_past_is_of_the_items_shown(drawn, monkeypatch):
    asked, among = Noted(), Noted()
    past = types.SimpleNamespace(votes=np.array([10, 20]), items=("a", "b"), scores="scores")
    among.answer = past
    asked.answer = types.SimpleNamespace(among=among)
    monkeypatch.setattr("podium.evaluate.diagnosis.score_history", asked)
    votes = voted()
    model = fitted(votes)
    show(ABOUT | {"picture": "history"}, {"top": 2, "min_votes": 3}).write(model, votes, {"features": "f", "id": "i"})
    assert asked.calls == [((votes, model), {"features": "f", "id": "i"})]
    assert among.calls == [((set("abcd"),), {})]
    ((args, more),) = drawn["history"].calls
    assert args == ([10, 20], ("a", "b"), "scores")
    assert more == {"top": 2, "unit": "log-odds", "title": "T", "noun": "vote"}
    assert drawn["save"].calls == [(("figure of history", Path("x.svg")), {})]


@pytest.mark.parametrize(("top", "ci", "names"), [
    (None, None, ["i0", "i2", "i3"]), (2, None, ["i0", "i2"]), (None, "none", ["i0", "i2", "i3"]),
])  # fmt: skip
def test_curves_are_of_items_with_a_past_and_votes_enough(drawn, top, ci, names):
    """i1 is ranked by features alone, and i4 has too few votes."""
    record = (np.array([5, 0, 3, 4, 1]), np.array([1, 9, 2, 2, 0]), np.array([0, 0, 1, 0, 1]))
    ranking = types.SimpleNamespace(
        order=("i0", "i1", "i2", "i3", "i4"), items=("i0", "i1", "i2", "i3", "i4"), record=record, unit=1.0,
        information=None,
    )  # fmt: skip
    asked = Noted("curves")
    model = types.SimpleNamespace(ranking_=ranking, unseen_=("i1",), curves=asked, in_margins=False)
    show(ABOUT | {"picture": "curves"}, {"top": top, "min_votes": 6}, {"ci": ci}).write(model, None, {})
    assert asked.calls == [((names,), {"level": 0.95 if ci else 0.9})]
    ((args, more),) = drawn["curves"].calls
    assert args == ("curves",)
    assert more == {"bands": ci is None, "unit": "log-odds", "title": "T"}


def test_as_many_curves_are_drawn_as_a_picture_holds(drawn):
    from podium.show.time_plots import MAX_CURVES

    order = tuple(f"i{k}" for k in range(MAX_CURVES + 3))
    ranking = types.SimpleNamespace(order=order, items=order, record=None, unit=1.0, information=None)
    asked = Noted("curves")
    model = types.SimpleNamespace(ranking_=ranking, unseen_=(), curves=asked, in_margins=False)
    for top, count in ((None, MAX_CURVES), (MAX_CURVES + 2, MAX_CURVES + 2)):
        show(ABOUT | {"picture": "curves"}, {"top": top}).write(model, None, {})
        assert asked.calls.pop()[0][0] == list(order[:count])


def test_a_small_picture_for_other_pages_is_given_all_that_was_typed(monkeypatch):
    embed, write = Noted("picture"), Noted()
    monkeypatch.setattr("podium.show.embedded.embed", embed)
    monkeypatch.setattr("podium.show.embedded.write_embed", write)
    model = types.SimpleNamespace(ranking_="ranking")
    place = {"embed": Path("x.svg")}
    show(place | {"title": "T"}, {"top": 3, "min_votes": 7}, {"simultaneous": True}).write(model, None, {})
    show(place, {}, {"ci": "none"}).write(model, None, {})
    assert embed.calls == [
        (("ranking",), {"title": "T", "level": 0.9, "simultaneous": True, "top": 3, "min_votes": 7}),
        (("ranking",), {"title": "Leaderboard", "level": None, "simultaneous": False, "top": None, "min_votes": 0}),
    ]  # fmt: skip
    assert write.calls == [((Path("x.svg"), "picture"), {})] * 2


# ---- the page -------------------------------------------------------------------------------------------------------


class Page(Noted):
    """In place of a page."""

    def __call__(self, *args, **more):
        super().__call__(*args, **more)
        return types.SimpleNamespace(write=lambda path: self.calls.append(path))


@pytest.fixture
def page(monkeypatch):
    """What a page is made of; the diagnosis and the past are noted, not computed."""
    made = Page()
    monkeypatch.setattr("podium.show.report.Report", made)
    made.diagnose = Noted("diagnosis")
    made.among = Noted("past")
    made.history = Noted(types.SimpleNamespace(among=made.among))
    monkeypatch.setattr("podium.evaluate.diagnosis.diagnose", made.diagnose)
    monkeypatch.setattr("podium.evaluate.diagnosis.score_history", made.history)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/podium", "rank", "a b.csv"])
    return made


def written(page, made, *args):
    made.write(*args)
    (args, more), path = page.calls[-2:]
    return args, more, path


def test_a_page_is_given_all_that_was_asked_for(page, tmp_path):
    (tmp_path / "old.csv").write_text(BOARD)
    votes = voted()
    model = fitted(votes)
    about = {"report": tmp_path / "r.html", "since": tmp_path / "old.csv", "title": "T"}
    made = show(about, {"top": 3, "min_votes": 2, "by": "language"}, {"simultaneous": True}, "elo (k=20)")
    made.warnings.append("careful")
    made.remarks["fr"] = ["few"]
    made.reliability = ["reliable"]
    ranked = fitted(voted(30)).ranking_
    args, more, path = written(page, made, model, votes, {"features": "f"}, {"fr": (ranked, voted(30))})
    assert path == tmp_path / "r.html"
    assert args == (model.ranking_, votes)
    beside = more.pop("beside")
    assert more == {
        "title": "T", "method": "elo (k=20)", "command": shlex.join(["podium", "rank", "a b.csv"]),
        "warnings": ("careful",), "level": 0.9, "simultaneous": True, "top": 3, "min_votes": 2, "model": model,
        "settings": None,
        "diagnosis": "diagnosis", "history": None, "reliability": ["reliable"], "fit": None, "fixtures": None,
    }  # fmt: skip
    assert page.diagnose.calls == [
        ((votes, model), {"features": "f", "shown": set("abcd"), "replicates": 199})]  # fmt: skip
    assert (beside.by, beside.remarks, beside.before_name) == ("language", {"fr": ["few"]}, "old.csv")
    assert beside.before == {"a": 2, "b": 1, "c": 2}
    assert (beside.plain, beside.more, beside.more_note) == (None, {}, "")
    assert list(beside.parts) == ["fr"]
    assert beside.parts["fr"][0] is ranked
    assert isinstance(beside.parts["fr"][1], Comparisons)


def test_a_page_without_more_has_plain_words(page, tmp_path):
    votes = voted()
    made = show({"report": tmp_path / "r.html"}, {"by": "language"}, {"ci": "none"})
    _, more, _ = written(page, made, fitted(votes), votes, {})
    assert (more["title"], more["level"], more["simultaneous"], more["top"]) == ("Leaderboard", None, False, None)
    beside = more["beside"]
    assert (beside.by, beside.parts, beside.before, beside.before_name) == (None, {}, None, "before")
    assert page.diagnose.calls[0][1] == {"shown": None, "replicates": 199}


@pytest.mark.parametrize(("rows", "ordered", "counted", "past"), [
    (100, True, False, True), (99, True, False, False), (100, False, False, False), (100, True, True, False),
])  # fmt: skip
def test_the_past_is_told_of_a_hundred_votes_that_came_one_by_one(page, tmp_path, rows, ordered, counted, past):
    more = {"count": np.ones(rows, dtype=np.int64)} if counted else {}
    votes = voted(rows, ordered=ordered, **more)
    assert (votes.ordered, votes.count is not None, len(votes.left)) == (ordered, counted, rows)
    model = fitted(votes)
    made = show({"report": tmp_path / "r.html"}, {"min_votes": 1})
    _, told, _ = written(page, made, model, votes, {"id": "i"})
    assert told["history"] == ("past" if past else None)
    assert page.history.calls == ([((votes, model), {"id": "i"})] if past else [])
    assert page.among.calls == ([((set("abcd"),), {})] if past else [])


def test_a_page_of_rankings_tells_who_was_first_and_how_well_they_fit(page, tmp_path):
    lists = Rankings.from_lists([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"], ["a", "b"]] * 30, unranked="below")
    with thin_data():
        model = PlackettLuce(l2=0.1).fit(lists)
    fit = Noted("fit")
    object.__setattr__(model, "goodness_of_fit", fit)
    made = show({"report": tmp_path / "r.html"})
    made.marking = types.SimpleNamespace(
        applied=Noted("frame"), columns=Noted({"Mark": {"a": ("90", 90.0)}}), words=Noted(["marks, as B is", "wide"])
    )
    args, more, _ = written(page, made, model, lists, {})
    assert isinstance(args[1], Comparisons)
    assert (more["diagnosis"], more["history"], more["fit"]) == (None, None, "fit")
    assert fit.calls == [((), {"replicates": 199})]
    assert page.diagnose.calls == page.history.calls == []
    beside = more["beside"]
    assert beside.more["Mark"] == {"a": ("90", 90.0)}
    assert len(beside.more) == 3  # first and listed
    assert beside.more_note == (
        "Marks, as B is. Wide. First, listed: rankings that put the item first, and that list it at all."
    )
    (((ranking, whole, level), _),) = made.marking.applied.calls
    assert (ranking, whole.equals(model.ranking_.to_frame(0.9)), level) == (model.ranking_, True, 0.9)
    assert made.marking.columns.calls == [(("frame",), {})]
    assert made.marking.words.calls == [((0.9, ["frame"]), {})]


@pytest.mark.parametrize("weight", [None, 1.0, 2.5])
def test_a_page_of_weighted_rankings_says_what_its_numbers_are(page, tmp_path, weight):
    lists = Rankings.from_lists([["a", "b"], ["b", "a"]] * 5, weight=None if weight is None else [weight] * 10)
    _, more, _ = written(page, show({"report": tmp_path / "r.html"}), PlackettLuce(l2=0.1).fit(lists), lists, {})
    note = more["beside"].more_note
    assert ("each counted by its weight. Pairs of an item are sums of weights." in note) == (weight == 2.5)


def test_marks_of_a_model_without_errors_have_no_level(page, tmp_path):
    from podium import WinRate

    votes = voted()
    model = WinRate().fit(votes)
    made = show({"report": tmp_path / "r.html"})
    made.marking = types.SimpleNamespace(applied=Noted("frame"), columns=Noted({}), words=Noted(["marks"]))
    _, more, _ = written(page, made, model, votes, {})
    assert made.marking.applied.calls[0][0][2] is None
    assert made.marking.words.calls == [((None, ["frame"]), {})]
    assert more["beside"].more_note == "Marks."


@pytest.mark.parametrize(("limit", "replicates"), [(59, 39), (60, 199)])
def test_many_votes_with_covariates_are_simulated_fewer_times(page, typed, tmp_path, monkeypatch, limit, replicates):
    monkeypatch.setattr(shown, "MANY_ROWS", limit)
    covariates = np.random.default_rng(0).normal(size=(60, 1))
    votes = voted(60, covariates=covariates, covariate_names=("length",))
    model = fitted(votes)
    written(page, show({"report": tmp_path / "r.html"}), model, votes, {})
    assert page.diagnose.calls[-1][1]["replicates"] == replicates
    plain = voted(60)
    written(page, show({"report": tmp_path / "r.html"}), fitted(plain), plain, {})
    assert page.diagnose.calls[-1][1]["replicates"] == 199


def test_games_to_come_are_read_with_what_the_model_needs_and_strangers_are_told(page, typed, tmp_path, capsys):
    (tmp_path / "next.csv").write_text("left,right,length_a,length_b\na,b,3,1\na,zoe,3,1\n")
    covariates = np.random.default_rng(0).normal(size=(60, 1))
    votes = voted(60, covariates=covariates, covariate_names=("length",))
    model = fitted(votes)
    made = show({"report": tmp_path / "r.html", "fixtures": tmp_path / "next.csv"})
    _, more, _ = written(page, made, model, votes, {})
    assert more["fixtures"].covariates.tolist() == [[2.0], [2.0]]
    err = capsys.readouterr().err
    assert err.startswith("next.csv, row 2: ")
    assert "zoe" in err
    tied = Comparisons(["a", "b"], [0, 0, 1, 0], [1, 1, 0, 1], outcome=[1, -1, 0, 1])
    (tmp_path / "next.csv").write_text("left,right\na,b\n")
    _, more, _ = written(page, made, fitted(tied), tied, {})
    assert more["fixtures"].covariates is None
    assert capsys.readouterr().err.startswith("the model counts a tie half")


# ---- what stands beside it ------------------------------------------------------------------------------------------


def test_the_ranking_without_effects_is_that_of_a_plain_fit():
    rng = np.random.default_rng(2)
    left = rng.integers(0, 4, 200).astype(np.int32)
    right = ((left + rng.integers(1, 4, 200)) % 4).astype(np.int32)
    gap = (right - left) / 2.0
    length = rng.normal(size=200)
    won = rng.random(200) < 1 / (1 + np.exp(-gap - length - 0.8))
    outcome = np.where(won, 1, -1).astype(np.int8)
    bare = Comparisons(range(4), left, right, outcome=outcome, sided=True)
    styled = Comparisons(range(4), left, right, outcome=outcome, sided=True, covariates=length[:, None],
                         covariate_names=("length",))  # fmt: skip
    expected = BradleyTerry(l2=0.1).fit(bare).ranking_
    for votes, side in ((styled, False), (styled, True), (bare, True)):
        model = BradleyTerry(l2=0.1, side_effect=side).fit(votes)
        _, plain = shown._without_effects(model, votes, {}, as_fitted)
        np.testing.assert_allclose(plain.scores, expected.scores, atol=1e-6)
        assert not np.allclose(plain.scores, model.ranking_.scores, atol=1e-6)
    assert shown._without_effects(BradleyTerry(l2=0.1).fit(bare), bare, {}, as_fitted) is None


def as_fitted(ranking):
    return ranking


@pytest.mark.parametrize(
    "options",
    [
        ("--covariates", "length", "--ci", "judge"), ("--side-effect", "--reference", "b", "--ranks", "guaranteed"),
        ("--method", "dynamic", "--time", "day", "--side-effect", "--ties", "davidson"),
    ],
)  # fmt: skip
def test_the_page_without_effects_is_what_rank_prints_without_these_options(tmp_path, monkeypatch, options):
    """Penalty, drift and the source of intervals included."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    rows = ["left,right,outcome,length_left,length_right,judge,day"]
    for k in range(240):
        one, other = rng.choice(4, 2, replace=False)
        lengths = rng.normal(size=2).round(3)
        won = rng.random() < 1 / (1 + np.exp(one - other - lengths[0] + lengths[1] - 0.4))
        outcome = 0.5 if k % 9 == 0 else int(won)
        rows.append(f"{'abcd'[one]},{'abcd'[other]},{outcome},{lengths[0]},{lengths[1]},{k % 40},{k // 4}")
    Path("votes.csv").write_text("\n".join(rows) + "\n")
    effects = {"--covariates", "length", "--side-effect"}
    for more in ((*options, "--report", "page.html"), tuple(word for word in options if word not in effects)):
        done = CliRunner().invoke(main, ["rank", "votes.csv", *more, "-o", "board.csv"])
        assert done.exit_code == 0, done.output
    (links,) = re.findall(r'download="leaderboard-[a-z-]+-left-in.csv" href="data:text/csv;base64,([^"]+)"',
                          Path("page.html").read_text())  # fmt: skip
    found, expected = pl.read_csv(b64decode(links)), pl.read_csv("board.csv")
    for name in found.columns:
        if found[name].dtype == pl.Float64:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, err_msg=name)
        else:
            assert found[name].to_list() == expected[name].to_list(), name


def test_a_leaderboard_taken_from_the_page_is_compared_as_the_table_is(tmp_path, monkeypatch):
    """The same leaderboard in other units: nothing moved; fitted otherwise: the scores are not compared."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    rows = ["model_a,model_b,winner,length_a,length_b"]
    for _ in range(200):
        one, other = rng.choice(4, 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(one - other))
        rows.append(f"{'abcd'[one]},{'abcd'[other]},{'model_a' if won else 'model_b'},{rng.normal():.3f},1")
    Path("votes.csv").write_text("\n".join(rows) + "\n")

    def run(*args):
        done = CliRunner().invoke(main, args)
        assert done.exit_code == 0, done.output
        return done

    run("rank", "votes.csv", "--covariates", "length", "--scale", "elo", "--balance", "pairs", "--report", "page.html",
        "-o", "now.csv")  # fmt: skip
    run("rank", "votes.csv", "--scale", "elo", "--balance", "pairs", "-o", "bare.csv")
    taken = re.findall(r'href="data:text/csv;base64,([^"]+)"', Path("page.html").read_text())
    for name, link in zip(("page.csv", "plain.csv"), taken, strict=True):
        Path(name).write_bytes(b64decode(link))
    for old, new in (("page.csv", "now.csv"), ("plain.csv", "bare.csv")):
        assert "0 changes are significant" in run("diff", old, new).stderr
        assert pl.read_csv(old)["settings"].to_list() == pl.read_csv(new)["settings"].to_list()
    assert "not fitted alike (covariates: none and length)" in run("diff", "plain.csv", "now.csv").stderr
    with pytest.warns(DataWarning, match=r"since page.csv: not fitted alike \(covariates: length and none\)"):
        run("rank", "votes.csv", "--balance", "pairs", "--since", "page.csv", "--report", "next.html")


def test_a_plain_fit_is_given_the_features_and_its_warnings_are_not_told():
    asked = []

    class Model:
        def __init__(self, **params):
            if params:
                asked.append(params)

        def get_params(self):
            return {"l2": 1.0}

        def fit(self, votes, **features):
            warnings.warn("few", DataWarning, stacklevel=2)
            asked.append((votes.covariates, votes.covariate_names, features))
            self.ranking_ = "plain"
            return self

    votes = voted(20, covariates=np.ones((20, 1)), covariate_names=("x",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert shown._without_effects(Model(), votes, {"id": "i"}, as_fitted)[1] == "plain"
    assert asked == [{"l2": 1.0}, (None, (), {"id": "i"})]


@pytest.mark.parametrize(("limit", "replicates"), [(6, 199), (5, 39)])
def test_the_fit_of_many_rankings_is_simulated_fewer_times(monkeypatch, limit, replicates):
    """Two rankings of three items are six cells."""
    lists = Rankings.from_lists([["a", "b", "c"], ["b", "c", "a"]])
    with thin_data():
        model = PlackettLuce(l2=0.1).fit(lists)
    fit = Noted("fit")
    object.__setattr__(model, "goodness_of_fit", fit)
    monkeypatch.setattr(shown, "MANY_ROWS", limit)
    assert shown._fit_of(model, lists) == "fit"
    assert fit.calls == [((), {"replicates": replicates})]


def test_the_fit_is_not_simulated_of_pairs_of_ties_nor_of_very_many(monkeypatch):
    lists = Rankings.from_lists([["a", "b", "c"], ["b", "c", "a"]] * 5)
    with thin_data():
        model = PlackettLuce(l2=0.1).fit(lists)
        pairs = BradleyTerry(l2=0.1).fit(Comparisons.from_rankings(lists))
    object.__setattr__(model, "goodness_of_fit", Noted("fit"))
    assert shown.MANY_ROWS == 100_000
    assert shown._fit_of(model, lists) == "fit"
    assert shown._fit_of(pairs, lists) is None
    assert shown._fit_of(model, Comparisons.from_rankings(lists)) is None
    tied = types.SimpleNamespace(tied=np.array([1]))
    assert shown._fit_of(model, tied) is None
    monkeypatch.setattr(shown, "MANY_ROWS", 3)  # thirty cells are ten times as many
    assert shown._fit_of(model, lists) == "fit"
    monkeypatch.setattr(shown, "MANY_ROWS", 2)
    assert shown._fit_of(model, lists) is None


def test_ranks_before_are_those_of_the_scores():
    made = show()
    made.since = types.SimpleNamespace(items=(1, "b", "c"), scores=np.array([0.5, 2.0, -1.0]), ranks=None)
    assert made._ranks_before() == dict(zip(("1", "b", "c"), ranks(np.array([0.5, 2.0, -1.0])).tolist(), strict=True))


def test_what_is_typed_is_told_from_a_default():
    from podium.cli.options import is_typed

    @click.command()
    @click.option("--level", default=1)
    def made(level):
        return is_typed("level"), click.get_current_context().get_parameter_source("level")

    assert made.main(["--level", "1"], standalone_mode=False) == (True, ParameterSource.COMMANDLINE)
    assert made.main([], standalone_mode=False) == (False, ParameterSource.DEFAULT)
