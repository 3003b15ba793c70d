"""Who may do what: every route × every role × own and other campaign. A new route without a row here fails."""

import io

import pytest
from fastapi.routing import APIRoute

from web.rooms import new_room

NOBODY, JUDGE, ORGANISER, OPERATOR = "nobody", "judge", "organiser", "operator"
EVERYBODY = {NOBODY, JUDGE, ORGANISER, OPERATOR}
FILE = ("more.csv", b"id,text\nzebra,a text\n", "text/csv")

# Route: who may use it, and a request that is right but for its sender.
RIGHTS = {
    "POST /api/v1/session": (EVERYBODY, {"json": {"token": "operator-secret"}}),
    "DELETE /api/v1/session": (EVERYBODY, {}),
    "GET /api/v1/next": ({JUDGE}, {}),
    "POST /api/v1/comprehension": ({JUDGE}, {"json": {"answer": 0}}),
    "POST /api/v1/votes": ({JUDGE}, {"json": {"votes": [{"id": "x", "question": 1, "outcome": None}]}}),
    "POST /api/v1/undo": ({JUDGE}, {"json": {"id": "x", "of": "y"}}),
    "GET /api/v1/history": ({JUDGE}, {}),
    "POST /api/v1/reports": ({JUDGE}, {"json": {"question": 1, "side": "left", "reason": "broken"}}),
    "GET /api/v1/campaigns": ({ORGANISER}, {}),
    "POST /api/v1/campaigns": ({OPERATOR}, {"files": {"file": FILE}, "data": {"title": "T", "question": "Q"}}),
    "POST /api/v1/preview": ({OPERATOR}, {"files": {"file": FILE}}),
    "GET /api/v1/campaigns/{campaign}": ({ORGANISER}, {}),
    "PATCH /api/v1/campaigns/{campaign}": ({ORGANISER}, {"json": {"instructions": "Read."}}),
    "GET /api/v1/campaigns/{campaign}/items": ({ORGANISER}, {}),
    "POST /api/v1/campaigns/{campaign}/items": ({ORGANISER}, {"files": {"file": FILE}}),
    "GET /api/v1/campaigns/{campaign}/items/{code}": ({ORGANISER}, {}),
    "PATCH /api/v1/campaigns/{campaign}/items/{code}": ({ORGANISER}, {"json": {"withdrawn": True}}),
    "GET /api/v1/campaigns/{campaign}/try": ({ORGANISER}, {}),
    "GET /api/v1/campaigns/{campaign}/judges": ({ORGANISER}, {}),
    "POST /api/v1/campaigns/{campaign}/judges": ({ORGANISER}, {"json": {"names": ["Zoe"]}}),
    "PATCH /api/v1/campaigns/{campaign}/judges/{judge}": ({ORGANISER}, {"json": {"name": "Annie"}}),
    "POST /api/v1/campaigns/{campaign}/judges/{judge}/link": ({ORGANISER}, {"json": {}}),
    "DELETE /api/v1/campaigns/{campaign}/judges/{judge}": ({ORGANISER}, {}),
    "GET /api/v1/campaigns/{campaign}/judges/{judge}/without": ({ORGANISER}, {}),
    "POST /api/v1/campaigns/{campaign}/open-link": ({ORGANISER}, {"json": {"most": 5}}),
    "GET /api/v1/campaigns/{campaign}/ranking": ({ORGANISER}, {}),
    "GET /api/v1/campaigns/{campaign}/summary": ({ORGANISER}, {}),
    "GET /api/v1/campaigns/{campaign}/events": ({ORGANISER}, {}),
    "GET /api/v1/campaigns/{campaign}/export/{what}": ({ORGANISER}, {}),
    "POST /api/v1/campaigns/{campaign}/import": (
        {ORGANISER},
        {"files": {"file": ("votes.csv", b"left,right,outcome\na,b,1\n", "text/csv")}},
    ),
    "GET /": (EVERYBODY, {}),
    "GET /docs": (EVERYBODY, {}),
    "GET /j": (EVERYBODY, {}),
    "GET /o": (EVERYBODY, {}),
    "GET /new": (EVERYBODY, {}),
    "GET /new/campaign": ({OPERATOR}, {}),
    "GET /j/history": ({JUDGE}, {}),
    "GET /media/{key}": ({JUDGE, ORGANISER}, {}),
    "GET /o/live": ({ORGANISER}, {}),
    "GET /o/setup": ({ORGANISER}, {}),
    "GET /o/try": ({ORGANISER}, {}),
    "GET /o/items/{code}": ({ORGANISER}, {}),
    "GET /o/people": ({ORGANISER}, {}),
    "GET /o/judges": ({ORGANISER}, {}),
    "GET /o/judges/{judge}": ({ORGANISER}, {}),
    "GET /o/export": ({ORGANISER}, {}),
}
REFUSED = {401, 403, 404}


