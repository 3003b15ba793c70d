"""Rewrite every marked block of README and docs from the kept results, with the day and commit of each.

python -m benchmarks.figures           rewrite; nothing is measured (benchmarks.measure does both)
python -m benchmarks.figures --check   only say which blocks are stale

A block stands between `<!-- figures:NAME -->` and `<!-- /figures -->`, and is one of two kinds:

    figures:speed                                   a table made here from benchmarks/results/*.json
    figures: python -m benchmarks.judge bias        the tables that this command printed (benchmarks/results/printed),
    figures: python -m benchmarks.judge bias; 2     or one of them, with the day, the commit and the command beneath

`python -m benchmarks.measure` runs the commands and keeps both; a test holds every block to what is kept.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import printed

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "results"
PICTURE = ROOT / "docs" / "benchmarks-ratios.png"
BLOCK = re.compile(r"(<!-- figures:(.+?) -->\n)(.*?)(<!-- /figures -->)", re.DOTALL)
COMMAND = re.compile(r"\s*python -m ([^;]+?)(?:; (\d+))?")
PAGES = tuple(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if "<!-- figures:" in path.read_text(encoding="utf-8")
)
FAMILIES = {
    "pairwise": "Votes", "rankings": "Rankings", "rabf": "Votes with features, judges, covariates", "active": "Asking",
    "metrics": "Ranking metrics", "ordinal": "Grades", "multilabel": "Label rankers", "store": "Campaigns",
    "app": "The app",
}  # fmt: skip

# README's tables: scenario, what it is, the ways to name beside ours and what to call them.
SPEED = (
    ("pairwise", "arrays", "130 items × 1.7M votes, integer arrays to scores", {
        "three sums over the arrays": "to read the arrays", "choix, dense, after a bincount": "choix",
        "scikit-learn on counted pairs": "scikit-learn on counted pairs"}),
    ("pairwise", "frame", "the same, strings in a frame", {
        "FastChat way, pandas frame": "FastChat's way", "arena-rank, pandas frame, compiled": "arena-rank"}),
    ("pairwise", "lists", "the same, Python lists of strings", {"evalica": "evalica"}),
    ("pairwise", "chain", "10k items in a chain, 1M votes", {
        "scikit-learn newton-cg on counted pairs": "scikit-learn newton-cg on counted pairs, with a small gap"}),
    ("pairwise", "million-items", "1M items × 10M votes", {
        "scikit-learn lbfgs, one row a vote": "scikit-learn lbfgs, far from the optimum",
        "scikit-learn liblinear, one row a vote": "LIBLINEAR"}),
    ("pairwise", "bootstrap", "100 bootstrap refits, 130 × 1.7M", {"FastChat way": "FastChat's way"}),
    ("pairwise", "one-by-one", "100k games one at a time (Elo)", {"elote, Elo": "elote"}),
    ("active", "kemeny-20", "exact order of least disagreement, 20 items", {"corankco, exact": "corankco"}),
    ("metrics", "queries", "AP, nDCG@10 and reciprocal rank of 20,000 queries", {
        "pytrec_eval": "pytrec_eval", "ir_measures": "ir_measures", "ranx, compiled": "ranx"}),
    ("ordinal", "graded-california", "cumulative logit on California housing", {
        "mord LogisticAT": "mord", "mord OrdinalRidge": "mord's ridge, larger error"}),
)  # fmt: skip
ASKING = (
    ("ask-100", "15 for each of 100 items", {
        "Crowd-BT-driven": "Crowd-BT", "TrueSkill-driven": "TrueSkill-driven",
        "ASAP, approximate": "ASAP (approximate)",
        "uniform + Bradley–Terry": "random pairs + Bradley–Terry"}),
    ("ask-10k", "31 for each of 10,000 items", {"uniform + Bradley–Terry": "random pairs + Bradley–Terry"}),
)  # fmt: skip


def kept(family: str) -> dict[str, Any]:
    """The results of a family, by scenario."""
    path = RESULTS / f"{family}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: entry for name, entry in found.items() if isinstance(entry, dict) and "results" in entry}


def time_of(seconds: float) -> str:
    """CPU time in as many digits as it deserves."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"


