"""What travels over HTTP: requests to the app, replies to the client, answers of models. Nothing leaves this machine."""

import contextlib
import functools
import gzip
import io
import json
import pathlib
import sqlite3
import tempfile
import zipfile
from unittest import mock

from fuzz import inputs
from fuzz.inputs import odd, pick
from fuzz.stored import spoil
from judge.server import Server, completion, verdict
from podium.errors import PodiumError

ODD_JSON = (None, True, 0, -1, 2, 0.3, 1e400, 10**30, -(2**63), float("nan"), "", "x", "\ud800", "\x00", "x" * 3000, [], [[]], {}, {"x": None})  # fmt: skip
REQUESTS = 6  # of one visitor after the other, to one server


def spoilt(rng, body):
    """A JSON value in which something is something else."""
    body = json.loads(json.dumps(body))
    if not isinstance(body, dict | list) or rng.random() < 0.1:
        return pick(rng, ODD_JSON)
    spoil(rng, body)
    if rng.random() < 0.5:
        node = body
        while isinstance(node, dict | list) and node:
            key = pick(rng, list(node) if isinstance(node, dict) else range(len(node)))
            if not isinstance(node[key], dict | list) or not node[key] or rng.random() < 0.2:
                node[key] = pick(rng, ODD_JSON)
                break
            node = node[key]
    return body


def as_bytes(rng, body):
    """JSON on its way, perhaps cut off or damaged."""
    data = json.dumps(spoilt(rng, body) if odd(rng, 0.6) else body).encode()
    if odd(rng, 0.1):
        data = inputs.damaged(rng, data)
    if odd(rng, 0.05):
        data = pick(rng, (b"", b"null", b"[" * 100_000, b"\xff\xfe", b"NaN", b"<html>Sign in</html>", b'{"a": 1}' * 2))
    return data


# The app


@functools.cache
def served():
    """The file of a campaign with two judges and some votes, and the secrets of its links."""
    from podium.store import open_store

    from web.rooms import new_room

    with tempfile.TemporaryDirectory(prefix="podium-fuzz-") as folder:
        path = pathlib.Path(folder) / "c.db"
        with open_store(str(path), new=True) as store:
            room = new_room(store, labels="abcdef")
            judge = room.judge
            for k in range(5):
                pair = judge.get("/api/v1/next").json()["questions"][0]["id"]
                vote = {"id": f"v{k}", "question": pair, "outcome": (1, 0, 0.5)[k % 3]}
                assert judge.post("/api/v1/votes", json={"votes": [vote]}).status_code == 200
        secrets = {"judge": room.judge_token, "organiser": room.organiser_token}
        return path.read_bytes(), secrets


@functools.cache
def routes():
    """Every way into the app: methods and addresses, the more usual the oftener."""
    from podium.web import judging, organising, pages

    found = [
        (method, route.path)
        for room in (judging, organising, pages)
        for route in room.router.routes
        for method in sorted(route.methods)
    ]
    often = [("GET", "/api/v1/next"), ("POST", "/api/v1/votes"), ("POST", "/api/v1/undo"), ("GET", "/o/live")]
    return [*found, *often * 4]


def ordinary_body(rng, path, hand):
    """What programs of ours send there."""
    pair = hand[0] if hand else 1
    bodies = {
        "session": {"token": pick(rng, list(served()[1].values())), "parameters": {"PROLIFIC_PID": "x"}},
        "votes": {"votes": [{"id": f"f{rng.integers(9)}", "question": pair, "outcome": pick(rng, (1, 0, 0.5, None)), "ms": 900, "reason": "shorter"}]},
        "undo": {"id": f"u{rng.integers(9)}", "of": f"v{rng.integers(5)}"},
        "reports": {"question": pair, "side": "left", "reason": "broken"},
        "comprehension": {"answer": 1},
        "{campaign}": {
            "state": pick(rng, ("open", "paused", "closed")), "title": "Tea", "instructions": "Take *your* time.",
            "options": pick(rng, ({"target": 5}, {"ties": False}, {"texts": {"completion": "Thanks"}}, {"top": 2}, {"lease": 5}, {"marks": [0, 100]},
                                  {"gold": [["a", "b", 1]]}, {"texts": {"comprehension": {"question": "?", "answers": ["a", "b"], "right": 1}}})),
        },
        "{code}": {"withdrawn": bool(rng.integers(2))},
        "judges": {"names": ["Bob", "Cy"], "target": 9},
        "{judge}": {"name": "Dot", "state": pick(rng, ("active", "revoked", "excluded")), "conflicts": [1, 2]},
        "open-link": {"most": 3, "parameter": "PROLIFIC_PID"},
    }  # fmt: skip
    return bodies.get(path.rpartition("/")[2], {})


