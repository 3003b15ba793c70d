"""Votes to counts: a table of all pairs or keyed rows, in one go or in chunks, by one process or several."""

from collections import Counter, defaultdict
from functools import reduce
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from podium import Comparisons, read_comparisons
from podium.data.files import read_comparisons_by
from podium.data.tables import cells as cells_module
from podium.data.tables.cells import Cells
from podium.data.tables.forms import Collector, as_polars
from podium.data.tables.keyed import KeyedRows
from podium.data.tables.merging import Merger, merge
from podium.errors import InputError

ITEMS = "abcdefg"
ROUNDS = st.integers(1, 60)


@st.composite
def frames(draw):
    """Votes with any of the columns there are; numbers are halves, whose sums are exact."""
    rows = draw(ROUNDS)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, 7))
    left = rng.integers(n, size=rows)
    right = (left + 1 + rng.integers(n - 1, size=rows)) % n
    frame = {"left": [ITEMS[i] for i in left], "right": [ITEMS[j] for j in right]}
    frame["outcome"] = rng.choice([1.0, 0.5, 0.0], rows).tolist()
    beside = {
        "judge": [f"judge {k}" for k in rng.integers(3, size=rows)],
        "group": [f"group {k}" for k in rng.integers(2, size=rows)],
        "weight": (rng.integers(0, 5, rows) / 2).tolist(),
        "count": rng.integers(0, 4, rows).tolist(),
        "x": (rng.integers(-1, 2, rows) / 2).tolist(),
    }
    return pl.DataFrame(frame | {name: values for name, values in beside.items() if draw(st.booleans())})


def counted(frame, fold=False):
    """The slow twin: a dictionary of (left, right, outcome, judge, group, x) to [votes, Σw, Σw²], by label."""
    found = defaultdict(lambda: [0, 0.0, 0.0])
    for row in frame.to_dicts():
        left, right, outcome = row["left"], row["right"], row["outcome"]
        if fold:
            (left, right), outcome = sorted((left, right)), outcome if left < right else 1 - outcome
        count, weight = row.get("count", 1), row.get("weight", 1.0)
        if count and weight:
            cell = found[left, right, outcome, row.get("judge"), row.get("group"), row.get("x")]
            cell[0] += count
            cell[1] += count * weight
            cell[2] += count * weight**2
    return dict(found)


def of_comparisons(c, fold=False):
    """The same of `Comparisons`; with `fold`, items in order of their label, as the twin has them."""
    found = {}
    squares = c.weight_squares()
    for k in range(len(c.left)):
        left, right, outcome = c.items[c.left[k]], c.items[c.right[k]], (int(c.outcome[k]) + 1) / 2
        if fold:
            (left, right), outcome = sorted((left, right)), outcome if left < right else 1 - outcome
        judge = None if c.judge is None else c.judges[c.judge[k]]
        group = None if c.group is None else c.groups[c.group[k]]
        x = None if c.covariates is None else float(c.covariates[k, 0])
        key = left, right, outcome, judge, group, x
        assert key not in found, "equal votes are one row"
        found[key] = [int(c.count[k]), float(c.weight[k]), float(squares[k])]
    return found


def collected(frame, cuts=(), **options):
    """Read a frame cut into chunks, each by a collector of its own, and unite them in order."""
    edges = [0, *sorted(cuts), frame.height]
    parts = []
    for low, high in pairwise(edges):
        part = Collector("counts", **options)
        part.add(as_polars(frame[low:high]), f"rows {low} to {high}")
        parts.append(part)
    return Comparisons._of(**reduce(Collector.unite, parts).result())


def same(a, b):
    """Equal in every column, to the bit, and in the order of labels and rows."""
    assert (a.items, a.judges, a.groups, a.sided, a.ordered) == (b.items, b.judges, b.groups, b.sided, b.ordered)
    for name in ("left", "right", "outcome", "judge", "group", "count", "weight", "weight_sq", "covariates", "margin"):
        one, other = getattr(a, name), getattr(b, name)
        assert (one is None) == (other is None), name
        if one is not None:
            assert_array_equal(one, other, err_msg=name)


def options_of(frame):
    return {"covariates": ["x"] if "x" in frame.columns else None}


def says_nothing(frame):
    return not counted(frame)


@given(frame=frames(), cuts=st.lists(st.integers(0, 60), max_size=12), fold=st.booleans())
@settings(max_examples=150)
def test_any_cut_into_chunks_gives_the_counts_of_a_dictionary_in_one_order(frame, cuts, fold):
    if says_nothing(frame) or (fold and "x" in frame.columns):
        return
    options = options_of(frame) | {"fold_sides": fold}
    whole = collected(frame, **options)
    assert of_comparisons(whole, fold) == counted(frame, fold)
    assert not (fold and (whole.left > whole.right).any())
    assert whole.sided == (not fold)
    pieces = collected(frame, [min(cut, frame.height) for cut in cuts], **options)
    same(whole, pieces)


