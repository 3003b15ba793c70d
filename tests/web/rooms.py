"""A campaign on a server in memory, and visitors with links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.testclient import TestClient

from podium.campaign import setup
from podium.campaign.items import Items
from podium.campaign.tokens import hash_of
from podium.store.values import Item
from podium.web.app import make_app

URL = "http://testserver"
OPERATOR = "operator-secret"


@dataclass
class Room:
    """A server with one campaign and one judge; visitors are made by link."""

    store: Any
    app: Any
    campaign: int
    organiser_token: str
    judge_token: str
    judge_id: int

    def visitor(self, token: str | None = None) -> TestClient:
        """A browser: nobody, or whoever the secret says; requests carry what ours carry."""
        client = TestClient(self.app, base_url=URL, headers={"X-Podium": "1"}, raise_server_exceptions=False)
        if token is not None:
            assert client.post("/api/v1/session", json={"token": token}).status_code == 200
        return client

    @property
    def judge(self) -> TestClient:
        return self.visitor(self.judge_token)

    @property
    def organiser(self) -> TestClient:
        return self.visitor(self.organiser_token)

    @property
    def operator(self) -> TestClient:
        return self.visitor(OPERATOR)

    @property
    def at(self) -> str:
        return f"/api/v1/campaigns/{self.campaign}"


def new_room(store: Any, labels: Any = "abcdefgh", **options: Any) -> Room:
    """A server on a store, with a campaign of these items."""
    items = Items([each if isinstance(each, Item) else Item(-1, each, body=f"This is {each}.") for each in labels])
    made, token = store.write(
        0,
        lambda writer: setup.new_campaign(
            writer,
            items,
            title="Letters",
            question="Which is better?",
            now=store.now(),
            seed=1,
            options=setup.Options.of(options),
        ),
    )
    [(judge, secret)] = store.write(made.id, lambda writer: setup.invite(writer, ["Ann"], store.now()))
    app = make_app(store, url=URL, operator_hash=hash_of(OPERATOR))
    app.state.podium.requests.most = 10_000  # tests are faster than people
    return Room(store, app, made.id, token, secret, judge.id)
