"""`jobs`: what several processes find is what one finds, to the bit."""

import gzip

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

from podium import BradleyTerry, Comparisons, read_comparisons
from podium.cli import main
from podium.data import collecting
from podium.errors import InputError
from podium.evaluate.assessment import assess


@pytest.fixture(scope="module")
def votes():
    rng = np.random.default_rng(0)
    left = rng.integers(8, size=400)
    right = (left + 1 + rng.integers(7, size=400)) % 8
    return Comparisons.from_arrays(left, right, items=range(8), tie=rng.random(400) < 0.1)


def test_the_bootstrap_does_not_depend_on_the_number_of_processes(votes):
    ranking = BradleyTerry(l2=0.1).fit(votes).ranking_
    alone, together = (
        ranking.with_uncertainty("bootstrap", replicates=300, seed=3, jobs=jobs).std_errors for jobs in (1, 2)
    )
    assert alone.tobytes() == together.tobytes()
    assert_allclose(alone, ranking.std_errors, rtol=0.3)


def test_held_out_chances_do_not_depend_on_it_either(votes):
    alone, together = (assess(votes, ["bradley-terry", "elo", "win-rate"], folds=3, jobs=jobs) for jobs in (1, 2))
    assert alone.to_frame().equals(together.to_frame())
    assert list(alone.problems) == list(together.problems)


def test_a_ranker_that_other_processes_cannot_find_is_said(votes):
    with pytest.raises(InputError, match=r"cannot be sent to other processes .*; define .* or use jobs=1"):
        assess(votes, {"mine": lambda: BradleyTerry()}, folds=2, jobs=2)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("votes")
    rng = np.random.default_rng(1)
    for k in range(3):
        left = rng.integers(6, size=90)
        right = (left + 1 + rng.integers(5, size=90)) % 6
        rows = zip(left, right, rng.choice(["left", "right", "tie"], 90), strict=True)
        (root / f"part{k}.csv").write_text("left,right,outcome\n" + "".join(f"i{a},i{b},{o}\n" for a, b, o in rows))
    return root


class TestCommands:
    @staticmethod
    def run(*arguments):
        done = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    def test_the_leaderboard_is_the_same_for_any_number_of_jobs(self, files):
        for more in ((), ("--ci", "bootstrap"), ("--side-effect",)):
            alone, together = (self.run("rank", files, "--format", "csv", *more, "--jobs", jobs) for jobs in (1, 2))
            assert alone == together
            assert alone.count("\n") == 7

    def test_so_is_the_comparison_of_methods(self, files):
        words = ("compare", files, "--folds", "3", "--method", "bradley-terry", "--method", "elo", "--format", "csv")
        assert self.run(*words) == self.run(*words, "--jobs", 2)

    @pytest.mark.parametrize("jobs", ["0", "-1", "two"])
    def test_a_number_of_jobs_that_is_none_is_refused(self, files, jobs):
        done = CliRunner().invoke(main, ["rank", str(files), "--jobs", jobs])
        assert done.exit_code == 2
        assert "--jobs" in done.stderr
        assert "Traceback" not in done.stderr

    def test_sides_are_folded_only_where_nothing_asks_for_them(self, files, monkeypatch, tmp_path):
        from podium.data import files as reading

        seen = []
        honest = reading.read_votes
        monkeypatch.setattr(
            reading, "read_votes", lambda *a, **more: seen.append(more["fold_sides"]) or honest(*a, **more)
        )
        self.run("rank", files)
        self.run("rank", files, "--side-effect")
        self.run("rank", files, "--report", tmp_path / "page.html")
        self.run("rank", files, "--method", "elo")
        assert seen == [True, False, False, False]


@pytest.mark.parametrize(("name", "shared"), [("v.parquet", True), ("v.csv", False), ("v.csv.gz", True)])
def test_without_jobs_processes_are_for_files_that_take_longer_than_their_start(
    name, shared, votes, tmp_path, monkeypatch
):
    """Text of as many bytes as packed files is less work."""
    for k in range(2):
        text, path = votes.to_frame().write_csv().encode(), tmp_path / f"{k}{name}"
        if name == "v.parquet":
            votes.to_frame().write_parquet(path)
        else:
            path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    asked = []
    whole = sum(path.stat().st_size for path in tmp_path.iterdir())
    running = collecting.running
    monkeypatch.setattr(collecting, "MIN_BYTES_FOR_PROCESSES", whole)
    monkeypatch.setattr(collecting, "running", lambda jobs, *more: (asked.append(jobs), running(1, *more))[1])
    read_comparisons(tmp_path, jobs=None)
    assert asked == [None if shared else 1]
