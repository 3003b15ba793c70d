"""`podium predict`: scores of new items from their features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from podium.cli.options import output_options
from podium.cli.output import emit, say, style_of
from podium.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from podium.pairwise.rabf import RABF

__all__ = ["predict"]


@click.command()
@click.argument("model", type=click.Path(dir_okay=False))
@click.argument("items")
@click.option("--key", metavar="COLUMN", help="Column of item labels; else the one column that is no feature.")
@output_options("table", "csv", "json", "jsonl", "parquet")
def predict(model: str, items: str, **given: Any) -> None:
    """Score the ITEMS, a table of features, by a MODEL saved with `podium rank --features … --model MODEL`."""
    from podium.io import read_table
    from podium.models import load
    from podium.pairwise.rabf import RABF

    style = style_of(given["style"], given["output"])
    fitted = load(model)
    if not isinstance(fitted, RABF) or not fitted.feature_names_:
        raise InputError(
            f"{model}: a {type(fitted).__name__} without features; predict needs one fitted with --features"
        )
    table = read_table(items)
    frame = _scored(fitted, table, _key(fitted, table, given["key"]))
    text = "\n".join(["rank  score         item", *(_line(row) for row in frame.rows(named=True))])
    emit(frame, style, given["output"], text)
    say(f"{len(frame)} items scored by {len(fitted.feature_names_)} features; ± is 95 %, residual included")


def _key(model: RABF, table: pl.DataFrame, key: str | None) -> str | None:
    if key is not None and key not in table.columns:
        raise InputError(f"no column {key!r}; there are {', '.join(table.columns)}")
    others = [name for name in table.columns if name not in model.feature_columns_]
    if key is None and len(others) > 1:
        raise InputError(f"columns {', '.join(others)} are no features; say which names the items: --key")
    return key or (others[0] if others else None)


def _scored(model: RABF, table: pl.DataFrame, key: str | None) -> pl.DataFrame:
    import polars as pl

    scores, errors = model.predict(table, return_std=True)
    labels = table[key].to_list() if key else list(range(1, len(table) + 1))
    made = pl.DataFrame({"item": labels, "score": scores, "std_error": errors})
    made = made.sort("score", descending=True, maintain_order=True)
    return made.with_columns(pl.col("score").rank("min", descending=True).cast(pl.Int64).alias("rank"))


def _line(row: dict[str, Any]) -> str:
    return f"{row['rank']:>4}  {row['score']:6.2f} ± {1.96 * row['std_error']:4.2f}  {row['item']}"
