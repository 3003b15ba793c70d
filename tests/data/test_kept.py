"""Votes that stay with the workers who read them: the same optimum as read here, and the same refusals."""

import os
import signal

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from podium import RABF, BradleyTerry, Comparisons, read_comparisons
from podium.data import KeptComparisons, keep_comparisons, kept
from podium.engine import Processes, Serial, connect
from podium.errors import ConnectivityWarning, InputError, PodiumWarning, SeparationWarning
from podium.pairwise._fit import row_sums

from suites.cluster import require_dask


@pytest.fixture(scope="module")
def processes():
    with Processes(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def cluster():
    require_dask()
    with connect("local:2") as engine:
        yield engine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("votes")
    rng = np.random.default_rng(0)
    for k in range(5):
        left = rng.integers(12, size=150)
        right = (left + 1 + rng.integers(11, size=150)) % 12
        pl.DataFrame(
            {
                "left": [f"item {a}" for a in left + k],  # every file brings an item that those before have not
                "right": [f"item {b}" for b in right + k],
                "outcome": rng.choice(["left", "right", "tie"], 150),
                "weight": rng.choice([0.5, 1.0, 2.25], 150),
                "count": rng.integers(1, 4, 150),
                "x": rng.choice([-1.0, 0.0, 1.5], 150),
                "y": rng.normal(size=150),
                "judge": rng.choice(list("ab"), 150),
            }
        ).write_parquet(root / f"part{k}.parquet")
    return root


VOTES = {
    "plain": {"weight": False, "count": False},
    "counts": {"weight": False},
    "weights": {},
    "covariates": {"weight": False, "covariates": ["x", "y"]},
}
MODELS = {
    "plain": {"l2": 0.01},
    "no penalty": {"l2": 0.0},
    "effects": {"l2": 0.1, "ties": "davidson", "side_effect": True},
    "elo": {"l2": 0.02, "scale": "elo", "anchor": ("item 3", 1500)},
}


def same_fit(source, engine, columns, options, **fitting):
    here = BradleyTerry(tol=1e-10, **options).fit(read_comparisons(source, judge=False, **columns), **fitting)
    votes = keep_comparisons(source, engine=engine, **columns)
    there = BradleyTerry(tol=1e-10, **options).fit(votes, **fitting)
    assert there.solver_ == "sums"
    assert there.ranking_.items == here.ranking_.items
    scale = 1e-8 * here.ranking_.unit
    assert_allclose(there.ranking_.scores, here.ranking_.scores, atol=scale)
    assert_allclose(there._extras, here._extras, atol=1e-8)
    assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, abs=1e-7)
    assert (there.effects_, there.sd_) == (here.effects_, here.sd_)
    for name in ("n_votes_", "n_parameters_", "votes_per_parameter_", "l2_"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-12)
    for one, other in zip(there.ranking_.record, here.ranking_.record, strict=True):
        assert_allclose(one, other)
    return here, there


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", VOTES)
def test_the_optimum_is_that_of_votes_read_here(folder, kind, model):
    here, there = same_fit(folder, Serial(), VOTES[kind], MODELS[model])
    if kind == "weights":  # no counts: the errors that need every vote are not offered
        assert there.ranking_.information is None
    else:
        assert_allclose(there.ranking_.std_errors, here.ranking_.std_errors, rtol=1e-6)


@pytest.mark.parametrize("name", ["processes", "cluster"])
@pytest.mark.parametrize("kind", ["plain", "covariates"])
def test_so_it_is_with_workers(folder, name, kind, request):
    same_fit(folder, request.getfixturevalue(name), VOTES[kind], MODELS["effects"])


def test_a_spread_may_be_given_for_a_penalty(folder):
    _, there = same_fit(folder, Serial(), VOTES["weights"], {"l2": "auto"}, sd=0.7)
    assert there.sd_ == 0.7


