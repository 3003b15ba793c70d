"""The application: routes, errors in words, and what runs beside it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from podium._version import __version__
from podium.campaign.planning import Planning
from podium.errors import ConvergenceError, InputError, PodiumError, RefusedError, UnavailableError
from podium.web import forms, judging, organising, pages
from podium.web.guard import Guard
from podium.web.limits import TooManyError
from podium.web.quick import Quick
from podium.web.state import State, state_of

if TYPE_CHECKING:
    from podium.store.base import Store

__all__ = ["make_app"]

log = logging.getLogger(__name__)

STATUS = {
    "no-session": 401, "unknown-token": 401, "revoked": 403, "closed": 403, "draft": 403, "full": 403,
    "unknown-campaign": 404, "unknown-judge": 404, "unknown-item": 404, "unknown-vote": 404, "too-many": 413,
}  # fmt: skip
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": forms.Problem, "description": words}
    for status, words in {
        400: "The request is no request.", 401: "Nobody is known here.", 403: "This may not be done.",
        404: "There is no such thing.", 405: "There is no such way.", 409: "It contradicts what is stored.",
        413: "It is too large.", 422: "It is not in the right form.", 429: "It is too much.", 503: "Try again soon.",
    }.items()
}  # fmt: skip


def make_app(
    store: Store, *, url: str = "http://127.0.0.1:8000", operator_hash: str | None = None, behind_proxy: bool = False
) -> FastAPI:
    """The app on a store. `url` is what links begin with; whoever has the operator's secret may make campaigns."""
    state = State(store, url.rstrip("/"), operator_hash, behind_proxy)

    @asynccontextmanager
    async def beside(app: FastAPI) -> AsyncIterator[None]:
        state.planning = Planning(store)  # an app may be started again, a thread may not
        state.planning.start()
        try:
            yield
        finally:
            state.planning.stop()

    app = FastAPI(
        title="Podium",
        version=__version__,
        summary="Campaigns in which people judge pairs.",
        lifespan=beside,
        responses=PROBLEMS,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.podium = state
    app.include_router(judging.router)
    app.include_router(organising.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    app.add_middleware(Quick, answer=_answer)
    app.add_middleware(Guard)
    for kind in (PodiumError, RequestValidationError, HTTPException, TooManyError, Exception):
        app.add_exception_handler(kind, _answer)
    return app


async def _answer(request: Request, problem: Exception) -> Response:
    """An error in words: JSON for programs, a page for people."""
    status, code, words, wait = _worded(request, problem)
    headers = {"Retry-After": str(max(1, round(wait)))} if wait else {}
    if request.url.path.startswith("/api/"):
        body = {"code": code, "message": words, "field": _field(problem)}
        return JSONResponse(body, status, headers)
    return pages.problem_page(request, status, code, words, headers)


def _worded(request: Request, problem: Exception) -> tuple[int, str, str, float]:
    """Status, code, words, and seconds to wait."""
    if isinstance(problem, TooManyError):
        return 429, "too-often", str(problem), problem.wait
    if isinstance(problem, RefusedError):
        return STATUS.get(problem.code, 409), problem.code, str(problem), 0
    if isinstance(problem, UnavailableError):
        state_of(request).trouble = str(problem)
        return 503, "unavailable", str(problem), 5
    if isinstance(problem, (InputError, ConvergenceError)):
        return 422, "bad-input", str(problem), 0
    if isinstance(problem, RequestValidationError):
        first = problem.errors()[0]
        if first["type"] == "json_invalid":
            return 422, "bad-request", f"the request is no JSON from character {first['loc'][-1]} on; send JSON", 0
        return 422, "bad-request", f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}", 0
    if isinstance(problem, HTTPException):
        words = {404: "there is no such page", 405: "this address takes no such request"}
        code = "too-large" if problem.status_code == 413 else "no-page"
        return problem.status_code, code, words.get(problem.status_code, str(problem.detail)), 0
    log.error("%s %s failed", request.method, request.url.path, exc_info=problem)
    return 500, "failed", "something went wrong here; it was noted, and votes already made are safe", 0


def _field(problem: Exception) -> str | None:
    if isinstance(problem, RequestValidationError) and problem.errors()[0]["type"] != "json_invalid":
        return ".".join(str(part) for part in problem.errors()[0]["loc"][1:]) or None
    return None