def upload(rng, folder):
    """A file of items or votes as a form, or a zip of files."""
    table = inputs.feature_columns(rng, int(rng.integers(1, 6)), grades=False)
    if rng.random() < 0.3:
        table = inputs.vote_columns(rng, int(rng.integers(1, 9)))
    path = inputs.table_file(rng, folder, table, "upload")
    name, data = path.name, path.read_bytes()
    if rng.random() < 0.3:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for inner in (
                "a.txt",
                "b.txt",
                pick(rng, ("c.md", "../c.txt", "/c.txt", "d/e.txt", "x\x00y.txt", "c.png")),
            ):
                archive.writestr(inner, pick(rng, (b"text", b"", b"\xff\xfe", data)))
        name, data = "upload.zip", inputs.damaged(rng, packed.getvalue()) if odd(rng, 0.4) else packed.getvalue()
    if odd(rng, 0.2):
        name = pick(rng, ("", "x", "../x.csv", "x.zip", ".csv", "é.csv", "x" * 300 + ".csv", "x\x00.csv", "x.csv.gz"))
    return {"file": (name, data, pick(rng, ("text/csv", "", "application/json")))}


def headers_of(rng):
    """What else a request carries."""
    known = {"X-Podium": "1", "Content-Type": "application/json"}
    if odd(rng, 0.15):
        name, words = pick(rng, (
            ("Content-Type", ("", "text/plain", "application/json; charset=utf-16", "multipart/form-data", "x")), ("X-Podium", ("",)),
            ("Origin", ("null", "http://[", "http://testserver", "//x", "é".encode())), ("Cookie", ("podium-judge=x", "podium-judge=\x7f; a", "=;=", ";" * 99)),
            ("Authorization", ("Bearer", "Bearer ", "Basic eDp5", "Bearer x y", b"Bearer \xff")), ("Host", ("", "[", "x:y", "é".encode())),
            ("Content-Length", ("-1", "x", "9" * 30)), ("Range", ("bytes=0-1", "bytes=x", "bytes=5-1")), ("Accept-Encoding", ("x",)),
            ("X-Forwarded-For", ("", ",,", "x" * 999)), ("If-Modified-Since", ("x",)), ("Accept-Language", ("\x7f",)),
        ))  # fmt: skip
        known[name] = pick(rng, words)
    return known


def address(rng, path):
    """An address with its numbers, most often those of something there."""
    known = {
        "campaign": "1", "code": str(rng.integers(6)), "judge": "1", "what": pick(rng, ("votes", "ranking", "journal", "report", "all")),
        "key": "0" * 64,
    }  # fmt: skip
    for name, usual in known.items():
        odd_one = pick(rng, ("0", "-1", "2147483648", "9" * 30, "x", "%00", "..", "%ff", "1.0", "é", "%F0%9F"))
        path = path.replace("{" + name + "}", odd_one if odd(rng, 0.1) else usual)
    return path


def parameters(rng, path):
    """What stands behind the question mark."""
    usual = {"next": {"k": "2"}, "history": {"limit": "5"}, "events": {"after": "1"}}.get(path.rpartition("/")[2], {})
    if "export" in path:
        usual = {"form": pick(rng, ("csv", "jsonl", "parquet"))}
    if rng.random() < 0.5:
        usual = {}
    if odd(rng, 0.1):
        usual[pick(rng, ("k", "limit", "after", "form", "new", "x"))] = pick(
            rng, ("0", "-1", "9" * 25, "nan", "", "é", "\x00")
        )
    return usual


