"""What a ranker is, beyond the laws of the suite: closed forms of chances, scikit-learn's searches, a stranger."""

import math
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold

from podium import RABF, BradleyTerry, Comparisons, CrowdBradleyTerry, Elo, LeastSquares, OnlineRABF, Ranking, WinRate
from podium.errors import InputError

from helpers import simulate


def votes(n=5, m=300, seed=0, **more):
    winner, loser, _ = simulate(n, m, np.random.default_rng(seed))
    return Comparisons.from_arrays(winner, loser, items=range(n), **more)


def ask(*pairs, **more):
    left, right = zip(*pairs, strict=True)
    return Comparisons.from_arrays(left, right, **more)


# ---- chances ------------------------------------------------------------------------------------------------


def test_the_log_likelihood_of_two_items_is_the_entropy_of_their_votes():
    model = BradleyTerry(l2=0).fit(Comparisons.from_pairs([("a", "b")] * 3 + [("b", "a")]))
    assert model.log_likelihood_ == pytest.approx(3 * math.log(3 / 4) + math.log(1 / 4), rel=1e-6)
    assert model.score(ask(("b", "a"))) == pytest.approx(math.log(1 / 4), rel=1e-5)


def test_with_ties_of_their_own_two_items_have_the_shares_of_win_tie_and_loss():
    won, tied, lost = 5, 3, 2
    rows = [("a", "b")] * (won + tied) + [("b", "a")] * lost
    tie = [False] * won + [True] * tied + [False] * lost
    both = Comparisons.from_arrays(*zip(*rows, strict=True), tie=tie)
    model = BradleyTerry(l2=0, ties="davidson").fit(both)
    assert_allclose(model.predict_proba(ask(("a", "b"))), [[0.5, 0.3, 0.2]], rtol=1e-5)
    expected = won * math.log(0.5) + tied * math.log(0.3) + lost * math.log(0.2)
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-6)
    points = (won * math.log(0.65) + lost * math.log(0.35) + tied * 0.5 * math.log(0.65 * 0.35)) / 10
    assert model.score(both) == pytest.approx(points, rel=1e-5)


@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize("l2", [0.1, "auto"])
def test_chances_of_rows_are_those_of_single_questions(ties, l2):
    rng = np.random.default_rng(1)
    c = votes(tie=rng.random(300) < 0.2)
    model = BradleyTerry(l2=l2, ties=ties, scale="elo").fit(c)
    chances = model.predict_proba(c)
    for row in range(20):
        a, b = int(c.left[row]), int(c.right[row])
        expected = model.win_probability(a, b), model.tie_probability(a, b), model.win_probability(b, a)
        assert_allclose(chances[row], expected, rtol=1e-12)


def test_side_and_covariates_enter_by_their_names():
    rng = np.random.default_rng(2)
    length, tone = rng.normal(size=(2, 300))
    left, right, _ = simulate(4, 300, rng)
    outcome = rng.choice([1.0, 0.0], 300, p=[0.7, 0.3])
    c = Comparisons.from_frame(
        {"left": left, "right": right, "outcome": outcome, "length": length, "tone": tone},
        covariates=["length", "tone"],
    )
    model = BradleyTerry(l2=0.1, side_effect=True).fit(c)
    one = ask((0, 1), covariates={"tone": [2.0], "other": [9.0], "length": [-1.0]})
    margin = model.ranking_.score(0) - model.ranking_.score(1)
    effect = model.coef_ @ [-1.0, 2.0]
    sigmoid = lambda m: 1 / (1 + math.exp(-m))  # noqa: E731
    assert model.predict_proba(one)[0, 0] == pytest.approx(sigmoid(margin + effect), rel=1e-12)
    assert model.predict_proba(ask((0, 1)))[0, 0] == pytest.approx(sigmoid(margin), rel=1e-12)
    sided = Comparisons.from_frame({"left": [0], "right": [1], "outcome": [1.0]})
    assert model.predict_proba(sided)[0, 0] == pytest.approx(sigmoid(margin + model.side_effect_), rel=1e-12)
    with pytest.raises(
        InputError, match="fitted with covariate 'length', which these votes do not have; they have 'tone'"
    ):
        model.predict_proba(ask((0, 1), covariates={"tone": [2.0]}))


def test_a_judge_is_predicted_by_name_and_a_stranger_as_an_average_one():
    c = votes(judge=np.random.default_rng(3).choice(["ann", "bob", "eve"], 300))
    model = CrowdBradleyTerry().fit(c)
    chances = model.predict_proba(ask((0, 1), (0, 1), (0, 1), judge=["eve", "ann", "zoe"]))[:, 0]
    expected = [model.win_probability(0, 1, judge="eve"), model.win_probability(0, 1, judge="ann")]
    assert_allclose(chances, [*expected, model.win_probability(0, 1)], rtol=1e-12)


