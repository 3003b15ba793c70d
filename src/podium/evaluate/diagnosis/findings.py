"""What a diagnosis found, as values and in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.evaluate.diagnosis.misfit import Test
from podium.evaluate.diagnosis.steadiness import Reliability
from podium.text import one_line, percent, storable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Diagnosis", "Finding"]

MIN_RELIABILITY = 0.7  # less is a concern,
MIN_RELIABLE_VOTES = 50  # from so many votes an item on: fewer can hardly give more


@dataclass(frozen=True)
class Finding:
    """One result in words; `concern` when it deserves a look before the ranking is shown."""

    name: str
    text: str
    concern: bool


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What `diagnose` found.

    Attributes
    ----------
    residuals : frame with item, against, votes, won, expected, residual (in standard deviations); the largest first
    largest : Test of the largest residual
    dispersion : Test of Σ residual² / degrees of freedom, about 1 when many votes vary as the model expects
    cyclic : Test of the share of what the votes say that no scores could explain (the HodgeRank residual)
    reliability : Reliability, or None with too few votes
    influence : frame with kind, dropped, votes, leader, moved, rank_before, rank_after, shift, swaps, turned (another
        leads, by more than chance); strongest first
    replicates : how many times votes were simulated
    leader : who leads the ranking
    tried : by kind, how many were left out in turn, the busiest first, and of how many
    against : the model behind residuals and p-values, where it is not the one that ranks
    decided : residuals of the votes without ties, where the p-values are about these; else None
    votes_per_item : on average
    """

    residuals: pl.DataFrame
    largest: Test
    dispersion: Test
    cyclic: Test
    reliability: Reliability | None
    influence: pl.DataFrame
    replicates: int
    leader: Hashable
    tried: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    against: str | None = None
    decided: pl.DataFrame | None = None
    votes_per_item: float = np.inf

    def findings(self) -> list[Finding]:
        """The results in words, for the report and the command line."""
        return [*self._fit(), *self._steadiness()]

    @property
    def concerns(self) -> list[Finding]:
        """The findings that deserve a look."""
        return [finding for finding in self.findings() if finding.concern]

    def _fit(self) -> Iterator[Finding]:
        if np.isnan(self.dispersion.value):
            text = "No pairs form a cycle, so scores fit them all exactly: there is nothing to test."
            yield Finding("Fit", text, concern=False)
            return
        worst = (self.residuals if self.decided is None else self.decided).row(0, named=True)
        among, of = ("", "") if self.decided is None else (" decided votes", " of these")
        text = (
            f"{one_line(worst['item'])} won {worst['won']:,.4g} of {worst['votes']:,.4g}{among} against "
            f"{one_line(worst['against'])}, expected "
            f"{worst['expected']:,.3g}{of}: {_chance(self.largest)}."
        )
        yield Finding("Largest residual", text, self.largest.significant)
        ratio = self.dispersion.value / self.dispersion.expected if self.dispersion.expected > 0 else 1.0
        text = f"Results vary {ratio:.3g} times as much as by chance: {_chance(self.dispersion)}."
        if self.dispersion.significant:
            text += " Intervals are too narrow; errors clustered by judge, or a bootstrap of judges, may mend them."
        yield Finding("Over-dispersion", text, self.dispersion.significant)
        text = (
            f"{100 * self.cyclic.value:.3g} % of what the votes say is cyclic, {100 * self.cyclic.expected:.3g} % is "
            f"expected by chance: {_chance(self.cyclic)}."
        )
        if self.cyclic.significant:
            text += " No single ranking can explain these votes; there may be several kinds of judges or questions."
        yield Finding("Transitivity", text, self.cyclic.significant)

    def _steadiness(self) -> Iterator[Finding]:
        if self.reliability is not None:
            yield _reliability(self.reliability, self.votes_per_item)
        for kind in ("judge", "item"):
            refits = self.influence.filter(self.influence["kind"] == kind)
            if len(refits):
                yield self._influence(kind, refits)

    def _influence(self, kind: str, refits: pl.DataFrame) -> Finding:
        first = refits.row(0, named=True)
        tried, known = self.tried.get(kind, (0, 0))
        text = f"No pair changes order when any one {kind} is left out."
        if tried < known:
            text = f"No pair changes order when any one of the {tried} busiest {kind}s is left out."
        if first["swaps"]:
            # Without an item the ranks are those among the others.
            among = " among the others" if kind == "item" else ""
            text = (
                f"The most influential {kind} is {one_line(first['dropped'])}: without it, {one_line(first['moved'])} "
                f"goes from rank "
                f"{first['rank_before']} to {first['rank_after']}{among}, and {first['swaps']:,} "
                f"{'pair changes' if first['swaps'] == 1 else 'pairs change'} order."
            )
        own = storable(self.leader)
        others = refits.filter((refits["leader"] != own) & (refits["dropped"] != own))
        turned = others.filter(others["turned"])
        if len(others):
            row = (turned if len(turned) else others).row(0, named=True)
            text += (
                f" Without {one_line(row['dropped'])}, {one_line(row['leader'])} would lead instead of {one_line(own)}"
            )
            text += ": more than chance gives." if len(turned) else ", as may happen by chance."
        return Finding(f"Influence of a{'n' if kind == 'item' else ''} {kind}", text, len(turned) > 0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; a test that could not be made is None."""
        r = self.reliability
        return {
            "findings": [vars(finding) for finding in self.findings()],
            "tests": {
                name: None if np.isnan(test.value) else vars(test)
                for name, test in (("largest", self.largest), ("dispersion", self.dispersion), ("cyclic", self.cyclic))
            },
            "reliability": None if r is None else vars(r) | {"full": r.full},
            "residuals": self.residuals.to_dicts(),
            "influence": self.influence.to_dicts(),
            "replicates": self.replicates,
        }


def _reliability(r: Reliability, votes_per_item: float) -> Finding:
    text = f"Scores from two halves of the votes correlate {r.correlation:z.2f} ({r.low:z.2f} to {r.high:z.2f})"
    alike = f"they order {100 * r.agreement:.0f} % of the pairs alike"
    if r.full is None:
        text += f": no agreement, so the scores are noise as far as these votes tell; {alike}."
    else:
        text += f", which means {r.full:.2f} for all votes; {alike}."
    low, enough = r.full is None or r.full < MIN_RELIABILITY, votes_per_item >= MIN_RELIABLE_VOTES
    if low and enough:
        text += " That is little for so many votes: the items hardly differ, or the judges do not agree."
    elif low:
        text += (
            f" With {votes_per_item:.3g} votes an item the order is not settled; {MIN_RELIABLE_VOTES} settle it mostly."
        )
    return Finding("Split-half reliability", text, low and enough)


def _chance(test: Test) -> str:
    if test.significant:
        return f"chance gives as much in {percent(test.p_value, 1)} of cases"
    return f"within chance (p = {test.p_value:.2f})" if test.enough else "too few votes to tell"
