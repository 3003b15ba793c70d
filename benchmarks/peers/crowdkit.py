"""crowd-kit: minorise-maximise in NumPy, from a pandas frame of strings."""

import math

from benchmarks.harness import Data


def bradley_terry(data: Data):
    """Iterated as long as its tolerance asks, at most 100 times."""
    import pandas as pd
    from crowdkit.aggregation import BradleyTerry

    frame = pd.DataFrame({"left": data["left_list"], "right": data["right_list"], "label": data["left_list"]})

    def run():
        scores = BradleyTerry(n_iter=100, tol=1e-9).fit_predict(frame)
        return [math.log(max(scores[name], 1e-300)) for name in data["names"]]

    return run


def noisy(data: Data):
    """Its model of judges with skills, from a frame of strings."""
    import pandas as pd
    from crowdkit.aggregation import NoisyBradleyTerry

    frame = pd.DataFrame({"worker": data["judge"], "left": data["winner_list"], "right": data["loser_list"]})
    frame["label"] = frame["left"]

    def run():
        NoisyBradleyTerry(n_iter=100).fit_predict(frame)

    return run
