"""The API does what its own description says, for whatever a program may send."""

import pytest
from hypothesis import HealthCheck, given, settings

from web.rooms import new_room

schemathesis = pytest.importorskip("schemathesis")


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    from podium.store import open_store

    with open_store(str(tmp_path_factory.mktemp("api") / "campaign.db"), new=True) as store:
        room = new_room(store)
        room.app.state.podium.wrong.most = 10**9
        room.app.state.podium.today.most = 10**9
        room.app.state.podium.requests.most = 10**9
        yield room


OPERATIONS = [
    ("GET", "/api/v1/next"), ("POST", "/api/v1/votes"), ("POST", "/api/v1/undo"), ("GET", "/api/v1/history"),
    ("POST", "/api/v1/reports"), ("POST", "/api/v1/session"), ("PATCH", "/api/v1/campaigns/{campaign}"),
    ("PATCH", "/api/v1/campaigns/{campaign}/items/{code}"), ("GET", "/api/v1/campaigns/{campaign}/items/{code}"),
    ("POST", "/api/v1/campaigns/{campaign}/judges"), ("PATCH", "/api/v1/campaigns/{campaign}/judges/{judge}"),
    ("POST", "/api/v1/campaigns/{campaign}/open-link"), ("GET", "/api/v1/campaigns/{campaign}/events"),
    ("GET", "/api/v1/campaigns/{campaign}/judges/{judge}/without"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=str)
def test_no_request_fails_or_answers_in_another_form(api, method, path):
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", api.app)
    token = api.organiser_token if "{campaign}" in path else api.judge_token
    headers = {"X-Podium": "1", "Authorization": f"Bearer {token}"}
    client = api.visitor()

    @settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=schema[path][method].as_strategy())
    def check(case):
        if "campaign" in case.path_parameters:
            case.path_parameters["campaign"] = api.campaign
        sent = case.as_transport_kwargs(base_url="http://testserver", headers=headers)
        sent.pop("cookies", None)
        answer = client.request(**sent)
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert {"code", "message"} <= set(answer.json())

    check()
