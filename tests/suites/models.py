"""What every saved model must do. An estimator joins by a row in `MODELS`: a function that returns it fitted, and a
function of the model whose answer must survive the file."""

import io
from dataclasses import replace
from unittest import mock

import numpy as np

from podium.data.rankings import Rankings
from podium.multilabel import LabelRanker, OnlineLabelRanker
from podium.ordinal import (
    CumulativeLogit,
    MarginOrdinal,
    MedianBaseline,
    OrdinalPerceptron,
    PassiveAggressiveOrdinal,
    PRank,
)
from podium.ordinal.grading.grader import Grader
from podium.pairwise.bradley_terry import BradleyTerry
from podium.pairwise.counting import Borda, Copeland, WinRate
from podium.pairwise.crowd import CrowdBradleyTerry
from podium.pairwise.dynamic import DynamicBradleyTerry
from podium.pairwise.elo import Elo
from podium.pairwise.least_squares import LeastSquares
from podium.pairwise.online import OnlineRABF
from podium.pairwise.plackett_luce import PlackettLuce
from podium.pairwise.rabf import RABF
from podium.pairwise.spectral import RankCentrality

from helpers import as_comparisons, sided

ROWS = [(0, 1, 1.0, 1.0), (1, 2, 1.0, 2.0), (2, 0, 0.5, 1.0), (0, 2, 1.0, 1.5), (1, 0, 1.0, 1.0), (2, 1, 1.0, 1.0)]


def bradley_terry():
    return BradleyTerry(l2=0.1).fit(as_comparisons(3, ROWS))


def bradley_terry_with_all():
    model = BradleyTerry(l2=0.1, ties="davidson", side_effect=True, scale="elo", anchor=(1, 1500.0))
    return model.fit(sided(3, [*ROWS, (0, 1, 0.0, 1.0), (1, 2, 0.0, 1.0)]))  # the left side does not always win


def rabf():
    features = {0: {"size": 1.0, "kind": "a"}, 1: {"size": 3.0, "kind": "b"}, 2: {"size": 2.0, "kind": "b"}}
    features |= {9: {"size": 4.0, "kind": "a"}}
    model = RABF(feature_penalty=0.5, residual_penalty=0.5, one_hot=True)
    return model.fit(as_comparisons(3, ROWS), features)


def answers_of_rabf(model):
    lower, upper = model.ranking_.intervals()
    later = model.predict({"new": {"size": 2.5, "kind": "b"}}, return_std=True)
    return [model.ranking_.scores, lower, upper, model.coef_, model.coef_std_errors_, model.residuals_, *later]


LABELLED = ([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.2]], [[0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 1]])


