"""From an address to a cluster: `local:4` starts one here, `tcp://` and `tls://` name a scheduler elsewhere."""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import logging
import re
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from podium.engine.cluster import DaskEngine
from podium.engine.processes import cores
from podium.errors import EngineError, InputError, Option, PodiumWarning

__all__ = ["connect", "installed_here", "refuse_other_versions"]

MAX_WAIT = 10  # seconds that a scheduler has to answer, and to have a worker
MOST_PER_CORE = 8  # workers that are started here
RESTART = 15.0  # seconds that Dask has to start a worker again
ALLOWED_DEATHS = 2  # of workers at one chunk before the one that ends the trying
PACKAGES = ("numpy", "polars")
# Sent as text, so that a worker without podium can answer too.
FIND = "__import__('importlib.util', fromlist=['x']).find_spec"
VERSIONS = (
    "{'Python': '.'.join(map(str, __import__('sys').version_info[:2])),"
    f" 'podium': {FIND}('podium') and __import__('podium._version', fromlist=['x']).__version__,"
    f" **{{name: {FIND}(name) and __import__('importlib.metadata', fromlist=['x']).version(name)"
    f" for name in {PACKAGES}}}}}"
)


def connect(
    address: str, *, ca: str | Path | None = None, cert: str | Path | None = None, key: str | Path | None = None
) -> DaskEngine:
    """Connect to a Dask cluster, or start one here; leaving the `with` block ends what was started.

    Parameters
    ----------
    address : str
        "local:4" for four workers on this machine, which nobody else can reach; "tls://host:8786" or
        "tcp://host:8786" for a scheduler that runs.
    ca, cert, key : paths, optional
        Of the authority, and of our certificate and its key, for "tls://".
    """
    if not isinstance(address, str):
        raise InputError(Option("cluster", address), " is no address; give 'local:4', or 'tls://host:8786'")
    files = {"cluster_ca": ca, "cluster_cert": cert, "cluster_key": key}
    kind = _kind(address)
    _refuse_address(address, kind, files)
    if importlib.util.find_spec("distributed") is None:
        raise InputError("a cluster needs Dask, which is not installed here; run: pip install 'podium[cluster]'")
    with ExitStack() as things:
        things.callback(_quiet())
        mending = None
        if kind == "local":
            client, mending = _start(_workers(address), things)
        else:
            client = _reach(address, _security(files) if kind == "tls" else None, things)
        things.callback(_ignoring(client.close))
        refuse_other_versions(client)
        held = things.pop_all()
    return DaskEngine(client, mending=mending, closing=held.close)


def installed_here() -> dict[str, Any]:
    """Versions that workers must share with this process."""
    versions: dict[str, Any] = eval(VERSIONS)  # our own text, the same that workers are sent
    return versions


def _kind(address: str) -> str:
    """What the address begins with; empty where it is none."""
    if re.fullmatch(r"local(:[0-9]{1,9})?", address):
        return "local"
    try:
        parts = urlsplit(address)
        return parts.scheme if parts.hostname and parts.port else ""
    except ValueError:
        return ""


def _workers(address: str) -> int:
    return int(address.partition(":")[2] or cores())


def _refuse_address(address: str, kind: str, files: dict[str, Any]) -> None:
    if kind not in ("local", "tcp", "tls"):
        raise InputError(
            Option("cluster", address), ": give local:4 for four workers here, or a scheduler as tls://host:8786"
        )
    if kind == "local" and not 1 <= _workers(address) <= MOST_PER_CORE * cores():
        most = MOST_PER_CORE * cores()
        raise InputError(Option("cluster", address), f": give from 1 to {most} workers, best one a core")
    given = {name: path for name, path in files.items() if path is not None}
    for name, path in given.items():
        if kind != "tls":
            raise InputError(Option(name), " is for a scheduler at tls://; drop it, or change the address")
        if not Path(path).is_file():
            raise InputError(Option(name, str(path)), ": no such file; check the path")
    if kind == "tls" and len(given) < len(files):
        lacking = next(name for name in files if name not in given)
        raise InputError(f"{address} is encrypted; give its ", Option(lacking), " too")
    if kind == "tcp" and not _is_here(urlsplit(address).hostname or ""):
        warnings.warn(
            PodiumWarning(
                f"{address} is neither encrypted nor asks who calls: anyone on the way can run code; use tls://"
            ),
            stacklevel=3,
        )


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _start(count: int, things: ExitStack) -> tuple[Any, Callable[[], None]]:
    """Workers of our own, on the loopback address, without a dashboard; their files go when they do."""
    import dask
    from distributed import Client, LocalCluster

    folder = things.enter_context(TemporaryDirectory(prefix="podium-", ignore_cleanup_errors=True))
    settings = {
        "temporary-directory": folder,
        "distributed.scheduler.allowed-failures": ALLOWED_DEATHS,
        # Dask's own environment makes the allocator give back every page at once, which costs half of the time, and
        # allows linear algebra one thread: with as many as here its last bits are those of here, too.
        "distributed.nanny.pre-spawn-environ": {"OPENBLAS_THREAD_TIMEOUT": "4"},
        "distributed.worker.profile.enabled": False,
        # Looks at itself fifty times a second in every process, which took a third of the CPU of a short run.
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.system-monitor.interval": "10s",
        "distributed.worker.memory.monitor-interval": "1s",
        "distributed.scheduler.active-memory-manager.start": False,
    }
    with dask.config.set(settings):
        try:
            cluster = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # of a server of health checks, which None would open to all
                worker_dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
                local_directory=folder,
                worker_class=_keeper(settings),
            )
        except (OSError, RuntimeError, TimeoutError) as problem:
            raise EngineError(f"a cluster of {count} workers cannot be started here: {problem}") from problem
    things.callback(_ignoring(cluster.close))
    return Client(cluster, set_as_default=False), _Mending(cluster, count)