@given(frame=frames(), cuts=st.lists(st.integers(0, 60), max_size=5))
@settings(max_examples=60)
def test_counts_do_not_depend_on_the_memory_for_a_table(frame, cuts):
    frame = frame.select("left", "right", "outcome")
    cuts = [min(cut, frame.height) for cut in cuts]
    kinds = [collected(frame, cuts, dense_bytes=size) for size in (0, 4 * 3 * 3**2, 4 * 3 * 5**2, 1 << 30)]
    for other in kinds[1:]:
        same(kinds[0], other)


def pieces_of(n, rows, batches, seed=0, outcomes=True):
    rng = np.random.default_rng(seed)
    for _ in range(batches):
        left = rng.integers(n, size=rows).astype(np.int32)
        piece = {"left": left, "right": ((left + 1 + rng.integers(n - 1, size=rows)) % n).astype(np.int32)}
        yield piece | ({"outcome": rng.integers(-1, 2, rows).astype(np.int8)} if outcomes else {})


def as_counter(pieces):
    found = Counter()
    for piece in pieces:
        outcome = piece.get("outcome", np.ones(len(piece["left"]), np.int8))
        times = piece.get("count", np.ones(len(piece["left"]), np.int64))
        for left, right, o, count in zip(piece["left"], piece["right"], outcome, times, strict=True):
            found[int(left), int(right), int(o)] += int(count)
    return found


@pytest.mark.parametrize("outcomes", [True, False])
def test_a_table_grows_turns_into_rows_at_its_limit_and_comes_back_when_votes_are_many(outcomes):
    kinds = []
    limit = 4 * (3 if outcomes else 1) * 40**2  # room for 40 items
    merger, taken = Merger(merge=True, dense_bytes=limit), []
    for n, batches in ((5, 2), (20, 4), (40, 3), (41, 1), (60, 2)):
        for piece in pieces_of(n, 400, batches, seed=n, outcomes=outcomes):
            merger.add(piece, n)
            taken.append(piece)
            kinds.append(type(merger._counts))
    assert kinds[:9] == [Cells] * 9
    assert kinds[9:] == [KeyedRows] * 3
    assert as_counter([merger.result()]) == as_counter(taken)

    few_first = Merger(merge=True)
    taken = list(pieces_of(300, 50, 1, outcomes=outcomes)) + list(pieces_of(300, 20_000, 2, outcomes=outcomes))
    kinds = []
    for piece in taken:
        few_first.add(piece, 300)
        kinds.append(type(few_first._counts))
    assert (kinds[0], kinds[-1]) == (KeyedRows, Cells)
    assert as_counter([few_first.result()]) == as_counter(taken)


def test_a_cell_that_would_overflow_becomes_wider():
    table = Cells(outcomes=True)
    table.make_room(2, 2)
    vote = {"left": np.zeros(3, np.int32), "right": np.ones(3, np.int32), "outcome": np.ones(3, np.int8)}
    table.add(vote | {"count": np.array([cells_module.MAX_COUNT - 10, 2, 2])})
    assert table.cells.dtype == np.uint32
    table.add(vote)
    table.add(vote)
    assert table.cells.dtype == np.uint32, "full to the last vote"
    table.add(vote)
    assert table.cells.dtype == np.uint64
    assert table.rows()["count"].tolist() == [(1 << 32) - 1 + 3]
    mirrored = vote | {"left": vote["right"], "right": vote["left"], "outcome": -vote["outcome"]}
    table = Cells(outcomes=True)
    table.make_room(2, 2)
    for votes in (vote, mirrored):
        table.add(votes | {"count": np.array([(1 << 31) - 1, 0, 1])})
    folded = table.rows(fold=True)
    assert (folded["count"].tolist(), folded["outcome"].tolist()) == ([1 << 32], [1])


