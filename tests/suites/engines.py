"""What every engine does: the same values, in the same order, with the same errors, and nothing left behind."""

import operator
import os
import signal
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from podium.engine import report
from podium.errors import DataWarning, EngineError, InputError

__all__ = ["EngineSuite"]


# Functions that engines run: at module level, so that other processes find them.


def wrap(chunk):
    return f"{chunk}"


def bracket(a, b):
    return f"({a}+{b})"


def numbers(chunk):
    return np.random.default_rng(chunk).normal(size=50) * 10.0 ** np.random.default_rng(chunk).integers(-12, 12, 50)


def go_on(total, chunk):
    return total + wrap(chunk)


def refuse_further(total, chunk, bad):
    return total + refuse(chunk, bad)


def tell_further(total, chunk):
    return total + tell(chunk)


def warn_further(total, chunk):
    return total + warn(chunk)


def die_once_further(total, chunk, marks):
    return total + die_once(chunk, marks)


def table_of(chunk):
    return {"whole": np.full((700, 700), chunk, np.uint32), "none": np.empty(0), "bits": np.eye(3, dtype=bool)[:, ::2]}


def scaled(chunk, factor, shift=0.0):
    return chunk * factor + shift


def slow_first(chunk):
    time.sleep(0.2 if chunk == 0 else 0)
    return chunk


def refuse(chunk, bad):
    if chunk in bad:
        time.sleep(0.05 * (20 - chunk))  # the last one is the first to fail
        raise InputError(f"chunk {chunk} is bad")
    return chunk


def warn(chunk):
    warnings.warn(f"look at {chunk}", DataWarning, stacklevel=1)
    return chunk


def tell(chunk):
    for step in range(3):
        report((chunk, step))
    return chunk


def die_once(chunk, marks):
    """End this process the first time this chunk is seen."""
    mark = Path(marks) / f"{chunk}"
    if chunk == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return chunk


def part_of(chunk):
    return np.arange(chunk, chunk + 3.0)


def weighted(part, weights):
    return float(part @ weights)


def part_of_mortal(chunk):
    return chunk


def die_once_with_part(part, marks):
    return die_once(part, marks)


def unpicklable(chunk):
    return lambda: chunk


def broken(chunk):
    raise ZeroDivisionError("our own mistake")


