"""Every command of the command line, its arguments and options drawn at random from what click says about them.

A new command or option is covered without a word here, as long as its name tells what kind of file it wants.
"""

import contextlib
import functools
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

import click
import numpy as np

from fuzz import inputs
from fuzz.inputs import LEVEL, odd, pick, value

COLUMNS = ("winner", "loser", "left", "right", "outcome", "left_wins", "right_wins", "tie_count", "margin", "ranking",
           "weight", "count", "judge", "group", "delimiter", "by", "covariates", "anchor", "title", "left_goals", "right_goals",
           "item", "rank", "rank_columns", "server")  # fmt: skip
TIMED = (
    ("--method", "dynamic"),
    ("--half-life", "90d"),
    ("--method", "elo"),
    ("--method", "dynamic", "--ties", "davidson"),
    (),
)
HEAVY = ("n", "runs", "replicates", "folds", "passes")  # options whose size is work asked for, not a mistake
# A judge that needs no Python: the first item wins.
FIRST_WINS = """sed -u 's/^{"id": \\("[^"]*"\\).*/{"id": \\1, "outcome": 1}/'"""
WORDS = {
    "winner": ("winner", "left", "x"), "id": ("id", "f", "x"), "label": ("grade", "f", "id"), "low": ("low", "f"),
    "high": ("high", "f"), "labels": ("tag_*", "*", "f"), "ids": ("id", "f"), "covariates": ("x", "weight", "left"),
    "loss": ("sum@2", "prec@1", "ndcg@3", "x@0", "sum@99999999999"), "at": ("1,2", "0", "-1", "a", "1,,2", "99999999999999999999"),
    "metric": ("ndcg", "ap", "rr", "ndcg@10", "p@0", "x", "p@99999999999999999999"), "by": ("judge", "x", "left"),
    "anchor": ("i0=0", "i0", "i0=nan", "i0=1e400", "=", "i0=1,i1=2"), "delimiter": (",", ";", "", "ab", "\n", '"', "é"),
    "bins": ("1.5", "2,1", "a", "", "0,1,2"), "classes": ("1,2,3", "1", "", "3,2,1", "a,b"), "text_column": ("id", "f", "x"), "text": ("id", "f", "x"),
    "db": ("campaign.db", "no.db", "", "no/campaign.db", ".", "postgresql://127.0.0.1:1/x", "table0.csv"), "name": ("tea", "x", "", "Tea"),
    "cluster": ("local:0", "", "x", "tcp://", "tcp://h:x", "local:9999999999"), "cluster_ca": ("x",),
    "named": ("cy", "ann", "", "\u202e", "x" * 300), "names": ("cy", "ann", "", "\u202e", "x" * 300), "url": ("http://x", "", "x y"),
    "base_url": ("http://127.0.0.1:1/v1", "", "x y", "127.0.0.1"), "command": (FIRST_WINS, "true", "cat", "", "'", "no-such-program"), "goal": ("order", "top:2", "top:0", "x"),
    "time": ("when", "x", "left"), "half_life": ("90d", "3", "2w", "x", "-1", "0d", "inf", "1e400", "9e99y"), "drift": ("auto", "0.1", "0", "-1", "x"),
    "sd": ("auto", "1", "0", "nan"), "max_norm": ("1,1", "0,1", "1", "x", "nan,1", "1e300,1e-300"), "C": ("auto", "1", "0", "x", "1e300"),
    "marks": ("0:100", "6:1", "1:1", "x", "nan:1", "0:1e400", "-1e300:1e300"), "boundaries": ("A=70,B=55", "A=1", "=", "A=nan", "A=55,B=70", "A=1,A=0"),
    "points": ("3,1,0", "1", "x", "nan,0,0", "1e300,1,0", "0,0,0"), "row_weights": ("f", "x", "id"), "reference": ("mean", "i0", "weighted-mean", "", "x"),
    "campaign": ("tea", "x", ""),
    "criteria": ("a=b", "a", "="), "against": ("campaign.db:ann", "x", ":"), "extra_body": ("{}", "[]", "{"), "headers": ("X-A=b", "=", "é=1"),
}  # fmt: skip