def test_more_votes_than_32_bits_count_are_counted(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("winner,loser,count\na,b,4294967295\na,b,4294967295\nb,a,3\n")
    votes = read_comparisons(path)
    assert votes.count.tolist() == [2 * (2**32 - 1), 3]
    assert len(votes + votes) == 2 * (2 * (2**32 - 1) + 3)


def test_margins_keep_their_mean_and_squares_however_they_are_cut():
    rng = np.random.default_rng(3)
    rows = 200
    margin, weight = rng.normal(1e6, 1.0, rows), rng.uniform(0.1, 3.0, rows)
    frame = pl.DataFrame({"left": list("ab") * 100, "right": list("cd") * 100, "margin": margin, "weight": weight})
    for cuts in ((), (1, 2, 77), tuple(range(0, 200, 9))):
        found = collected(frame, cuts)
        for k, part in ((0, slice(0, None, 2)), (1, slice(1, None, 2))):
            mean = np.average(margin[part], weights=weight[part])
            assert_allclose(found.margin[k], mean, rtol=1e-14)
            assert_allclose(found.margin_ss[k], np.sum(weight[part] * (margin[part] - mean) ** 2), rtol=1e-8)


class TestMerged:
    def test_single_votes_become_the_counts_that_reading_gives(self, tmp_path):
        rng = np.random.default_rng(0)
        frame = pl.DataFrame({"left": rng.choice(list("abc"), 300), "right": rng.choice(list("def"), 300)})
        for extra in ({}, {"judge": rng.choice(["x", "y"], 300)}, {"weight": rng.integers(1, 5, 300) / 4}):
            path = tmp_path / "votes.parquet"
            frame.with_columns(outcome=rng.choice([0.0, 0.5, 1.0], 300), **extra).write_parquet(path)
            same(read_comparisons(path, keep="rows").merged(), read_comparisons(path))

    def test_sums_of_counts_are_merged_and_single_votes_are_not(self):
        votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "b")])
        assert len((votes + votes).left) == 6
        counts = votes.merged() + votes.merged()
        assert (len(counts), len(counts.left), counts.count.tolist()) == (6, 2, [4, 2])
        assert len((votes + votes.merged()).left) == 5
        same(sum([counts, counts]), (votes + votes + votes + votes).merged())

    def test_merging_twice_is_merging_once_and_weights_that_differ_survive(self):
        votes = Comparisons.from_arrays(list("aab"), list("bba"), weight=[1.0, 3.0, 2.0], judge=list("xxy"))
        once = votes.merged()
        same(once, once.merged())
        assert (once.weight.tolist(), once.weight_sq.tolist(), once.count.tolist()) == ([4.0, 2.0], [10.0, 4.0], [2, 1])

    def test_rankings_stay_apart(self):
        rankings = Comparisons.from_rankings([["a", "b"], ["a", "b"]])
        assert len(rankings.merged().left) == 2


def test_rows_found_by_key_are_those_of_a_dictionary_at_any_size():
    rng = np.random.default_rng(1)
    piece = {name: rng.integers(0, 60, 20_000).astype(np.int32) for name in ("left", "right", "judge")}
    piece["outcome"] = rng.integers(-1, 2, 20_000).astype(np.int8)
    found = merge(piece)
    keys = list(zip(*(piece[name].tolist() for name in ("left", "right", "outcome", "judge")), strict=True))
    expected = Counter(keys)
    assert list(zip(*(found[name].tolist() for name in ("left", "right", "outcome", "judge")), strict=True)) == list(
        expected
    ), "in order of first appearance"
    assert found["count"].tolist() == list(expected.values())


def test_covariates_need_sides():
    frame = {"left": ["a"], "right": ["b"], "outcome": [1], "x": [0.5]}
    with pytest.raises(InputError, match="covariates are of left minus right, so sides cannot be folded"):
        collected(pl.DataFrame(frame), covariates=["x"], fold_sides=True)


# ---- several files, several processes -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Eleven files with everything a vote can have; labels come up in another order in each."""
    root = tmp_path_factory.mktemp("votes")
    rng = np.random.default_rng(5)
    for k in range(11):
        rows = 300
        items = rng.permutation([f"item {i}" for i in range(12 + k)])
        left = rng.integers(len(items), size=rows)
        right = (left + 1 + rng.integers(len(items) - 1, size=rows)) % len(items)
        frame = {"left": items[left], "right": items[right], "outcome": rng.choice([0.0, 0.5, 1.0], rows)}
        frame |= {"judge": rng.choice(["x", "y", "z"], rows), "group": rng.choice(["g", "h"], rows)}
        frame |= {"weight": rng.random(rows), "x": rng.integers(0, 2, rows), "margin": rng.normal(size=rows)}
        frame |= {"lang": rng.choice(["en", "de"], rows), "count": rng.integers(1, 4, rows)}
        pl.DataFrame(frame).write_parquet(root / f"part{k:02}.parquet")
    return root


