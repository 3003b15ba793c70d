"""Where a campaign stands: order, tiers, likely places, agreement on check pairs, and whether to go on.

A function of the log. Servers, `podium rank campaign.db` and reports all call this one, so they say the same.
"""

from __future__ import annotations

import contextlib
import json
import math
import threading
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.active.summary import MIN_CHECK_VOTES
from podium.campaign.choosing import LEVEL, loaded_planner
from podium.campaign.live import Live, live_votes
from podium.campaign.options import Options
from podium.errors import InputError, PodiumError
from podium.store import codec
from podium.store.content import Content
from podium.text import about, counted, percent

if TYPE_CHECKING:
    import polars as pl

    from podium.active.planner import Planner
    from podium.ranking.ranking import Ranking
    from podium.store.base import Store
    from podium.store.writer import Writer

__all__ = [
    "LEVEL",
    "MIN_CHECK_VOTES",
    "Place",
    "Share",
    "Standing",
    "Standings",
    "check_scores",
    "keep_standing",
    "pairs_left",
    "share",
    "stable_at",
    "standing",
    "standing_of",
]

DAY = 24 * 60 * 60_000  # milliseconds
MAX_FORECAST = 10  # times the votes there are: a forecast that ends beyond says nothing
ALL_PLACES = 0.9  # of the places, from which on a band says nothing
LEVEL_Z = 1.6448536269514722  # two-sided 90 %


@dataclass(frozen=True, slots=True)
class Share:
    """A share of `count` votes with its 90 % score interval (Wilson), and one that holds at all looks together.

    Who looks every day and stops at a look that pleases is misled by the first more often than 10 % of the time;
    `always_lower` and `always_upper` hold the truth at every look, with 90 %.
    """

    value: float
    lower: float
    upper: float
    count: int
    always_lower: float
    always_upper: float


@dataclass(frozen=True, slots=True)
class Place:
    """An item's place from 1, the 90 % band of places it may truly have, its tier, its votes and skips."""

    place: int
    item: str
    code: int
    lower: int
    upper: int
    tier: int
    votes: int
    skips: int


@dataclass(frozen=True, slots=True)
class Standing:
    """A campaign at one position of its log.

    `stable` is the stop signal, `finished` says that no useful pair is left, `until_stable` about how many more votes
    are needed where wrong ones are plain mistakes, `until_stable_upper` where items are close: 0 where it is stable, or
    none would help. Without votes there are no places.
    """

    position: tuple[int, int]
    places: tuple[Place, ...]
    votes: int
    skips: int
    judges: int
    agreement: Share | None
    stable: bool
    finished: bool
    until_stable: int
    until_stable_upper: int
    width: float

    @property
    def order(self) -> tuple[str, ...]:
        """Items, best first."""
        return tuple(place.item for place in self.places)

    @property
    def leader(self) -> Place | None:
        """The first, unless it may truly have nearly any place."""
        first = self.places[0] if self.places else None
        if first is None or first.upper - first.lower + 1 >= ALL_PLACES * len(self.places):
            return None
        return first

    @property
    def far(self) -> bool:
        """Whether it is so far from stable that no number of votes is forecast."""
        return self.until_stable_upper > MAX_FORECAST * self.votes

    def to_frame(self) -> pl.DataFrame:
        """One row an item, best first."""
        import polars as pl

        return pl.DataFrame(
            {
                "place": [each.place for each in self.places],
                "item": [each.item for each in self.places],
                "place_lower": [each.lower for each in self.places],
                "place_upper": [each.upper for each in self.places],
                "tier": [each.tier for each in self.places],
                "votes": [each.votes for each in self.places],
                "skips": [each.skips for each in self.places],
            }
        )

    def words(self, left: int) -> str:
        """The same in a few lines; `left` is how many more votes its judges can give (`pairs_left`)."""
        votes, judges = "vote" if self.votes == 1 else "votes", "judge" if self.judges == 1 else "judges"
        lines = [f"{self.votes:,} {votes} by {self.judges:,} {judges}, {self.skips:,} skipped"]
        if self.agreement is not None:
            each = self.agreement
            lines.append(
                f"agreement on check pairs {percent(each.value)} (90 % interval {percent(each.lower)} to "
                f"{percent(each.upper)} at this look, {percent(each.always_lower)} to {percent(each.always_upper)} "
                f"however often one looks; {counted(each.count, 'vote')})"
            )
        if self.stable:
            lines.append("stable: more votes would change little")
        elif self.finished:
            lines.append("not stable, but no useful pair is left to ask")
        elif not left:
            lines.append("not stable, and no judge has a pair left: another judge would help")
        else:
            more = about(self.until_stable, self.until_stable_upper, "more vote")
            short = f"; its judges have {counted(left, 'pair')} left" if self.until_stable_upper > left else ""
            others = ": invite others" if self.until_stable > left else ""
            far = f"far from stable: it may take more than {MAX_FORECAST} times the votes so far"
            lines.append(f"{far if self.far else f'not stable yet: {more}'}{short}{others}")
        return "\n".join(lines)