def times(ratio: float) -> str:
    """How many times as long."""
    return f"{ratio:.3g}×" if ratio < 99.5 else f"{ratio:,.0f}×"


def when(entries: list[dict[str, Any]]) -> str:
    """Days and commits of results, each once: `2026-11-16: 70bc1ee, 43b051e`."""
    days: dict[str, list[str]] = {}
    for entry in entries:
        commits = days.setdefault(entry.get("date", "day not kept"), [])
        commit = entry.get("commit", "commit not kept")
        commits += [] if commit in commits else [commit]
    return "; ".join(f"{day}: {', '.join(commits)}" for day, commits in sorted(days.items()))


# ---- blocks ---------------------------------------------------------------------------------------------------------


def speed() -> str:
    """README's table of times."""
    lines, used = ["| Work | Podium | Others |", "|---|---|---|"], []
    for family, name, title, named in SPEED:
        entry = kept(family)[name]
        used.append(entry)
        ours, *others = entry["results"]
        ways = {row["way"]: row for row in others}
        told = "; ".join(f"{word} {_time_or_problem(ways.get(way))}" for way, word in named.items())
        memory = f", {ours['megabytes']:.0f} MB" if name == "million-items" else ""
        lines.append(f"| {title} | {time_of(ours['seconds'])}{memory} | {told} |")
    return "\n".join([*lines, "", f"Measured {when(used)} (a + marks a tree with changes).", ""])


def label_defaults() -> str:
    """The table of docs/multilabel.md: defaults beside those of others."""
    from benchmarks.label_defaults import table

    return table(json.loads((RESULTS / "label-defaults.json").read_text(encoding="utf-8")))


def _time_or_problem(row: dict[str, Any] | None) -> str:
    """The time of a way, or why there is none."""
    if row is None:
        return "(not measured)"
    return f"({row['problem']})" if row["seconds"] is None else time_of(row["seconds"])


def asking() -> str:
    """README's table of costs after so many questions."""
    lines, used = ["| Questions | Podium | Others, with as many |", "|---|---|---|"], []
    for name, title, named in ASKING:
        entry = kept("active")[name]
        used.append(entry)
        ours, *others = entry["results"]
        ways = {row["way"]: row for row in others}
        told = "; ".join(f"{word} {cost_of(ways[way])}" for way, word in named.items() if ways[way]["quality"])
        lines.append(f"| {title} | {cost_of(ours)}, in {time_of(ours['seconds'])} | {told} |")
    return "\n".join([*lines, "", f"Measured {when(used)}.", ""])


def cost_of(row: dict[str, Any]) -> str:
    """The cost of an order from the words that its benchmark keeps."""
    found = re.match(r"cost ([\d.]+) × the hidden order's", row["quality"])
    if found is None:
        raise SystemExit(f"no cost in {row['quality']!r}")
    return found[1]


def rivals() -> list[tuple[str, str, str, dict[str, Any], dict[str, Any]]]:
    """Every other package measured: family, scenario, title, its row, and the entry it stands in."""
    return [
        (family, name, entry["title"], row, entry)
        for family in FAMILIES
        for name, entry in kept(family).items()
        for row in entry["results"][1:]
        if row["ratio"] and not row["way"].startswith(("podium", "floor", "three sums"))
    ]


def summary() -> str:
    """By family: how many times as long other ways took, and which of them were faster."""
    found = rivals()
    ratios = [row["ratio"] for *_, row, _ in found]
    measured = [(row["ratio"] or row.get("more_than"), row["reach"]) for row in _with_aims()]
    aims = [ratio >= reach for ratio, reach in measured if ratio]
    lines = [
        f"Of {len(found)} measurements of other ways, {sum(ratio > 1 for ratio in ratios)} took longer than Podium; "
        f"the median took {times(statistics.median(ratios))} as long.",
        f"Of {len(aims)} aims that we set ourselves and measured, {sum(aims)} are reached.", "",
        "| Family | Other ways | Times as long, median | Range |", "|---|--:|--:|--:|",
    ]  # fmt: skip
    faster = []
    for family, title in FAMILIES.items():
        rows = [row for name, *_, row, _ in found if name == family]
        if not rows:
            continue
        those = sorted(row["ratio"] for row in rows)
        span = f"{times(those[0])} to {times(those[-1])}" if len(those) > 1 else ""
        lines.append(f"| {title} | {len(those)} | {times(statistics.median(those))} | {span} |")
        if names := dict.fromkeys(_short(row) for row in rows if row["ratio"] < 1):
            faster.append(f"- {title}: {', '.join(names)}")
    if faster:
        lines += ["", "Faster than Podium:", "", *faster]
    return "\n".join([*lines, "", f"Measured {when([entry for *_, entry in found])}.", ""])


