"""Frames collected one after the other: what is chosen, kept, divided and united, and what is said on the way."""

import warnings

import numpy as np
import polars as pl
import pytest

from podium.data.tables import forms
from podium.data.tables.forms import Collector, located, read_frame
from podium.errors import DataWarning, InputError

WINS = {"winner": ["a", "b", "a"], "loser": ["b", "c", "b"]}


def collected(*frames, keep="rows", **options):
    collector = Collector(keep, **options)
    for number, frame in enumerate(frames):
        collector.add(pl.DataFrame(frame), f"{number}.csv")
    return collector


def plain(arguments):
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


# ---- what comes out -------------------------------------------------------------------------------------------------


def test_rows_and_counts_as_arguments():
    rows = plain(collected(WINS).result())
    assert rows == {"items": ("a", "b", "c"), "left": [0, 1, 0], "right": [1, 2, 1], "sided": False, "ordered": True}
    counts = plain(collected(WINS, keep="counts").result())
    assert (counts["count"], counts["ordered"]) == ([2, 1], False)
    many = plain(collected(WINS | {"count": [1, 2, 3]}).result())
    assert (many["ordered"], many["count"]) == (False, [1, 2, 3])


def test_everything_that_is_read_is_named():
    frame = {"home": ["a", "b"], "away": ["b", "c"], "outcome": [1, 0], "judge": ["x", "y"], "group": ["g", "g"],
             "day": ["2024-01-01", "2024-01-02"], "x": [1.0, 2.0]}  # fmt: skip
    found = plain(collected(frame, time="day", covariates="x").result())
    assert (found["judges"], found["groups"], found["covariate_names"]) == (("x", "y"), ("g",), ("x",))
    assert (found["time_is"], found["vote_is"], found["sided"]) == ("date", "game", True)
    assert "vote_is" not in collected({"left": ["a"], "right": ["b"], "outcome": [1]}).result()
    folded = collected({"left": ["b", "a"], "right": ["a", "c"], "outcome": [1, 0]}, fold_sides=True).result()
    assert not folded["sided"]


