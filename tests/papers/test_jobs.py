"""The studies give the same bits from one process and from two, and hand every repetition to the engine."""

import sys

import numpy as np
import pytest

from papers import active, multilabel, ordinal, rabf
from podium.engine import Processes, Serial
from podium.errors import InputError


class Counted(Processes):
    """Two processes, and how many chunks they were given."""

    def __init__(self):
        super().__init__(2)
        self.chunks = 0

    def map(self, function, chunks, *shared, progress=None):
        return super().map(function, self._counted(chunks), *shared, progress=progress)

    def _counted(self, chunks):
        for chunk in chunks:
            self.chunks += 1
            yield chunk


@pytest.fixture(scope="module")
def workers():
    with Counted() as engine:
        yield engine


STUDIES = {  # a study, and the repetitions it has
    "rabf, sublinear": (lambda engine: rabf.sublinear([300, 400], 2, engine=engine), 3 * 2 * 2),
    "rabf, robustness": (
        lambda engine: rabf.robustness(30, 150, 2, levels={"features": [0.4], "votes": [0.0, 0.2]}, engine=engine),
        2 * 3 * 2,
    ),
    "rabf, online": (lambda engine: rabf.online(40, 400, 2, engine=engine), 3 * 2),
    "active, questions and cost": (lambda engine: active.questions_and_cost((30,), (0.05, 0.2), 2, engine), 2 * 2),
    "active, curves": (lambda engine: active.curves(100, (4,), 2, engine), 2 * 2),
    "active, decomposition": (
        lambda engine: active.decomposition({40: 1, 60: 2}, active.NOISE[1:3], engine=engine),
        2 * (1 + 2),
    ),
    "active, bound": (lambda engine: active.bound(((30, 0.02, 2, active.BOTH),), engine=engine), 2 * 2),
    "active, learners": (lambda engine: active.learners(20, 1, engine=engine), 2 * 2),
    "multilabel, experts": (
        lambda engine: multilabel.expert_regret("prec@2", [8, 16], runs=3, engine=engine),
        2 * 3,
    ),
    "multilabel, Algorithm 4": (lambda engine: multilabel.algorithm_4([50, 100], runs=2, engine=engine), 2 * 2),
    "multilabel, PAC": (lambda engine: multilabel.pac("sum@2", [50, 100], runs=2, engine=engine), 2 * 2),
    "multilabel, consistency": (lambda engine: multilabel.consistency(["sum@2", "auc"], draws=3, engine=engine), 2),
}


@pytest.mark.parametrize("name", STUDIES)
def test_two_processes_give_the_bits_of_one(name, workers):
    study, repetitions = STUDIES[name]
    before = workers.chunks
    assert exact(study(workers)) == exact(study(Serial()))
    assert workers.chunks - before == repetitions


def test_two_processes_give_the_curves_of_one_for_interval_labels(workers, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.clip(np.round(X[:, 0] + 3), 1, 5).astype(int)
    monkeypatch.setattr(ordinal, "load_graded", lambda name, data: (X, y))
    before = workers.chunks
    two, one = (ordinal.study("abalone", None, 3, 2, 60, 1, engine) for engine in (workers, Serial()))
    assert exact(two) == exact(one)
    assert workers.chunks - before == len(ordinal.SHARES) * 3


def exact(value):
    """The value with every number as its bits, so that -0.0, 0.0 and nan are told apart."""
    if isinstance(value, dict):
        return {key: exact(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [exact(each) for each in value]
    return np.asarray(value).tobytes() if isinstance(value, float | np.ndarray | np.generic) else value


@pytest.mark.parametrize("study", [rabf, active, ordinal, multilabel])
def test_no_processes_are_refused(study, monkeypatch, tmp_path):
    folder = {rabf: ["--folder", str(tmp_path)], ordinal: ["--out", str(tmp_path)]}.get(study, [])
    monkeypatch.setattr(sys, "argv", ["study", "--jobs", "0", *folder])
    with pytest.raises(InputError, match="number of processes, 1 or more"):
        study.main()


def test_a_learning_curve_of_own_data_takes_no_jobs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rabf", "--items", "items.csv", "--votes", "votes.csv", "--jobs", "2"])
    with pytest.raises(SystemExit):
        rabf.main()
    assert "--jobs is for the studies" in capsys.readouterr().err
