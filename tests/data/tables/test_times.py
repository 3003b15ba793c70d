"""Times of votes, checked against Python's own datetime; and files of leagues, as people bring them."""

import io
import warnings
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from podium.data.comparisons import Comparisons
from podium.data.files import read_comparisons, read_table
from podium.data.splits import deal
from podium.data.tables import delimited
from podium.data.tables.forms import Collector
from podium.data.tables.times import given_times, moment
from podium.errors import DataWarning, InputError

moments = st.datetimes(datetime(1850, 1, 1), datetime(2150, 1, 1)).map(lambda t: t.replace(microsecond=0))


def days(t):
    """Days since 1970, by Python."""
    return (t - datetime(1970, 1, 1)) / timedelta(days=1)


def read(times, **options):
    rows = "".join(f'"{t}",a,b\n' for t in times)
    return read_comparisons(io.StringIO("when,winner,loser\n" + rows), time="when", keep="rows", **options)


@settings(max_examples=40, deadline=None)
@given(st.lists(moments, min_size=1, max_size=5))
def test_timestamps_are_days_since_1970_however_they_are_written(times):
    wanted = [days(t) for t in times]
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S.000"):
        votes = read([t.strftime(form) for t in times])
        assert votes.time_is == "date"
        assert_allclose(votes.time, wanted, rtol=0, atol=1e-9)
    frame = {"winner": ["a"] * len(times), "loser": ["b"] * len(times), "when": times}
    assert_allclose(Comparisons.from_frame(frame, time="when").time, wanted, rtol=0, atol=1e-9)
    arrays = Comparisons.from_arrays(["a"] * len(times), ["b"] * len(times), time=np.array(times, "datetime64[s]"))
    assert_allclose(arrays.time, wanted, rtol=0, atol=1e-9)
    assert moment(times[0], "date") == pytest.approx(wanted[0], abs=1e-9)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%d.%m.%y"])
def test_dates_are_read_as_they_are_written(form):
    when = [date(2024, 2, 29), date(2023, 12, 31), date(2024, 3, 1)]
    assert read([t.strftime(form) for t in when]).time.tolist() == [(t - date(1970, 1, 1)).days for t in when]


@pytest.mark.parametrize("sign", [".", "/"])
def test_years_of_two_digits_cross_the_century(sign):
    season = [date(1999, 12, 26), date(2000, 1, 3)]
    votes = read([t.strftime(f"%d{sign}%m{sign}%y") for t in season])
    assert votes.time.tolist() == [(t - date(1970, 1, 1)).days for t in season]


def test_a_zone_is_told_in_utc():
    assert read(["2024-05-01 01:00:00+02:00"]).time[0] == days(datetime(2024, 4, 30, 23))
    zoned = pl.DataFrame({"winner": ["a"], "loser": ["b"], "t": [datetime(2024, 5, 1, 12, tzinfo=UTC)]})
    there = zoned.with_columns(pl.col("t").dt.convert_time_zone("Asia/Tokyo"))
    assert Comparisons.from_frame(there, time="t").time[0] == days(datetime(2024, 5, 1, 12))


@pytest.mark.parametrize("numbers", [[3, 1, 2], [0.5, -2.0, 1e9]])
def test_numbers_stay_as_they_are(numbers):
    votes = read(numbers)
    assert (votes.time.tolist(), votes.time_is) == (numbers, "number")
    assert Comparisons.from_arrays(["a"] * 3, ["b"] * 3, time=numbers).time.tolist() == numbers


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["2024-01-31", "2024-02-30"], "row 2: when is '2024-02-30', which is no date; give dates as 2024-05-31"),
        (["2024-01-31", ""], "row 2: when is empty; every vote needs its time"),
        (["2024-01-31", "soon"], "row 2: when is 'soon', which is no date"),
        (["1", "2", "soon"], "row 3: when is 'soon', which is no time"),
        (["nan", "1"], "row 1: when is 'nan', which is no time"),
        (["1", "1e300"], "row 2: when is '1e300', which is no time"),
        (["2024-01-31", "7"], "row 2: when is '7', which is no date"),
        (["99-12-26", "00-01-03"], "row 1: when is '99-12-26', which is no date; give dates as 2024-05-31"),
        (["2024-01-31", "0000-01-01"], "row 2: when is '0000-01-01', which is no date"),
        (["01/02/2024", "03/04/2024"], "row 1: when is '01/02/2024', which may be day/month or month/day"),
        (["31/12/2024", "12/31/2024"], "row 1: when is '31/12/2024', which is of a column that mixes both orders"),
        (["31/12/2024", "30/02/2024"], "row 2: when is '30/02/2024', which is no date"),
        (["20240131", "20240201"], "row 1: when is 20240131, a date without marks; write 2024-01-31"),
    ],
)
def test_what_is_no_time_names_its_row(times, message):
    with pytest.raises(InputError, match=message):
        read(times)


