"""Files in: CSV, JSON, JSON Lines, Parquet and Arrow IPC, packed or not.

Reading is lazy and in pieces. Votes are merged as they arrive, so that memory follows unique pairs, not rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from podium.data.collecting import Progress, collect
from podium.data.comparisons import Comparisons
from podium.data.rankings import Rankings, Unranked
from podium.data.tables.columns import recognise_sides
from podium.data.tables.forms import Collector, Keep, located, read_frame
from podium.data.tables.names import Given, Names, listed
from podium.data.tables.readers import Batch, Table
from podium.data.tables.sources import find_sources
from podium.data.tables.times import dated_like
from podium.data.tables.values import comma_numbers, odd_one_out
from podium.data.validation import names_option
from podium.errors import InputError, Option

if TYPE_CHECKING:
    import polars as pl

Votes = TypeVar("Votes", bound=Comparisons | Rankings)

__all__ = [
    "feature_columns",
    "is_number",
    "read_comparisons",
    "read_comparisons_by",
    "read_fixtures",
    "read_rankings",
    "read_table",
    "read_votes",
    "scan_table",
]


def read_comparisons(
    source: Any,
    *,
    winner: Given = None,
    loser: Given = None,
    left: Given = None,
    right: Given = None,
    outcome: Given = None,
    left_wins: Given = None,
    right_wins: Given = None,
    ties: Given = None,
    margin: Given = None,
    left_goals: Given = None,
    right_goals: Given = None,
    ranking: Given = None,
    item: Given = None,
    rank: Given = None,
    rank_columns: Iterable[str] | None = None,
    weight: Given = None,
    count: Given = None,
    judge: Given = None,
    group: Given = None,
    time: Given = None,
    covariates: str | Iterable[str] | None = None,
    style: Literal["arena"] | None = None,
    unranked: Unranked | None = None,
    keep: Keep = "counts",
    fold_sides: bool = False,
    format: str | None = None,
    delimiter: str | None = None,
    jobs: int | None = 1,
    engine: Any = None,
    progress: Progress | None = None,
) -> Comparisons:
    """Read votes from files.

    A column that is not given is recognised by its name; False says that there is none. A field inside a column is
    named by its path, as `conv_metadata.turns`. Labels of a CSV file are text, also where they look like numbers.

    Parameters
    ----------
    source : path, glob, folder, address (URL), list of these, open file, or "-" for standard input
        CSV (any delimiter), JSON Lines, a JSON array, Parquet or Arrow IPC; `.gz` too. A folder is read with all the
        files below it, `key=value` folders as columns. Parquet and Arrow files are read from any address that polars
        takes (s3://, gs://, az://, https://, …), all others from http:// and https://.
    winner, loser : str, optional
        Columns of votes without ties.
    left, right : str, optional
        Columns of the two sides, with one way to tell who won: `outcome` (1, 0 or 0.5, words such as left, model_a or
        tie, or the winner's label; H, D or A between home and away), counts `left_wins, right_wins, ties`, a `margin`
        of left over right, or the goals of both.
    ranking : str, optional
        Column of whole orders instead: lists of items, best first, or text such as "a > b > c". These, and all that
        `read_rankings` takes, are broken into pairs.
    item, rank, rank_columns : columns of rankings in other forms; see `read_rankings`
    unranked : "below" or "unknown", for rankings that list some items only; see `read_rankings`
    weight, count, judge, group : str, optional
        Columns beside those: what each vote weighs, how many equal votes a row is, who gave it, what it belongs to.
    left_goals, right_goals : str, optional
        Columns of what each side scored: the outcome follows, and the margin is their difference.
    time : str, optional
        Column of dates, timestamps or numbers that say when each vote was cast; never recognised by its name.
    covariates : list of str, optional
        Columns that hold left minus right; or names of two columns without their `a` and `b` (`length` for `length_a,
        length_b`, `sum_assistant_tokens` for `sum_assistant_a_tokens, …`), or either of the two, whose difference is
        taken. A column of structures counts as the sum of its fields.
    style : {"arena"}, optional
        Treat covariates as LMSYS' FastChat does in its leaderboard with style control: (a − b) / (a + b + 1), less its
        mean over the votes, divided by its standard deviation. Without `covariates`, those of FastChat are taken.
    keep : {"counts", "rows"}
        Merge equal votes, or keep each in its place, as rankers that follow the order of votes need.
    fold_sides : bool
        Forget which item was shown left, so that counts take half the memory. A side effect cannot be estimated then.
    format : {"csv", "json", "jsonl", "parquet", "ipc"}, optional
        Otherwise by the end of the name, or by content.
    delimiter : str, optional
        Otherwise the one among comma, semicolon, tab and bar that the header holds most of.
    jobs : int, optional
        Processes that read, at most one a file; None for as many as there are cores if the files are large. What is
        read does not depend on it. A script that sets it keeps what it does under `if __name__ == "__main__":`.
    engine : distributed.Client, optional
        A Dask cluster that reads the files instead, which all its machines see under the same path or URL. What is read
        is the same to the bit.
    progress : callable, optional
        Called now and then with the votes and the bytes read so far, and the bytes there are to read.

    Examples
    --------
    >>> import io
    >>> votes = read_comparisons(io.StringIO("winner,loser\\ntea,milk\\ntea,milk\\n"))
    >>> votes.items, len(votes)
    (('tea', 'milk'), 2)
    """
    sides = {"winner": winner, "loser": loser, "left": left, "right": right}
    result = {"outcome": outcome, "left_wins": left_wins, "right_wins": right_wins, "ties": ties, "margin": margin}
    result |= {"left_goals": left_goals, "right_goals": right_goals, "ranking": ranking, "item": item, "rank": rank}
    beside: dict[str, Any] = {"weight": weight, "count": count, "judge": judge, "group": group, "time": time}
    beside |= {"covariates": covariates, "rank_columns": None if rank_columns is None else list(rank_columns)}
    columns = sides | result | beside
    options = {"keep": keep, "style": style, "fold_sides": fold_sides, "delimiter": delimiter, "unranked": unranked}
    collector = collect(source, format, jobs, engine, progress, **options, **columns)
    return _whole(collector, _comparisons)


def _comparisons(columns: dict[str, Any], collector: Collector) -> Comparisons:
    """Comparisons of what was read; rankings are broken into pairs."""
    if collector.holds_rankings:
        columns = Rankings._of(**columns).pair_columns()
    return Comparisons._of(**columns)


def read_rankings(
    source: Any,
    *,
    unranked: Unranked | None = None,
    ranking: Given = None,
    item: Given = None,
    rank: Given = None,
    rank_columns: Iterable[str] | None = None,
    judge: Given = None,
    weight: Given = None,
    count: Given = None,
    group: Given = None,
    format: str | None = None,
    delimiter: str | None = None,
    jobs: int | None = 1,
    engine: Any = None,
    progress: Progress | None = None,
) -> Rankings:
    """Read rankings from files, as survey tools write them.

    A row is a ranking, in a column `ranking` of whole orders (lists, or text such as "a > b > c"), in columns for its
    places (`Rank 1`, `Rank 2`, …), or in columns for the items that hold their ranks (`rank_columns`); or it is one
    item of a ranking (`respondent, item, rank`). What is not given is recognised by name.

    Parameters
    ----------
    source : path, glob, folder, address (URL), list of these, open file, or "-" for standard input
        As `read_comparisons` takes it.
    unranked : "below" or "unknown", needed where rankings list some of the items only
        Items that a ranking does not list were passed over and lie below those it lists, as in a top 5; or nothing is
        known of them, as when each respondent was asked about some items only.
    ranking : str, optional
        Column of whole orders.
    item, rank : str, optional
        Columns of a table with a row for each item ranked; `judge` says whose ranking it is of.
    rank_columns : list of str, optional
        Columns that are named after items and hold their ranks; empty cells are items that were not ranked.
    judge, weight, count, group : str, optional
        Columns beside those. In a table with a row for each item, a group makes rankings of one judge several.
    format, delimiter, jobs, engine, progress : as in `read_comparisons`

    Examples
    --------
    >>> import io
    >>> survey = io.StringIO("id,Rank 1,Rank 2\\n1,tea,milk\\n2,cola,\\n3,tea,cola\\n")
    >>> read_rankings(survey, unranked="below").to_lists()
    [['tea', 'milk'], ['cola'], ['tea', 'cola']]
    """
    columns: dict[str, Any] = {"ranking": ranking, "item": item, "rank": rank, "judge": judge, "weight": weight}
    columns |= {"count": count, "group": group}
    columns["rank_columns"] = None if rank_columns is None else list(rank_columns)
    collector = collect(source, format, jobs, engine, progress, delimiter=delimiter, unranked=unranked, **columns)
    votes = _whole(collector, _either)
    if isinstance(votes, Rankings):
        return votes
    raise InputError(f"{collector.place} holds votes on pairs, not rankings; read it by read_comparisons")


def read_votes(source: Any, by: str | None = None, **options: Any) -> dict[Hashable, Comparisons | Rankings]:
    """Read comparisons or rankings, whichever the files hold, divided by a column or (under None) whole."""
    defaults = {"format": None, "jobs": 1, "engine": None, "progress": None}
    extra = {name: options.pop(name, default) for name, default in defaults.items()}
    options.setdefault("delimiter", None)
    if by is None:
        collector = collect(source, *extra.values(), **options)
        return {None: _whole(collector, _either)}
    if not by:
        raise InputError(Option("by", by), " is no column; name the one whose values divide the votes")
    collector = collect(source, *extra.values(), **options, by=by)
    return _parts(collector, _either)


def _whole(collector: Collector, build: Callable[[dict[str, Any], Collector], Votes]) -> Votes:
    columns = collector.result()
    with located(collector.place):
        return build(columns, collector)


def _parts(collector: Collector, build: Callable[[dict[str, Any], Collector], Votes]) -> dict[Hashable, Votes]:
    """The votes of each part; one that holds nothing to rank is left out with a warning, where others do."""
    parts: dict[Hashable, Votes] = {}
    problems: dict[Hashable, tuple[int, InputError]] = {}
    divided = collector.result_by()
    with located(collector.place):
        for value, columns in divided.items():
            try:
                parts[value] = build(columns, collector)
            except InputError as problem:
                if problem.options or not collector.holds_rankings:  # an option would mend it: for the user to say
                    raise
                problems[value] = len(columns["start"]) - 1, problem
        collector.leave_out(problems, "ranking", bool(parts))
    return parts


def _either(columns: dict[str, Any], collector: Collector) -> Comparisons | Rankings:
    return Rankings._of(**columns) if collector.holds_rankings else Comparisons._of(**columns)


def read_comparisons_by(
    source: Any,
    by: str,
    *,
    keep: Keep = "counts",
    format: str | None = None,
    delimiter: str | None = None,
    jobs: int | None = 1,
    engine: Any = None,
    progress: Progress | None = None,
    **columns: Any,
) -> dict[Hashable, Comparisons]:
    """Read votes in one pass and divide them by the values of a column; each part has the items it names.

    Of rankings with `unranked="below"` each part has all items, as all were on offer. A part that holds nothing to rank
    is left out with a warning, where others do.

    >>> import io
    >>> parts = read_comparisons_by(io.StringIO("winner,loser,lang\\na,b,en\\nb,c,de\\n"), "lang")
    >>> {value: votes.items for value, votes in parts.items()}
    {'en': ('a', 'b'), 'de': ('b', 'c')}
    """
    if not isinstance(by, str) or not by:
        raise InputError(Option("by", by), " is no column; name the one whose values divide the votes")
    collector = collect(source, format, jobs, engine, progress, keep=keep, delimiter=delimiter, **columns, by=by)
    return _parts(collector, _comparisons)


def read_fixtures(
    source: Any,
    *,
    left: Given = None,
    right: Given = None,
    time: Given = None,
    covariates: str | Iterable[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    season: Any = None,
) -> Comparisons:
    """Read pairs that are still to be compared, as fixtures of a league, for `predict_proba`; results are not read.

    Each row is a pair, in the order of the file; its outcome stands as a tie. `season`, a file of the games so far,
    says whether day or month comes first in dates with slashes, by its column of the same name, where the pairs' own
    dates leave it open.

    >>> import io
    >>> fixtures = read_fixtures(io.StringIO("date,home,away\\n2024-05-04,Ajax,Brugge\\n"), time="date")
    >>> fixtures.items, fixtures.time
    (('Ajax', 'Brugge'), array([19847.]))
    """
    import polars as pl

    frames = [piece.frame for piece in _pieces(source, None, format, delimiter)]
    if not any(frame.height for frame in frames):
        raise InputError(f"{source} has no rows; there is nothing to predict")
    try:
        table = pl.concat([frame for frame in frames if frame.height], how="vertical_relaxed")
    except pl.exceptions.PolarsError as problem:
        words = str(problem).splitlines()[0]
        raise InputError(f"{source}: its rows do not go together in one table ({words}); make them alike") from problem
    left, right = recognise_sides(table.columns, left, right)
    if time:
        Names(table.columns, {}).require(time, "time")
        if season is not None:
            table = table.with_columns(dated_like(table[time], _column_of(season, time)))
    name = "outcome"
    while name in table.columns:
        name += "_"
    roles = ("left_wins", "right_wins", "ties", "margin", "left_goals", "ranking", "weight", "count", "judge", "group")
    none: dict[str, Any] = dict.fromkeys(("winner", "loser", *roles), False)
    columns = none | {"left": left, "right": right, "outcome": name, "time": time, "covariates": covariates}
    return Comparisons._of(**read_frame(table.with_columns(pl.lit("tie").alias(name)), **columns))


def _column_of(source: Any, name: str) -> Iterator[pl.Series]:
    """A column, piece by piece; nothing where the files do not have it, or cannot be read: their reader says so."""
    with suppress(InputError):
        for piece in _pieces(source, [name], None, None):
            yield piece.frame[name]


def read_table(
    source: Any, *, columns: Iterable[str] | None = None, format: str | None = None, delimiter: str | None = None
) -> pl.DataFrame:
    """Read a table (features, items, examples) from files, with the same checks as votes.

    A CSV column whose every value is a number becomes one of numbers; a missing value is null.

    >>> import io
    >>> read_table(io.StringIO("item,price,code\\ntea,2.5,7\\nmilk,1,x\\n")).to_dicts()
    [{'item': 'tea', 'price': 2.5, 'code': '7'}, {'item': 'milk', 'price': 1.0, 'code': 'x'}]
    """
    import polars as pl

    pieces = list(_pieces(source, columns, format, delimiter))
    frames = [piece.frame for piece in pieces]
    if not frames:
        raise InputError(f"{source} holds notes of an interview and no rows; give a table")
    try:
        table = pl.concat([frame for frame in frames if frame.height] or frames[:1], how="vertical_relaxed")
    except pl.exceptions.PolarsError as problem:
        raise InputError(f"the files do not fit together: {str(problem).splitlines()[0]}; make them alike") from problem
    untyped = all(piece.format == "csv" for piece in pieces)
    return table.with_columns(_typed(column) for column in table) if untyped else table


def scan_table(
    source: Any,
    *,
    columns: Iterable[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    no_header: bool = False,
) -> Iterator[pl.DataFrame]:
    """Read a table some rows at a time, for what need not be in memory at once.

    The first rows of a CSV file settle which columns are numbers, and which of these have decimal commas; a later value
    that is none is an error. Columns of CSV files with `no_header` are called "1", "2", and so on.

    >>> import io
    >>> [piece.rows() for piece in scan_table(io.StringIO("item,price\\ntea,2.5\\n"))]
    [[('tea', 2.5)]]
    """
    import polars as pl

    schema: dict[str, Any] = {}
    commas: list[str] = []
    row = 0
    for piece in _pieces(source, columns, format, delimiter, no_header=no_header):
        if piece.format == "csv" and piece.frame.height:
            if not schema:
                schema = {column.name: _typed(column).dtype for column in piece.frame}
                numbers = (column for column in piece.frame if schema[column.name] == pl.Float64)
                commas = [column.name for column in numbers if column.str.contains(",", literal=True).any()]
            # Point and comma change places, so that a point among decimal commas is no number.
            pointed = piece.frame.with_columns(
                piece.frame[name].str.strip_chars().str.replace_many([",", "."], [".", ","]) for name in commas
            )
            typed = pointed.with_columns(column.cast(schema[column.name], strict=False) for column in pointed)
            for name in typed.columns:
                lost = (typed[name].is_null() & piece.frame[name].is_not_null()).arg_true()
                if len(lost):
                    value = piece.frame[name][lost[0]]
                    above = "only numbers" + (" with decimal commas" if name in commas else "")
                    raise InputError(f"row {row + lost[0] + 1}: {name} is {value!r}, above it {above}; correct it")
            yield typed
        elif piece.frame.height:
            yield piece.frame
        row += piece.frame.height


def _pieces(
    source: Any, columns: Iterable[str] | None, format: str | None, delimiter: str | None, *, no_header: bool = False
) -> Iterator[Batch]:
    """The columns asked for, or all, from every file; files must have the same ones."""
    wanted = None if columns is None else list(names_option("columns", columns))
    before: list[str] = []
    for one in find_sources(source, format):
        table = Table(replace(one, no_header=no_header), delimiter)
        if table.columns is None:
            continue
        lacking = [name for name in wanted or () if name not in table.columns and name not in table.nested]
        if lacking:
            raise InputError(f"{one.name} has no column {lacking[0]!r}; found {listed(table.columns)}")
        chosen = wanted or table.columns
        if before and before != chosen:
            raise InputError(f"{one.name} has columns {listed(table.columns)}, the file before {listed(before)}")
        before = chosen
        yield from table.batches(chosen)


def _typed(column: pl.Series) -> pl.Series:
    """A column of text as what it holds; numbers with decimal commas are read too."""
    import polars as pl

    kind = _kind(column)
    numbers = comma_numbers(column) if kind == pl.String else None
    return column.cast(kind) if numbers is None else numbers


def _kind(column: pl.Series) -> Any:
    """What a column of text holds: whole numbers, numbers, or text; "007" is a code, not a number."""
    import polars as pl

    if column.count() and not column.str.contains(r"^-?0[0-9]").any():
        for kind in (pl.Int64, pl.Float64):
            if column.cast(kind, strict=False).null_count() == column.null_count():
                return kind
    return pl.String


def feature_columns(frame: pl.DataFrame, others: Collection[str]) -> list[str]:
    """Every column but `others`; text among them is refused, as no one says what number it is.

    >>> import polars as pl
    >>> feature_columns(pl.DataFrame({"name": ["a"], "size": [2], "grade": [1]}), {"name", "grade"})
    ['size']
    """
    names = [name for name in frame.columns if name not in others]
    for name in names:
        if not is_number(frame.schema[name]):
            odd = odd_one_out(frame[name])
            if odd:
                raise InputError(f"{odd}; correct it, or leave the column out by ", Option("id", name))
            raise InputError(
                f"column {name!r} is not numeric; leave it out by ", Option("id", name), ", or turn it into numbers"
            )
    if not names:
        raise InputError(f"no column is left for features; found {listed(frame.columns)}")
    return names


def is_number(kind: Any) -> bool:
    """Whether a column of this type holds numbers, or true and false."""
    return bool(kind.is_numeric() or str(kind) == "Boolean")