def test_frames_are_read_in_batches_with_the_rows_numbered_through(monkeypatch):
    monkeypatch.setattr(forms, "BATCH", 2)
    for kind in (pl.DataFrame, pl.LazyFrame):
        collector = Collector()
        collector.add(kind(WINS), "v.csv")
        assert collector.result()["left"].tolist() == [0, 1, 0]
        assert collector.votes == 3
        with pytest.raises(InputError, match=r"v\.csv, row 3: 'b' is compared with itself"):
            Collector().add(kind({"winner": ["a", "b", "b"], "loser": ["b", "c", "b"]}), "v.csv")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"style": "lmsys"}, "style='lmsys' is unknown; choose 'arena'"),
        ({"keep": "all"}, "keep is 'all'; choose 'rows'"),
        ({"unranked": "below"}, r"^0\.csv: unranked='below' is about rankings, and these are votes on pairs; drop it"),
        ({"style": "arena", "covariates": "x"}, "style='arena' is about a left and a right side; give votes as"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        collected(WINS | {"x": [1.0, 2.0, 3.0]}, **options)


def test_style_needs_both_sides_that_differ():
    sides = {"left": ["a", "b"], "right": ["b", "a"], "outcome": [1, 1]}
    with pytest.raises(
        InputError, match="style='arena' needs both sides of a covariate, and 'x' is one column; give x_a and"
    ):
        collected(sides | {"x": [1.0, 2.0]}, style="arena", covariates="x")
    with pytest.raises(
        InputError, match="covariate 'x' is the same in every vote, so it has no effect to find; leave it out"
    ):
        collected(sides | {"x_a": [3, 3], "x_b": [1, 1]}, style="arena", covariates="x").result()
    with pytest.raises(
        InputError, match="covariates are of left minus right, so sides cannot be folded; drop fold_sides="
    ):
        collected(sides | {"x": [1.0, 2.0]}, covariates="x", fold_sides=True)
    found = collected(sides | {"x_a": [3, 1], "x_b": [1, 1], "count": [3, 1]}, style="arena", covariates="x").result()
    table = np.repeat([2 / 5, 0.0], [3, 1])
    expected = (np.array([2 / 5, 0.0]) - table.mean()) / table.std()
    assert found["covariates"][:, 0].tolist() == pytest.approx(expected.tolist())


# ---- divided --------------------------------------------------------------------------------------------------------


def test_parts_have_their_own_items_and_those_without_a_value_are_told():
    frame = {"winner": ["a", "c", "b", "a"], "loser": ["b", "b", "c", "c"], "lang": ["en", "de", None, "en"]}
    for keep in ("rows", "counts"):
        with pytest.warns(DataWarning, match=r"^1 vote without a 'lang', left out$"):
            parts = collected(frame, keep=keep, by="lang").result_by()
        assert list(parts) == ["en", "de"]
        assert parts["en"]["items"] == ("a", "b", "c")
        assert (parts["de"]["items"], parts["de"]["left"].tolist(), parts["de"]["right"].tolist()) == (
            ("c", "b"),
            [0],
            [1],
        )
        assert "by" not in parts["en"]
    counted = frame | {"count": [1, 1, 5, 1]}
    with pytest.warns(DataWarning, match=r"^5 votes without a 'lang', left out$"):
        collected(counted, by="lang").result_by()
    with pytest.raises(InputError, match="column 'lang' is empty in every row; leave by= out"):
        collected(frame | {"lang": ["", " ", None, None]}, by="lang").result_by()


def test_rankings_are_divided_with_all_items_on_offer_or_their_own():
    frame = {"ranking": [["a", "b"], ["c", "b"], ["b", "a"]], "lang": ["en", "de", None]}
    for unranked, items in (("below", ("a", "b", "c")), ("unknown", ("c", "b"))):
        with pytest.warns(DataWarning, match=r"^1 ranking without a 'lang', left out$"):
            parts = collected(frame, by="lang", unranked=unranked).result_by()
        assert parts["de"]["items"] == items
        assert [items[code] for code in parts["de"]["item"]] == ["c", "b"]
        assert parts["de"]["start"].tolist() == [0, 2]
        assert parts["en"]["unranked"] == unranked
    whole = collected({"ranking": [["a", "b"]], "judge": ["x"], "lang": ["en"]}, by="lang").result()
    assert "by" not in whole
    assert whole["judges"] == ("x",)
    assert "tied" not in whole


def test_parts_that_cannot_be_ranked_are_left_out_where_others_can():
    collector = collected(WINS | {"lang": ["en"] * 3}, by="lang")
    problem = InputError("only one item")
    with pytest.warns(DataWarning, match=r"^lang = sw, 2 votes, is left out: only one item$"):
        collector.leave_out({"sw": (2, problem)}, "vote", True)
    with pytest.raises(InputError, match="only one item"):
        collector.leave_out({"sw": (2, problem)}, "vote", False)


# ---- logs of campaigns ----------------------------------------------------------------------------------------------

LOG = {"seq": [1, 2, 3], "undoes": [None, None, None]} | WINS


def test_of_a_log_only_rows_that_count_are_read():
    for counts in ([True, False, True], ["true", "no", " TRUE "], [True, None, True]):
        found = collected(LOG | {"counts": counts}).result()
        assert found["left"].tolist() == [0, 0]
    assert (
        len(
            collected({name: LOG[name] for name in ("seq", "winner", "loser")} | {"counts": [False] * 3}).result()[
                "left"
            ]
        )
        == 3
    )
    with pytest.raises(InputError, match=r"^0\.csv: no row counts: all are skipped, undone, of excluded judges"):
        collected(LOG | {"counts": [False] * 3}).result()
    bad = LOG | {"winner": ["a", "b", "b"], "counts": [True, False, True]}
    with pytest.raises(InputError, match="row 3: 'b' is compared with itself"):
        collected(bad)


def test_pairs_that_earlier_answers_chose_are_told():
    frame = LOG | {"counts": [True] * 3, "kind": ["check", "chosen", "check"]}
    with pytest.warns(
        DataWarning, match="pairs of this campaign were chosen by earlier answers, so intervals of scores are"
    ):
        collected(frame).result()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        collected(frame | {"counts": [True, False, True]}).result()
        collected(frame, by="kind").result_by()


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"winner": [], "loser": []}, "no rows: there is nothing to rank"),
        (WINS | {"weight": [0.0] * 3}, "every row has weight 0"),
        ({"ranking": []}, "no rows: there is nothing to rank"),
    ],
)  # fmt: skip
def test_nothing_to_rank_is_said_with_the_file(frame, said):
    typed = pl.DataFrame(frame, schema_overrides={"winner": pl.String, "loser": pl.String, "ranking": pl.String})
    with pytest.raises(InputError, match=rf"^0\.csv: {said}"):
        collected(typed).result()
    with pytest.raises(InputError, match=f"^{said}"):
        read_frame(typed)


