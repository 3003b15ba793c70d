"""`podium predict`: scores of new items from their features."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.help import GroupedCommand
from podium.cli.options import id_option, model_option, output_options
from podium.cli.output import Output, say
from podium.errors import InputError, Option
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

    from podium.pairwise.online import OnlineRABF
    from podium.pairwise.rabf import RABF

__all__ = ["predict"]


EXAMPLES = (
    ("podium rank votes.csv --features items.csv --save m.podium", "first, a model of features"),
    ("podium predict new-items.csv --model m.podium", "then the scores of items without votes"),
)


@click.command(cls=GroupedCommand, examples=EXAMPLES)
@click.argument("items")
@model_option("podium rank --features")
@id_option("the one column that is no feature")
@output_options(default="csv")
def predict(items: str, model: Path, id: str | None, out: Output) -> None:
    """Score the ITEMS, a table of features, by a saved model, best first.

    Writes item, score, its standard error and rank. The error includes what features cannot know of an item; models of
    online-rabf and of the hinge loss have none.
    """
    from podium.data.files import read_table
    from podium.models import load
    from podium.pairwise.online import OnlineRABF
    from podium.pairwise.rabf import RABF

    fitted = load(model)
    if not isinstance(fitted, RABF | OnlineRABF) or not fitted.feature_names_:
        what = f"{type(fitted).__name__}{' without features' if isinstance(fitted, RABF | OnlineRABF) else ''}"
        raise InputError(f"{model} holds a {what}, not a model of `podium rank --features … --save`")
    table = read_table(items)
    frame = _scored(fitted, table, _label_column(fitted, table, id))
    out.write(frame)
    say(f"{counted(len(frame), 'item')} scored by {counted(len(fitted.feature_names_), 'feature')}")


def _label_column(model: RABF | OnlineRABF, table: pl.DataFrame, chosen: str | None) -> str | None:
    if chosen is not None and chosen not in table.columns:
        raise InputError(f"no column {chosen!r} (given as ", Option("id"), f"); found {', '.join(table.columns)}")
    others = [name for name in table.columns if name not in model.feature_columns_]
    if chosen is None and len(others) > 1:
        raise InputError(f"columns {', '.join(others)} are no features; say which names the items by ", Option("id"))
    return chosen or (others[0] if others else None)


def _scored(model: RABF | OnlineRABF, table: pl.DataFrame, labels: str | None) -> pl.DataFrame:
    import polars as pl

    from podium.pairwise.rabf import RABF

    if labels is not None and table[labels].null_count():
        row = int(table[labels].is_null().arg_true()[0]) + 1
        raise InputError(f"row {row}: column {labels!r} is empty; name every item, or remove the row")
    scores: Any
    errors: Any
    if isinstance(model, RABF) and model.ranking_.information is not None:
        scores, errors = model.predict(table, return_std=True)
    else:  # neither online models nor the hinge loss know errors
        scores, errors = model.predict(table), [None] * len(table)
    items = table[labels].to_list() if labels else list(range(1, len(table) + 1))
    frame = pl.DataFrame({"item": items, "score": scores, "std_error": pl.Series(errors, dtype=pl.Float64)})
    frame = frame.sort("score", descending=True, maintain_order=True)
    return frame.with_columns(pl.col("score").rank("min", descending=True).cast(pl.Int64).alias("rank"))
