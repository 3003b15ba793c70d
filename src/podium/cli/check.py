"""`podium check`: can one ranking explain these votes, and does it hang on a few of them?"""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from podium.cli.options import chosen_columns, column_options, output_options, seed_option, votes_argument
from podium.cli.output import Output, counted, say, votes_on_items
from podium.text import one_line

__all__ = ["check"]


@click.command()
@votes_argument
@click.option(
    "--replicates", type=click.IntRange(1), default=199, show_default=True, help="Redraws behind the p-values."
)
@click.option(
    "--pairs", type=click.IntRange(0), default=5, show_default=True, help="Pairs that fit least, to be listed."
)
@seed_option("the simulations and the random halves")
@click.option("--strict", is_flag=True, help="Exit with 1 when something deserves a look.")
@output_options("table", "json")
@column_options
def check(votes: tuple[str, ...], out: Output, **given: Any) -> None:
    """Check the fit of VOTES: pairs that fit least, over-dispersion, cycles, reliability, influence.

    P-values come from redrawn votes: same pairs, same wins of every item. What is marked ! deserves a look before a
    ranking is shown.
    """
    columns = chosen_columns(given)
    from podium.data.files import read_comparisons
    from podium.evaluate.diagnosis import diagnose

    source: Any = list(votes) if len(votes) > 1 else votes[0]
    comparisons = read_comparisons(source, **columns, keep="counts")
    found = diagnose(comparisons, replicates=given["replicates"], seed=given["seed"])
    if out.form == "json":
        text = json.dumps(found.to_dict(), indent=1, ensure_ascii=False)
    else:
        text = "\n".join(f"{'!' if each.concern else ' '} {each.name}: {each.text}" for each in found.findings())
        rows = found.residuals.head(given["pairs"]).to_dicts()
        text += "\n\nPairs that fit least:" if rows else ""
        for row in rows:
            text += (
                f"\n  {one_line(row['item'])} won {row['won']:,.4g} of {row['votes']:,.4g} against "
                f"{one_line(row['against'])}, expected {row['expected']:,.3g} ({row['residual']:.1f} sd)"
            )
    out.write_text(text)
    say(f"{votes_on_items(comparisons)}, {counted(given['replicates'], 'redraw')}")
    if given["strict"] and found.concerns:
        sys.exit(1)
