"""A Dask cluster under the suite of all engines, and what only a cluster can get wrong."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from podium import BradleyTerry, Comparisons, read_comparisons
from podium.cli import main
from podium.data import collecting
from podium.data.files import read_comparisons_by
from podium.engine import DaskEngine, Serial, connect, connecting
from podium.engine import cluster as room
from podium.errors import EngineError, InputError, PodiumWarning
from podium.evaluate.assessment import assess

from suites.cluster import require_dask
from suites.engines import ProcessSuite, wrap


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    require_dask()
    own = tmp_path_factory.mktemp("own")  # other tests have clusters of their own meanwhile
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(own))
            engine = stack.enter_context(connect("local:2"))
        port = int(engine.client.scheduler.address.rpartition(":")[2])
        assert list(own.glob("podium-*")), "it has a folder"
        yield engine
    assert not multiprocessing.active_children(), "no process is left behind"
    assert not _listens(port), "no socket is"
    assert not list(own.glob("podium-*")), "nor a folder"


def _listens(port):
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


class TestDask(ProcessSuite):
    @pytest.fixture
    def engine(self, cluster):
        return cluster


def test_a_cluster_of_our_own_listens_on_this_machine_only(cluster):
    import psutil

    here = psutil.Process()
    lines = [line for each in (here, *here.children(recursive=True)) for line in each.net_connections()]
    open_to = {line.laddr.ip for line in lines if line.status == psutil.CONN_LISTEN}
    assert open_to == {"127.0.0.1"}


def environment():
    import dask

    names = ("OPENBLAS_NUM_THREADS", "OPENBLAS_THREAD_TIMEOUT", "MALLOC_TRIM_THRESHOLD_")
    return [os.environ.get(name) for name in names], dask.config.get("distributed.worker.memory.monitor-interval")


def test_a_worker_that_is_added_later_is_like_the_first():
    require_dask()
    with connect("local:1") as engine:
        engine._mend.cluster.scale(2)
        engine.client.wait_for_workers(2, timeout=60)
        one, other = engine.client.run(environment).values()
    assert one == other


# Functions that workers run.


class Deadly:
    name = "part07.parquet"
    size = 1


def always_die(chunk, *rest):
    if isinstance(chunk, Deadly):
        os.kill(os.getpid(), signal.SIGKILL)
    return 1


def die_further(total, chunk):
    return total + always_die(chunk)


def nap(chunk):
    time.sleep(0.2)
    return chunk


def not_there(chunk, path):
    raise FileNotFoundError(2, "No such file or directory", path)


def size_of(chunk, shared):
    return chunk + len(shared)


class TestFailures:
    def test_a_chunk_that_always_ends_its_worker_is_named_and_no_other(self, cluster):
        with pytest.raises(EngineError, match=r"^part07.parquet ended 3 workers; too little memory"):
            cluster.sum(always_die, [1, 2, Deadly(), 4, 5], extend=die_further)
        assert cluster.sum(wrap, [1, 2]) == "12", "the engine can be used again"

    def test_a_path_that_only_this_machine_sees_is_said(self, cluster, tmp_path):
        here = tmp_path / "votes.csv"
        here.touch()
        with pytest.raises(EngineError, match=r"^worker tcp://127.0.0.1:\d+ has no .*votes.csv; give a path that all"):
            cluster.sum(not_there, [1], str(here))
        with pytest.raises(FileNotFoundError):
            cluster.sum(not_there, [1], str(tmp_path / "nowhere.csv"))

    def test_what_all_chunks_share_may_be_large(self, cluster):
        assert cluster.sum(size_of, [1, 2, 3], np.zeros(200_000)) == 6 + 3 * 200_000
        assert list(cluster.map(size_of, [1, 2], np.zeros(200_000))) == [200_001, 200_002]

    def test_another_version_on_a_worker_is_named(self, cluster, monkeypatch):
        cluster.client.wait_for_workers(1, timeout=60)
        honest = connecting.installed_here()
        connecting.refuse_other_versions(cluster.client)
        for name in honest:
            monkeypatch.setattr(connecting, "installed_here", lambda name=name: honest | {name: "0.0"})
            with pytest.raises(EngineError, match=rf"^worker tcp://\S+ has {name} \S+, here is 0.0; install the same"):
                connecting.refuse_other_versions(cluster.client)
        monkeypatch.setattr(connecting, "installed_here", lambda: {"cobol": "85"})
        with pytest.raises(EngineError, match=r"has no cobol, here is 85"):
            connecting.refuse_other_versions(cluster.client)

    def test_what_runs_nothing_is_no_engine(self):
        with pytest.raises(InputError, match=r"^engine='local:4' runs nothing; give a Dask client"):
            read_comparisons(__file__, engine="local:4")


class TestAddresses:
    @pytest.fixture(autouse=True)
    def _needs(self):
        require_dask()

    @pytest.mark.parametrize(
        ("address", "why"),
        [
            ("nonsense", "give local:4"),
            ("", "give local:4"),
            ("local:", "give local:4"),
            ("local:-1", "give local:4"),
            ("local:0", "give from 1 to"),
            ("local:999999", "give from 1 to"),
            ("tcp://nowhere", "give local:4"),
            ("tcp://h:99999999", "give local:4"),
            ("http://h:8786", "give local:4"),
            ("tls://h:8786", "encrypted; give its cluster_ca"),
        ],
    )
    def test_an_address_that_is_none_is_refused(self, address, why):
        with pytest.raises(InputError, match=why):
            connect(address)

    def test_files_of_certificates_are_looked_at_first(self, tmp_path):
        with pytest.raises(InputError, match=r"cluster_key='.*none': no such file"):
            connect("tls://127.0.0.1:1", ca=__file__, cert=__file__, key=tmp_path / "none")
        with pytest.raises(InputError, match="cluster_ca= is for a scheduler at tls://"):
            connect("local:2", ca=__file__)

    def test_a_scheduler_that_never_answers_is_one_sentence(self, monkeypatch):
        monkeypatch.setattr(connecting, "MAX_WAIT", 1)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            where = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(EngineError, match=rf"^no scheduler answered at {where} within 1 seconds; check"):
                connect(where)

    def test_an_open_line_to_another_machine_is_warned_of(self, monkeypatch):
        monkeypatch.setattr(connecting, "MAX_WAIT", 1)
        for address, here in (("tcp://127.0.0.1:1", True), ("tcp://podium.invalid:1", False)):
            if here:
                connecting._refuse_address(address, "tcp", {})  # a warning would be an error
                continue
            with pytest.warns(PodiumWarning, match="neither encrypted nor asks who calls"):
                connecting._refuse_address(address, "tcp", {})

    def test_without_dask_the_line_to_install_it_is_given(self, monkeypatch):
        monkeypatch.setattr(connecting.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(InputError, match=r"run: pip install 'podium\[cluster\]'"):
            connect("local:2")


SCHEDULER = """
import asyncio, sys
from distributed import Scheduler, Worker

