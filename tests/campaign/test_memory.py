"""What the writing thread remembers from commit to commit is what the tables say, also of a long queue."""

import numpy as np
import pytest

from podium.campaign import desk, planning, setup
from podium.store import open_store

from suites.campaigns import MINUTE, Bench
from suites.machine import check_memory


@pytest.mark.parametrize("seed", range(4))
def test_whatever_judges_do_memory_and_tables_agree(tmp_path, seed):
    rng = np.random.default_rng(seed)
    with open_store(str(tmp_path / "c.db"), new=True) as store:
        bench = Bench(store, 14, ("ann", "bob", "cy"), votes_per_pair=1 + seed % 2, tired_after=2)
        bench.do(lambda writer: setup.set_conflicts(writer, 2, [0, 3], bench.now))
        planning.plan_once(store, bench.id, bench.now)
        known, queued, ids = store._committer.warm.of(bench.id), 0, [[], [], []]
        for step in range(60):
            judge = int(rng.integers(3))
            hand = bench.next(judge, int(rng.integers(1, 4))).questions
            what = rng.random()
            if what < 0.75:
                ids[judge].append(f"v{step}")
                bench.vote(judge, hand[0].id, None if what < 0.2 else float(what < 0.5), id=ids[judge][-1])
            elif what < 0.85 and ids[judge]:
                bench.undo(judge, ids[judge].pop())
            elif what < 0.9:
                bench.now += 11 * MINUTE
            elif what < 0.93:
                planning.plan_once(store, bench.id, bench.now)
            queued += known.queue is not None and len(known.hands) > 0
            bench.read(lambda reader: check_memory(reader, bench.id, known))
        assert queued > 30, "the queue was in mind"


def test_judges_get_the_same_pairs_with_memory_and_without(tmp_path):
    """The same votes on two files, one store remembering, the other made to forget before every transaction."""
    given = []
    for forgetful in (False, True):
        with open_store(str(tmp_path / f"{forgetful}.db"), new=True) as store:
            bench = Bench(store, 12, ("ann", "bob"), votes_per_pair=2, seed=5)
            planning.plan_once(store, bench.id, bench.now)
            rng, shown = np.random.default_rng(7), []
            for step in range(50):
                if forgetful:
                    store._committer.warm.version = "another"
                judge = int(rng.integers(2))
                hand = bench.next(judge).questions
                shown.append([(each.id, each.left, each.right, each.kind, each.until) for each in hand])
                bench.now += int(rng.integers(4)) * MINUTE
                bench.vote(
                    judge, hand[int(rng.integers(len(hand)))].id, [1.0, 0.0, None][int(rng.integers(3))], id=f"{step}"
                )
            given.append((shown, store.read(lambda reader: desk.history(reader, 1, 0, 500))))
    assert given[0] == given[1]