def standing(content: Content, *, without: Collection[int] = ()) -> Standing:
    """Compute it from the log; `without` leaves out judges, as if they were excluded.

    The one that was kept for this very position of the log is the same.
    """
    kept = None if without or content.standing is None else _decoded(content.standing, content)
    if kept is not None:
        return kept
    live = live_votes(content, without=without)
    items = [item for item in content.items if item.withdrawn is None]
    options = Options.of(content.campaign.options)
    if not len(live) or len(items) < 2:
        return Standing(content.campaign.position, (), len(live), 0, 0, None, False, False, 0, 0, float("nan"))
    planner = loaded_planner(items, live, options, content.campaign.seed)
    return standing_of(content, live, planner, content.campaign.position)


def standing_of(content: Content, live: Live, planner: Planner, position: tuple[int, int]) -> Standing:
    """What a planner that was loaded with the votes that count makes of them."""
    n = len(live.codes)
    order = planner.order()
    lower, upper = planner.bands()
    summary = planner.summary()
    skips = _skips(content, live)
    answers = np.bincount(live.left, minlength=n) + np.bincount(live.right, minlength=n)
    places = [
        Place(
            number,
            live.labels[k],
            int(live.codes[k]),
            int(lower[k]),
            int(upper[k]),
            tier,
            int(answers[k]),
            int(skips[k]),
        )
        for number, (k, tier) in enumerate(zip(order.tolist(), _tiers(order, lower, upper), strict=True), start=1)
    ]
    return Standing(
        position=position,
        places=tuple(places),
        votes=len(live),
        skips=int(content.votes.skipped().sum()),
        judges=len(np.unique(live.judge)),
        agreement=agreement(live),
        stable=bool(summary.stable),
        finished=bool(summary.finished),
        until_stable=int(summary.until_stable),
        until_stable_upper=int(summary.until_stable_upper),
        width=float(summary.width),
    )


