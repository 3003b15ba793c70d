"""What was acknowledged is there, once, whatever died."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from podium.errors import UnavailableError
from podium.store import open_store
from podium.store.values import Vote

from suites import postgres
from suites.store import new_campaign


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is of other systems")
def test_twenty_kills_lose_nothing_that_was_acknowledged(tmp_path):
    script = Path(__file__).parent / "kill_writer.py"
    done = subprocess.run(
        [sys.executable, script, str(tmp_path / "c.db"), "20", "7"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["lost"] == []
    assert seen["acknowledged"] >= 20  # each round had some
    assert seen["stored"] >= seen["acknowledged"]


def test_postgresql_stopped_under_load_loses_nothing_and_everything_goes_on():
    server = postgres.server()
    acknowledged, unavailable = [], []
    with open_store(server.new_database(), new=True) as store:
        campaign = new_campaign(store, judges=6)

        def once(writer, judge, id):
            if writer.vote_of_client(campaign, judge, id) is None:  # the first try may have been committed
                writer.append_votes([Vote(judge, id, 0, 1, 1.0)])

        def write(judge):
            for k in range(40):
                id = f"{judge}-{k}"
                while True:
                    try:
                        store.write(campaign, lambda writer, id=id: once(writer, judge, id))
                        acknowledged.append((judge, id))
                        break
                    except UnavailableError as problem:
                        unavailable.append(str(problem))
                        time.sleep(0.05)

        threads = [threading.Thread(target=write, args=(judge,)) for judge in range(6)]
        for each in threads:
            each.start()
        while len(acknowledged) < 30:
            time.sleep(0.01)
        server.stop()
        before = list(acknowledged)
        while not unavailable:
            time.sleep(0.01)
        with pytest.raises(UnavailableError, match="cannot be reached"):
            store.read(lambda reader: reader.campaigns())
        server.start()
        for each in threads:
            each.join()
        rows = store.read(lambda reader: list(reader.votes(campaign)))
    assert set(before) <= {(row.judge, row.client_id) for row in rows}
    assert sorted((row.judge, row.client_id) for row in rows) == sorted(acknowledged)
    assert [row.seq for row in rows] == list(range(1, 241))
    assert unavailable
    assert "podium@" not in unavailable[0]  # no user, no password