def test_errors_are_given_a_place_once():
    with pytest.raises(InputError, match=r"^v\.csv: wrong$"), located("v.csv"):
        raise InputError("wrong")
    with pytest.raises(InputError, match=r"^wrong$"), located(""):
        raise InputError("wrong")
    with pytest.raises(KeyError), located("v.csv"):
        raise KeyError("other")


# ---- united ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["rows", "counts"])
def test_collectors_of_two_files_are_one_of_both(keep):
    first = WINS | {"judge": ["x", "y", "x"], "group": [1, 1, 2], "day": [1, 2, 3]}
    second = {"winner": ["d", "b"], "loser": ["a", "a"], "judge": ["z", "x"], "group": [2, 3], "day": [4, 1]}
    options = {"keep": keep, "time": "day"}
    both = collected(first, **options).unite(collected(second, **options))
    whole = collected(first, second, **options)
    assert plain(both.result()) == plain(whole.result())
    assert both.votes == whole.votes == 5
    alone = collected(first, **options)
    assert alone.unite(Collector(keep, time="day")) is alone
    assert Collector(keep, time="day").unite(alone) is alone


def test_rankings_of_two_files_are_united_whoever_read_them():
    first = {"user": ["x", "x", "y"], "item": ["a", "b", "b"], "rank": [1, 2, 1]}
    second = {"user": ["y", "z"], "item": ["c", "a"], "rank": [2, 1]}
    options = {"unranked": "below"}
    both = collected(first, **options).unite(collected(second, **options)).result()
    whole = collected(first, second, **options).result()
    assert plain(both) == plain(whole)
    assert plain(whole)["start"] == [0, 2, 4, 5]
    again = {"user": ["x"], "item": ["a"], "rank": [3]}
    with pytest.raises(
        InputError, match=r"1\.csv, row 1: 'a' is ranked twice by 'x'; remove one, or tell .* apart by group="
    ):
        collected(first, again, **options).result()
    grouped = [frame | {"group": ["g"] * len(frame["user"])} for frame in (first, again)]
    with pytest.raises(InputError, match=r"'a' is ranked twice by 'x'; remove one$"):
        collected(*grouped, **options).result()


def test_files_that_do_not_fit_are_not_united():
    with pytest.raises(InputError, match=r"^0\.csv: column 'weight' is here but not in 0\.csv"):
        collected(WINS).unite(collected(WINS | {"weight": [1.0] * 3}))
    with pytest.raises(InputError, match=r"column 'winner' holds text in .* and numbers in"):
        collected(WINS).unite(collected({"winner": [1], "loser": [2]}))
    with pytest.raises(InputError, match="holds dates in one part and numbers in another"):
        collected(WINS | {"day": [1, 2, 3]}, time="day").unite(
            collected(WINS | {"day": ["2024-01-01"] * 3}, time="day")
        )


def test_look_alikes_of_items_judges_and_groups_are_told():
    for column in ("winner", "judge", "group"):
        frame = WINS | {"judge": ["x"] * 3, "group": ["g"] * 3}
        frame |= {column: ["Tea", "tea", "z"]}
        what = {"winner": "items"}.get(column, f"{column}s")
        with pytest.warns(DataWarning, match=f"^{what} that differ only in case"):
            collected(frame).result()


def test_an_outcome_that_is_a_number_here_and_a_label_there_is_not_united():
    number = collected({"left": [0], "right": [1], "outcome": [1]})
    label = collected({"left": [0], "right": [5], "outcome": [5]})
    with pytest.raises(
        InputError, match=r"^0\.csv: outcome 1 would be a number and 5 the winner's label, in one column"
    ):
        number.unite(label)