def test_elo_predicts_by_its_expected_score_also_after_single_votes():
    model = Elo(k=32).update("a", "b")
    assert model.predict_proba(ask(("a", "b")))[0, 0] == pytest.approx(1 / (1 + 10 ** (-32 / 400)), rel=1e-12)
    with pytest.raises(InputError, match="votes given one by one are not kept"):
        _ = model.log_likelihood_
    before = model.partial_fit(ask(("a", "b"))).log_likelihood_
    gap = model.ranking_.score("a") - model.ranking_.score("b")
    assert before == pytest.approx(-math.log1p(10 ** (-gap / 400)), rel=1e-12)
    assert model.update("b", "a").log_likelihood_ < before  # of the last batch, at the scores of now


def test_scores_without_chances_get_the_slope_under_which_the_votes_are_most_likely():
    c = votes(m=2000)
    for model in (WinRate().fit(c), LeastSquares().fit(c), OnlineRABF(loss="squared").fit(c)):
        gap = model.ranking_.scores[c.left] - model.ranking_.scores[c.right]
        by_slope = [-np.log1p(np.exp(-slope * gap)).sum() for slope in np.linspace(0, 40, 4001)]
        assert model.log_likelihood_ == pytest.approx(max(by_slope), abs=0.01)


# ---- scikit-learn -------------------------------------------------------------------------------------------


def counted(c):
    p = c.pairs
    left, right = np.concatenate([p.left, p.right]), np.concatenate([p.right, p.left])
    count = np.concatenate([p.left_wins, p.right_wins]).astype(int)
    frame = {"winner": left[count > 0], "loser": right[count > 0], "count": count[count > 0]}
    return Comparisons.from_frame(frame)


@pytest.mark.parametrize("form", [lambda c: c, counted], ids=["rows", "counts"])
def test_a_search_for_l2_splits_votes_and_finds_what_a_plain_loop_finds(form):
    c, deal = form(votes(m=200)), KFold(5, shuffle=True, random_state=1)
    grid = [1e-3, 0.3, 3.0, 100.0]
    found = GridSearchCV(BradleyTerry(), {"l2": grid}, cv=deal).fit(c)
    means = []
    for l2 in grid:
        parts = [(c[train], c[test]) for train, test in deal.split(np.arange(200))]
        assert [(len(train), len(test)) for train, test in parts] == [(160, 40)] * 5
        means.append(np.mean([BradleyTerry(l2=l2).fit(train).score(test) for train, test in parts]))
    assert_allclose(found.cv_results_["mean_test_score"], means, rtol=1e-9)
    assert found.best_params_ == {"l2": grid[int(np.argmax(means))]}
    assert_allclose(found.best_estimator_.ranking_.scores, BradleyTerry(**found.best_params_).fit(c).ranking_.scores)


def test_folds_by_judge_keep_the_votes_of_a_judge_together():
    judge = np.random.default_rng(4).choice(["ann", "bob", "eve", "joe"], 300)
    c = votes(judge=judge)
    seen = []

    class Watching(WinRate):
        def fit(self, comparisons):
            seen.append(len({comparisons.judges[k] for k in comparisons.judge}))
            return super().fit(comparisons)

    found = GridSearchCV(Watching(), {"prior": [0.0, 1.0]}, cv=GroupKFold(4), refit=False).fit(c, groups=judge)
    assert seen == [3] * 8
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()


def test_features_of_the_items_go_through_a_search():
    features = np.random.default_rng(5).normal(size=(5, 2))
    found = GridSearchCV(RABF(residual_penalty=1.0), {"feature_penalty": [0.1, 10.0]}, cv=3).fit(
        votes(), features=features
    )
    assert found.best_estimator_.feature_names_ == ("x1", "x2")


def test_rankers_and_their_errors_are_there_without_scikit_learn_until_it_is_needed():
    code = """
        import sys, podium, podium.errors
        model = podium.BradleyTerry(l2=0.1)
        model.fit(podium.Comparisons.from_pairs([("a", "b"), ("b", "a")])).predict_proba
        assert "sklearn" not in sys.modules
        assert "NotFittedError" in podium.errors.__all__
        import pickle
        from podium.errors import NotFittedError
        import sklearn.exceptions
        assert issubclass(NotFittedError, sklearn.exceptions.NotFittedError)
        assert isinstance(pickle.loads(pickle.dumps(NotFittedError("early"))), NotFittedError)
    """
    run(code)