def _short(row: dict[str, Any]) -> str:
    """A faster way in few words, and what its speed costs where that was measured."""
    worse = row["gap"] is not None and row["gap"] > 1e-4
    return row["way"].partition(",")[0] + (" (a worse fit)" if worse else "")


def _with_aims() -> list[dict[str, Any]]:
    """Every row with a ratio that we aim at."""
    entries = (entry for family in FAMILIES for entry in kept(family).values())
    return [row for entry in entries for row in entry["results"] if row.get("reach")]


def missed() -> list[str]:
    """Every aim that is not reached, in a line of Markdown."""
    ratios, limits = [], []
    for family in FAMILIES:
        for name, entry in kept(family).items():
            head = f"- {entry['title']} (`{name}`): "
            ratios += [
                f"{head}{row['way']} {times(row['ratio'])}, wanted at least {_wanted(row['reach'])}"
                for row in entry["results"]
                if row.get("reach") and row["ratio"] is not None and row["ratio"] < row["reach"]
            ]
            ours = entry["results"][0]["seconds"]
            if entry.get("limit") and ours > entry["limit"]:
                limits.append(f"{head}{time_of(ours)}, wanted at most {entry['limit']:g} s")
    return ratios + limits


def _wanted(reach: float) -> str:
    return f"{reach:g}×" if reach >= 1 else f"1/{1 / reach:g}×"


# ---- blocks of the other pages ---------------------------------------------------------------------------------------


def penalty() -> str:
    """What the default costs beside a fixed penalty."""
    entries = [kept("pairwise")[name] for name in ("penalty", "penalty-many")]
    few, many = (entry["results"][1]["ratio"] for entry in entries)
    return (
        f"The default takes the penalty from the votes: {few:.2g} times as long from votes to scores at 130 × 1.7M, "
        f"{many:.2g} times at 10k × 1M\n"
        f"(measured {when(entries)}; `python -m benchmarks.run --only penalty penalty-many`).\n"
    )


def side_by_side(family: str, names: dict[str, str], ways: dict[str, str]) -> str:
    """Scenarios as columns, ways as rows: the time of each, and how many times ours."""
    entries = {name: kept(family)[name] for name in names}
    lines = ["| |" + "".join(f" {title} |" for title in names.values()), "|---|" + "---|" * len(names)]
    for way, title in ways.items():
        cells = []
        for entry in entries.values():
            row = next(each for each in entry["results"] if each["way"] == way)
            ours = row is entry["results"][0]
            cells.append(_time_or_problem(row) + ("" if ours or row["ratio"] is None else f" ({times(row['ratio'])})"))
        lines.append(f"| {title} |" + "".join(f" {cell} |" for cell in cells))
    return "\n".join([*lines, "", f"Measured {when(list(entries.values()))}.", ""])


def queries() -> str:
    """Metrics of many queries, beside other packages."""
    ways = ("pytrec_eval", "ir_measures", "ranx, compiled")
    return side_by_side(
        "metrics", {"queries": "CPU"}, {"podium": "`ranking_report`"} | {way: way.partition(",")[0] for way in ways}
    )


def run_tests() -> str:
    """Tests between runs, beside ranx."""
    names = {"tests-student": "paired t test", "tests-permutation": "randomisation test, 1,000 patterns"}
    return side_by_side("metrics", names, {"podium": "`compare_runs`", "ranx, compiled": "ranx, compiled"})