KINDS = {
    "plain": {"judge": False, "group": False, "weight": False, "count": False},
    "folded": {"judge": False, "group": False, "weight": False, "count": False, "fold_sides": True},
    "weights": {"judge": False, "group": False},
    "judges": {"group": False, "weight": False, "count": False},
    "groups": {"judge": False, "count": False},
    "covariates": {"covariates": ["x"], "judge": False},
    "margins": {"outcome": False, "margin": "margin"},
    "rows": {"keep": "rows"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_does_not_depend_on_the_number_of_processes(folder, kind):
    options = KINDS[kind]
    if kind != "margins":
        options = options | {"margin": False}
    alone, together = (read_comparisons(folder, **options, jobs=jobs) for jobs in (1, 2))
    same(alone, together)
    if kind in ("plain", "judges", "weights"):
        whole = pl.read_parquet(folder / "*.parquet")
        drop = [name for name, value in options.items() if value is False]
        expected = counted(whole.drop([*drop, "x"], strict=False))
        found = of_comparisons(alone)
        assert found.keys() == expected.keys()
        assert_allclose(list(found.values()), [expected[key] for key in found], rtol=1e-12)


def test_parts_and_rankings_do_not_depend_on_it_either(folder, tmp_path):
    columns = {"margin": False, "judge": False, "group": False, "weight": False, "count": False}
    alone, together = (read_comparisons_by(folder, "lang", **columns, jobs=jobs) for jobs in (1, 2))
    assert list(alone) == list(together)
    for value in alone:
        same(alone[value], together[value])
    for k in range(3):
        (tmp_path / f"r{k}.csv").write_text("ranking,judge\n" + "".join(f"{a} > b{k} > c,{a}\n" for a in "xyz"))
    alone, together = (read_comparisons(tmp_path, jobs=jobs, unranked="unknown") for jobs in (1, 2))
    assert (alone.group_is, alone.groups, alone.judges) == ("ranking", tuple(range(1, 10)), ("x", "y", "z"))
    same(alone, together)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_first_bad_file_is_named_whoever_reads_it(tmp_path, jobs):
    for k in range(6):
        bad = "a,a\n" if k in (2, 5) else ""
        (tmp_path / f"part{k}.csv").write_text(f"winner,loser\na,b\n{bad}")
    with pytest.raises(InputError, match=r"part2.csv, row 2: 'a' is compared with itself"):
        read_comparisons(tmp_path, jobs=jobs)
    (tmp_path / "part2.csv").write_text("winner,loser,weight\na,b,1\n")
    with pytest.raises(InputError, match=r"part2.csv: column 'weight' is here but not in .*part0.csv"):
        read_comparisons(tmp_path, jobs=jobs)
    pl.DataFrame({"winner": [1], "loser": [2]}).write_parquet(tmp_path / "part1.parquet")
    (tmp_path / "part2.csv").unlink()
    with pytest.raises(InputError, match=r"holds text in .*part0.csv and numbers in .*part1.parquet"):
        read_comparisons(tmp_path, jobs=jobs)


def test_numbers_in_one_file_and_labels_in_another_are_torn_apart(tmp_path):
    (tmp_path / "a.csv").write_text("left,right,outcome\n0,1,0\n")
    (tmp_path / "b.csv").write_text("left,right,outcome\n7,8,7\n")
    for jobs in (1, 2):
        with pytest.raises(InputError, match="outcome '0' would be a number and '7' the winner's label"):
            read_comparisons(tmp_path, jobs=jobs)


def test_progress_counts_every_vote_and_byte(folder, tmp_path):
    (tmp_path / "votes.csv").write_text("winner,loser\n" + "a,b\n" * 1000)
    (tmp_path / "votes.jsonl").write_text('{"winner": "a", "loser": "b"}\n' * 10)
    for where, votes in ((folder, 3300), (tmp_path, 1010)):
        size = sum(path.stat().st_size for path in where.iterdir())
        for jobs in (1, 2):
            told = []
            options = {"margin": False} if where is folder else {}
            read_comparisons(where, jobs=jobs, progress=lambda *so_far, told=told: told.append(so_far), **options)
            assert told[-1] == (votes, size, size)
            assert told == sorted(told)


@pytest.mark.parametrize("jobs", [0, -2, 1.5])
def test_a_number_of_jobs_that_is_none_is_refused(folder, jobs):
    with pytest.raises(InputError, match=f"jobs={jobs}: give the number of processes, 1 or more"):
        read_comparisons(folder, jobs=jobs)


# ---- labels of polars columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [["x", "y", "long enough to be a buffer"], [3, 1, 2], [0.5, 2.0, 1.0], [2**62, 1, 5]],
)
def test_polars_columns_are_numbered_as_lists_are(values):
    others = values[1:] + values[:1]
    found = Comparisons.from_arrays(pl.Series(values), pl.Series(others), judge=pl.Series(values))
    listed = Comparisons.from_arrays(values, others, judge=values)
    same(found, listed)
    assert [type(item) for item in found.items] == [type(item) for item in listed.items]


@pytest.mark.parametrize("missing", [None, "", float("nan")])
def test_a_missing_label_of_a_polars_column_is_named(missing):
    good = [1.0, 2.0] if isinstance(missing, float) else ["a", "b"]
    bad = pl.Series([good[0], missing])
    with pytest.raises(InputError, match="row 2: right is missing"):
        Comparisons.from_arrays(pl.Series(good[::-1]), bad)
    with pytest.raises(InputError, match="row 2: judge is missing"):
        Comparisons.from_arrays(["a", "b"], ["c", "d"], judge=bad)
