"""A database in which any one cell is something else is read in full, or refused in a sentence; nothing stumbles."""

import contextlib
import sqlite3

import numpy as np
import pytest

from podium.campaign.exchange import journal_lines, votes_frame
from podium.campaign.setup import set_state
from podium.campaign.standing import standing
from podium.errors import PodiumError
from podium.store import open_store
from podium.store.file import read_campaign_file
from podium.store.tables import METADATA

from suites.store import new_campaign, vote

CELLS = (None, b"\xff", -1, "[1", 0, 2**62, 0.5, "x")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a small campaign."""
    path = tmp_path_factory.mktemp("whole") / "c.db"
    with open_store(str(path), new=True) as store:
        campaign = new_campaign(store)
        for state in ("paused", "open"):
            store.write(campaign, lambda writer, state=state: set_state(writer, state, 8))
        for k in range(6):
            vote(store, campaign, judge=k % 2, name=f"v{k}", left=k % 4, right=(k + 1) % 4, outcome=k % 2, ms=900)
    return path.read_bytes()


def spoil(path, table, column, cell, *, one):
    """Put `cell` into every row of a column, or into the last only; whether the database took it."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        last = f' WHERE rowid = (SELECT max(rowid) FROM "{table}")' if one else ""
        with contextlib.suppress(sqlite3.Error):
            changed = connection.execute(f'UPDATE "{table}" SET "{column}" = ?{last}', (cell,)).rowcount
            connection.commit()
            return changed > 0
    return False


def use(path):
    """Everything that commands read, and one that writes."""
    with open_store(str(path)) as store:
        for campaign in store.read(lambda reader: reader.campaigns()):
            content, votes = store.read(lambda reader, at=campaign.id: (reader.content(at), list(reader.votes(at))))
            votes_frame(content, votes)
            list(journal_lines(content, votes))
            standing(content)
            store.read(lambda reader, at=campaign.id: (reader.items(at), reader.judges(at), reader.events(at)))
            store.write(campaign.id, lambda writer: set_state(writer, "closed", 9))


@pytest.mark.parametrize("table", ["campaign", "item", "judge", "vote", "event"])
def test_a_cell_that_cannot_be_is_refused_in_a_sentence(table, whole, tmp_path):
    path, said = tmp_path / "c.db", []
    for column in METADATA.tables[table].c:
        for number, cell in enumerate(CELLS):
            for leftover in tmp_path.glob("c.db*"):
                leftover.unlink()
            path.write_bytes(whole)
            if spoil(path, table, column.name, cell, one=number % 2 == 0):
                said += [refusal(lambda: read_campaign_file(str(path))), refusal(lambda: use(path))]
    refusals = [each for each in said if each is not None]
    assert len(refusals) > 10
    assert all(len(each.splitlines()) == 1 for each in refusals)


def refusal(read):
    try:
        read()
    except PodiumError as problem:
        return str(problem)
    return None


def test_a_page_of_noise_is_refused_in_a_sentence(whole, tmp_path):
    """Errors of the driver come bare where rows are fetched past SQLAlchemy; they are said for people all the same."""
    rng, said = np.random.default_rng(3), []
    for page in range(1, len(whole) // 4096):
        path = tmp_path / f"c{page}.db"
        noise = bytearray(whole)
        at = page * 4096 + int(rng.integers(8, 3000))
        noise[at : at + 900] = rng.bytes(900)
        path.write_bytes(noise)
        said += [refusal(lambda path=path: read_campaign_file(str(path))), refusal(lambda path=path: use(path))]
    refusals = [each for each in said if each is not None]
    assert len(refusals) > 3
    assert all(len(each.splitlines()) == 1 for each in refusals)
