"""evalica: minorise-maximise in Rust, from Python lists of labels."""

import math

from benchmarks.harness import Data


def _log_odds(data: Data, result):
    return [math.log(max(result.scores[name], 1e-300)) for name in data["names"]]


def bradley_terry(data: Data):
    """From lists of labels; iterated until its own test is tight enough for the common optimum."""
    import evalica

    left, right = data["left_list"], data["right_list"]
    won = [evalica.Winner.X] * len(left)
    return lambda: _log_odds(data, evalica.bradley_terry(left, right, won, tolerance=1e-8, limit=10_000))


def bootstrap(data: Data):
    """Ten resamples; the harness multiplies nothing, so the scenario says how many were drawn."""
    import evalica

    left, right = data["left_list"], data["right_list"]
    won = [evalica.Winner.X] * len(left)

    def run():
        evalica.bootstrap(evalica.bradley_terry, left, right, won, n_resamples=data["evalica_rounds"])

    return run
