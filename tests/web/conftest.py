"""A campaign on a server in memory."""

import pytest

from podium.store import open_store

from web.rooms import new_room


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "campaign.db"), new=True) as store:
        yield store


@pytest.fixture
def room(store):
    return new_room(store)