def leaves(command=None, name=()):
    """All commands that do something, by their words."""
    from podium.cli import main

    command = main if command is None else command
    if not isinstance(command, click.Group):
        return {" ".join(name): command}
    context = click.Context(command)
    found = {}
    for word in command.list_commands(context):
        found |= leaves(command.get_command(context, word), (*name, word))
    found.pop("serve", None)  # it runs until it is stopped: tests/web asks it
    return found


def votes(rng, folder, name):
    return inputs.table_file(
        rng, folder, inputs.vote_columns(rng, int(rng.integers(0 if odd(rng, 0.2) else 12, 30))), name
    )


def examples(rng, folder, name):
    if rng.random() < 0.1:
        rows = [f"{rng.integers(3)},{rng.integers(3)} 0:{rng.normal():.2f} {rng.integers(5)}:1" for _ in range(6)]
        return inputs.lines_file(rng, folder, f"{name}.svm", rows)
    return inputs.table_file(
        rng, folder, inputs.feature_columns(rng, int(rng.integers(0 if odd(rng, 0.2) else 12, 30))), name
    )


def new_items(rng, folder, name):
    """Items that the campaign does not have yet, most often."""
    table = inputs.feature_columns(rng, int(rng.integers(0 if odd(rng, 0.2) else 1, 5)), grades=False)
    if "id" in table and not odd(rng, 0.3):
        table["id"] = [f"new {each}" for each in table["id"]]
    return inputs.table_file(rng, folder, table, name)


def items(rng, folder, name):
    return inputs.table_file(
        rng, folder, inputs.feature_columns(rng, int(rng.integers(0 if odd(rng, 0.2) else 5, 8)), grades=False), name
    )


def qrels(rng, folder, name):
    rows = [
        f"q{rng.integers(3)} 0 d{rng.integers(6)} {pick(rng, (-1, 'x', 1e9, 0.5)) if odd(rng, 0.2) else rng.integers(3)}"
        for _ in range(8)
    ]
    return inputs.lines_file(
        rng,
        folder,
        f"{name}.qrels",
        dict.fromkeys(rows) if odd(rng, 0.3) else {row.rpartition(" ")[0]: row for row in rows}.values(),
    )


def run_file(rng, folder, name):
    rows = [
        f"q{rng.integers(3)} Q0 d{k} {k + 1} {pick(rng, (-1, 'nan', 'inf', 1e308)) if odd(rng, 0.2) else rng.integers(5)} tag"
        for k in range(8)
    ]
    return inputs.lines_file(rng, folder, f"{name}.run", rows)


def model(rng, folder, name, command=""):
    """A model that fits the command, most often, and is whole, most often."""
    import podium
    from podium.ordinal import PassiveAggressiveOrdinal
    from podium.ordinal.grading.grader import Grader

    from suites.models import MODELS

    path = folder / f"{name}.podium"
    X = np.arange(24.0).reshape(12, 2) % 5
    if odd(rng, 0.3):
        made = MODELS[pick(rng, list(MODELS))][0]()
    elif command.startswith("grade"):
        made = Grader.empty(["f", "g"], PassiveAggressiveOrdinal(classes=[1, 2, 3]))
        made.learn(X, np.arange(12) % 3 + 1)
    elif command.startswith("label"):
        rows = [f"{k % 5},{k % 3},{k % 2},{(k + 1) % 2},1" for k in range(12)]
        (folder / "train.csv").write_text("\n".join(["f,g,tag_a,tag_b,tag_c", *rows]))
        called(["label", "fit", str(folder / "train.csv"), "--labels", "tag_*", "--save", str(path)])
        made = None
    else:
        features = {f"i{k}": {"f": float(row[0]), "g": float(row[1])} for k, row in enumerate(X)}
        made = podium.RABF().fit(
            podium.Comparisons.from_pairs([("i0", "i1"), ("i1", "i2"), ("i2", "i0")] * 4), features
        )
    if made is not None:
        podium.save(made, path)
    if odd(rng, 0.5):
        path.write_bytes(inputs.damaged(rng, path.read_bytes()))
    return path