def _keeper(settings: dict[str, Any]) -> Any:
    """Who starts a worker and starts it again: by these settings, also one that is added later."""
    import dask
    from distributed import Nanny

    class Keeper(Nanny):
        config: dict[str, Any]

        def __init__(self, *given: Any, **named: Any) -> None:
            with dask.config.set(settings):
                super().__init__(*given, **named)
                self.config = deepcopy(self.config)  # what it would share with others ends with the block

    return Keeper


class _Mending:
    """Starts more workers in place of those that Dask gave up: it does where one dies while it starts."""

    def __init__(self, cluster: Any, count: int) -> None:
        self.cluster, self.count = cluster, count
        self.whole = time.monotonic()  # when all workers were last there

    def __call__(self) -> None:
        keepers = list(self.cluster.workers.values())
        missing = self.count - len(self.cluster.scheduler.workers)
        lost = sum(keeper.status.name in ("closed", "failed") for keeper in keepers)
        if missing <= 0:
            self.whole = time.monotonic()
        elif len(self.cluster.worker_spec) < self.count + lost:
            self.cluster.scale(self.count + lost)
        elif time.monotonic() - self.whole > RESTART:  # the one that starts it anew seems to have died of it
            self.whole = time.monotonic()
            self.cluster.scale(len(self.cluster.worker_spec) + missing)


def _reach(address: str, security: Any, things: ExitStack) -> Any:
    from distributed import Client

    try:
        asyncio.run(_answer(address, security))
        client = Client(address, timeout=MAX_WAIT, security=security, set_as_default=False)
    except (OSError, TimeoutError) as problem:
        last = "and that it runs" if security is None else "that it runs, and that one authority signed for both of you"
        raise EngineError(
            f"no scheduler answered at {address} within {MAX_WAIT} seconds; check the address, {last}"
        ) from problem
    try:
        client.wait_for_workers(1, timeout=MAX_WAIT)
    except TimeoutError as problem:
        _ignoring(client.close)()
        raise EngineError(f"the scheduler at {address} has no workers; start some: dask worker {address}") from problem
    return client


async def _answer(address: str, security: Any) -> None:
    """Wait until a scheduler says who it is: a client of Dask waits for one that is silent without end."""
    from distributed.core import connect as open_line

    arguments = {} if security is None else security.get_connection_args("client")
    line = await asyncio.wait_for(open_line(address, timeout=MAX_WAIT, **arguments), MAX_WAIT)
    try:
        await asyncio.wait_for(_identity(line), MAX_WAIT)
    finally:
        line.abort()


async def _identity(line: Any) -> None:
    await line.write({"op": "identity", "reply": True})
    await line.read()


def _security(files: dict[str, Any]) -> Any:
    from distributed.security import Security

    paths = {name: str(path) for name, path in files.items()}
    _refuse_certificates(paths)
    return Security(
        tls_ca_file=paths["cluster_ca"],
        tls_client_cert=paths["cluster_cert"],
        tls_client_key=paths["cluster_key"],
        require_encryption=True,
    )


def _refuse_certificates(paths: dict[str, str]) -> None:
    """Files that are no certificates, or a key that is another's: Dask would only say that nobody answers."""
    import ssl

    context = ssl.create_default_context()
    try:
        context.load_verify_locations(paths["cluster_ca"])
    except (ssl.SSLError, OSError) as problem:
        raise InputError(Option("cluster_ca", paths["cluster_ca"]), " holds no certificates in PEM form") from problem
    try:
        context.load_cert_chain(paths["cluster_cert"], paths["cluster_key"])
    except (ssl.SSLError, OSError) as problem:
        raise InputError(
            Option("cluster_cert", paths["cluster_cert"]),
            " and ",
            Option("cluster_key", paths["cluster_key"]),
            " do not belong together, or are no certificate and key in PEM form",
        ) from problem


def refuse_other_versions(client: Any) -> None:
    """Name the first worker that has something else than is here."""
    here = installed_here()
    try:
        everywhere = client.run(eval, VERSIONS)
    except (OSError, TimeoutError) as problem:
        raise EngineError(f"the workers do not answer: {problem}; look at their logs") from problem
    for worker, there in sorted(everywhere.items()):
        for name, version in here.items():
            if there.get(name) != version:
                has = f"{name} {there[name]}" if there.get(name) else f"no {name}"
                raise EngineError(f"worker {worker} has {has}, here is {version}; install the same on both")


def _quiet() -> Callable[[], None]:
    """Silence Dask's own log until the returned function is called: what matters is said by us."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)

    def restore() -> None:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)

    return restore


def _ignoring(close: Callable[[], Any]) -> Callable[[], None]:
    """Close what may be gone already."""

    def closed() -> None:
        try:
            close()
        except Exception as problem:  # nothing more can be done for it
            print(f"podium: closing the cluster: {problem}", file=sys.stderr)

    return closed
