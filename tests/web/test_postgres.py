"""Two serving processes on PostgreSQL share one queue: no pair is in two hands, and both pages say the same."""

from concurrent.futures import ThreadPoolExecutor

from podium.store import open_store
from podium.web.app import make_app

from suites import postgres
from web.rooms import URL, Room, new_room


def test_two_servers_give_no_pair_twice_and_agree(tmp_path):
    address = postgres.server().new_database()
    with open_store(address, new=True) as first, open_store(address) as second:
        room = new_room(first, [f"item {k}" for k in range(20)])
        other = Room(second, make_app(second, url=URL), room.campaign, room.organiser_token, "", 0)
        links = room.organiser.post(f"{room.at}/judges", json={"names": [f"judge {k}" for k in range(6)]}).json()
        servers = [room, other]
        judges = [servers[k % 2].visitor(row["link"].partition("#")[2]) for k, row in enumerate(links)]

        def vote(number):
            judge, mine = judges[number], []
            for step in range(5):
                hand = judge.get("/api/v1/next").json()["questions"]
                row = {"id": f"{number}-{step}", "question": hand[0]["id"], "outcome": 1.0}
                answer = judge.post("/api/v1/votes", json={"votes": [row]}).json()
                assert answer["receipts"][0]["status"] == "stored"
                mine = [each["id"] for each in answer["questions"]]
            return mine

        with ThreadPoolExecutor(6) as pool:
            hands = list(pool.map(vote, range(6)))
        held = [question for hand in hands for question in hand]
        assert len(held) == len(set(held)) == 18
        assert room.organiser.get(f"{room.at}/ranking").json() == other.organiser.get(f"{room.at}/ranking").json()
        assert other.organiser.get(f"{room.at}/summary").json()["votes"] == 30
