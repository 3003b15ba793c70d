"""podium judge, from items to an order, against a server on this machine."""

import json
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from scipy.stats import kendalltau

from judge.conftest import KEY, environment, world  # noqa: F401
from judge.server import Server, completion, shown, verdict
from podium.cli import run
from podium.store import open_store


def call(capfd, *args):
    with pytest.raises(SystemExit) as stop:
        run(["judge", *[str(arg) for arg in args]])
    out, err = capfd.readouterr()
    return stop.value.code, out, err


@pytest.fixture
def items(tmp_path, world, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)

    def make(n=8, **model):
        texts, scores, it = world(n, **model)
        pl.DataFrame({"id": list(texts), "text": list(texts.values())}).write_csv("items.csv")
        return texts, scores, it

    return make


ASK = ["--question", "Which?", "--seed", "1"]


def to(server):
    return [*ASK, "--base-url", server.url, "--model", "tiny"]


def test_the_ranking_goes_out_and_the_judge_is_reported(items, capfd, tmp_path):
    _, scores, model = items(10, sure=True)
    with Server(model) as server:
        more = ["--price-in", 1, "--price-out", 2, "--repeat", 0.2, "--report", "r.html", "--format", "csv"]
        code, out, err = call(capfd, "items.csv", *to(server), *more)
    assert code == 0, err
    frame = pl.read_csv(out.encode())
    assert frame["item"].to_list() == sorted(scores, key=scores.get, reverse=True)
    for words in ("position: first place chosen 50 %", "length: the longer", "repeat: 100 %", "cost 0.0", "kept in items.podium.db"):  # fmt: skip  # noqa: E501
        assert words in err
    assert "<html" in (tmp_path / "r.html").read_text().lower()
    again = call(capfd, "items.csv", *to(server), "--format", "csv")  # the server is gone: nothing is asked
    assert again[:2] == (0, out)


def test_calls_are_exported_and_rank_reads_them(items, capfd):
    texts, scores, model = items(8, spread=3.0, lean=1.0)
    with Server(model) as server:
        assert call(capfd, "items.csv", *to(server), "--budget", 28, "--anyway", "--keep-prompts")[0] == 0
    with pytest.raises(SystemExit) as stop:
        run(["campaign", "export", "calls", "--db", "items.podium.db", "-o", "calls.jsonl"])
    assert stop.value.code == 0
    head, *rows = [json.loads(line) for line in Path("calls.jsonl").read_text().splitlines()]
    assert head["header"]["model"] == "tiny"
    assert head["header"]["question"] == "Which?"
    assert len(rows) == 2 * 28
    assert {row["weight"] for row in rows} == {0.5}
    for row in rows:
        longer = (1 + len(texts[row["left"]])) / (1 + len(texts[row["right"]]))
        assert row["length"] == pytest.approx(math.log(longer))
    assert {(row["left"], row["right"]) for row in rows} == {(row["right"], row["left"]) for row in rows}
    assert all(row["model"] == "tiny-1" and row["tokens_in"] == 100 and "Which?" in row["prompt"] for row in rows)
    capfd.readouterr()
    with pytest.raises(SystemExit) as stop:
        run(["rank", "calls.jsonl", "--side-effect", "--ci", "group", "--format", "csv"])
    out, err = capfd.readouterr()
    assert stop.value.code == 0, err
    order = pl.read_csv(out.encode())["item"].to_list()
    assert kendalltau([-scores[label] for label in order], range(8))[0] > 0.5
    with pytest.raises(SystemExit) as stop:
        run(["rank", "calls.jsonl", "--covariates", "length", "--side-effect", "--ci", "group"])
    out, err = capfd.readouterr()
    assert stop.value.code == 0, err
    assert "length" in out + err
    with pytest.raises(SystemExit):
        run(["campaign", "export", "all", "--db", "items.podium.db", "-o", "all.zip"])
    with pytest.raises(SystemExit):
        run(["campaign", "import", "all.zip", "--db", "copy.db"])
    tables = [sqlite3.connect(db).execute("SELECT request, outcome, raw, done FROM call ORDER BY request").fetchall()
              for db in ("items.podium.db", "copy.db")]  # fmt: skip
    assert tables[0] == tables[1]