def serving(rng, folder):
    """Strangers, judges and organisers at the app. It serves or refuses in a sentence, and keeps what it took."""
    from starlette.testclient import TestClient

    from podium.store import open_store
    from podium.web.app import make_app

    data, secrets = served()
    (folder / "c.db").write_bytes(data)
    kept, refused = set(), 0
    with open_store(str(folder / "c.db")) as store:
        app = make_app(store, url="http://testserver", operator_hash=None, behind_proxy=bool(rng.integers(2)))
        app.state.podium.requests.most = app.state.podium.wrong.most = 10**6
        client = TestClient(app, raise_server_exceptions=True, follow_redirects=False)
        hand = []
        for _ in range(REQUESTS):
            method, path = pick(rng, routes())
            sent = {"headers": headers_of(rng), "params": parameters(rng, path)}
            role = "organiser" if "campaigns" in path or path.startswith("/o") else "judge"
            if not odd(rng, 0.1):
                sent["headers"].setdefault("Authorization", f"Bearer {secrets[role]}")
            if method in ("POST", "PATCH"):
                if path.endswith(("/items", "/import", "/campaigns", "/preview")) and not odd(rng, 0.1):
                    sent["files"] = upload(rng, folder)
                    sent["data"] = {"title": "T", "question": "?", "instructions": pick(rng, ("", "x"))}
                    del sent["headers"]["Content-Type"]
                else:
                    sent["content"] = as_bytes(rng, ordinary_body(rng, path, hand))
            answer = client.request(method, address(rng, path), **sent)
            wrong = misspoken(answer, path)
            assert wrong is None, f"{method} {answer.request.url} {sent}: {wrong}"
            refused += answer.status_code >= 400
            if answer.status_code == 200 and path in ("/api/v1/next", "/api/v1/votes", "/api/v1/undo"):
                said = answer.json()
                hand = [each["id"] for each in said["questions"]]
                kept |= {each["id"] for each in said.get("receipts", ()) if each["status"] != "refused"}
        client.close()
    with contextlib.closing(sqlite3.connect(folder / "c.db")) as rows:
        there = {row[0] for row in rows.execute("SELECT client_id FROM vote")}
    assert kept <= there, f"votes that were acknowledged are gone: {kept - there}"
    return "done" if refused < REQUESTS / 2 else "refused"


def misspoken(answer, path):
    """What is wrong with a reply of the app; None where nothing is."""
    if answer.status_code >= 500:
        return f"{answer.status_code}: {answer.text[:500]}"
    if "Traceback" in answer.text[:20_000]:
        return "a traceback"
    if path.startswith("/api/") and answer.status_code >= 400:
        said = answer.json()
        if not said.get("code") or len(said.get("message", "").splitlines()) != 1:
            return f"no sentence: {said}"
    if answer.headers.get("content-type", "") == "application/json":
        json.loads(answer.text, parse_constant=lambda text: (_ for _ in ()).throw(AssertionError(f"{text} in JSON")))
    return None


# Replies


@functools.cache
def server():
    """One server of this process; each input says anew how it acts."""
    return Server().__enter__()


