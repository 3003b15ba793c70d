"""From an address to a cluster, without one: who is called, with what, for how long, and what is left afterwards."""

import asyncio
import logging
import os
import shutil
import subprocess
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from podium.engine import DaskEngine, Serial, connecting, engine_for
from podium.engine.choosing import as_engine
from podium.errors import EngineError, InputError

from suites.cluster import require_dask

LOGGERS = ("distributed", "tornado", "asyncio")


@pytest.fixture(autouse=True)
def _needs_dask():
    require_dask()


# ---- a scheduler elsewhere ------------------------------------------------------------------------------------------


class Caller:
    """A client of Dask that says how it was called."""

    def __init__(self, address, **options):
        self.address, self.options, self.waited, self.closed = address, options, [], 0

    def wait_for_workers(self, count, timeout):
        self.waited.append((count, timeout))

    def close(self):
        self.closed += 1


@pytest.fixture
def called(monkeypatch):
    """Every client that is made, and whom a scheduler answered."""
    import distributed

    there = SimpleNamespace(clients=[], asked=[])

    async def answer(address, security):
        there.asked.append((address, security))

    def client(address, **options):
        there.clients.append(Caller(address, **options))
        return there.clients[-1]

    monkeypatch.setattr(connecting, "_answer", answer)
    monkeypatch.setattr(distributed, "Client", client)
    return there


def test_a_scheduler_is_asked_who_it_is_before_a_client_waits_for_it(called):
    with ExitStack() as things:
        client = connecting._reach("tls://h:1", "papers", things)
    assert called.asked == [("tls://h:1", "papers")]
    assert called.clients == [client]
    assert client.address == "tls://h:1"
    assert client.options == {"timeout": 10, "security": "papers", "set_as_default": False}
    assert client.waited == [(1, 10)]
    assert client.closed == 0


@pytest.mark.parametrize(
    ("security", "last"),
    [(None, "and that it runs"), ("papers", "that it runs, and that one authority signed for both of you")],
)
@pytest.mark.parametrize("problem", [OSError("no route"), TimeoutError()])
def test_a_scheduler_that_does_not_answer_is_one_sentence(called, monkeypatch, security, last, problem):
    async def silent(address, security):
        raise problem

    monkeypatch.setattr(connecting, "_answer", silent)
    with pytest.raises(EngineError) as caught, ExitStack() as things:
        connecting._reach("tcp://h:1", security, things)
    assert str(caught.value) == (
        f"no scheduler answered at tcp://h:1 within 10 seconds; check the address, {last}"
    )  # fmt: skip
    assert caught.value.__cause__ is problem
    assert not called.clients


def test_a_scheduler_without_workers_is_left(called, monkeypatch):
    def nobody(self, count, timeout):
        raise TimeoutError

    monkeypatch.setattr(Caller, "wait_for_workers", nobody)
    with pytest.raises(EngineError) as caught, ExitStack() as things:
        connecting._reach("tcp://h:1", None, things)
    assert str(caught.value) == "the scheduler at tcp://h:1 has no workers; start some: dask worker tcp://h:1"
    assert called.clients[0].closed == 1


class Line:
    """A line to a scheduler; it answers, or is silent."""

    def __init__(self, *, answers=True):
        self.answers, self.said, self.read_at, self.aborted = answers, [], None, 0

    async def write(self, message):
        self.said.append(message)

    async def read(self):
        self.read_at = len(self.said)
        if not self.answers:
            await asyncio.sleep(30)

    def abort(self):
        self.aborted += 1


def asked_over(line, monkeypatch, security=None, *, opening=0.0):
    import distributed.core

    opened = []

    async def connect(address, **options):
        opened.append((address, options))
        await asyncio.sleep(opening)
        return line

    monkeypatch.setattr(distributed.core, "connect", connect)
    try:
        asyncio.run(connecting._answer("tcp://h:1", security))
    except TimeoutError:
        return opened, "silent"
    return opened, "answered"


def test_who_answers_is_asked_once_and_the_line_is_given_up(monkeypatch):
    line = Line()
    assert asked_over(line, monkeypatch) == ([("tcp://h:1", {"timeout": 10})], "answered")
    assert line.said == [{"op": "identity", "reply": True}]
    assert line.read_at == 1  # after it was asked
    assert line.aborted == 1


def test_a_line_is_opened_with_the_papers_of_a_client(monkeypatch):
    kinds = []
    papers = SimpleNamespace(get_connection_args=lambda kind: kinds.append(kind) or {"ssl_context": 7})
    opened, _ = asked_over(Line(), monkeypatch, papers)
    assert opened == [("tcp://h:1", {"timeout": 10, "ssl_context": 7})]
    assert kinds == ["client"]


