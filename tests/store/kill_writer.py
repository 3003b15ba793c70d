"""Kill a writing process again and again, and look whether anything it acknowledged is missing or there twice.

Run as `python kill_writer.py FILE ROUNDS SEED`; prints what it saw as JSON. It forks, so it runs no thread itself.
"""

import json
import os
import random
import select
import signal
import sqlite3
import sys
import threading
import time

from podium.store import open_store
from podium.store.values import Campaign, Item, Judge, Vote

WRITERS = 8


def begin(path):
    """A child makes the file: the parent must not have opened it before it forks."""
    if os.fork() == 0:
        with open_store(path, new=True) as store:

            def make(writer):
                writer.add_campaign(Campaign(0, "c", "T", "Q", "", 1, {}, 1, "open", "h", 0))
                writer.add_items([Item(0, "a"), Item(1, "b")])
                for number in range(WRITERS):
                    writer.add_judge(Judge(0, f"judge {number}"))

            store.write(0, make)
        os._exit(0)
    os.wait()


def write_until_killed(path, number, pipe):
    store = open_store(path)

    def write(judge):
        for k in range(1_000_000):
            id = f"{number}-{judge}-{k}"
            store.write(1, lambda writer, id=id: writer.append_votes([Vote(judge, id, 0, 1, 1.0)]))
            os.write(pipe, f"{judge} {id}\n".encode())  # acknowledged

    for judge in range(WRITERS):
        threading.Thread(target=write, args=(judge,)).start()
    time.sleep(60)


def one_round(path, number, rng):
    """The ids that were acknowledged before the process was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write_until_killed(path, number, writing)
    os.close(writing)
    select.select([reading], [], [], 60)
    time.sleep(rng.uniform(0, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading) as acknowledged:
        return [line.split() for line in acknowledged.read().splitlines() if len(line.split()) == 2]


def main(path, rounds, seed):
    rng = random.Random(seed)
    begin(path)
    acknowledged, lost = set(), []
    for number in range(rounds):
        acknowledged |= {(int(judge), id) for judge, id in one_round(path, number, rng)}
        reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        stored = reader.execute("SELECT judge, client_id FROM vote").fetchall()
        dense = [row[0] for row in reader.execute("SELECT seq FROM vote ORDER BY seq")] == list(
            range(1, len(stored) + 1)
        )
        said = reader.execute("SELECT last_vote FROM campaign").fetchone()[0]
        sound = reader.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        reader.close()
        lost += sorted(acknowledged - set(stored))
        if not dense or said != len(stored) or not sound or len(set(stored)) != len(stored):
            lost.append(["round", number, dense, said, len(stored), sound])
    print(json.dumps({"acknowledged": len(acknowledged), "stored": len(stored), "lost": lost}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
