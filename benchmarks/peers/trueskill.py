"""trueskill: Gaussian message passing, one game at a time."""

from benchmarks.harness import Data


def online(data: Data):
    """Rate the games in order."""
    import trueskill

    left, right, names = data["left_list"], data["right_list"], data["names"]
    environment = trueskill.TrueSkill(draw_probability=0)

    def run():
        rating = {name: environment.create_rating() for name in names}
        for a, b in zip(left, right, strict=True):
            rating[a], rating[b] = trueskill.rate_1vs1(rating[a], rating[b], env=environment)

    return run