def streaming() -> str:
    """Label rankings learned one at a time, beside river."""
    entry = kept("multilabel")["streaming"]
    ours, river = entry["results"]
    return (
        f"On 1,000 examples of 20 features and 10 labels it takes {time_of(ours['seconds'])} of CPU, river's chain "
        f"{time_of(river['seconds'])} ({times(river['ratio'])};\n"
        f"measured {when([entry])} by `python -m benchmarks.run --only streaming`).\n"
    )


def grades() -> str:
    """Error and time of models of grades on public data."""
    names = {"graded-abalone": "Abalone", "graded-california": "California", "graded-parkinsons": "Parkinsons"}
    ways = {
        "podium, CumulativeLogit": "`CumulativeLogit` (median)", "mord LogisticAT": "mord LogisticAT",
        "skordinal LogisticAT": "skordinal LogisticAT", "statsmodels OrderedModel": "statsmodels OrderedModel",
        "mord OrdinalRidge": "mord OrdinalRidge", "podium, PassiveAggressiveOrdinal": "`PassiveAggressiveOrdinal`",
    }  # fmt: skip
    entries = {name: kept("ordinal")[name] for name in names}
    lines = ["| |" + "".join(f" {title} |" for title in names.values()), "|---|" + "---|" * len(names)]
    for way, title in ways.items():
        rows = [next(row for row in entry["results"] if row["way"] == way) for entry in entries.values()]
        cells = "".join(f" {row['quality'].removeprefix('MAE ')}, {time_of(row['seconds'])} |" for row in rows)
        lines.append(f"| {title} |{cells}")
    return "\n".join([*lines, "", f"Measured {when(list(entries.values()))}.", ""])


def label_sets() -> str:
    """Losses and times of label rankers on public sets."""
    titles = {
        "podium, linear": "`LabelRanker`, linear", 'podium, surrogate="pairwise"': '`surrogate="pairwise"`',
        'podium, surrogate="softmax-normalised"': '`surrogate="softmax-normalised"`',
        "podium, LightGBM trees": "`scorer=LGBMClassifier(…)`", "scikit-learn one-vs-rest": "scikit-learn one-vs-rest",
        "scikit-learn ClassifierChain": "scikit-learn `ClassifierChain`",
    }  # fmt: skip
    entries = {
        name.partition("-")[2]: entry for name, entry in kept("multilabel").items() if name.startswith("labels-")
    }
    lines = ["| |" + "".join(f" {name} |" for name in entries), "|---|" + "---|" * len(entries)]
    for way, title in titles.items():
        cells = []
        for entry in entries.values():
            row = next((each for each in entry["results"] if each["way"] == way and each["quality"]), None)
            short = row["quality"].replace("sum@3 ", "").replace(", AP ", " / ") if row else ""
            cells.append(f"{short}, {time_of(row['seconds'])}" if row else "")
        lines.append(f"| {title} |" + "".join(f" {cell} |" for cell in cells))
    return "\n".join([*lines, "", f"Measured {when(list(entries.values()))}.", ""])


def app() -> str:
    """What a vote costs in the app, beside handlers that do less."""
    titles = {
        "app-cpu": "CPU of a vote, next pair and all",
        "app-votes": "durable votes of 16 judges, time on the clock",
    }
    lines = ["| | Podium | Beside | Times as long as it | wanted |", "|---|--:|---|--:|--:|"]
    for name, title in titles.items():
        ours, other = kept("app")[name]["results"]
        a_vote = f"{1000 * ours['seconds'] / 320:.2f} ms"
        wanted = f"at most {1 / other['reach']:g}"
        lines.append(f"| {title} | {a_vote} | {other['way']} | {1 / other['ratio']:.2g} | {wanted} |")
    return "\n".join([*lines, "", f"Measured {when([kept('app')[name] for name in titles])}.", ""])