def test_who_is_silent_is_waited_for_no_longer_than_said(monkeypatch):
    monkeypatch.setattr(connecting, "MAX_WAIT", 0.01)
    line = Line(answers=False)
    assert asked_over(line, monkeypatch)[1] == "silent"
    assert line.aborted == 1
    never = Line()
    assert asked_over(never, monkeypatch, opening=30.0)[1] == "silent"
    assert never.said == []


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """Two certificates that vouch for themselves, each with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, which makes the certificates")
    folder = tmp_path_factory.mktemp("papers")
    for name in ("one", "other"):
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        files = ["-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"]
        subprocess.run([*command, "-subj", f"/CN={name}", *files], check=True, capture_output=True, timeout=60)
    (folder / "nothing.pem").write_text("no certificate\n")
    return folder


def test_a_key_goes_with_its_own_certificate(papers):
    ca, cert, key = (str(papers / name) for name in ("other.pem", "one.pem", "one.key"))
    whole = {"cluster_ca": ca, "cluster_cert": cert, "cluster_key": key}
    connecting._refuse_certificates(whole)
    apart = f"cluster_cert={cert!r} and cluster_key={str(papers / 'other.key')!r} do not belong together, or are no"
    with pytest.raises(InputError) as caught:
        connecting._refuse_certificates(whole | {"cluster_key": str(papers / "other.key")})
    assert str(caught.value) == f"{apart} certificate and key in PEM form"
    nothing = str(papers / "nothing.pem")
    with pytest.raises(InputError) as caught:
        connecting._refuse_certificates(whole | {"cluster_cert": nothing})
    assert str(caught.value).startswith(f"cluster_cert={nothing!r} and cluster_key={key!r} do not belong together")
    with pytest.raises(InputError) as caught:
        connecting._refuse_certificates(whole | {"cluster_ca": nothing})
    assert str(caught.value) == f"cluster_ca={nothing!r} holds no certificates in PEM form"


def test_papers_are_used_as_they_are_named(papers):
    files = {"cluster_ca": papers / "other.pem", "cluster_cert": papers / "one.pem", "cluster_key": papers / "one.key"}
    security = connecting._security(files)
    assert (security.tls_ca_file, security.tls_client_cert, security.tls_client_key) == tuple(map(str, files.values()))
    assert security.require_encryption is True
    with pytest.raises(InputError, match="do not belong together"):
        connecting._security(files | {"cluster_key": papers / "other.key"})


def test_an_address_is_reached_with_papers_where_it_is_encrypted_and_without_elsewhere(called, papers, monkeypatch):
    here = connecting.installed_here()
    monkeypatch.setattr(Caller, "run", lambda self, function, text: {"w": here}, raising=False)
    before = [logging.getLogger(name).level for name in LOGGERS]
    files = {"ca": papers / "other.pem", "cert": papers / "one.pem", "key": papers / "one.key"}
    with connecting.connect("tls://h:1", **files) as engine:
        assert engine.client is called.clients[0]
        assert engine.client.options["security"].tls_client_cert == str(papers / "one.pem")
        assert not any(logging.getLogger(name).isEnabledFor(logging.CRITICAL) for name in LOGGERS)
    assert engine.client.closed == 1
    assert [logging.getLogger(name).level for name in LOGGERS] == before
    with connecting.connect("tcp://127.0.0.1:1") as engine:
        assert engine.client.options["security"] is None
        assert engine._mend() is None  # nothing to mend: the workers are others' to start
    assert called.asked[1] == ("tcp://127.0.0.1:1", None)


# ---- workers of our own ---------------------------------------------------------------------------------------------


def test_an_engine_of_ones_own_workers_mends_them(monkeypatch):
    mended = []
    client = SimpleNamespace(close=lambda: None, run=lambda function, text: {"w": function(text)})
    monkeypatch.setattr(connecting, "_start", lambda count, things: (client, lambda: mended.append(count)))
    with connecting.connect("local:2") as engine:
        assert engine.client is client
        engine._mend()
    assert mended == [2]


SETTINGS = {  # what LocalCluster and each worker are started with
    "distributed.scheduler.allowed-failures": 2,
    "distributed.nanny.pre-spawn-environ": {"OPENBLAS_THREAD_TIMEOUT": "4"},
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False,
}


def test_workers_are_started_by_our_settings_also_later_and_nobody_else_is(monkeypatch):
    import dask
    import distributed

    class Nanny:
        def __init__(self, *given, **named):
            self.given, self.config = (given, named), dask.config.config

    started = []

    def local_cluster(*, worker_class, local_directory, **options):
        settings = {name: dask.config.get(name) for name in SETTINGS}
        started.append((worker_class, local_directory, settings, dask.config.get("temporary-directory")))
        return SimpleNamespace(close=lambda: None)

    before = {name: dask.config.get(name, None) for name in (*SETTINGS, "temporary-directory")}
    monkeypatch.setattr(distributed, "Nanny", Nanny)
    monkeypatch.setattr(distributed, "LocalCluster", local_cluster)
    monkeypatch.setattr(distributed, "Client", lambda cluster, **options: cluster)
    with ExitStack() as things:
        _, mending = connecting._start(2, things)
        ((keeper, folder, settings, temporary),) = started
        assert settings == SETTINGS
        assert temporary == folder
        assert os.path.basename(folder).startswith("podium-")
        assert {name: dask.config.get(name, None) for name in before} == before
        later = keeper("scheduler", nthreads=1)
        assert later.given == (("scheduler",), {"nthreads": 1})
        assert {name: dask.config.get(name, config=later.config) for name in SETTINGS} == SETTINGS
        assert dask.config.get("temporary-directory", config=later.config) == folder
        assert {name: dask.config.get(name, None) for name in before} == before
    assert mending.count == 2


def test_a_folder_that_cannot_be_emptied_is_left(monkeypatch):
    import distributed

    monkeypatch.setattr(distributed, "LocalCluster", lambda **options: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(distributed, "Client", lambda cluster, **options: cluster)
    tried = []

    def busy(*given, **named):
        tried.append(given)
        raise OSError(16, "Device or resource busy")

    with ExitStack() as things:
        connecting._start(1, things)
        with monkeypatch.context() as patch:
            patch.setattr(os, "rmdir", busy)
            things.close()
    assert tried
    os.rmdir(tried[0][0])


# ---- who may take part ----------------------------------------------------------------------------------------------


def test_workers_are_sent_a_text_that_says_their_versions():
    sent = []

    def run(function, text):
        sent.append(text)
        return {"w": function(text)}

    connecting.refuse_other_versions(SimpleNamespace(run=run))
    assert sent == [connecting.VERSIONS]


def test_the_client_of_a_cluster_is_an_engine_if_its_workers_have_the_same():
    parts = dict.fromkeys(("submit", "nthreads", "cancel"), len)
    here = connecting.installed_here()
    client = SimpleNamespace(**parts, run=lambda function, text: {"w": here})
    engine = as_engine(client)
    assert isinstance(engine, DaskEngine)
    assert engine.client is client
    client.run = lambda function, text: {"w": here | {"podium": "0.0"}}
    with pytest.raises(EngineError, match=r"^worker w has podium 0\.0, here is"):
        as_engine(client)
    for part in parts:
        less = SimpleNamespace(**{name: len for name in parts if name != part}, run=client.run)
        with pytest.raises(InputError, match=r"runs nothing; give a Dask client \(distributed\.Client\)"):
            as_engine(less)
    assert as_engine(engine) is engine


def test_all_of_dask_is_silent_and_each_part_has_its_own_level_back():
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    try:
        for k, logger in enumerate(loggers):
            logger.setLevel(10 + k)
        restore = connecting._quiet()
        assert not any(logger.isEnabledFor(logging.CRITICAL) for logger in loggers)
        restore()
        assert [logger.level for logger in loggers] == [10, 11, 12]
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def test_what_closes_well_is_not_spoken_of(capsys):
    closed = []
    connecting._ignoring(lambda: closed.append(1))()
    assert closed == [1]
    assert capsys.readouterr().err == ""


def test_one_job_is_a_number_of_jobs():
    assert isinstance(engine_for(1), Serial)
    assert isinstance(engine_for(1, 9), Serial)
    assert isinstance(engine_for(9, 1), Serial)
    assert (engine_for(2).n, engine_for(2, 9).n, engine_for(9, 2).n) == (2, 2, 2)


@pytest.mark.parametrize(
    ("address", "files", "words"),
    [
        ("nonsense", {}, "cluster='nonsense': give local:4 for four workers here, or a scheduler as tls://host:8786"),
        ("local:2", {"key": "k"}, "cluster_key= is for a scheduler at tls://; drop it, or change the address"),
        ("tls://h:1", {}, "tls://h:1 is encrypted; give its cluster_ca= too"),
        ("tls://h:1", {"ca": "no such"}, "cluster_ca='no such': no such file; check the path"),
        (5, {}, "cluster=5 is no address; give 'local:4', or 'tls://host:8786'"),
    ],
)
def test_an_address_is_looked_at_before_anybody_is_called(called, address, files, words):
    with pytest.raises(InputError) as caught:
        connecting.connect(address, **files)
    assert str(caught.value) == words
    assert called.asked == []
