"""Both databases keep the one contract."""

import pytest

from suites import postgres
from suites.store import StoreSuite


class TestSQLite(StoreSuite):
    @pytest.fixture
    def where(self, tmp_path):
        return str(tmp_path / "campaign.db")


class TestPostgreSQL(StoreSuite):
    @pytest.fixture
    def where(self):
        return postgres.server().new_database()