def online() -> str:
    """The online learner beside the least that its work could cost, and beside other packages, with the aims."""
    found = kept("ordinal")
    passes = {"pass-wide": "136 features, 5 grades", "pass": "8 features, 5 grades",
              "pass-many-grades": "8 features, 100 grades"}  # fmt: skip
    lines = [
        "| pass over the rows, PA-I averaged | times the floor | aim | times the floor in four sums |",
        "|---|--:|--:|--:|",
    ]
    for name, title in passes.items():
        plain, unrolled = found[name]["results"][-2:]
        aim = f"{1 / plain['reach']:.3g}" if plain["reach"] else "–"
        lines.append(f"| {title} | {1 / plain['ratio']:.2g} | {aim} | {1 / unrolled['ratio']:.2g} |")
    lines += ["", "| | times as long as ours | aim |", "|---|--:|--:|"]
    others = {"partial-fit": "`partial_fit`, 8 features", "partial-fit-wide": "`partial_fit`, 136 features",
              "learn-one": "`learn_one`"}  # fmt: skip
    for name, title in others.items():
        for row in found[name]["results"][1:]:
            aim = f"{row['reach']:g}" if row["reach"] else "–"
            lines.append(f"| {title}: {row['way']} | {row['ratio']:.2g} | {aim} |")
    return "\n".join([*lines, "", f"Measured {when([found[name] for name in (*passes, *others)])}.", ""])


def of_command(words: str, which: str) -> str:
    """The tables that a command printed, all or one by its number, with day, commit and command beneath."""
    last = printed.kept(words)
    if last is None:
        raise SystemExit(f"nothing is kept of python -m {words}; run python -m benchmarks.measure --only {words!r}")
    if not last.tables or (which and not 1 <= int(which) <= len(last.tables)):
        raise SystemExit(f"python -m {words} printed {len(last.tables)} tables; which is {which or 'any'}?")
    tables = [last.tables[int(which) - 1]] if which else last.tables
    when = f"{last.day} ({last.commit})"
    said = f"Measured {when} by" if last.seconds is not None else f"As this page had it on {when}, from"
    return "\n".join([*tables, f"{said} `python -m {words}`.", ""])


def block(name: str) -> str:
    """The text of a block by its name."""
    if found := COMMAND.fullmatch(name):
        return of_command(*found.groups(default=""))
    known = {
        "speed": speed, "asking": asking, "summary": summary, "penalty": penalty, "queries": queries,
        "run-tests": run_tests, "streaming": streaming, "grades": grades, "online": online,
        "label-defaults": label_defaults, "label-sets": label_sets, "app": app,
    }  # fmt: skip
    if name in known:
        return known[name]()
    raise SystemExit(f"no figures are called {name!r}; there are {', '.join(known)}")


def rewritten(text: str) -> str:
    """A page with every block as the results say."""
    return BLOCK.sub(lambda found: f"{found[1]}{block(found[2])}{found[4]}", text)


# ---- the picture ----------------------------------------------------------------------------------------------------


def picture(path: Path) -> None:
    """Draw every ratio, one row a family: to the right of the line, the other package takes longer."""
    from matplotlib.figure import Figure

    found = rivals()
    names = [title for family, title in FAMILIES.items() if any(each[0] == family for each in found)]
    figure = Figure(figsize=(8, 0.5 * len(names) + 1.3), layout="constrained")
    ax = figure.add_subplot()
    for at, title in enumerate(names):
        ratios = [row["ratio"] for family, *_, row, _ in found if FAMILIES[family] == title]
        colours = ["#0072b2" if ratio >= 1 else "#d55e00" for ratio in ratios]
        ax.scatter(ratios, [at] * len(ratios), c=colours, s=34, alpha=0.7, linewidths=0)
    ax.axvline(1, color="#767676", linewidth=0.9)
    ax.set_xscale("log")
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.set_xlabel("CPU time of the other way, divided by ours")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,g}×")
    figure.savefig(path, dpi=130, metadata={"Software": None})


def main(arguments: Sequence[str] | None = None) -> None:
    """Rewrite, or say what is stale."""
    check = "--check" in (sys.argv[1:] if arguments is None else arguments)
    stale = []
    for name in PAGES:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        new = rewritten(text)
        if new != text:
            stale.append(name)
            if not check:
                path.write_text(new, encoding="utf-8")
    if check:
        raise SystemExit(f"stale: {', '.join(stale)}; run make figures" if stale else 0)
    picture(PICTURE)
    print(f"rewrote {', '.join(stale)}" if stale else "every figure was as measured")


if __name__ == "__main__":
    main()
