"""A PostgreSQL server for tests: a folder of its own, 127.0.0.1 and a free port, never as root, stopped by its pid."""

import atexit
import functools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest


def _programs():
    """The folder of initdb and postgres; Debian keeps them out of the path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def missing():
    """Why there is no PostgreSQL here; None where there is."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    if _programs() is None:
        return "PostgreSQL is not installed"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "PostgreSQL refuses to run as root, and there is no setpriv to change that"
    return None


class Server:
    """A server that can be stopped and started again."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="podium-pg-"))
        self.data = self.folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.prefix = []
        if os.geteuid() == 0:
            names = [entry.pw_name for entry in pwd.getpwall()]
            user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        initdb = [_programs() / "initdb", "-D", self.data, "-U", "podium", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run([*self.prefix, *initdb], check=True, capture_output=True, cwd=self.folder)
        self.process = None
        self.databases = 0
        self.start()
        atexit.register(self.remove)

    def start(self):
        command = [
            _programs() / "postgres",
            "-D",
            self.data,
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
            "-k",
            self.folder,
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([*self.prefix, *command], cwd=self.folder, stdout=log, stderr=log)
        import psycopg

        for _ in range(600):
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.1)
        raise AssertionError("PostgreSQL did not start")

    def stop(self, how=signal.SIGINT):
        """Fast by default: connections are cut, nothing else is lost."""
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database):
        return f"postgresql://podium@127.0.0.1:{self.port}/{database}"

    def new_database(self):
        import psycopg

        self.databases += 1
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE test{self.databases}")
        return self.url(f"test{self.databases}")


@functools.cache
def _server():
    return Server()


def server():
    """The server of this test process; the test is skipped, by name and reason, where there can be none."""
    why = missing()
    if why is not None:
        if "postgres" in os.environ.get("PODIUM_REQUIRE", "").split(","):
            pytest.fail(f"{why}, and PODIUM_REQUIRE asks for it")
        pytest.skip(why)
    return _server()
