"""The benchmark harness: what it shows of ways that work, fail, hang or are not there."""

import json
import os
import resource
import time
from dataclasses import asdict

import pytest

from benchmarks import harness, run
from benchmarks.harness import Result, Scenario, Way, run_scenario


def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def missing(data):
    import a_package_that_is_not_there  # noqa: F401


def broken(data):
    raise RuntimeError("no luck\nat all")


SCENARIO = Scenario(
    "name",
    "title",
    lambda rng: {"n": 3},
    (
        Way("ours", lambda data: lambda: burn(0.01) or [0.0] * data["n"], repeats=2),
        Way("slower", lambda data: lambda: burn(0.1) or [1.0] * data["n"], reach=2, repeats=1),
        Way("hangs", lambda data: lambda: time.sleep(60), seconds=0.2),
        Way("never ends", lambda data: lambda: burn(60), reach=10, seconds=1),
        Way("broken", broken),
        Way("missing", missing),
        Way("crashes", lambda data: lambda: os._exit(3)),
    ),
    objective=lambda data, scores: float(scores.sum()),
)


def test_no_limit_of_cpu_makes_the_clock_of_a_way_coarse():
    """Under RLIMIT_CPU Linux counts a process's time by ticks, and what takes a millisecond seems to take none."""
    before = resource.getrlimit(resource.RLIMIT_CPU)
    told = Scenario(
        "name",
        "title",
        lambda rng: {},
        (Way("ours", lambda data: lambda: [float(resource.getrlimit(resource.RLIMIT_CPU) == before)], repeats=1),),
        quality=lambda data, scores: str(scores[0]),
    )
    assert run_scenario(told)[0].quality == "1.0"


def test_each_way_is_timed_or_shown_as_what_went_wrong():
    ours, slower, *failed = run_scenario(SCENARIO)
    assert ours.ratio == 1
    assert slower.ratio > 1
    assert slower.gap == pytest.approx(3.0)
    assert [result.problem for result in failed] == [
        "not finished in 2 s",
        "not finished in 1 s of CPU",
        "failed: RuntimeError: no luck",
        "not installed (a_package_that_is_not_there)",
        "crashed",
    ]
    assert failed[1].more_than == pytest.approx(1.0 / ours.seconds)
    cells = run._cells(asdict(failed[1]), None)
    assert cells[1].startswith("> ")
    assert cells[2] == ("≥ 10×: yes" if failed[1].more_than >= 10 else "–")


def test_the_first_run_warms_up_and_the_least_of_the_others_counts(monkeypatch):
    clock = iter([0.0, 9.0, 0.0, 3.0, 10.0, 11.0, 20.0, 22.0])  # before and after each run
    monkeypatch.setattr(harness, "_cpu", lambda: next(clock))
    calls = []
    assert harness.measure(lambda: calls.append("run") or "done", repeats=3) == (1.0, 3, "done")
    assert len(calls) == 4


def test_no_run_is_begun_that_would_overspend(monkeypatch):
    clock = iter([0.0, 8.0, 10.0, 18.0, 20.0, 28.0])
    monkeypatch.setattr(harness, "_cpu", lambda: next(clock))
    assert harness.measure(lambda: None, repeats=3, budget=17.0)[1] == 2


def test_results_are_kept_by_scenario_and_become_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    results = [
        Result("ours", 0.002, 1.0, gap=0.0, megabytes=1.0),
        Result("other", 0.08, 40.0, reach=30, gap=1e-9, megabytes=2.0),
        Result("gone", problem="did not finish in 9 s"),
    ]
    run.save("pairwise", SCENARIO, results)
    assert json.loads((tmp_path / "pairwise.json").read_text())["name"]["results"][1]["ratio"] == 40.0
    page = run.page({"pairwise": (SCENARIO,)})
    assert "| other | 80 ms | 40× | ≥ 30×: yes | +1.0e-09 | 2 MB |" in page
    assert "| gone | did not finish in 9 s |" in page


def test_scenarios_of_all_families_have_names_of_their_own_and_need_no_rival_to_be_listed():
    names = [scenario.name for scenarios in run.families().values() for scenario in scenarios]
    assert {"metrics", "multilabel", "ordinal", "pairwise", "rabf"} <= set(run.families())
    assert len(names) == len(set(names))


def test_a_scenario_on_public_data_asks_for_the_folder(monkeypatch):
    monkeypatch.delenv("PODIUM_BENCHMARK_DATA", raising=False)
    found = {scenario.name: scenario for scenarios in run.families().values() for scenario in scenarios}
    with pytest.raises(harness.NoData, match="--data DIR"):
        run_scenario(found["graded-abalone"])