async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard_address=None) as scheduler:
        async with Worker(scheduler.address, nthreads=1, dashboard_address=None, local_directory=sys.argv[1]):
            print(scheduler.address, flush=True)
            await scheduler.finished()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
def test_a_scheduler_that_dies_is_one_sentence(tmp_path, monkeypatch):
    require_dask()
    monkeypatch.setattr(room, "LOOK_EVERY", 0.1)
    command = [sys.executable, "-c", SCHEDULER, str(tmp_path)]
    python_path = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": python_path},
    ) as there:
        try:
            address = there.stdout.readline().strip()
            with connect(address) as engine:
                assert engine.sum(wrap, range(5)) == "01234"
                values = engine.map(nap, range(100))
                assert next(values) == 0
                there.kill()
                with pytest.raises(EngineError, match=r"^the (connection to the scheduler|cluster) at tcp://127"):
                    list(values)
        finally:
            there.kill()


# Votes.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("votes")
    rng = np.random.default_rng(0)
    for k in range(5):
        left = rng.integers(12, size=150)
        right = (left + 1 + rng.integers(11, size=150)) % 12
        pl.DataFrame(
            {
                "left": [f"item {a}" for a in left + k],
                "right": [f"item {b}" for b in right + k],
                "outcome": rng.choice(["left", "right", "tie"], 150),
                "weight": rng.choice([0.5, 1.0, 2.25], 150),
                "count": rng.integers(1, 4, 150),
                "judge": rng.choice(list("xyz"), 150),
                "group": rng.integers(9, size=150),
                "margin": rng.normal(size=150),
                "x": rng.choice([-1.0, 0.0, 1.5], 150),
                "lang": rng.choice(["de", "en"], 150),
            }
        ).write_parquet(root / f"part{k}.parquet")
    return root