def log(rng, folder, name):
    path = folder / f"{name}.jsonl"
    if odd(rng, 0.6):
        head = {
            "podium": "interview",
            "version": "0",
            "format": 1,
            "items": "x",
            "n": 3,
            "seed": 1,
            "preset": "quick",
            "options": {},
        }
        head[pick(rng, list(head))] = pick(rng, (None, -1, "x", [], {}, 1e400, 10**30))
        rows = [
            head,
            {"podium": "ask", "max_pairs": value_of_json(rng), "pairs": "0"},
            {"left": "i0", "right": value_of_json(rng), "outcome": value_of_json(rng)},
        ]
        inputs.lines_file(rng, folder, path.name, [json.dumps(row) for row in rows])
    return path


def value_of_json(rng):
    return pick(rng, (None, 1, 0, 0.5, -1, "i0", "i1", "", [], {}, True, 1e400, 10**30, "\ud800"))


@functools.cache
def campaign():
    """The files of a small campaign: the database, and all that can be taken out of it."""
    rows = [f"i{a},i{(a + b) % 6},{1 - b % 2},{judge}" for judge in ("ann", "bob") for a in range(6) for b in (1, 2, 3)]
    with tempfile.TemporaryDirectory(prefix="podium-fuzz-") as place, contextlib.chdir(place):
        folder = pathlib.Path(place)
        (folder / "items.csv").write_text("id,f,text\n" + "".join(f"i{k},{k},text {k}\n" for k in range(6)))
        (folder / "votes.csv").write_text("\n".join(["left,right,outcome,judge", *rows]))
        for words in (
            "new items.csv --title Tea --question Which? --judge ann --seed 1", "import votes.csv", "export all -o all.zip",
            "export journal -o journal.jsonl",
        ):  # fmt: skip
            code, _, told = called(["campaign", *words.split()])
            assert code is None or code == 0, told
        return {name: (folder / name).read_bytes() for name in ("campaign.db", "all.zip", "journal.jsonl", "votes.csv")}


def imported(rng, folder, name):
    """What `campaign import` takes in: votes, a journal, a whole campaign."""
    if rng.random() < 0.4:
        return votes(rng, folder, name)
    kind = pick(rng, ("all.zip", "journal.jsonl", "votes.csv"))
    path = folder / kind
    path.write_bytes(inputs.damaged(rng, campaign()[kind]) if odd(rng, 0.5) else campaign()[kind])
    return path


def put_campaign(rng, folder):
    """The database that a command on campaigns opens, most often whole."""
    from fuzz.stored import spoil_rows

    path = folder / "campaign.db"
    path.write_bytes(inputs.damaged(rng, campaign()["campaign.db"]) if odd(rng, 0.2) else campaign()["campaign.db"])
    if odd(rng, 0.3):
        with contextlib.suppress(sqlite3.DatabaseError):
            spoil_rows(rng, path)


def fixtures(rng, folder, name):
    """Games to come between items of the models above, most often."""
    items = [f"i{k}" for k in range(4)] if not odd(rng, 0.3) else inputs.labels(rng, 4)
    pairs = [(items[k], items[(k + step) % 3]) for k in range(3) for step in (1, 2)]
    table = {"left": [one for one, _ in pairs], "right": [other for _, other in pairs]}
    if rng.random() < 0.3:
        table["when"] = inputs.times(rng, len(pairs))
    return inputs.table_file(rng, folder, table, name)


def known_marks(rng, folder, name):
    count = int(rng.integers(0, 4)) if odd(rng, 0.3) else 3
    table = {"item": [f"i{k}" for k in range(count)], "mark": [20.0 * k for k in range(count)]}
    if count and odd(rng, 0.4):
        table[pick(rng, list(table))][int(rng.integers(count))] = value(rng)
    return inputs.table_file(rng, folder, table, name)


def prompt(rng, folder, name):
    text = pick(
        rng, ("{{ left }} or {{ right }}?", "{{ left }}", "{% for", "{{ 1 // 0 }}", "{{ left.x.y }} {{ right }}", "")
    )
    return inputs.lines_file(rng, folder, f"{name}.txt", [text])


def board(rng, folder, name):
    """A leaderboard written before."""
    if rng.random() < 0.5:
        return model(rng, folder, name)
    items = [f"i{k}" for k in range(5)]
    table = {"rank": list(range(1, 6)), "item": items, "score": inputs.numbers(rng, 5)}
    table |= {} if rng.random() < 0.5 else {"lower": [-1.0] * 5, "upper": [1.0] * 5}
    if odd(rng, 0.4):
        table[pick(rng, list(table))][int(rng.integers(5))] = value(rng)
    return inputs.table_file(rng, folder, table, name)