@pytest.mark.parametrize(("last", "first"), [("25/04/2024", "2024-04-03"), ("04/25/2024", "2024-03-04")])
def test_any_date_of_a_file_settles_which_comes_first(tmp_path, monkeypatch, last, first):
    """Though the file is read in pieces, and the first ones tell nothing."""
    monkeypatch.setattr(delimited, "BLOCK", 1 << 12)
    rows = ["03/04/2024,a,b"] * 2000 + [f"{last},b,a"] + ["03/04/2024,a,b"] * 2000
    (tmp_path / "v.csv").write_text("\n".join(["when,winner,loser", *rows]) + "\n")
    votes = read_comparisons(tmp_path / "v.csv", time="when", keep="rows")
    early, late = (np.array([first, "2024-04-25"], dtype="datetime64[D]") - np.datetime64("1970-01-01")).astype(float)
    assert votes.time.tolist() == [early] * 2000 + [late] + [early] * 2000
    assert votes.items[votes.left[2000]] == "b"


@pytest.mark.parametrize(
    "parts", [("03/04/2024", "25/04/2024"), ("25/04/2024", "03/04/2024"), ("03/04/2024", "05/04/2024")]
)
def test_parts_of_a_file_read_apart_settle_each_other(parts):
    """As workers read them; where no part tells, the whole is refused."""
    collectors = []
    for day in parts:
        collectors.append(Collector(time="when", keep="rows"))
        collectors[-1].add(pl.DataFrame({"when": [day], "winner": ["a"], "loser": ["b"]}), "v.csv")
    both = collectors[0].unite(collectors[1])
    if "25/04/2024" in parts:
        assert both.result()["time"].tolist() == [19816 if day < "1" else 19838 for day in parts]
    else:
        with pytest.raises(InputError, match="which may be day/month or month/day"):
            both.result()


def test_each_file_has_its_own_order_and_one_that_tells_nothing_is_refused(tmp_path):
    files = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    for file, day in zip(files, ("25/04/2024", "04/05/2024", "04/25/2024"), strict=True):
        file.write_text(f"when,winner,loser\n03/04/2024,a,b\n{day},b,a\n")
    assert read_comparisons([files[0], files[2]], time="when", keep="rows").time.tolist() == [
        19816,
        19838,
        19786,
        19838,
    ]
    for order in (files, [files[1], files[0]], [files[0], files[1]]):
        with pytest.raises(InputError, match=r"b\.csv, row 1: when is '03/04/2024', which may be day/month"):
            read_comparisons(order, time="when")


def test_dates_and_numbers_do_not_mix(tmp_path):
    for name, when in (("a.csv", "2024-01-01"), ("b.csv", "7")):
        (tmp_path / name).write_text(f"when,winner,loser\n{when},a,b\n")
    with pytest.raises(InputError, match=r"b\.csv, row 1: when is '7', which is no date"):
        read_comparisons([tmp_path / "a.csv", tmp_path / "b.csv"], time="when")
    with pytest.raises(InputError, match="'when' holds dates in one part and numbers in another"):
        read_comparisons([tmp_path / "a.csv", tmp_path / "b.csv"], time="when", keep="rows", jobs=2)
    one, other = (Comparisons.from_arrays(["a"], ["b"], time=time) for time in ([7], ["2024-01-01"]))
    with pytest.raises(InputError, match="times are dates in one of the two and numbers in the other"):
        one + other
    with pytest.raises(InputError, match="only one of the two has time values"):
        one + Comparisons.from_pairs([("a", "b")])
    with pytest.raises(InputError, match="time has 2 rows, the votes 1"):
        Comparisons.from_arrays(["a"], ["b"], time=[1, 2])
    with pytest.raises(InputError, match="row 1: time is nan"):
        replace(one, time=np.array([np.nan]))
    with pytest.raises(InputError, match=r"no column 'day' \(given as time=\)"):
        read_comparisons(io.StringIO("winner,loser\na,b\n"), time="day")


