"""`podium check`: can one ranking explain these votes, and does it hang on a few of them?"""

from __future__ import annotations

import json
import sys
import warnings
from typing import TYPE_CHECKING, Any

import click

from podium.cli.campaign_files import campaign_in, campaign_votes
from podium.cli.columns import Columns, column_options
from podium.cli.features import Knowledge, knowledge_options
from podium.cli.help import GroupedCommand, option
from podium.cli.options import (
    MAX_COUNT,
    Penalty,
    is_typed,
    output_options,
    seed_option,
    votes_argument,
)
from podium.cli.output import Output, reading, say, votes_on_items, wrapped
from podium.errors import InputError, Option, PodiumWarning
from podium.text import counted, one_line

if TYPE_CHECKING:
    from podium.data.rankings import Rankings

__all__ = ["check"]

EXAMPLES = (
    ("podium check votes.csv", "what deserves a look before a ranking is shown"),
    ("podium check votes.csv --strict", "the same in a script, where exit code 1 stops it"),
)


@click.command(cls=GroupedCommand, examples=EXAMPLES)
@votes_argument
@column_options
@knowledge_options
@option("Model", "--l2", type=Penalty(), help="Ridge penalty on the scores, as in podium rank.  [default: auto]")
@option(
    "Model",
    "--ties",
    type=click.Choice(["half", "davidson"]),
    default="half",
    show_default=True,
    help="Count a tie as half a win for each, or model ties.",
)
@option("Model", "--side-effect", is_flag=True, help="Allow for a position bias (home advantage) of the left side.")
@option(
    "Model",
    "--replicates",
    type=click.IntRange(1, MAX_COUNT),
    default=199,
    show_default=True,
    help="Redraw the votes this often for the p-values.",
)
@seed_option("the redraws and the random halves")
@option(
    "Output",
    "--pairs",
    type=click.IntRange(0, MAX_COUNT),
    default=5,
    show_default=True,
    help="List this many of the pairs that fit least.",
)
@option("Output", "--strict", is_flag=True, help="Exit with 1 when something deserves a look.")
@output_options("table", "json")
def check(
    votes: tuple[str, ...],
    out: Output,
    columns: Columns,
    known: Knowledge,
    l2: float | str | None,
    ties: str,
    side_effect: bool,
    replicates: int,
    seed: int,
    pairs: int,
    strict: bool,
) -> None:
    """Check the fit of VOTES: pairs that fit least, over-dispersion, cycles, reliability, influence.

    P-values come from redrawn votes: same pairs, same wins of every item. What is marked ! deserves a look before a
    ranking is shown. The model is that of podium rank with the same options, rabf with --features. Of rankings it is
    checked whether one score for each item explains them, by rankings simulated from the model (plackett-luce).
    """
    from podium.data.files import read_votes
    from podium.data.rankings import Rankings
    from podium.evaluate.diagnosis import diagnose
    from podium.pairwise.bradley_terry import BradleyTerry
    from podium.pairwise.rabf import RABF

    columns.refuse_time("check")
    features = known.arguments()
    if (campaign := campaign_in(votes)) is not None:
        columns.refuse_cluster("a campaign is one file")
        comparisons = campaign_votes(campaign, columns.arguments())
    else:
        source: Any = list(votes) if len(votes) > 1 else votes[0]
        with reading() as progress:
            read = read_votes(source, **columns.arguments(), **known.of_votes, keep="counts", progress=progress)[None]
        if isinstance(read, Rankings):
            _check_rankings(read, out, l2, known, replicates, seed, pairs, strict)
            return
        comparisons = read
    if features and l2 is not None:
        raise InputError(
            Option("l2"), " is of bradley-terry; with ", Option("features"), " the votes choose it, drop it"
        )
    penalty: dict[str, Any] = {} if l2 is None else {"l2": l2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # podium rank is where they are told
        model = (RABF(**known.treatment) if features else BradleyTerry(**penalty)).set_params(
            ties=ties, side_effect=side_effect
        )
        model.fit(comparisons, **features)
    diagnosis = diagnose(comparisons, model, **features, replicates=replicates, seed=seed)
    if out.form == "json":
        text = json.dumps(diagnosis.to_dict(), indent=1, ensure_ascii=False)
    else:
        text = "\n".join(f"{'!' if each.concern else ' '} {each.name}: {each.text}" for each in diagnosis.findings())
        rows = diagnosis.residuals.head(pairs).to_dicts()
        among = "" if diagnosis.decided is None else ", of all votes (the largest residual is of the decided ones)"
        text += f"\n\nPairs that fit least{among}:" if rows else ""
        for row in rows:
            text += (
                f"\n  {one_line(row['item'])} won {row['won']:,.4g} of {row['votes']:,.4g} against "
                f"{one_line(row['against'])}, expected {row['expected']:,.3g} ({row['residual']:.1f} sd)"
            )
    out.write_text(text if out.form == "json" else wrapped(text, out.room))
    if diagnosis.against:
        say(f"residuals and p-values are those of {diagnosis.against} on the same votes")
    say(f"{votes_on_items(comparisons)}, {counted(replicates, 'redraw')}")
    if strict and diagnosis.concerns:
        sys.exit(1)


def _check_rankings(
    rankings: Rankings,
    out: Output,
    l2: float | str | None,
    known: Knowledge,
    replicates: int,
    seed: int,
    pairs: int,
    strict: bool,
) -> None:
    """Whether one score for each item explains the rankings, and the pairs that fit least."""
    from podium.pairwise.plackett_luce import PlackettLuce
    from podium.show.report import fit_words

    for name in ("ties", "side_effect", "covariates", "style", "row_weights"):
        if is_typed(name):
            raise InputError(Option(name), " is about votes on pairs, and these are rankings; drop it")
    if rankings.tied is not None:
        raise InputError("the test of rankings simulates them, which it cannot with ties, and these have some")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # podium rank is where they are told
        model = PlackettLuce(l2="auto" if l2 is None else l2, **known.treatment).fit(rankings, **known.arguments())
    fit, residuals = model.goodness_of_fit(replicates=replicates, seed=seed), model.pair_residuals()
    sentence, concern = fit_words(fit)
    if out.form == "json":
        document = {"fit": {"statistic": fit.statistic, "pairs": fit.pairs, "p_value": fit.p_value, "concern": concern}}
        text = json.dumps(document | {"residuals": residuals.to_dicts()}, indent=1, ensure_ascii=False)
    else:
        text = f"{'!' if concern else ' '} Fit: {sentence[:1].lower()}{sentence[1:]}"
        rows = residuals.head(pairs).to_dicts()
        text += "\n\nPairs that fit least:" if rows else ""
        for row in rows:
            text += (
                f"\n  {one_line(row['item'])} was above {one_line(row['against'])} in {row['above']:,.4g} of "
                f"{row['rankings']:,.4g}, expected {row['expected']:,.3g} ({row['residual']:.1f} sd)"
            )
    out.write_text(text if out.form == "json" else wrapped(text, out.room))
    say(f"{votes_on_items(rankings)}, {counted(replicates, 'simulation')}")
    if strict and concern:
        sys.exit(1)