FILES = {
    "votes": votes, "tables": examples, "table": examples, "items": items, "features": items, "qrels": qrels,
    "runs": run_file, "model": model, "log": log, "first": votes, "second": votes, "file": imported, "fixtures": fixtures,
    "assist": votes, "since": board, "played": votes, "known_marks": known_marks, "gold": votes, "prompt": prompt,
}  # fmt: skip


def argument(rng, folder, parameter, command, k=0):
    """A file for an argument, or another word in its place."""
    name = f"{parameter.name}{k}"
    if isinstance(parameter.type, click.Choice):
        return "other" if odd(rng, 0.1) else pick(rng, parameter.type.choices)
    if parameter.name == "names":
        return WORDS["names"][0] + str(k) if not odd(rng, 0.5) else pick(rng, WORDS["names"])
    if odd(rng, 0.05):
        return pick(rng, ("", "-", "absent.csv", str(folder), "/dev/null", "*.csv", "é" * 300))
    if parameter.name == "model":
        return str(model(rng, folder, name, command))
    if command == "campaign add-items":
        return str(new_items(rng, folder, name))
    return str(FILES.get(parameter.name, votes)(rng, folder, name))


def option(rng, folder, parameter, command):
    """Words for one option."""
    flag = parameter.opts[-1]
    if getattr(parameter, "is_flag", False):
        return [pick(rng, (*parameter.opts, *parameter.secondary_opts))]
    kind = parameter.type
    if command.startswith("campaign") and parameter.name in ("features", "label", "instructions"):
        if parameter.name == "instructions":
            return [flag, str(inputs.lines_file(rng, folder, "instructions.txt", ["Take your time."]))]
        return [
            flag,
            pick(rng, ("f", "id,f", "x", ",", "")) if odd(rng, 0.5) else {"label": "id"}.get(parameter.name, "f"),
        ]
    if parameter.name in ("features", "log", "fixtures", "assist", "since", "played", "known_marks", "gold", "prompt"):
        return [flag, argument(rng, folder, parameter, command)]
    if parameter.name == "model" and isinstance(kind, click.Path):
        return [flag, argument(rng, folder, parameter, command)]
    if isinstance(kind, click.Path):
        usual = {"plot": ("png", "svg"), "report": ("html",), "save": ("podium",)}.get(
            parameter.name, ("csv", "json", "parquet") if command != "campaign export" else ("csv", "jsonl", "zip")
        )
        if odd(rng, 0.2):
            return [flag, pick(rng, (str(folder / "no" / "x"), "", str(folder), str(folder / "x.y")))]
        return [flag, str(folder / f"out-{parameter.name}.{pick(rng, usual)}")]
    if isinstance(kind, click.Choice):
        return [flag, "other" if odd(rng, 0.1) else pick(rng, kind.choices)]
    if isinstance(kind, click.types.IntParamType):
        if parameter.name == "n":
            return [flag, pick(rng, ("2", "x", "20001")) if odd(rng, 0.2) else pick(rng, ("3", "4", "9", "17"))]
        if not odd(rng, 0.5):
            return [flag, pick(rng, ("2", "3"))]
        sizes = ("1", "5", "8", "0", "-1", "x", "1.5", "")
        return [flag, pick(rng, sizes if parameter.name in HEAVY else (*sizes, "1000000", "9" * 25))]
    if isinstance(kind, click.types.FloatParamType):
        if not odd(rng, 0.5):
            return [flag, pick(rng, ("0.5", "0.9", "0.6"))]
        return [flag, pick(rng, ("0", "1", "1e-9", "100", "-1", "nan", "inf", "1e308", "1e-320", "x", ""))]
    words = WORDS.get(parameter.name, (parameter.name,))
    if not odd(rng, 0.5):
        return [flag, words[0]]
    return [flag, pick(rng, words) if rng.random() < 0.7 else inputs.as_text(value(rng))]


def is_idle(name, parameter):
    """Whether an option is refused with a program as judge, which is the judge here."""
    from podium.cli.judge_options import FOR_MODELS

    return name == "judge" and parameter.name in (*FOR_MODELS, "model", "base_url")