def label_trees(scorer):
    """A small forest, so that the file stays small; with enough rows to choose from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    with mock.patch("podium.multilabel.trees.TREES", 3), mock.patch("podium.multilabel.selection.TREES", 3):
        return LabelRanker("sum@1", scorer).fit(X, (X @ rng.normal(size=(2, 3)) > 0).astype(int))


def answers_of_label_ranker(model):
    return [model.decision_function(LABELLED[0]), model.rank(LABELLED[0])]


def win_rate():
    return WinRate().fit(as_comparisons(3, ROWS))


def answers_of_bradley_terry(model):
    ranking = model.ranking_
    lower, upper = ranking.intervals()
    return [
        ranking.scores,
        lower,
        upper,
        np.array([model.win_probability(0, 1), model.tie_probability(0, 1), model.side_effect_]),
    ]


def plackett_luce(features=None, **options):
    lists = [["a", ["b", "c"]], ["b", "a"], ["c"], ["d", "a"], ["b", "c", "d"], ["a", ["d", "c"]]]
    ballots = Rankings.from_lists(lists, unranked="below", judge=[1, 1, 2, 2, 3, 3])
    return PlackettLuce(**options).fit(ballots, features)


def plackett_luce_with_features():
    sizes = {"a": (3.0, "x"), "b": (2.0, "y"), "c": (1.5, "y"), "d": (1.0, "x"), "e": (4.0, "y")}
    features = {item: {"size": size, "kind": kind} for item, (size, kind) in sizes.items()}
    return plackett_luce(features, l2=0.5, ties="davidson", one_hot=True)


def answers_of_plackett_luce(model):
    ranking = model.ranking_
    errors = ranking.with_uncertainty("sandwich").std_errors
    learned = [model.log_likelihood_, *model.tie_strengths_.values(), *model.coef_, *model.coef_std_errors_]
    return [ranking.scores, *ranking.intervals(), errors, learned]


def dynamic():
    times = [1.0, 1.0, 2.0, 4.0, 4.5, 9.0, 2.0, 4.0]
    data = replace(sided(3, [*ROWS, (0, 1, 0.0, 1.0), (1, 2, 0.0, 1.0)]), time=np.array(times))
    return DynamicBradleyTerry(drift=0.4, sd=1.0, ties="davidson", side_effect=True).fit(data)


def dynamic_with_features():
    data = replace(as_comparisons(3, ROWS), time=np.arange(len(ROWS)) * 1.5)
    features = {k: {"size": size, "kind": kind} for k, size, kind in ((0, 3.0, "x"), (1, 1.0, "y"), (2, 2.0, "x"))}
    features[3] = {"size": 1.5, "kind": "y"}
    return DynamicBradleyTerry(drift=0.4, sd=1.0, feature_penalty=0.5, one_hot=True).fit(data, features)


def answers_of_dynamic_features(model):
    later = model.ranking_at(11)
    learned = [model.coef_, model.coef_std_errors_, model.residuals_, [model.explained_]]
    return [model.ranking_.scores, *model.ranking_.intervals(), later.std_errors, *learned]


def answers_of_dynamic(model):
    later = model.ranking_at(11)
    return [model.ranking_.scores, *model.ranking_.intervals(), later.std_errors, model.curves()["lower"].to_numpy()]


def crowd():
    data = as_comparisons(3, ROWS, judge=["ann", "bob", "ann", "bob", "eve", "eve"])
    return CrowdBradleyTerry(l2=0.5).fit(data)


def online():
    return OnlineRABF(average=True).add({"a": [1.0], "b": [2.0]}).update("b", "a").update("a", "b")


GRADED = (np.arange(24.0).reshape(12, 2) % 5, np.arange(12) % 3)


def graded(estimator):
    return estimator.fit(*GRADED)


def answers_about_grades(model):
    return [model.predict(GRADED[0])]


def grader():
    model = Grader.empty(["a", "b"], PassiveAggressiveOrdinal(classes=[0, 1, 2]))
    model.learn(*GRADED)
    return model


def grader_of_all():
    rows = "".join(f"{['red', 'blue'][k % 2]},{k % 7},{k % 10}\n" for k in range(40))
    options = {"label": "y", "bins": (3, 6), "one_hot": True, "missing": "mean", "rbf": 6, "C": 0.1}
    return Grader.fit(io.StringIO("hue,x,y\n" + rows), **options)


def scores(model):
    return [model.ranking_.scores]


MODELS = {
    "Borda": (lambda: Borda().fit(as_comparisons(3, ROWS)), scores),
    "Copeland": (lambda: Copeland().fit(as_comparisons(3, ROWS)), scores),
    "CrowdBradleyTerry": (crowd, lambda m: [*m.ranking_.intervals(), m.reliability_, m.reliability_std_errors_]),
    "OnlineRABF": (online, lambda model: scores(model.update("a", "b"))),
    "Elo": (lambda: Elo().fit(as_comparisons(3, ROWS)), lambda model: scores(model.update(0, 2))),
    "DynamicBradleyTerry": (dynamic, answers_of_dynamic),
    "DynamicBradleyTerry, features": (dynamic_with_features, answers_of_dynamic_features),
    "LeastSquares": (lambda: LeastSquares().fit(as_comparisons(3, ROWS)), lambda m: [*m.ranking_.intervals()]),
    "RankCentrality": (lambda: RankCentrality().fit(as_comparisons(3, ROWS)), scores),
    "BradleyTerry": (bradley_terry, answers_of_bradley_terry),
    "BradleyTerry, all options": (bradley_terry_with_all, answers_of_bradley_terry),
    "CumulativeLogit": (lambda: graded(CumulativeLogit()), answers_about_grades),
    "Grader, all options": (
        grader_of_all,
        lambda model: [next(model.grade(io.StringIO("hue,x\nred,1\n,\n")))["score"]],
    ),
    "Grader": (grader, lambda model: [model.classifier.predict(model.scale.apply(GRADED[0]))]),
    "MarginOrdinal": (lambda: MarginOrdinal().fit(GRADED[0], GRADED[0][:, 0] // 2), answers_about_grades),
    "MedianBaseline": (lambda: graded(MedianBaseline()), answers_about_grades),
    "OrdinalPerceptron": (lambda: graded(OrdinalPerceptron(random_state=0)), answers_about_grades),
    "PRank": (lambda: graded(PRank(random_state=0)), answers_about_grades),
    "PassiveAggressiveOrdinal, kernel": (
        lambda: graded(PassiveAggressiveOrdinal(C=1.0, kernel="rbf", gamma=1.0, random_state=0)),
        answers_about_grades,
    ),
    "PassiveAggressiveOrdinal": (lambda: graded(PassiveAggressiveOrdinal(random_state=0)), answers_about_grades),
    "PlackettLuce": (lambda: plackett_luce(l2=0.1), answers_of_plackett_luce),
    "PlackettLuce, all options": (lambda: plackett_luce(ties="davidson"), answers_of_plackett_luce),
    "PlackettLuce, features": (plackett_luce_with_features, answers_of_plackett_luce),
    "RABF": (rabf, answers_of_rabf),
    "LabelRanker": (lambda: LabelRanker("sum@1").fit(*LABELLED), answers_of_label_ranker),
    "LabelRanker, trees": (lambda: label_trees("trees"), answers_of_label_ranker),
    "LabelRanker, auto": (lambda: label_trees("auto"), answers_of_label_ranker),
    "OnlineLabelRanker": (lambda: OnlineLabelRanker("sum@1").fit(*LABELLED), answers_of_label_ranker),
    "WinRate": (win_rate, lambda model: [model.ranking_.scores]),
}
