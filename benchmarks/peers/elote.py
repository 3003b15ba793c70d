"""elote: Elo, one game at a time."""

from benchmarks.harness import Data


def online(data: Data):
    """Rate the games in order."""
    from elote import EloCompetitor

    left, right, names = data["left_list"], data["right_list"], data["names"]

    def run():
        rating = {name: EloCompetitor() for name in names}
        for a, b in zip(left, right, strict=True):
            rating[a].beat(rating[b])

    return run