def line(rng, folder, name, command):
    """A whole command line for `command`."""
    words = name.split()
    share = pick(rng, (0.0, 0.05, 0.2))
    ranges = rng.random() < 0.3
    timed = rng.random() < 0.2 and {"time", "method"} <= {parameter.name for parameter in command.params}
    if timed:
        words += ["--time", "when"] if name != "rank" else [*pick(rng, TIMED), "--time", "when"]
    for parameter in command.params:
        if timed and parameter.name in ("time", "method", "half_life"):
            continue
        if isinstance(parameter, click.Argument):
            count = 1 if parameter.nargs == 1 or not odd(rng, 0.3) else 2
            words += [argument(rng, folder, parameter, name, k) for k in range(count)]
            continue
        column = isinstance(parameter.type, click.types.StringParamType) and parameter.name in COLUMNS
        if column and not parameter.required and not odd(rng, 0.1):
            continue
        needed = parameter.required or parameter.name in HEAVY or parameter.name in ("labels", "ids")
        if (
            (
                name.startswith("grade")
                and {"label": not ranges, "low": ranges, "high": ranges}.get(parameter.name, False)
            )
            or needed
            or (name == "grade fit" and parameter.name == "save" and not odd(rng, 0.2))
            or (name == "judge" and parameter.name in ("question", "command", "text"))
            or (rng.random() < share * (0.3 + LEVEL[0]) and not (is_idle(name, parameter) and not odd(rng, 0.1)))
        ):
            words += option(rng, folder, parameter, name)
    return words


def called(words, keys=""):
    """Run in this process, as `podium` itself does: exit code, standard output and error."""
    from click.testing import CliRunner

    from podium.cli import run

    runner = CliRunner()
    with runner.isolation(input=keys) as streams:
        code = None
        try:
            run(words)
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
        out, err = streams[0].getvalue(), streams[1].getvalue()
    return code, out, err.decode("utf-8", "replace")


def judge(words, code, out, err):
    """What is wrong with how a command ended; None where nothing is."""
    if "Traceback" in err or "Exception ignored" in err:
        return f"a traceback: {err[-2000:]}"
    if code not in (0, 1, 2):
        return f"exit code {code}"
    last = [text for text in err.split("\n") if text.strip()][-1:]
    if code == 2 and not (last and (last[0].startswith("podium: ") or "--help" in err or "Usage" in err)):
        return f"exit code 2 without a last line that says why: {err[-500:]!r}"
    foreign = [
        text for text in err.splitlines() if text.startswith("warning: ") and "Warning: " in text.split(" ", 2)[1] + " "
    ]
    if foreign:
        return f"a warning that is not ours: {foreign[0]}"
    if code == 0 and "json" in words and "--format" in words and "-o" not in words and "--output" not in words:
        json.loads(out, parse_constant=lambda text: (_ for _ in ()).throw(AssertionError(f"{text} in JSON output")))
    return None


def fuzz_command(name):
    command = leaves()[name]

    def one(rng, folder):
        words = [word.replace("\x00", "") for word in line(rng, folder, name, command)]  # no word of a shell holds NUL
        keys = "".join(pick(rng, "12=surq \nx\x1b") for _ in range(int(rng.integers(0, 12)))) if name == "ask" else ""
        if name.startswith("campaign ") and name != "campaign new" and not odd(rng, 0.05):
            put_campaign(rng, folder)
        with contextlib.chdir(folder):
            ended = called(words, keys)
        if wrong := judge(words, *ended):
            raise AssertionError(f"podium {' '.join(map(repr, words))}: {wrong}")
        return "done" if ended[0] == 0 else "refused"

    return one


def fuzz_process(rng, folder):
    """The same in a process of its own, where standard streams are real."""
    every = leaves()
    name = pick(rng, [name for name in every if name != "simulate"])
    words = [word.replace("\x00", "") for word in line(rng, folder, name, every[name])]
    command = [sys.executable, "-X", "faulthandler", "-m", "podium", *words]
    ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
    if wrong := judge(words, ended.returncode, ended.stdout, ended.stderr.decode("utf-8", "replace")):
        raise AssertionError(f"podium {' '.join(map(repr, words))}: {wrong}")
    return "done" if ended.returncode == 0 else "refused"


def targets():
    return {name: fuzz_command(name) for name in leaves()} | {"process": fuzz_process}
