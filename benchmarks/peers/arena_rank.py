"""arena-rank: JAX, from a pandas frame of strings; compiled before the clock starts."""

from benchmarks.harness import Data
from benchmarks.peers.fastchat import _frame


def leaderboard(data: Data):
    """Ratings alone, without its intervals."""
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    frame = _frame(data)

    def run():
        dataset = PairDataset.from_pandas(frame)
        model = BradleyTerry(n_competitors=dataset.n_competitors)
        model.fit(dataset)
        place = {name: k for k, name in enumerate(dataset.competitors)}
        ratings = model.params["ratings"]
        return [float(ratings[place[name]]) for name in data["names"]]

    return run