def pairs_left(content: Content) -> int:
    """How many more votes the judges who are in can give: nobody is asked about a pair twice, unless as a repeat."""
    votes = content.votes
    here = np.zeros(len(content.items) + 1, dtype=bool)
    here[[item.code for item in content.items if item.withdrawn is None]] = True
    seen = votes.counted() | votes.skipped()  # an undo names no items
    judge, left, right = (each[seen].astype(np.int64) for each in (votes.judge, votes.left, votes.right))
    judge, left, right = (each[here[left] & here[right]] for each in (judge, left, right))
    pairs = np.unique((judge * len(here) + np.minimum(left, right)) * len(here) + np.maximum(left, right))
    judges, counts = np.unique(pairs // len(here) ** 2, return_counts=True)
    had = dict(zip(judges.tolist(), counts.tolist(), strict=True))
    more = 0
    for each in content.judges:
        if each.state == "active" and each.kind != "import":
            shown = int(here.sum()) - sum(bool(here[code]) for code in each.conflicts)
            more += max(0, shown * (shown - 1) // 2 - had.get(each.id, 0))
    return more


def keep_standing(store: Store, campaign: int, standing: Standing) -> None:
    """Keep the standing of a long log, so that a restart need not compute it; where that fails, it is computed."""
    if standing.position[0] < codec.PIECE:
        return

    def put(writer: Writer) -> None:
        if writer.locked.position == standing.position:
            writer.put_derived("standing", _encoded(standing), standing.position)

    with contextlib.suppress(PodiumError):
        store.write(campaign, put)


COLUMNS = ("code", "lower", "upper", "tier", "votes", "skips")


def _encoded(standing: Standing) -> bytes:
    """As JSON, places column by column; labels are the campaign's."""
    head = {each.name: getattr(standing, each.name) for each in fields(Standing) if each.name != "places"}
    head["agreement"] = None if standing.agreement is None else asdict(standing.agreement)
    places = {name: [getattr(place, name) for place in standing.places] for name in COLUMNS}
    return json.dumps({"head": head, "places": places}).encode()


def _decoded(data: bytes, content: Content) -> Standing | None:
    """The standing of those bytes; None where they do not fit."""
    try:
        kept = json.loads(data)
        head, columns = kept["head"], [kept["places"][name] for name in COLUMNS]
        places = tuple(
            Place(number, content.items[row[0]].label, *row)
            for number, row in enumerate(zip(*columns, strict=True), start=1)
        )
        agreement = None if head["agreement"] is None else Share(**head["agreement"])
        head |= {"places": places, "agreement": agreement, "position": tuple(head["position"])}
        return Standing(**head)
    except (ValueError, TypeError, KeyError, IndexError):
        return None


def _tiers(order: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]) -> list[int]:
    """A new tier begins where an item's band begins below the end of the band of the tier's first item."""
    tiers: list[int] = []
    tier, edge = 0, 0
    for item in order.tolist():
        if lower[item] > edge:
            tier, edge = tier + 1, int(upper[item])
        tiers.append(tier)
    return tiers


def _skips(content: Content, live: Live) -> NDArray[np.int64]:
    votes = content.votes
    rows = votes.skipped()
    counts = np.bincount(np.concatenate([votes.left[rows], votes.right[rows]]), minlength=len(content.items))
    counted: NDArray[np.int64] = counts[live.codes]
    return counted


def agreement(live: Live, mine: NDArray[np.bool_] | None = None) -> Share | None:
    """The share of votes on check pairs that the order at the time of planning predicted; a tie is half right."""
    kept = live.of_kind("check") & ~np.isnan(live.predicted)
    if mine is not None:
        kept &= mine
    value = live.value[kept]
    return share(np.where(live.predicted[kept] > 0.5, value, 1.0 - value))


def share(hits: NDArray[np.float64]) -> Share | None:
    """A share with its interval; None of nothing."""
    count = len(hits)
    if not count:
        return None
    value, z2 = float(hits.mean()), LEVEL_Z**2
    centre = (value + z2 / (2 * count)) / (1 + z2 / count)
    half = LEVEL_Z * np.sqrt(value * (1 - value) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    lower, upper = max(0.0, float(centre - half)), min(1.0, float(centre + half))
    return Share(value, lower, upper, count, *_at_every_look(float(hits.sum()), count))


def _at_every_look(total: float, count: int) -> tuple[float, float]:
    """The shares that no look has made implausible: a confidence sequence from values between 0 and 1.

    For the true share p, the likelihood ratio of a mixture over all shares (Jeffreys' weights) against p is a
    supermartingale that starts at 1; by Ville's inequality it reaches 1 / (1 - LEVEL) with a chance of 1 - LEVEL at
    most, at whichever look. Ties, which are half right, only make it smaller (convexity).
    """
    mixed = math.lgamma(total + 0.5) + math.lgamma(count - total + 0.5) - math.lgamma(count + 1) - 2 * math.lgamma(0.5)
    bound = -math.log(1 - LEVEL)

    def ratio(share: float) -> float:
        return mixed - total * math.log(share) - (count - total) * math.log1p(-share)

    def edge(inside: float, outside: float) -> float:
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if ratio(middle) < bound else (inside, middle)
        return outside

    best = min(max(total / count, 1e-12), 1 - 1e-12)
    return (0.0 if total == 0 else edge(best, 0.0)), (1.0 if total == count else edge(best, 1.0))


def stable_at(standing: Standing, came: int, now: int, within: int = DAY) -> int | None:
    """The moment by which the votes still needed will be in, if they go on as the `came` of the last `within` did.

    Now, where nothing is needed; None where nothing came, or no pair is left to ask.
    """
    if standing.stable:
        return now
    return (
        None if came <= 0 or standing.finished or not standing.places else now + standing.until_stable * within // came
    )


def check_scores(content: Content) -> Ranking:
    """Bradley-Terry scores of the votes on check pairs alone, with approximate intervals; needs 250 of them.

    Votes on chosen pairs would give intervals that are far too narrow.
    """
    from podium.data.comparisons import Comparisons
    from podium.pairwise.bradley_terry import BradleyTerry

    live = live_votes(content)
    kept = live.of_kind("check")
    if kept.sum() < MIN_CHECK_VOTES:
        raise InputError(
            f"{counted(kept.sum(), 'vote')} on check pairs; scores with intervals need {MIN_CHECK_VOTES}: go on"
        )
    outcome = np.sign(2 * live.value[kept] - 1).astype(np.int8)
    codes = live.left[kept].astype(np.int32), live.right[kept].astype(np.int32)
    ranking = BradleyTerry(l2=0.1).fit(Comparisons(live.labels, *codes, outcome=outcome)).ranking_
    ranking.note = "Scores of votes on check pairs only; intervals are approximate."
    return ranking


class Standings:
    """Standings of a store, computed anew only when a log has moved. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.computed = 0
        self._known: dict[int, Standing] = {}
        self._lock = threading.Lock()

    def get(self, campaign: int) -> Standing:
        """The standing at the present position of the log."""
        position = self.store.read(lambda reader: reader.campaign(campaign).position)
        with self._lock:
            known = self._known.get(campaign)
            if known is None or known.position != position:
                content = self.store.read(lambda reader: reader.content(campaign))
                self._known[campaign] = known = standing(content)
                self.computed += 1
                if content.standing is None:
                    keep_standing(self.store, campaign, known)
        return known
