"""The columns of a file of votes, on the command line."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from podium.cli.calling import gathered
from podium.cli.help import option
from podium.cli.options import MAX_COUNT
from podium.errors import InputError, Option

if TYPE_CHECKING:
    from podium.engine import DaskEngine

__all__ = ["Columns", "column_options"]

COLUMNS = {
    "winner": "Name the column of the winner.",
    "loser": "Name the column of the loser.",
    "left": "Name the column of the left (first) item.",
    "right": "Name the column of the right (second) item.",
    "outcome": "Name the column of the outcome: 1, 0 or 0.5 for the left item, or the winner's label.",
    "left_wins": "Name the column that counts the wins of the left item.",
    "right_wins": "Name the column that counts the wins of the right item.",
    "tie_count": "Name the column that counts ties.",
    "margin": "Name the column of the margin, left over right.",
    "left_goals": "Name the column of what the left (home) item scored.",
    "right_goals": "Name the column of what the right (away) item scored.",
    "ranking": "Name the column of whole orders, best first.",
    "item": "Name the column of the item, in a table with a row for each item ranked.",
    "rank": "Name the column of its rank.",
    "weight": "Name the column of the weight of each vote.",
    "count": "Name the column that says how many equal votes a row stands for.",
    "judge": "Name the column of the judge.",
    "group": "Name the column of a group of votes that go together.",
    "time": "Name the column that says when votes were cast: dates, timestamps or numbers.",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file of votes, and how it is written; None is recognised, an empty name says: none."""

    jobs: int | None
    cluster: str | None
    cluster_ca: str | None
    cluster_cert: str | None
    cluster_key: str | None
    input_format: str | None
    delimiter: str | None
    winner: str | None
    loser: str | None
    left: str | None
    right: str | None
    outcome: str | None
    left_wins: str | None
    right_wins: str | None
    tie_count: str | None
    margin: str | None
    left_goals: str | None
    right_goals: str | None
    ranking: str | None
    item: str | None
    rank: str | None
    weight: str | None
    count: str | None
    judge: str | None
    group: str | None
    time: str | None
    rank_columns: tuple[str, ...]
    unranked: str | None

    def arguments(self) -> dict[str, Any]:
        """What was typed, as `read_comparisons` takes it, and who does the work: processes, or a cluster."""
        return self.named() | ({"jobs": self.jobs} if self.cluster is None else {"engine": self.engine()})

    def engine(self) -> DaskEngine | None:
        """The cluster, connected once and let go at the end of the command; None where there is none."""
        files = {"ca": self.cluster_ca, "cert": self.cluster_cert, "key": self.cluster_key}
        if self.cluster is None:
            for name, path in files.items():
                if path is not None:
                    raise InputError(Option(f"cluster_{name}"), " is for a cluster; add ", Option("cluster"))
            return None
        if self.jobs is not None:
            raise InputError(Option("jobs"), " is for this machine alone; drop it, or ", Option("cluster"))
        context = click.get_current_context()
        if "podium.engine" not in context.meta:
            from podium.engine import connect

            context.meta["podium.engine"] = context.with_resource(connect(self.cluster, **files))
        engine: DaskEngine = context.meta["podium.engine"]
        return engine

    def refuse_cluster(self, why: str) -> None:
        """Refuse a cluster where it would have nothing to do."""
        if self.cluster is not None:
            raise InputError(Option("cluster"), f" shares the work of many machines, and {why}; drop it")

    def refuse_time(self, command: str) -> None:
        """Refuse times where nothing would look at them."""
        if self.time:
            raise InputError(
                Option("time"), f" does not apply to podium {command}, which takes votes of all times alike"
            )

    def named(self) -> dict[str, Any]:
        """What was typed about the files themselves: columns, format and delimiter."""
        typed = {name: getattr(self, name) for name in COLUMNS}
        typed["ties"] = typed.pop("tie_count")
        typed = {name: False if value == "" else value for name, value in typed.items()}
        typed |= {"delimiter": self.delimiter, "format": self.input_format, "unranked": self.unranked}
        typed["rank_columns"] = list(self.rank_columns) or None
        return {name: value for name, value in typed.items() if value is not None}


def _quoted_names(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Names separated by commas, those that hold one in quotes."""
    return () if value is None else tuple(next(csv.reader([value], skipinitialspace=True), []))


column_options = gathered(
    "columns",
    Columns,
    option(
        "Data",
        "--jobs",
        type=click.IntRange(1, MAX_COUNT),
        metavar="N",
        help="Work in N processes; results do not depend on it.  [default: 1; as many as cores to read large files]",
    ),
    option(
        "Data",
        "--cluster",
        metavar="ADDRESS",
        help="Work on a Dask cluster: local:4 starts four workers here, tls://host:8786 is a scheduler elsewhere.",
    ),
    option("Data", "--cluster-ca", metavar="FILE", help="Trust schedulers whose certificate this authority signed."),
    option("Data", "--cluster-cert", metavar="FILE", help="Show this certificate to the scheduler."),
    option("Data", "--cluster-key", metavar="FILE", help="Use this key of the certificate."),
    option(
        "Data",
        "--input-format",
        type=click.Choice(["csv", "parquet", "jsonl", "json", "ipc"]),
        help="Read the files in this format, where their names do not tell.",
    ),
    option("Data", "--delimiter", metavar="CHAR", help="Separate the cells of a CSV file by this character."),
    *(option("Data", f"--{name.replace('_', '-')}", metavar="COLUMN", help=words) for name, words in COLUMNS.items()),
    option(
        "Data",
        "--rank-columns",
        metavar="NAMES",
        callback=_quoted_names,
        help="Name the columns that are items and hold their ranks, separated by commas; * stands for any letters.",
    ),
    option(
        "Data",
        "--unranked",
        type=click.Choice(["below", "unknown"]),
        help="Say what holds of items that a ranking does not list: they were passed over, or nothing is known.",
    ),
)