def run(code, *path, check=True):
    """Another process, with these folders on its path."""
    known = os.pathsep.join([*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | {"PYTHONPATH": known},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0 or not check, ran.stderr + ran.stdout[-3000:]
    return ran


# ---- a ranker of another package ----------------------------------------------------------------------------

STRANGER = """
import numpy as np
from podium.data.comparisons import as_comparisons
from podium.data.validation import number_option
from podium.pairwise.base import Ranker
from podium.ranking.ranking import Ranking


class Share(Ranker):
    def __init__(self, *, draws: float = 0.0) -> None:
        self.draws = draws

    def fit(self, comparisons):
        c = as_comparisons(comparisons)
        number_option("draws", self.draws, least=0)
        points, votes = c.adjacency.sums
        scores = ((points + self.draws / 2) / (votes + self.draws)).round(12)
        self.ranking_ = Ranking(c.items, scores, record=c.record)
        return self._fitted_to(c)
"""


@pytest.fixture
def stranger(tmp_path):
    """A folder with an installed package that offers rankers, good and bad."""
    (tmp_path / "stranger.py").write_text(STRANGER)
    about = tmp_path / "stranger-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    points = ["portion = stranger:Share", "absent = stranger:Absent", "no-ranker = stranger:Ranking"]
    points += ["elo = stranger:Share"]  # a name of ours
    (about / "entry_points.txt").write_text("\n".join(["[podium.rankers]", *points, ""]))
    return tmp_path


def test_a_ranker_of_another_package_is_found_by_its_entry_point(stranger):
    code = """
        from podium.errors import InputError
        from podium.pairwise import METHODS, method_of, ranker
        assert list(METHODS)[-3:] == ["absent", "no-ranker", "portion"], list(METHODS)
        assert ranker("portion").__name__ == "Share" and method_of(ranker("portion")) == "portion"
        assert ranker("elo").__name__ == "Elo"
        for name, why in (("absent", "cannot be loaded"), ("no-ranker", "is not a subclass")):
            try:
                ranker(name)
            except InputError as problem:
                assert why in str(problem)
            else:
                raise AssertionError(name)
    """
    run(code, stranger)


def test_a_ranker_of_another_package_ranks_is_saved_and_loaded_by_the_command_line(stranger):
    (stranger / "votes.csv").write_text("winner,loser\na,b\na,c\nb,c\n")
    code = f"""
        import podium.cli, podium, sys
        from podium.evaluate.differences import settings_of
        folder = {str(stranger)!r}
        sys.argv = ["podium", "rank", folder + "/votes.csv", "--method", "portion", "--save", folder + "/m.podium"]
        try:
            podium.cli.main()
        except SystemExit as end:
            assert not end.code
        model = podium.load(folder + "/m.podium")
        assert type(model).__module__ == "stranger" and model.ranking_.order == ("a", "b", "c")
        assert model.predict_proba(podium.Comparisons.from_pairs([("a", "c")]))[0, 0] > 0.5
        assert settings_of(model).startswith("method=portion ")
    """
    assert "a" in run(code, stranger).stdout
    from podium import load

    with pytest.raises(InputError, match="a ranker 'portion' of another package; install that"):
        load(stranger / "m.podium")


def test_a_ranker_of_another_package_is_held_to_the_suite(stranger):
    for name in ("absent", "no-ranker"):
        points = stranger / "stranger-1.0.dist-info" / "entry_points.txt"
        points.write_text("\n".join(line for line in points.read_text().splitlines() if not line.startswith(name)))
    suite = Path(__file__).with_name("test_suite.py")
    code = f"""
        import pytest, sys
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-k", "TestRankers and portion", {str(suite)!r}]))
    """
    ran = run(code, stranger)
    assert re.search(r"[3-9][0-9] passed", ran.stdout), ran.stdout[-2000:]


@pytest.mark.parametrize("ties", [0, 1])
def test_ties_were_counted_half_where_there_were_some_that_are_no_outcome_of_their_own(ties, monkeypatch):
    votes = Comparisons.from_frame(
        {"left": list("abab"), "right": list("baba"), "outcome": [1, 1, 1, 0.5 if ties else 1]}
    )
    assert Elo().fit(votes).counts_ties_half_ == bool(ties)
    assert BradleyTerry(l2=0.1).fit(votes).counts_ties_half_ == bool(ties)
    if ties:
        assert not BradleyTerry(l2=0.1, ties="davidson").fit(votes).counts_ties_half_
    model = Elo().fit(votes)
    monkeypatch.setattr(Ranking, "record", None)  # there may have been some
    assert model.counts_ties_half_