def test_times_travel_with_their_votes():
    """Counted, split, joined, sorted and written out, every vote keeps its time."""
    rng = np.random.default_rng(0)
    time = rng.integers(0, 5, 60).astype(float)
    winner = rng.integers(0, 3, 60)
    loser = (winner + rng.integers(1, 3, 60)) % 3
    votes = Comparisons.from_arrays(winner, loser, time=time, items=("a", "b", "c"))
    wanted = sorted(zip(winner.tolist(), loser.tolist(), time.tolist(), strict=True))

    def told(c):
        times = np.ones(len(c.left), int) if c.count is None else c.count
        rows = zip(c.left.tolist(), c.right.tolist(), c.time.tolist(), times.tolist(), strict=True)
        return sorted((i, j, t) for i, j, t, count in rows for _ in range(count))

    assert told(votes) == told(votes.merged()) == told(votes.by_time()) == wanted
    assert len(votes.merged().left) < 60
    assert_array_equal(votes.by_time().time, np.sort(time))
    hands = deal(votes, 3, rng)
    assert sorted(row for k in range(3) for row in told(votes.share(hands[:, k]))) == wanted
    assert told(votes[:20] + votes[20:]) == wanted
    again = Comparisons.from_frame(votes.to_frame(), time="time")
    assert_array_equal(again.time, votes.time)
    text = io.StringIO(votes.to_frame().write_csv())
    counted = read_comparisons(text, time="time")
    assert sorted(t for _, _, t in told(counted)) == sorted(t for _, _, t in wanted)


def test_dates_are_written_out_as_dates():
    votes = Comparisons.from_arrays(["a", "b"], ["b", "a"], time=["2024-05-01", "2024-05-02"])
    assert votes.to_frame()["time"].to_list() == [date(2024, 5, 1), date(2024, 5, 2)]
    at = Comparisons.from_arrays(["a"], ["b"], time=["2024-05-01 12:30"]).to_frame()["time"].to_list()
    assert at == [datetime(2024, 5, 1, 12, 30)]


def test_a_vote_weighs_half_for_every_half_life():
    votes = Comparisons.from_arrays(["a"] * 3, ["b"] * 3, time=[0, 10, 30], weight=[1.0, 1.0, 3.0])
    assert_allclose(votes.aged(10).weight, [1 / 8, 1 / 4, 3.0])
    assert (votes.aged(1e-3).weight > 0).all()
    with pytest.raises(InputError, match="half_life=10 is about the age of votes, and these have no times"):
        Comparisons.from_pairs([("a", "b")]).aged(10)


# ---- leagues ----------------------------------------------------------------------------------------------------

SEASON = "Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR\n13/08/2022,Ajax,Brugge,2,1,H\n14/08/2022,Brugge,Celtic,0,0,D\n"
SEASON += "20/08/2022,Celtic,Ajax,0,3,A\n"


def test_a_season_gives_outcomes_margins_sides_and_dates():
    votes = read_comparisons(io.StringIO(SEASON), time="Date", keep="rows")
    assert votes.items == ("Ajax", "Brugge", "Celtic")
    assert votes.outcome.tolist() == [1, 0, -1]
    assert votes.margin.tolist() == [1, 0, -3]
    assert votes.sided
    assert np.diff(votes.time).tolist() == [1, 6]


def test_what_has_a_home_side_is_a_game_and_stays_one():
    games = read_comparisons(io.StringIO(SEASON), time="Date", keep="rows")
    assert {games.vote_is, (games + games).vote_is, games.merged().vote_is, games.take([0, 1]).vote_is} == {"game"}
    votes = read_comparisons(io.StringIO("left,right,outcome\nAjax,Brugge,1\n"), keep="rows")
    assert (votes.noun, (votes + read_comparisons(io.StringIO("home,away,FTR\nAjax,Celtic,H\n"))).noun) == ("vote",) * 2
    assert Comparisons.from_rankings([["Ajax", "Brugge", "Celtic"]]).noun == "pair"
    named = {"left": "Heim", "right": "Gast", "left_goals": "TH", "right_goals": "TG"}
    assert read_comparisons(io.StringIO("Heim,Gast,TH,TG\nAjax,Brugge,1,0\n"), **named).noun == "game"


@pytest.mark.parametrize("names", ["home,away,home_goals,away_goals", "home_team,away_team,home_score,away_score"])
def test_goals_alone_tell_who_won(names):
    votes = read_comparisons(io.StringIO(f"{names}\nx,y,2,0\ny,x,1,1\nx,y,0,4\n"), keep="rows")
    assert (votes.outcome.tolist(), votes.margin.tolist()) == ([1, 0, -1], [2, 0, -4])


