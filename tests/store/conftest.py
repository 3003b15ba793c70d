"""A campaign's file, and a store on it."""

import pytest

from podium.store import open_store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "campaign.db"


@pytest.fixture
def store(path):
    with open_store(str(path), new=True) as store:
        yield store
