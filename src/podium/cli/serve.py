"""`podium serve`: the app, for judges and organisers, on one database."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.cli.help import GroupedCommand, option
from podium.cli.options import URL
from podium.cli.output import say
from podium.errors import InputError, PodiumError

if TYPE_CHECKING:
    import uvicorn

    from podium.store.base import Hold, Store

__all__ = ["serve"]

SERVE = (
    ("podium serve --db campaign.db", "the campaigns of one file, for this machine"),
    ("podium serve --url https://judge.example.org --behind-proxy", "behind a proxy with TLS"),
)
LOCAL = ("127.0.0.1", "localhost", "::1")
KEEP_EVERY = 5.0  # seconds
NEEDED = ("fastapi", "uvicorn", "jinja2", "markdown_it", "nh3", "python_multipart")


@click.command(cls=GroupedCommand, examples=SERVE)
@option("Data", "--db", default="campaign.db", show_default=True, metavar="DB", help="Serve this file's campaigns, or those of postgresql://user@host/name.")  # fmt: skip  # noqa: E501
@option("Server", "--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@option("Server", "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Listen on this port.")
@option("Server", "--url", metavar="URL", help="Begin links with this address.  [default: http://HOST:PORT]")
@option("Server", "--behind-proxy", is_flag=True, help="Believe a proxy's X-Forwarded-For.")
@option("Server", "--new/--no-new", "may_make", default=True, show_default=True, help="Print a link that makes new campaigns.")  # fmt: skip  # noqa: E501
def serve(db: str, host: str, port: int, url: str | None, behind_proxy: bool, may_make: bool) -> None:
    """Let judges vote and organisers watch in the browser; Ctrl-C ends it, and no vote is lost.

    Links of campaigns made by `podium campaign new` work here. The link printed at the start makes new ones.
    """
    _check_extra()
    import uvicorn

    from podium.campaign.tokens import hash_of, new_token
    from podium.store import open_store
    from podium.web.app import make_app

    address = (url or f"http://{host}:{port}").rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise InputError(f"--url {address}: give an address that begins with https://")
    _check_address(host, port)
    token = new_token() if may_make else None
    fresh = "://" not in db and not Path(db).exists()
    with open_store(db, new=True) as store, store.serve() as hold:
        app = make_app(store, url=address, operator_hash=hash_of(token) if token else None, behind_proxy=behind_proxy)
        _say_where(store, address, token, fresh)
        if host not in LOCAL and not address.startswith("https:"):
            say("warning: others can read what is sent without TLS; put a proxy with a certificate before it (docs)")
        server = uvicorn.Server(
            uvicorn.Config(
                app, host=host, port=port, log_level="warning", access_log=False, server_header=False, lifespan="on"
            )
        )
        ended = threading.Event()
        keeper = threading.Thread(target=_keep, args=(hold, server, ended), daemon=True)
        keeper.start()
        try:
            with contextlib.suppress(KeyboardInterrupt):  # how it is meant to end
                server.run()
        finally:
            ended.set()
            keeper.join()
    say("stopped; every vote that was acknowledged is on disk")


def _check_extra() -> None:
    import importlib.util

    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"the app needs {', '.join(missing)}; pip install 'podium[serve]'")


def _check_address(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on, before anything is opened."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except (OSError, UnicodeError) as problem:
        said = getattr(problem, "strerror", None) or problem
        raise InputError(f"cannot listen on {host}:{port} ({said}); choose another --host or --port") from problem


def _say_where(store: Store, address: str, token: str | None, fresh: bool = False) -> None:
    """What is served at which address; `fresh`: its file was made just now, perhaps for a name that was mistyped."""
    there = store.read(lambda reader: reader.campaigns())
    say(f"serving {store.name} at {address}; Ctrl-C ends it")
    if not there:
        say(f"  {store.name} is new and holds no campaign yet" if fresh else "  there is no campaign in it yet")
    begin = "" if address == URL else f"; here they begin with {address}"
    for each in there:
        say(f"  campaign {each.slug!r} is {each.state}; its links were printed when it was made{begin}")
    if token is not None:
        say(f"  make a campaign: {address}/new#{token}")


def _keep(hold: Hold, server: uvicorn.Server, ended: threading.Event) -> None:
    """Say every few seconds that this server lives; where another has taken the database over, stop."""
    while not ended.wait(KEEP_EVERY):
        try:
            kept = hold.keep()
        except PodiumError:
            continue  # the database is away for a moment; whoever votes is told so
        if not kept:
            say("another server has taken the database over; this one stops")
            server.should_exit = True
            return