RANKED = st.lists(st.tuples(st.integers(0, 7), st.integers(1, 7)), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RANKED, st.integers(1, 4))
@pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
def test_who_can_be_reached_from_whom_is_known_however_votes_are_divided(tmp_path, pairs, files):
    rows = [(f"i{a}", f"i{(a + b) % 8}") for a, b in pairs]
    for old in tmp_path.glob("*.csv"):
        old.unlink()
    for k in range(files):
        mine = rows[k::files]
        if mine:
            (tmp_path / f"{k}.csv").write_text("winner,loser\n" + "".join(f"{a},{b}\n" for a, b in mine))
    votes, there = read_comparisons(tmp_path), keep_comparisons(tmp_path, engine=Serial())
    assert there.items == votes.items
    for name in ("components", "strong_components"):
        one, other = getattr(votes.adjacency, name), getattr(there.reach.adjacency, name)
        assert np.array_equal(one[:, None] == one, other[:, None] == other), name
    for one, other in zip(votes.adjacency.open_ended, there.reach.adjacency.open_ended, strict=True):
        assert np.array_equal(one, other)
    assert len(there.reach.left) <= 8 + len(set(rows))
    model = BradleyTerry(l2=0.1, tol=1e-10).fit(there)
    assert_allclose(model.ranking_.scores, BradleyTerry(l2=0.1, tol=1e-10).fit(votes).ranking_.scores, atol=1e-8)


