"""openskill: Plackett-Luce ratings, one game at a time."""

from benchmarks.harness import Data


def online(data: Data):
    """Rate the games in order."""
    from openskill.models import PlackettLuce

    left, right, names = data["left_list"], data["right_list"], data["names"]
    model = PlackettLuce()

    def run():
        rating = {name: model.rating() for name in names}
        for a, b in zip(left, right, strict=True):
            (rating[a],), (rating[b],) = model.rate([[rating[a]], [rating[b]]])

    return run