def test_in_a_league_a_is_away_and_elsewhere_the_first():
    league = read_comparisons(io.StringIO("home,away,result\nx,y,A\nx,y,H\nx,y,D\nx,y,draw\n"), keep="rows")
    assert league.outcome.tolist() == [-1, 1, 0, 0]
    other = read_comparisons(io.StringIO("left,right,result\nx,y,A\n"), keep="rows")
    assert other.outcome.tolist() == [1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("home,away,home_goals,away_goals\nx,y,1,0\ny,x,-2,1\n", "row 2: home_goals is -2; what a side scored is 0"),
        ("home,away,home_goals,away_goals\nx,y,,0\n", "row 1: home_goals is empty; give what the side scored"),
        ("home,away,home_goals,away_goals\nx,y,3:1,0\n", "row 1: home_goals is 3:1"),
        ("home;away;margin\nx;y;2,5\n", "row 1: margin is 2,5; give 2.5, with a point"),
        ("home,away,FTHG,FTAG,FTR\nx,y,2,1,A\n", "row 1: FTR A, FTHG 2, FTAG 1 do not agree"),
        ("home,away,home_goals,away_goals,margin\nx,y,2,1,1\n", "each tell who won"),
    ],
)
def test_goals_that_cannot_be_are_refused_by_row(rows, message):
    with pytest.raises(InputError, match=message):
        read_comparisons(io.StringIO(rows))


def test_goals_may_be_named_or_left_out():
    text = "home,away,FTHG,FTAG,FTR\nx,y,2,1,A\n"
    votes = read_comparisons(io.StringIO(text), left_goals=False, keep="rows")
    assert (votes.outcome.tolist(), votes.margin) == ([-1], None)
    named = read_comparisons(io.StringIO("p,q,i,j\nx,y,2,1\n"), left="p", right="q", left_goals="i", right_goals="j")
    assert named.margin.tolist() == [1]


def test_decimal_commas_of_a_table_are_numbers_unless_they_may_be_thousands():
    table = read_table(io.StringIO("item;price;word\ntea;2,5;a,b\nmilk;-10;c\n"))
    assert table["price"].to_list() == [2.5, -10.0]
    assert table["word"].to_list() == ["a,b", "c"]
    with pytest.raises(InputError, match="row 2: price is '1,250', which may be decimal or thousands"):
        read_table(io.StringIO("item;price\ntea;3\nmilk;1,250\n"))


@pytest.mark.parametrize("written", [
    "2024-08-01T15:00+02:00", "2024-08-01 15:00+02:00", "2024-08-01T15:00+0200", "2024-08-01T13:00Z",
    "2024-08-01 13:00 UTC", "2024-08-01T15:00:00+02:00", "2024-08-01T13:00:00Z", "2024-08-01T08:00-05:00",
])  # fmt: skip
def test_a_timestamp_that_names_its_zone_needs_no_seconds(written):
    values, kind = given_times([written], 1)
    assert (values.tolist(), kind) == ([pytest.approx(days(datetime(2024, 8, 1, 13)))], "date")


def test_timestamps_with_and_without_a_zone_are_told(tmp_path):
    path, rows = tmp_path / "votes.csv", "2024-08-01 12:00,a,b\n2024-08-02,b,a\n2024-08-02T15:00:00+02:00,a,b\n"
    path.write_text("when,winner,loser\n" + rows)
    told = (
        r"votes\.csv, row 3: '2024-08-02T15:00:00\+02:00' names a zone, .*votes\.csv, row 1: '2024-08-01 12:00' does "
        "not and is taken to be in UTC; write all timestamps alike"
    )
    for jobs in (1, 2):
        with pytest.warns(DataWarning, match=told):
            read_comparisons(path, time="when", jobs=jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path.write_text("when,winner,loser\n" + rows.replace("+02:00", ""))
        read_comparisons(path, time="when")
        path.write_text("when,winner,loser\n" + rows.replace("12:00", "12:00Z"))
        read_comparisons(path, time="when")
    with pytest.warns(DataWarning, match="row 2: '2024-08-01 15:00Z' names a zone, row 1: '2024-08-01 12:00' does not"):
        given_times(["2024-08-01 12:00", "2024-08-01 15:00Z"], 2)
