"""An encrypted cluster: certificates made here by openssl, a scheduler that asks for them, and callers without."""

import os
import shutil
import subprocess
import sys

import pytest

from podium import read_comparisons
from podium.engine import connect, connecting
from podium.errors import PodiumError

from suites.cluster import require_dask
from suites.engines import wrap

SCHEDULER = """
import asyncio, sys
from distributed import Scheduler, Worker
from distributed.security import Security

async def main(folder, ca, cert, key):
    own = {"tls_scheduler_cert": cert, "tls_scheduler_key": key, "tls_worker_cert": cert, "tls_worker_key": key}
    security = Security(tls_ca_file=ca, require_encryption=True, **own)
    options = {"dashboard_address": None, "security": security}
    async with Scheduler(host="127.0.0.1", port=0, protocol="tls://", **options) as scheduler:
        async with Worker(scheduler.address, nthreads=1, local_directory=folder, **options):
            print(scheduler.address, flush=True)
            await scheduler.finished()

asyncio.run(main(*sys.argv[1:]))
"""


def authority(folder, name):
    """A certificate that vouches for itself: authority, and both ends."""
    folder.mkdir(exist_ok=True)
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=60)
    return {"ca": cert, "cert": cert, "key": key}


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    require_dask()
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, which makes the certificates")
    return authority(tmp_path_factory.mktemp("papers"), "podium-test")


@pytest.fixture(scope="module")
def address(papers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("worker")
    command = [sys.executable, "-c", SCHEDULER, str(folder), *(str(papers[name]) for name in ("ca", "cert", "key"))]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, "env": environment}
    with subprocess.Popen(command, **quiet) as there:
        try:
            yield there.stdout.readline().strip()
        finally:
            there.kill()


def test_votes_are_read_over_an_encrypted_line(address, papers, tmp_path):
    assert address.startswith("tls://127.0.0.1:")
    for name, rows in (("a", "a,b\nb,c\n"), ("b", "c,a\nb,a\n")):
        (tmp_path / f"{name}.csv").write_text(f"winner,loser\n{rows}")
    with connect(address, **papers) as engine:
        assert engine.sum(wrap, range(5)) == "01234"
        there = read_comparisons(tmp_path, engine=engine)
    here = read_comparisons(tmp_path)
    assert there.items == here.items
    assert (there.left.tobytes(), there.right.tobytes()) == (here.left.tobytes(), here.right.tobytes())


def test_who_does_not_speak_it_or_is_not_vouched_for_gets_one_sentence(address, papers, tmp_path, monkeypatch):
    monkeypatch.setattr(connecting, "MAX_WAIT", 2)
    stranger = authority(tmp_path, "stranger")
    (tmp_path / "broken.pem").write_text("no certificate\n")
    callers = [
        (address.replace("tls", "tcp"), {}, "no scheduler answered at tcp://"),
        (address, stranger, "no scheduler answered at tls://.* one authority signed for both of you$"),
        (address, papers | {"key": stranger["key"]}, "cluster_cert=.* and cluster_key=.* do not belong together"),
        (
            address,
            papers | {"ca": tmp_path / "broken.pem"},
            "cluster_ca=.*broken.pem.* holds no certificates in PEM form$",
        ),
    ]
    for where, files, message in callers:
        with pytest.raises(PodiumError, match=message) as caught:
            connect(where, **files)
        assert "\n" not in str(caught.value)