class TestWhatGoesWrong:
    def test_a_bad_row_is_named_as_here(self, cluster, tmp_path):
        for k in range(6):
            bad = "c,c\n" if k in (3, 4) else ""
            (tmp_path / f"part{k}.csv").write_text(f"winner,loser\na,b\nb,c\n{bad}")
        with pytest.raises(InputError, match=r"part3.csv, row 3: 'c' is compared with itself") as there:
            keep_comparisons(tmp_path, engine=cluster)
        with pytest.raises(InputError) as here:
            read_comparisons(tmp_path)
        assert str(there.value) == str(here.value)

    def test_a_file_that_vanishes_is_named(self, cluster, tmp_path, monkeypatch):
        for k in range(3):
            (tmp_path / f"part{k}.csv").write_text("winner,loser\na,b\n")
        found = kept.files_for

        def then_gone(*arguments):
            files = found(*arguments)
            (tmp_path / "part1.csv").unlink()
            return files

        monkeypatch.setattr(kept, "files_for", then_gone)
        with pytest.raises(InputError, match=r"cannot read .*part1.csv: No such file or directory; check the path"):
            keep_comparisons(tmp_path, engine=cluster)

    def test_files_that_differ_are_refused_as_here(self, tmp_path):
        (tmp_path / "a.csv").write_text("winner,loser\na,b\n")
        (tmp_path / "b.csv").write_text("left,right,outcome\na,b,1\n")
        told = []
        for read in (read_comparisons, lambda source: keep_comparisons(source, engine=Serial())):
            with pytest.raises(InputError) as caught:
                read(tmp_path)
            told.append(str(caught.value))
        assert told[0] == told[1]

    @pytest.mark.parametrize("name", ["processes", "cluster"])
    def test_a_worker_killed_in_a_fit_changes_no_bit(self, folder, name, request, monkeypatch, tmp_path):
        votes = keep_comparisons(folder, engine=request.getfixturevalue(name), **VOTES["covariates"])
        undisturbed = BradleyTerry(l2=0.1).fit(votes).ranking_.scores
        calm, seen = row_sums.KeptSums.point, []

        def point(self, scores, extras):
            seen.append(1)
            if len(seen) != 2:
                return calm(self, scores, extras)
            return self.kept.sum(Killing(str(tmp_path / "killed")), scores, extras, add=row_sums.added)

        monkeypatch.setattr(row_sums.KeptSums, "point", point)
        scores = BradleyTerry(l2=0.1).fit(votes).ranking_.scores
        assert (tmp_path / "killed").exists()
        assert scores.tobytes() == undisturbed.tobytes()

    def test_what_is_open_or_empty_or_of_rankings_is_refused(self, tmp_path):
        (tmp_path / "v.csv").write_text("winner,loser\na,b\n")
        with open(tmp_path / "v.csv") as file, pytest.raises(InputError, match="is open here"):
            keep_comparisons(file, engine=Serial())
        with pytest.raises(InputError, match="runs nothing"):
            keep_comparisons(tmp_path, engine="local:2")
        (tmp_path / "v.csv").write_text("winner,loser\n")
        with pytest.raises(InputError, match=r"v\.csv has a header and no rows"):
            keep_comparisons(tmp_path, engine=Serial())
        (tmp_path / "v.csv").write_text("winner,loser,weight\na,b,0\n")
        with pytest.raises(InputError, match="every row has weight 0"):
            keep_comparisons(tmp_path, engine=Serial())

    def test_what_needs_the_votes_here_is_refused(self, folder):
        votes = keep_comparisons(folder, engine=Serial(), **VOTES["plain"])
        assert repr(votes) == "<750 votes on 16 items, kept by workers>"
        for options, fitting, why in (
            ({}, {}, r"l2='auto' looks at all pairs together.* number, or give `fit` the standard"),
            ({"l2": 0.1, "half_life": 3}, {}, "half_life= needs the time of every vote"),
            ({"l2": 0, "bias_reduction": True}, {}, "is for few items"),
            ({"l2": 0.1}, {"engine": Serial()}, "kept by workers already"),
            ({"l2": 0.1}, {"sd": 1.0}, "they need l2='auto'"),
            ({"l2": "auto"}, {"sd": 1.0, "centre": {}}, "centre is about votes that are here"),
        ):
            with pytest.raises(InputError, match=why):
                BradleyTerry(**options).fit(votes, **fitting)
        with pytest.raises(InputError, match="fit takes Comparisons, not KeptComparisons"):
            RABF().fit(votes)
        model = BradleyTerry(l2=0.1).fit(votes)
        with pytest.raises(InputError, match="needs every vote's gradient"):
            model.ranking_.with_uncertainty("bootstrap")

    def test_covariates_that_say_nothing_or_the_same_are_refused_as_here(self, tmp_path):
        rows = [("a", "b", 1, 0, 2), ("b", "c", 0, 0, 0), ("c", "a", 2, 0, 4), ("a", "c", 1, 0, 2), ("b", "a", 3, 0, 6)]
        for k in range(2):
            pl.DataFrame(rows, schema=["winner", "loser", "x", "none", "twice"], orient="row").write_csv(
                tmp_path / f"{k}.csv"
            )
        for names in (["none"], ["x", "twice"]):
            told = []
            for votes in (
                read_comparisons(tmp_path, covariates=names),
                keep_comparisons(tmp_path, covariates=names, engine=Serial()),
            ):
                with pytest.raises(InputError) as caught:
                    BradleyTerry(l2=0.1).fit(votes)
                told.append(str(caught.value))
            assert told[0] == told[1]

    def test_a_side_that_decides_all_votes_is_told_as_here(self, tmp_path):
        (tmp_path / "a.csv").write_text("left,right,outcome\n" + "a,b,1\nb,a,1\n" * 30)
        for votes in (read_comparisons(tmp_path), keep_comparisons(tmp_path)):
            with pytest.warns(SeparationWarning, match="the side separates the votes"):
                model = BradleyTerry(l2=0.1, side_effect=True).fit(votes)
            assert_allclose(model.ranking_.scores, 0.0, atol=1e-6)

    def test_rankings_are_refused_and_margins_say_who_won(self, tmp_path):
        (tmp_path / "a.csv").write_text("ranking\na > b > c\n")
        with pytest.raises(InputError, match=r"a\.csv holds rankings, and workers keep votes on pairs"):
            keep_comparisons(tmp_path)
        (tmp_path / "a.csv").write_text("left,right,margin\na,b,3\nb,a,1\na,b,2\n")
        same_fit(tmp_path, None, {}, {"l2": 0.1})

    def test_items_that_the_votes_cannot_place_are_told_as_here(self, tmp_path):
        (tmp_path / "a.csv").write_text("winner,loser\na,b\nb,a\nb,c\n")
        (tmp_path / "b.csv").write_text("winner,loser\nx,y\ny,x\n")
        told = []
        for votes in (read_comparisons(tmp_path), keep_comparisons(tmp_path, engine=Serial())):
            with pytest.warns((ConnectivityWarning, SeparationWarning)) as caught:
                BradleyTerry(l2=0.1).fit(votes)
            told.append([str(one.message) for one in caught])
            with pytest.raises(InputError, match="2 groups never compared"):
                BradleyTerry(l2=0).fit(votes)
        assert told[0] == told[1]


class Killing:
    """`point_of`, but the first worker that is asked dies before it answers."""

    def __init__(self, path):
        self.path = path

    def __call__(self, part, scores, extras):
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            return row_sums.point_of(part, scores, extras)
        raise AssertionError("nobody survives this")


def test_blanks_around_labels_are_told_once(tmp_path):
    (tmp_path / "a.csv").write_text("left,right,outcome\na,b,1\n")
    (tmp_path / "b.csv").write_text("left,right,outcome\nb, a,1\n")
    for read in (read_comparisons, lambda source: keep_comparisons(source, engine=Serial())):
        with pytest.warns(PodiumWarning) as caught:
            votes = read(tmp_path)
        assert len(caught) == 1
        assert "a.csv, row 1) and ' a'" in str(caught[0].message)
        assert "b.csv, row 1)" in str(caught[0].message)
        assert isinstance(votes, Comparisons | KeptComparisons)