def reply(rng, body):
    """A reply with this body, or what networks and other servers make of it."""
    if not odd(rng, 0.3):
        return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()
    data = as_bytes(rng, body)
    if rng.random() < 0.5:
        return 200, {"Content-Type": "application/json"}, data
    there = f"http://127.0.0.1:{server().port}"
    match int(rng.integers(7)):
        case 0:
            return pick(rng, ("drop", "half"))
        case 1:
            return pick(
                rng,
                (
                    b"",
                    b"\r\n\r\n",
                    b"HTTP/1.1 200",
                    b"SSH-2.0-x\r\n",
                    b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                    b"HTTP/1.1 999 X\r\n\r\n",
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
                    b"HTTP/1.1 100 Continue\r\n\r\n",
                    b"HTTP/1.1 200 OK\r\nx" + b"y" * 200_000,
                ),
            )
        case 2:
            kind = pick(
                rng,
                (
                    "",
                    "text/html",
                    "text/plain; charset=utf-16",
                    "application/json; charset=x",
                    "application/octet-stream",
                ),
            )
            return 200, {"Content-Type": kind}, data
        case 3:
            where = pick(
                rng,
                (
                    f"{there}/v1/chat/completions",
                    "/v1/x",
                    "",
                    "http://[",
                    "http://127.0.0.1:x/",
                    "http://h\x7f/",
                    "javascript:x",
                    "http://127.0.0.2:1/",
                    "//",
                    "\xff",
                ),
            )
            return pick(rng, (301, 302, 303, 307, 308)), {"Location": where} if where else {}, b""
        case 4:
            return 200, {"Content-Encoding": "gzip"}, gzip.compress(data)[: None if rng.random() < 0.5 else 9]
        case 5:
            status = pick(
                rng,
                (
                    201,
                    204,
                    206,
                    304,
                    400,
                    401,
                    402,
                    403,
                    404,
                    405,
                    408,
                    409,
                    413,
                    418,
                    422,
                    429,
                    500,
                    502,
                    503,
                    529,
                    599,
                ),
            )
            wait = pick(
                rng,
                ("0", "1", "-1", "nan", "inf", "x", "1e400", "Thu, 01 Jan 1970 00:01:00 GMT", "Thu, 99 Foo", "\xff"),
            )
            words = pick(
                rng,
                (
                    data,
                    b'{"error": {"message": "a\\nb"}}',
                    b'{"code": "closed", "message": "the campaign is closed"}',
                    b'{"code": 3, "message": null}',
                    b'{"error": "response_format"}',
                    b"[]",
                    b"",
                    b"<html>",
                ),
            )
            return status, {"Retry-After": wait}, b"" if status in (204, 304) else words
        case _:
            return 200, {}, data


NO_PICTURE = {"html": "<p>text</p>", "media": None, "kind": "text"}


def campaign_said(rng, path):
    """What a server of ours says there."""
    card = {"title": "T", "question": "Which?", "instructions": "", "ties": True, "version": 1}
    pairs = [
        {"id": 3 * k + j, "left": NO_PICTURE | {"html": f"<p>{k}</p>"}, "right": NO_PICTURE, "repeat": False}
        for k in range(2)
        for j in range(3)
    ]
    hand = {"questions": pairs[: int(rng.integers(4))], "why": None, "answered": 1, "target": 9, "campaign": card, "judge": "Ann", "who": "t-1"}  # fmt: skip
    last = path.partition("?")[0].rpartition("/")[2]
    return {
        "next": hand | {"why": None if hand["questions"] else "done"},
        "votes": hand | {"receipts": [pick(rng, ({"id": "x", "status": "stored", "code": None, "message": None}, {"id": "x", "status": "refused", "code": "closed", "message": "closed"}))]},
        "undo": hand | {"receipt": {"id": "x", "status": "stored"}},
        "campaigns": [{"id": 1, "slug": "t"}],
        "judges": [{"name": "Zoe", "link": "http://x/j#y"}],
        "ranking": [{"place": 1, "item": "a"}],
        "summary": {"votes": 3},
    }.get(last, {"id": 1})  # fmt: skip


def client(rng, folder):
    """The client at a server that says anything: an answer, or one of our own errors."""
    from podium.client import Judge, Organiser

    there = server()
    there.act = lambda body, number: reply(rng, campaign_said(rng, there.headers[-1]["path"]))
    address = pick(rng, ("http://[", "", "x", "ftp://x", "http://127.0.0.1:1", "http://h\x7f", "http://127.0.0.1:99999", pick(rng, inputs.TEXTS))) if odd(rng, 0.1) else there.url  # fmt: skip
    token = pick(rng, ("", "é", "a\nb", "\ud800")) if odd(rng, 0.1) else "secret"
    with mock.patch("podium.client.time.sleep"), Judge(address, token, timeout=5) as judge, Organiser(address, token, timeout=5) as organiser:  # fmt: skip
        calls = (
            lambda: judge.next(pick(rng, (1, 3))), lambda: judge.vote(pick(rng, (1, 10**30)), pick(rng, (1.0, None, 0.5)), reason=pick(rng, (None, "é", "\ud800"))),
            lambda: judge.undo("x"), lambda: judge.media("/media/x"), lambda: judge.answer(lambda left, right: 1.0, most=3),
            lambda: organiser.campaign["id"], lambda: organiser.invite("Zoe"), lambda: organiser.change(state="open", title="x"),
            organiser.ranking, organiser.summary, lambda: organiser.export("votes", str(folder / "v.csv"), form=pick(rng, ("csv", "jsonl"))),
        )  # fmt: skip
        for _ in range(3):
            pick(rng, calls)()
    return "done"