def routes(app):
    """Every way in, as "METHOD path"."""
    flat = []
    waiting = list(app.routes)
    while waiting:
        each = waiting.pop()
        waiting += (
            getattr(each, "routes", None) or getattr(getattr(each, "original_router", None), "routes", None) or []
        )
        if isinstance(each, APIRoute):
            flat += [f"{method} {each.path}" for method in each.methods]
    return flat


def test_every_route_has_its_row(room):
    there = set(routes(room.app))
    described = {
        f"{method.upper()} {path}" for path, methods in room.app.openapi()["paths"].items() for method in methods
    }
    assert described <= there
    assert there == set(RIGHTS), "a route without rights, or rights without a route"


def visitors(room):
    return {
        NOBODY: room.visitor(),
        JUDGE: room.judge,
        ORGANISER: room.organiser,
        OPERATOR: room.operator,
    }


def send(client, route, request, room):
    method, path = route.split(" ", 1)
    path = path.format(campaign=room.campaign, code=0, judge=room.judge_id, what="votes", key="0" * 64)
    again = {
        name: {key: (file[0], io.BytesIO(file[1]), file[2]) for key, file in value.items()}
        if name == "files"
        else value
        for name, value in request.items()
    }
    return client.request(method, path, **again)


@pytest.mark.parametrize("role", sorted(EVERYBODY))
def test_only_who_may_gets_in(room, role):
    for route, (allowed, request) in RIGHTS.items():
        client = visitors(room)[role]
        answer = send(client, route, request, room)
        assert answer.status_code < 500, (route, answer.text)
        if role in allowed:
            assert answer.status_code not in {401, 403}, (role, route, answer.text)
        else:
            assert answer.status_code in REFUSED, (role, route, answer.status_code)
        assert not leaks(answer, room), route
        if route.startswith(("DELETE /api/v1/campaigns", "POST /api/v1/campaigns/{campaign}/judges/{judge}/link")):
            token = room.store.write(room.campaign, lambda writer: fresh(writer, room))
            room.judge_token = token
            room.app.state.podium.known.clear()


def fresh(writer, room):
    from podium.campaign import setup

    setup.reinstate(writer, room.judge_id, 0)
    return setup.new_link(writer, room.judge_id, 0)


def leaks(answer, room):
    """Whether an answer holds a secret that is stored, or its hash."""
    from podium.campaign.tokens import hash_of

    text = answer.text if "octet" not in answer.headers.get("content-type", "") else ""
    return any(secret in text for secret in (hash_of(room.judge_token), hash_of(room.organiser_token)))


@pytest.mark.parametrize("role", [JUDGE, ORGANISER])
def test_another_campaign_is_as_if_it_did_not_exist(store, role):
    mine, other = new_room(store, "abcd"), new_room(store, "wxyz")
    for route, (_, request) in RIGHTS.items():
        if "{campaign}" in route:
            answer = send(visitors(mine)[role], route, request, other)
            assert answer.status_code in ({404} if role == ORGANISER else REFUSED), (route, answer.status_code)
    there = store.read(lambda reader: [item.label for item in reader.items(other.campaign)])
    assert there == list("wxyz")
    assert store.read(lambda reader: reader.campaign(other.campaign)).last_event == 3