class EngineSuite:
    """Subclasses give `engine`, a fixture."""

    @pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 17, 64, 65, 75])
    def test_sums_are_the_tree_of_the_chunks(self, engine, count):
        level = [wrap(k) for k in range(count)]
        whole, rest = [], []  # the tree, written down: eights are added up, then eights of those; rests from the top
        while level:
            cut = len(level) // 8 * 8
            eights = [level[k : k + 8] for k in range(0, cut, 8)]
            rest.append(level[cut:])
            level = [self.added(eight) for eight in eights]
        for left in reversed(rest):
            whole += [self.added(left)] if left else []
        assert engine.sum(wrap, range(count), add=bracket) == self.added(whole)

    @staticmethod
    def added(values):
        total = values[0]
        for value in values[1:]:
            total = bracket(total, value)
        return total

    def test_sums_of_floats_are_equal_to_the_bit(self, engine):
        from podium.engine import Serial

        for count in (3, 20, 70):
            here, there = Serial().sum(numbers, range(count)), engine.sum(numbers, range(count))
            assert here.tobytes() == there.tobytes()

    @pytest.mark.parametrize("count", [1, 2, 3, 8, 17])
    def test_sums_that_go_on_are_those_of_the_tree(self, engine, count):
        """Joining texts does not depend on grouping, and shows the order."""
        expected = "".join(map(wrap, range(count)))
        assert engine.sum(wrap, range(count)) == expected
        assert engine.sum(wrap, range(count), extend=go_on) == expected

    def test_sums_that_go_on_have_the_same_errors_warnings_and_reports(self, engine):
        for count in (20, 6):
            with pytest.raises(InputError, match=r"^chunk 2 is bad$"):
                engine.sum(refuse, range(count), {2, 5, count - 1}, extend=refuse_further)
        with pytest.warns(DataWarning) as caught:
            assert engine.sum(warn, [1, 2, 3], extend=warn_further) == 6
        assert [str(one.message) for one in caught] == ["look at 1", "look at 2", "look at 3"]
        told = []
        assert engine.sum(tell, range(400), extend=tell_further, progress=told.append) == sum(range(400))
        assert sorted(told) == [(chunk, step) for chunk in range(400) for step in range(3)]
        with pytest.raises(ValueError, match="no chunks"):
            engine.sum(wrap, [], extend=go_on)

    def test_arrays_of_any_size_and_shape_travel(self, engine):
        for k, table in enumerate(engine.map(table_of, range(3))):
            for name, expected in table_of(k).items():
                assert np.array_equal(table[name], expected)
                assert table[name].dtype == expected.dtype
                table[name] += table[name]  # and can be written to

    def test_values_come_in_the_order_of_chunks(self, engine):
        assert list(engine.map(slow_first, range(12))) == list(range(12))
        assert list(engine.map(scaled, [1.0, 2.0], 3.0, 0.5)) == [3.5, 6.5]

    def test_chunks_are_taken_as_they_are_needed(self, engine):
        taken = []

        def chunks():
            for k in range(1000):
                taken.append(k)
                yield k

        found = engine.map(wrap, chunks())
        assert [next(found) for _ in range(3)] == ["0", "1", "2"]
        assert len(taken) < 100
        found.close()
        assert engine.sum(wrap, [1, 2], add=operator.add) == "12", "the engine can be used again"

    def test_the_error_of_the_first_bad_chunk_is_raised(self, engine):
        for count in (20, 6):
            with pytest.raises(InputError, match=r"^chunk 2 is bad$"):
                engine.sum(refuse, range(count), {2, 5, count - 1})
        with pytest.raises(ZeroDivisionError, match="our own mistake"):
            engine.sum(broken, [1])
        assert engine.sum(refuse, range(4), set()) == 6

    def test_no_chunks_have_no_sum(self, engine):
        for total in (lambda: engine.sum(wrap, []), lambda: engine.keep(wrap, []).sum(wrap)):
            with pytest.raises(ValueError, match=r"^there are no chunks, so there is no sum$"):
                total()

    def test_warnings_arrive(self, engine):
        with pytest.warns(DataWarning) as caught:
            engine.sum(warn, [1, 2])
        assert [str(one.message) for one in caught] == ["look at 1", "look at 2"]

    def test_what_is_reported_arrives(self, engine):
        told = []
        assert engine.sum(tell, [0, 1], progress=told.append) == 1
        assert sorted(told) == [(chunk, step) for chunk in (0, 1) for step in range(3)]

    def test_what_is_reported_arrives_with_each_answer(self, engine):
        told = []
        assert list(engine.map(tell, [0, 1], progress=told.append)) == [0, 1]
        assert sorted(told) == [(chunk, step) for chunk in (0, 1) for step in range(3)]

    def test_parts_are_kept(self, engine):
        kept = engine.keep(part_of, range(10))
        for shift in (0.0, 1.0):
            weights = np.array([1.0, 10.0, 100.0]) + shift
            expected = sum(float(np.arange(k, k + 3.0) @ weights) for k in range(10))
            assert kept.sum(weighted, weights) == pytest.approx(expected, rel=1e-12)


class ProcessSuite(EngineSuite):
    """What engines with other processes do beside that."""

    def test_a_worker_that_is_killed_is_replaced_and_the_answer_is_right(self, engine, tmp_path):
        assert engine.sum(die_once, range(20), str(tmp_path)) == sum(range(20))
        assert (tmp_path / "3").exists(), "a worker was killed"

    def test_a_worker_killed_while_it_goes_on_is_replaced_too(self, engine, tmp_path):
        last_first = [*range(20, 3, -1), 3]  # the last share is never this process's own
        assert engine.sum(die_once, last_first, str(tmp_path), extend=die_once_further) == sum(last_first)
        assert (tmp_path / "3").exists(), "a worker was killed"

    def test_a_part_that_was_lost_is_made_again(self, engine, tmp_path):
        kept = engine.keep(part_of_mortal, range(6))
        assert kept.sum(scaled, 1.0) == 15
        assert kept.sum(die_once_with_part, str(tmp_path)) == 15
        assert kept.sum(scaled, 2.0) == 30

    def test_a_value_that_cannot_travel_is_said(self, engine):
        with pytest.raises(EngineError, match="cannot be sent back"):
            engine.sum(unpicklable, [1])
