"""What is said and drawn about a ranking: checks, comparisons of rankings, pictures, the page."""

import matplotlib.pyplot as plt

from fuzz import inputs
from fuzz.api import features, votes
from fuzz.inputs import odd, pick, value
from fuzz.learners import any_of
from fuzz.options import options


def a_model(rng, data):
    """A fitted ranker, most often."""
    import podium

    if odd(rng, 0.1):
        return value(rng)
    return pick(rng, (podium.BradleyTerry(), podium.Borda(), podium.Elo(), podium.BradleyTerry(ties="davidson"))).fit(
        data
    )


def checking(rng, folder):
    from podium.evaluate import assessment, diagnosis

    data = any_of(rng, (votes(rng),), 0.05)
    model = None if rng.random() < 0.6 else a_model(rng, votes(rng))
    methods = any_of(rng, (None, ["borda", "elo"], ["x"], ["bradley-terry"]), 0.1)
    folds = {"folds": any_of(rng, (2, 3), 0.2), "seed": any_of(rng, (1,), 0.1)}
    few = {"replicates": any_of(rng, (5,), 0.05), "splits": any_of(rng, (2,), 0.05), "seed": any_of(rng, (1,), 0.1)}
    few = {name: 5 if isinstance(each, int) and each > 100 else each for name, each in few.items()}  # work asked for
    match int(rng.integers(4)):
        case 0:
            found = assessment.assess(data, methods, **folds)
            found.to_frame(), [found.calibration_error(name) for name in found.curves]
        case 1:
            found = diagnosis.diagnose(data, model, **few)
            _ = found.findings, found.concerns, found.to_dict(), str(found)
            _ = found.largest.significant, found.reliability and found.reliability.full
        case 2:
            diagnosis.score_history(data, model, points=any_of(rng, (3,), 0.2)).among(
                any_of(rng, (data.items[:2],), 0.2)
            )
        case _:
            assessment.known_methods(features=any_of(rng, (True, False)))


def differing(rng, folder):
    """Two rankings side by side, from whatever holds one."""
    from podium import Ranking
    from podium.evaluate.differences import compare_rankings, read_settings, settings_of, standing

    found = []
    for _ in range(2):
        count = int(rng.integers(0 if odd(rng, 0.2) else 2, 6))
        plain = Ranking(inputs.labels(rng, count), inputs.numbers(rng, count))
        fitted = a_model(rng, votes(rng)) if rng.random() < 0.5 else plain
        ranking = getattr(fitted, "ranking_", fitted)
        if rng.random() < 0.3:
            ranking = ranking.to_frame() if isinstance(ranking, Ranking) else ranking
            cut = hasattr(ranking, "columns") and odd(rng, 0.3)
            ranking = ranking.drop(pick(rng, ranking.columns)) if cut else ranking
        if hasattr(fitted, "fit"):
            read_settings(any_of(rng, (settings_of(fitted),)))
        found.append(any_of(rng, (ranking, standing(ranking)), 0.1))
    reference = any_of(rng, (None, "mean", "weighted-mean", "i0", ("item", "i0")), 0.2)
    both = compare_rankings(*found, reference)
    _ = both.to_frame(), both.agreement, str(both)


def with_features(rng, folder):
    from podium import RABF, PlackettLuce
    from podium.evaluate import feature_diagnosis as room
    from podium.show import feature_plots

    data = votes(rng)
    known = any_of(rng, (features(rng, data.items), rng.normal(size=(len(data.items), 2))), 0.05)
    kind = pick(rng, (RABF, RABF, PlackettLuce))
    model = any_of(rng, (kind(**options(rng, kind, share=0.1)),), 0.02)
    fitted = model.fit(data, known) if hasattr(model, "fit") else model
    level = any_of(rng, (0.9, 0.95), 0.2)
    match int(rng.integers(3)):
        case 0:
            room.residual_norm(fitted), room.residual_outliers(fitted, level=level)
        case 1:
            assert feature_plots.coefficients(fitted, level=level)
            assert feature_plots.outliers(fitted, level=level)
        case _:
            sizes = any_of(rng, ((0.5, 0.8),), 0.2)
            curve = room.learning_curve(data, known, sizes=sizes, splits=any_of(rng, (1, 2), 0.0), seed=1)
            _ = curve.advantage, feature_plots.learning_curves(curve)


def pictures(rng, folder):
    from podium.evaluate.assessment import assess
    from podium.evaluate.diagnosis import score_history
    from podium.show import active_plots, canvas, grade_plots, plots

    data = votes(rng)
    model = a_model(rng, data)
    ranking = any_of(rng, (getattr(model, "ranking_", model),), 0.05)
    match int(rng.integers(8)):
        case 0:
            figure = plots.intervals(ranking, **options(rng, plots.intervals))
        case 1:
            figure = plots.wins(any_of(rng, (data,), 0.05), ranking, **options(rng, plots.wins))
            plots.win_rates(data, any_of(rng, (None, data.items)))
            plots.unit_of(ranking, any_of(rng, (None, model)))
        case 2:
            past = score_history(data, points=3)
            figure = plots.history(past.votes, past.items, past.scores, **options(rng, plots.history, share=0.2))
        case 3:
            figure = plots.calibration(assess(data, ["bradley-terry"], folds=2).curves, title=any_of(rng, (None, "x")))
        case 4:
            counts = any_of(rng, (rng.integers(0, 5, (3, 3)), inputs.array(rng, 3, 3)), 0.1)
            figure = grade_plots.confusion(counts, any_of(rng, ([1, 2, 3], "abc"), 0.2))
        case 5:
            figure = grade_plots.progress(any_of(rng, ([(1, 0.5), (2, 0.4)], []), 0.2))
        case 6:
            scores, labels = rng.normal(size=9), rng.integers(0, 3, 9)
            figure = grade_plots.scores_by_grade(
                any_of(rng, (scores,), 0.1), any_of(rng, (labels,), 0.1), [0.0, 1.0], "abc"
            )
        case _:
            figure = active_plots.cost_by_questions(any_of(rng, ({"a": [(1.0, 0.5), (2.0, 0.1)]}, {}), 0.2))
    figure = getattr(figure, "figure", figure)
    names = ("p.png", "p.svg", "p.pdf") if not odd(rng, 0.2) else ("p.x", "no/p.png", "", "p")
    canvas.save(any_of(rng, (figure,), 0.05), folder / pick(rng, names), dpi=any_of(rng, (50,), 0.0))
    plt.close("all")


def page(rng, folder):
    from podium.evaluate.diagnosis import diagnose, score_history
    from podium.show.report import Report, vote_summary

    data = votes(rng)
    model = a_model(rng, data)
    chosen = options(rng, Report, skip=("diagnosis", "history", "model"))
    if rng.random() < 0.3:
        chosen |= {"diagnosis": diagnose(data, replicates=3, splits=2), "history": score_history(data, points=3)}
    vote_summary(any_of(rng, (data,), 0.05))
    ranking = any_of(rng, (getattr(model, "ranking_", model),), 0.05)
    report = Report(ranking, any_of(rng, (data,), 0.05), model=any_of(rng, (None, model), 0.05), **chosen)
    report.write(folder / any_of(rng, ("r.html", "r.htm"), 0.0))
    assert "<h1>" in str(report)
    plt.close("all")


def targets():
    return {
        "checking": checking,
        "differing": differing,
        "with_features": with_features,
        "pictures": pictures,
        "page": page,
    }