@pytest.mark.parametrize("more", [[], ["--one-order"], ["--one-order", "--budget", 12], ["--max-calls", 10]])
def test_a_dry_run_tells_at_most_how_many_calls_are_made(items, capfd, more):
    _, _, model = items(8, sure=True)
    with Server(model) as server:
        code, _, err = call(capfd, "items.csv", *to(server), *more, "--dry-run")
        assert code == 0, err
        told = int(re.search(r"([\d,]+) calls", err).group(1))
        assert not server.requests
        assert call(capfd, "items.csv", *to(server), *more)[0] == 0
        made = len(server.requests)
    assert made <= told
    if "--one-order" in more:  # random pairs are asked to the end
        assert made == told


def test_votes_that_a_judge_cannot_give_alone_are_told_so(items, capfd):
    items(6, sure=True)
    program = (
        "import json,sys\nfor l in sys.stdin:\n print(json.dumps({'id':json.loads(l)['id'],'outcome':0.5}),flush=True)"
    )
    Path("even.py").write_text(program)
    code, _, err = call(capfd, "items.csv", *ASK, "--command", f"{sys.executable} even.py", "--budget", 5)
    assert code == 0, err
    told = re.search(r"far from stable: it may take more than 10 times the votes so far(.*)", err)
    assert told.group(1) == ", more than the 10 pairs this judge has left"


def test_a_judge_of_lengths_is_told_so_with_the_way_to_hold_it_constant(items, capfd):
    texts, _, _ = items(12)
    texts = {label: text * (1 + 3 * k) for k, (label, text) in enumerate(texts.items())}
    pl.DataFrame({"id": list(texts), "text": list(texts.values())}).write_csv("items.csv")
    program = "import json,sys\nfor l in sys.stdin:\n r=json.loads(l)\n print(json.dumps({'id':r['id'],'outcome':float(len(r['left'])>len(r['right']))}),flush=True)"  # noqa: E501
    Path("longer.py").write_text(program)
    code, _, err = call(capfd, "items.csv", *ASK, "--command", f"{sys.executable} longer.py")
    assert code == 0, err
    assert "length: the longer of two won 100 %" in err
    assert "RuntimeWarning" not in err
    told = re.search(r"held constant: `podium (.*)`, then `podium (.*)`", err)
    for words in told.groups():  # both commands do as they are printed
        with pytest.raises(SystemExit) as stop:
            run(words.split())
        out, err = capfd.readouterr()
        assert stop.value.code == 0, err
    assert "RuntimeWarning" not in err
    assert all(label in out for label in texts)


def test_several_criteria_stand_side_by_side(items, capfd):
    texts, _, model = items(6, sure=True)

    def act(body, number):
        a, b = shown(body)
        if "Judge length." in body["messages"][0]["content"]:
            return completion(verdict("A" if len(a) > len(b) else "B"))
        return None

    with Server(model, act) as server:
        code, out, err = call(
            capfd, "items.csv", *to(server), "--criterion", "length=Judge length.", "--criterion", "worth=Judge worth.",
            "--format", "csv",
        )  # fmt: skip
    assert code == 0, err
    frame = pl.read_csv(out.encode())
    assert frame.columns == ["item", "length", "worth", "mean_place"]
    longest = max(texts, key=lambda label: len(texts[label]))
    assert frame.filter(pl.col("length") == 1)["item"].item() == longest


def test_a_model_joins_people_and_their_agreement_is_a_line(items, capfd):
    _, scores, model = items(6, sure=True)
    labels = sorted(scores, key=scores.get, reverse=True)
    people = [f"{labels[a]},{labels[b]},1,reader-1" for a in range(6) for b in range(a + 1, 6)]
    people[0] = f"{labels[0]},{labels[1]},0,reader-1"  # one vote against the order
    with open("people.csv", "w") as file:
        file.write("\n".join(["left,right,outcome,judge", *people]))
    for words in ("new items.csv --title T --question Q? --seed 1", "import people.csv"):
        with pytest.raises(SystemExit):
            run(["campaign", *words.split()])
    capfd.readouterr()
    with Server(model) as server:
        where = ["--base-url", server.url, "--model", "tiny"]
        code, _, err = call(capfd, "campaign.db", *where, "--against", "campaign.db:reader-1", "--budget", 15)
        assert code == 0, err
        assert "against campaign.db:reader-1: 93 % (70–99) of 15 pairs alike, kappa 0." in err
        code, _, err = call(capfd, "campaign.db", *where, "--question", "Other?")
        assert (code, "--question: campaign.db is a campaign, which has its own" in err) == (2, True)
        code, _, err = call(capfd, "campaign.db", *where, "--against", "campaign.db:nobody")
        assert "has no judge 'nobody'; there are 'reader-1', 'tiny'" in err
        with open_store("campaign.db") as store, store.serve():
            code, _, err = call(capfd, "campaign.db", *where)
        assert (code, "campaign.db is served by process" in err) == (2, True)