def said(rng, form, whole):
    """What a model says about a pair, in its form."""
    winner = pick(rng, ("A", "B"))
    text = {"json": verdict(winner), "word": f"Better.\n{winner}", "logprobs": winner}[form]
    body = completion(text)
    if form == "logprobs":
        top = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.3}]
        body["choices"][0]["logprobs"] = {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": top}]}
    kept = json.dumps(body).encode()
    told = reply(rng, body)
    whole[0] += isinstance(told, tuple) and told[0] == 200 and told[2] == kept and "Content-Encoding" not in told[1]
    return told


def model_server(rng, folder):
    """A model behind a server that misbehaves. What it said is kept, and the same call goes on where it stood."""
    from podium.judge import HttpJudge, judge_pairs

    there, whole = server(), [0]
    form = pick(rng, ("json", "json", "word", "logprobs"))
    there.act = lambda body, number: said(rng, form, whole)

    async def at_once(seconds):
        return None

    def run():
        asker = HttpJudge(there.url, "m", answer=form, timeout=5, concurrency=1, sleep=at_once, seed=1)
        texts = {name: f"text of {name}" for name in "abcde"}
        options = {"question": "Which?", "db": str(folder / "c.db"), "seed": 1, "concurrency": 1, "anyway": True}
        return judge_pairs(texts, asker, budget=3, one_order=one_order, **options)

    one_order, ended = bool(rng.integers(2)), "done"
    quick = {"RETRY_AFTER": 0.0, "MAX_SILENCE": 0.5, "MAX_WAIT_AFTER_INTERRUPT": 0.5}
    with mock.patch.multiple("podium.judge.run", **quick):
        try:
            run()
        except PodiumError as problem:
            ended = "refused"
            if len(str(problem).splitlines()) != 1:
                raise AssertionError(f"not one line: {str(problem)!r}") from problem
        with contextlib.closing(sqlite3.connect(folder / "c.db")) as rows:
            [(kept,)] = rows.execute("SELECT count(*) FROM call WHERE outcome IS NOT NULL")
            [(votes,)] = rows.execute("SELECT count(*) FROM vote")
        assert kept >= whole[0], f"{whole[0]} verdicts came, {kept} are kept"
        inputs.LEVEL[0] = 0.0  # the server has come to its senses
        judged = run()
        assert judged.tally.pairs + judged.tally.skips >= votes, (judged.tally, votes)
    return ended


def remote_judge(rng, folder):
    """A function as judge of a campaign elsewhere, whose server says anything."""
    from podium.client import Judge
    from podium.judge.asking import FunctionJudge
    from podium.judge.remote import judge_remote
    from podium.judge.settings import Settings

    there = server()
    there.act = lambda body, number: reply(rng, campaign_said(rng, there.headers[-1]["path"]))
    quick = {"RETRY_AFTER": 0.0, "MAX_SILENCE": 0.5}
    with mock.patch("podium.client.time.sleep"), mock.patch.multiple("podium.judge.run", **quick), Judge(there.url, "x", timeout=5) as desk:  # fmt: skip
        settings = Settings(budget=4, concurrency=1, one_order=bool(rng.integers(2)), anyway=True, seed=1)
        judge_remote(desk, FunctionJudge(lambda asked: 1.0), settings, db=str(folder / "c.db"))
    return "done"


def targets():
    return {"serving": serving, "client": client, "model_server": model_server, "remote_judge": remote_judge}