NONE = dict.fromkeys(("weight", "count", "judge", "group", "margin"), False)
KINDS = {
    "plain": {},
    "folded": {"fold_sides": True},
    "weights": {"weight": None, "count": None},
    "judges": {"judge": None},
    "groups": {"group": None, "weight": None},
    "covariates": {"covariates": ["x"]},
    "margins": {"outcome": False, "margin": "margin"},
    "rows": {"keep": "rows"},
}


def same(one, other):
    assert (one.items, one.judges, one.groups, one.covariate_names) == (
        other.items,
        other.judges,
        other.groups,
        other.covariate_names,
    )
    for name in ("left", "right", "outcome", "weight", "count", "judge", "group", "margin", "covariates"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        assert a is None or np.asarray(a).tobytes() == np.asarray(b).tobytes(), name


@pytest.mark.parametrize("kind", KINDS)
def test_votes_read_by_a_cluster_are_those_read_here_to_the_bit(cluster, folder, kind):
    options = NONE | KINDS[kind]
    same(read_comparisons(folder, **options), read_comparisons(folder, **options, engine=cluster.client))


def test_parts_and_rankings_are_too(cluster, folder, tmp_path):
    here, there = (read_comparisons_by(folder, "lang", **NONE, engine=engine) for engine in (Serial(), cluster))
    assert list(here) == list(there) == ["de", "en"] or list(here) == list(there) == ["en", "de"]
    for value in here:
        same(here[value], there[value])
    for k in range(3):
        (tmp_path / f"r{k}.csv").write_text("ranking,judge\n" + "".join(f"{a} > b{k} > c,{a}\n" for a in "xyz"))
    same(*(read_comparisons(tmp_path, unranked="unknown", engine=engine) for engine in (None, cluster)))


def test_a_worker_killed_by_its_pid_changes_no_bit(cluster, folder):
    cluster.client.wait_for_workers(1, timeout=60)
    pids = list(cluster.client.run(os.getpid).values())
    told = []

    def kill(*so_far):
        if not told:
            os.kill(pids[0], signal.SIGKILL)
        told.append(so_far)

    votes = read_comparisons(folder, **NONE, engine=cluster, progress=kill)
    same(read_comparisons(folder, **NONE), votes)
    assert told[-1][0] == 750, "every vote is reported once"
    assert pids[0] not in cluster.client.run(os.getpid).values()


def test_a_bad_row_is_named_as_here(cluster, tmp_path):
    for k in range(16):
        bad = "c,c\n" if k in (6, 11) else ""
        (tmp_path / f"part{k:02}.csv").write_text(f"winner,loser\na,b\nb,c\n{bad}")
    with pytest.raises(InputError, match=r"part06.csv, row 3: 'c' is compared with itself") as caught:
        read_comparisons(tmp_path, engine=cluster)
    with pytest.raises(InputError) as here:
        read_comparisons(tmp_path)
    assert str(caught.value) == str(here.value)


def test_a_file_that_vanishes_is_named(cluster, tmp_path, monkeypatch):
    for k in range(3):
        (tmp_path / f"part{k}.csv").write_text("winner,loser\na,b\n")
    monkeypatch.setattr(collecting, "refuse_twice", lambda sources: (tmp_path / "part1.csv").unlink())
    with pytest.raises(InputError, match=r"cannot read .*part1.csv: No such file or directory; check the path"):
        read_comparisons(tmp_path, engine=cluster)


def test_what_is_open_here_cannot_be_read_there(cluster, tmp_path):
    (tmp_path / "v.csv").write_text("winner,loser\na,b\n")
    with (
        open(tmp_path / "v.csv") as file,
        pytest.raises(InputError, match="is open here, and a cluster reads elsewhere"),
    ):
        read_comparisons(file, engine=cluster)
    with pytest.raises(InputError, match=r"jobs=2 is for this machine alone; drop it, or engine="):
        read_comparisons(tmp_path, engine=cluster, jobs=2)


def test_the_bootstrap_and_the_folds_of_a_cluster_are_those_of_here(cluster, folder):
    votes = read_comparisons(folder, **NONE)
    ranking = BradleyTerry(l2=0.1).fit(votes).ranking_
    here, there = (
        ranking.with_uncertainty("bootstrap", replicates=200, seed=3, engine=engine).std_errors
        for engine in (None, cluster)
    )
    assert here.tobytes() == there.tobytes()
    here, there = (assess(votes, ["bradley-terry", "elo"], folds=3, engine=engine) for engine in (None, cluster))
    assert here.to_frame().equals(there.to_frame())


def test_folds_of_hundreds_of_items_are_too_whose_linear_algebra_takes_several_threads(cluster):
    rng = np.random.default_rng(4)
    left = rng.integers(200, size=6000)
    right = (left + 1 + rng.integers(199, size=6000)) % 200
    votes = Comparisons.from_arrays(left, right, items=range(200))
    here, there = (assess(votes, ["bradley-terry", "least-squares"], folds=2, engine=it) for it in (None, cluster))
    for name in ("bradley-terry", "least-squares"):
        assert here.log_loss[name].tobytes() == there.log_loss[name].tobytes()
        assert all(a.tobytes() == b.tobytes() for a, b in zip(here.curves[name], there.curves[name], strict=True))


class TestCommands:
    @pytest.fixture
    def lent(self, cluster, monkeypatch):
        """The cluster of this module in place of one that each command would start."""
        monkeypatch.setattr("podium.engine.connect", lambda address, **files: DaskEngine(cluster.client))

    @staticmethod
    def run(*arguments):
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    def test_the_leaderboard_is_the_same(self, lent, folder):
        for more in ((), ("--ci", "bootstrap"), ("--by", "lang")):
            words = ("rank", folder, "--margin=", "--format", "csv", *more)
            here, there = self.run(*words), self.run(*words, "--cluster", "local:2")
            assert (here.exit_code, there.exit_code) == (0, 0), there.output
            assert here.stdout == there.stdout

    def test_so_are_comparisons_and_checks(self, lent, folder):
        for words in (
            ("compare", folder, "--margin=", "--folds", 2, "--method", "borda", "--format", "csv"),
            ("check", folder, "--margin=", "--replicates", 9),
        ):
            here, there = self.run(*words), self.run(*words, "--cluster", "local:2")
            assert (here.exit_code, there.exit_code) == (0, 0), there.output
            assert here.stdout == there.stdout

    def test_what_goes_one_after_the_other_is_refused(self, folder):
        for method in ("elo", "online-rabf"):
            done = self.run("rank", folder, "--method", method, "--cluster", "local:2")
            assert isinstance(done.exception, InputError)
            assert f"{method} takes votes one after the other" in str(done.exception)
        for words in (("--jobs", 2, "--cluster", "local:2"), ("--cluster-key", "x")):
            assert isinstance(self.run("rank", folder, *words).exception, InputError)


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
def test_a_command_on_its_own_cluster_ends_everything_it_started(tmp_path):
    require_dask()
    (tmp_path / "a.csv").write_text("winner,loser\na,b\nb,c\nc,a\n")
    (tmp_path / "b.csv").write_text("winner,loser\nb,a\n")
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    (tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "podium", "rank", str(tmp_path), "--cluster", "local:1", "--format", "csv"],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 4
    assert not list((tmp_path / "tmp").iterdir())
    assert "Traceback" not in done.stderr
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
    assert str(tmp_path) not in running