def test_context_reference_and_gold_come_from_tables(items, capfd):
    _, scores, model = items(5, sure=True)
    frame = pl.read_csv("items.csv").with_columns(prompt=pl.lit("Tell a tale."), best=pl.lit("Once upon a time."))
    frame.write_ndjson("items.jsonl")
    best, worst = max(scores, key=scores.get), min(scores, key=scores.get)
    with open("gold.csv", "w") as file:
        file.write(f"winner,loser\n{best},{worst}\n")
    with Server(model) as server:
        code, _, err = call(capfd, "items.jsonl", *to(server), "--reference", "best", "--gold", "gold.csv")
    assert code == 0, err
    assert "gold: 100 % (21–100) of 1 known pair as known" in err
    for body in server.requests:
        text = body["messages"][1]["content"]
        assert text.count("Tell a tale.") == text.count("Once upon a time.") == 1


def test_pictures_are_sent_as_they_are(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "pictures"
    folder.mkdir()
    for k in range(3):
        (folder / f"{k}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes([k]))

    def act(body, number):
        addresses = [part["image_url"]["url"] for part in body["messages"][1]["content"] if part["type"] == "image_url"]
        assert len(addresses) == 2
        return completion(verdict("A" if addresses[0] > addresses[1] else "B"))

    with Server(None, act) as server:
        code, out, err = call(capfd, "pictures", *to(server), "--format", "csv")
    assert code == 0, err
    assert pl.read_csv(out.encode())["item"].to_list() == ["2.png", "1.png", "0.png"]


@pytest.mark.parametrize(
    ("ending", "head"), [("png", b"\x89PNG\r\n\x1a\n"), ("html", b"<!doctype html><p>"), ("txt", b"")]
)
def test_a_file_that_changed_between_two_runs_is_refused_by_name(capfd, tmp_path, monkeypatch, ending, head):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "works"
    folder.mkdir()
    for word in ("one", "two", "three"):
        (folder / f"{word}.{ending}").write_bytes(head + word.encode())
    with Server(None, lambda body, number: completion(verdict("A"))) as server:
        assert call(capfd, "works", *to(server))[0] == 0
        assert call(capfd, "works", *to(server))[0] == 0, "nothing changed"
        asked = len(server.requests)
        (folder / f"two.{ending}").write_bytes(head + b"other")
        code, _, err = call(capfd, "works", *to(server))
    assert code == 2
    assert f"works.podium.db was begun with other items: 'two.{ending}' is new or changed; take another file" in err
    assert len(server.requests) == asked


def test_ctrl_c_keeps_every_answer_and_the_same_command_goes_on(items, tmp_path):
    _, _, model = items(12)
    with Server(model, delay=0.05) as server:
        command = [sys.executable, "-m", "podium", "judge", "items.csv", *to(server), "--budget", "60", "--anyway"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while server.answered < 30 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "interrupted; go on with the same command" in err
        assert KEY not in err
        done = sqlite3.connect(tmp_path / "items.podium.db").execute("SELECT count(*) FROM call WHERE done IS NOT NULL")
        assert done.fetchone()[0] == server.answered == len(server.requests)
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert ended.returncode == 0, ended.stderr
        assert len(server.requests) == 120, "no call was lost and none was paid twice"


def test_a_judge_that_fails_leaves_with_exit_code_one(items, capfd):
    _, _, model = items(30, lean=99.0)
    with Server(model) as server:
        code, _, err = call(capfd, "items.csv", *to(server))
    assert code == 1
    assert "fewer than 55 % of the pairs have the same verdict in both orders" in err


TWO = "id,text\na,x\nb,y\n"
CAT = ["--question", "Q?", "--command", "cat"]
MODEL = ["--question", "Q?", "--base-url", "http://x", "--model", "m"]


@pytest.mark.parametrize(
    ("table", "args", "words"),
    [
        (TWO, ["--question", "Q?"], "either --base-url and --model, or --command"),
        (TWO, ["--question", "Q?", "--command", "c", "--base-url", "http://x"], "either --base-url"),
        (TWO, ["--question", "Q?", "--base-url", "http://x"], "--base-url needs --model"),
        (TWO, ["--command", "cat"], "--question is missing"),
        (TWO, ["--question", "Q?", "--command", "'"], "correct its quotes"),
        (TWO, ["--question", "Q?", "--command", "no-such-program"], "cannot run 'no-such-program'"),
        ("id,text\na,x\na,y\n", CAT, "row 2: 'a' appears in row 1 already"),
        ("id,text\na,x\nb,\n", CAT, "row 2: the text of 'b' is empty"),
        ("id,text\na,x\n", CAT, "1 item; an order needs at least two"),
        ("winner,loser\na,b\n", CAT, "holds votes, not items"),
        (TWO, [*CAT, "--goal", "top"], "neither order nor top:K"),
        (TWO, [*CAT, "--goal", "top:2"], "there are 2 items; give 1 to 1"),
        (TWO, [*CAT, "--max-cost", "1"], "--max-cost needs prices"),
        (TWO, [*CAT, "--criterion", "x"], "is not NAME=TEXT"),
        (TWO, [*CAT, "--reference", "r"], "no column 'r'; there are id, text"),
        (TWO, ["--question", "Q?", "--base-url", "x/v1", "--model", "m"], "begins with http"),
        (TWO, [*MODEL, "--extra-body", "["], "no JSON"),
        (TWO, [*MODEL, "--prompt", "none.txt"], "none.txt: No such file or directory; check the path"),
        (TWO, [*CAT, "--temperature", "1"], "--temperature is for a model behind a server; leave it out"),
        (TWO, [*CAT, "--header", "a=b"], "--header is for a model behind a server"),
        (TWO, [*CAT, "--against", "none.db:x"], "no such file: none.db"),
        ("id,answer\na,x\nb,y\n", CAT, "has no column text or body; name the one that is shown by --text (answer)"),
        (TWO, [*MODEL, "--header", "é"], "--header"),
    ],
)
def test_bad_input_is_one_sentence(table, args, words, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text(table)
    code, out, err = call(capfd, "items.csv", *args)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("podium: ")


def test_items_are_needed_and_labels_are_shown_on_request(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(capfd, *CAT)
    assert (code, "the ITEMS are missing; give a table, a folder or a campaign's file, or --server" in err) == (2, True)
    Path("items.csv").write_text("id,answer\na,x\nb,y\n")
    code, out, _ = call(capfd, "items.csv", *CAT, "--dry-run", "--text", "id")
    assert (code, json.loads(out)["left"]) == (0, "a")
    Path("labels.csv").write_text("id\na\nb\n")
    code, out, _ = call(capfd, "labels.csv", *CAT, "--dry-run")
    assert (code, json.loads(out)["left"]) == (0, "a")


def test_a_bad_prompt_file_and_bad_gold_are_named_before_any_call(items, capfd):
    _, _, model = items(4)
    with Server(model) as server:
        for text, words in (("{{ left }}", "{{ right }}"), ("{{ left }}{{ right }}{{ foo }}", "{{ foo }}")):
            with open("prompt.txt", "w") as file:
                file.write(text)
            code, _, err = call(capfd, "items.csv", *to(server), "--prompt", "prompt.txt")
            assert (code, words in err) == (2, True)
        with open("gold.csv", "w") as file:
            file.write("winner,loser\nitem-0,nobody\n")
        code, _, err = call(capfd, "items.csv", *to(server), "--gold", "gold.csv")
        assert (code, "row 1: there is no item 'nobody'" in err) == (2, True)
        assert not server.requests
    assert not os.path.exists("items.podium.db")


def test_the_servers_words_about_a_parameter_come_back(items, capfd):
    _, _, model = items(4)
    act = lambda body, number: (400, {}, {"error": {"message": f"temperature {body['temperature']} is above 2"}})  # noqa: E731
    with Server(model, act) as server:
        code, _, err = call(capfd, "items.csv", *to(server), "--temperature", "2.5", "--preset", "quick")
    assert code != 0
    assert "rejected by the server" in err or "temperature 2.5 is above 2" in err


def test_rank_takes_a_models_help(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    labels = "abcdef"
    pairs = [(a, b) for a in labels for b in labels if a < b]
    Path("people.csv").write_text("winner,loser\n" + "".join(f"{a},{b}\n" for a, b in pairs[:8]) + "b,f\nf,a\n")
    Path("model.csv").write_text("winner,loser\n" + "".join(f"{a},{b}\n" for a, b in pairs))
    with pytest.raises(SystemExit) as stop:
        run(["rank", "people.csv", "--assist", "model.csv", "--format", "csv"])
    out, err = capfd.readouterr()
    assert stop.value.code == 0, err
    frame = pl.read_csv(out.encode())
    assert set(frame["item"]) == set(labels)
    assert (frame["lower"] < frame["score"]).all()
    assert "9 pairs judged by people and the model, 6 pairs by the model alone" in err
    assert "intervals are a little too narrow" in err
    for more, words in (
        (["--method", "elo"], "--method has no use beside --assist"),
        (["--by", "x"], "--by has no use"),
    ):
        with pytest.raises(SystemExit) as stop:
            run(["rank", "people.csv", "--assist", "model.csv", *more])
        assert stop.value.code == 2
        assert words in capfd.readouterr().err


def test_the_bundled_model_judges_the_bundled_essays(tmp_path):
    examples = Path(__file__).parents[2] / "examples"
    command = [sys.executable, str(examples / "simulated_model.py"), sys.executable, "-m", "podium", "judge"]
    command += [str(examples / "street-essays.csv"), "--db", "e.db", "--question", "Better?", "--base-url", "URL"]
    command += ["--model", "simulated", "--budget", "30", "--seed", "1", "--anyway"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert "60 calls" in ended.stderr
    assert ended.stdout.count("\n") == len(pl.read_csv(examples / "street-essays.csv")) + 1


@pytest.mark.parametrize(("words", "code", "said"), [
    (["--help"], 0, "podium judge essays.csv"), ([], 1, "give a command, with URL in it"),
    (["--budget", "3"], 1, "give a command, with URL in it"),
    (["no-such-command", "URL"], 1, "there is no command 'no-such-command'"),
])  # fmt: skip
def test_the_bundled_model_explains_itself(words, code, said):
    script = Path(__file__).parents[2] / "examples" / "simulated_model.py"
    ended = subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, said in ended.stdout + ended.stderr) == (code, True), ended.stderr
    assert "Traceback" not in ended.stderr


def test_progress_tells_no_more_than_is_left():
    """Until stable where that is within the pairs allowed, else the time of all that are left."""
    from podium.cli.judge_words import _words
    from podium.judge.settings import Progress

    now = Progress(pairs=50, limit=100, calls=100, here=100, seconds=50.0, until_stable=20)
    assert _words(now).endswith("about 20 pairs or more until stable, 20 s")
    now.until_stable = 400
    assert _words(now).endswith("at most 50 s more")
    now.orders = 1
    assert _words(now).endswith("at most 25 s more")
    now.pairs = 100
    assert _words(now) == "100 of at most 100 pairs; 100 calls (2.0/s, 0 out)"


def test_calls_that_nobody_heard_are_no_figures(capfd):
    from podium.cli.judge_words import tell

    tally = SimpleNamespace(words=lambda: ["not parsed 0.0 %; 80 calls"], length=None)
    ended = SimpleNamespace(tally=tally, path=None, judge="m", words="nothing was ever answered", why="unheard")
    tell(None, ended, None)
    assert capfd.readouterr().err.splitlines() == ["m: nothing was ever answered"]
    ended.why = "gone"
    tell(None, ended, None)
    assert "80 calls" in capfd.readouterr().err
