"""Have a model rank items: the one function that the command line and Python call."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.campaign.items import Items
from podium.campaign.live import live_votes
from podium.campaign.options import Options
from podium.campaign.standing import Standing, standing
from podium.errors import InputError
from podium.judge import ledger as ledgers
from podium.judge.asking import Asker, as_asker, header_of_asker
from podium.judge.report import against, pairs_of, tally_of
from podium.judge.run import ROUNDING, Run
from podium.judge.settings import Progress, Settings
from podium.judge.tally import Agreement, Tally
from podium.store import open_store
from podium.store.file import read_campaign_file
from podium.store.values import Campaign, Item, Judge
from podium.text import counted, storable

if TYPE_CHECKING:
    import polars as pl

    from podium.ranking.ranking import Ranking
    from podium.store.base import Store
    from podium.store.content import Content

__all__ = ["Judged", "check_same", "check_words", "judge_pairs", "judged"]

MANY = 10**6
MOST_AGAINST = 100  # pairs of another judge that are asked too
REASONS = {  # with the words of a server or a campaign in the middle
    "stable": "stable: more votes would change little",
    "budget": "the pairs allowed are asked; a larger --budget asks more",
    "max-calls": "the calls allowed are used",
    "max-cost": "the cost allowed is used{words}",
    "finished": "no useful pair is left to ask",
    "interrupted": "interrupted; go on with the same command",
    "gone": "the server is gone{words}; go on with the same command",
    "unheard": "nothing was ever answered{words}; check --base-url, then go on with the same command",
    "noise": "the judge contradicts itself when the order is turned",
    "unread": "no pair has a verdict; see above why, or go on by --anyway",
    "rejected": "the server rejects too many pairs{words}",
    "refused": "the campaign takes no more votes{words}",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of it.

    Attributes
    ----------
    path : str or None
        The file of the campaign; None where it was not to be kept.
    campaign, judge : str
        The names of both.
    standing : Standing
        The order with bands of places, tiers, and whether to stop.
    ranking : Ranking or None
        With one order: scores of random pairs with their intervals, the position bias fitted.
    tally : Tally
        The judge in numbers: position, length, repeats, cost.
    why : str
        What stopped it, in one word: "stable", "budget", "max-calls", "max-cost", "finished", "interrupted", "gone",
        "unheard", "noise", "unread", "rejected", "refused".
    words : str
        The same in a sentence.
    """

    path: str | None
    campaign: str
    judge: str
    standing: Standing
    ranking: Ranking | None
    tally: Tally
    why: str
    words: str

    @property
    def order(self) -> tuple[str, ...]:
        """Items, best first."""
        return self.standing.order if self.ranking is None else tuple(str(item) for item in self.ranking.order)

    def to_frame(self) -> pl.DataFrame:
        """One row an item, best first."""
        return self.standing.to_frame() if self.ranking is None else self.ranking.to_frame()


def judge_pairs(
    items: Mapping[str, str] | Sequence[str],
    ask: Asker | Callable[[Any], Any],
    *,
    question: str,
    db: str | None = None,
    name: str | None = None,
    instructions: str = "",
    context: str | None = None,
    reference: str | None = None,
    preset: str = "standard",
    top: int | None = None,
    budget: int | None = None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    concurrency: int = 16,
    one_order: bool = False,
    repeat: float = 0.0,
    gold: Sequence[tuple[str, str, int]] = (),
    anyway: bool = False,
    seed: int | None = None,
    told: Callable[[Progress], None] | None = None,
) -> Judged:
    """Rank items by asking a judge which of two, n log n times instead of n², in both orders.

    Parameters
    ----------
    items : mapping or sequence
        Label and text of each, or texts that are their own labels.
    ask : HttpJudge, CommandJudge, or a function
        A function takes the question (`question.left`, `question.right`: texts) and returns 1, 0, 0.5 or None; it may
        be a coroutine.
    question : str
        What is asked of each pair.
    db : str, optional
        File that keeps the campaign, every call and every vote; there, the same call again goes on. Without it nothing
        is kept.
    name : str, optional
        Name of the judge; the model's, unless given.
    context, reference : str, optional
        Shown above every pair: what the items answer to, and an answer known to be good.
    preset, top, budget
        How many pairs, and whether the first `top` places alone matter; as in `ActiveRanker`.
    max_calls, max_cost, price_in, price_out
        Where to stop; prices are per million tokens.
    concurrency : int
        Calls out at a time.
    one_order : bool
        Ask each pair once: pairs are then random, and the advantage of the first place is fitted.
    repeat : float
        Share of the calls that are asked again word for word.
    gold : sequence of (left, right, answer)
        Pairs whose answer is known (1: left, 0: right); all are asked.
    anyway : bool
        Go on although the judge contradicts itself when the order is turned.
    seed : int, optional
    told : callable, optional
        Is given the progress twice a second.

    Returns
    -------
    Judged

    Examples
    --------
    >>> def longer(question):
    ...     return float(len(question.left) > len(question.right))
    >>> judge_pairs(["tea", "coffee", "hot chocolate"], longer, question="Which is longer?", seed=1).order
    ('hot chocolate', 'coffee', 'tea')
    """
    texts = _texts_of(items)
    for key, value in (("question", question), ("name", name or "x"), ("instructions", instructions or "x")):
        if not isinstance(value, str) or not value.strip() or storable(value) != value:
            raise InputError(f"{key} is {value!r:.50}; give some words")
    for label, text in texts.items():
        if not isinstance(label, str) or not isinstance(text, str):
            raise InputError(f"item {label!r}: labels and texts are strings; convert it")
        if storable(label + text) != label + text:
            raise InputError(f"item {label!r} holds half a character, which no file can; take it out")
        if not label.strip() or not text.strip():
            raise InputError(f"item {label!r} has no label or no text; every item needs both")
    codes = range(len(texts))
    extra = {key: dict.fromkeys(codes, text) for key, text in (("context", context), ("reference", reference)) if text}
    options = Options.of({"top": top, "tired_after": 1, "gold": list(gold) if isinstance(gold, tuple) else gold})
    settings = Settings(
        preset, budget, max_calls, max_cost, price_in, price_out, concurrency, one_order, repeat, anyway, seed=seed
    )
    asker = as_asker(ask)
    with ExitStack() as stack:
        where = db or str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "judge.db")
        store = stack.enter_context(open_store(where, new=True))
        campaign = ledgers.found_campaign(store, "judge")
        read = Items([Item(-1, label, body=text) for label, text in texts.items()])
        if campaign is None:
            campaign = ledgers.new_campaign(
                store,
                read,
                extra,
                title="judge",
                question=question,
                instructions=instructions,
                options=options,
                seed=seed,
            )
        else:
            check_same(store, campaign, read.items, question, instructions)
        result = judged(store, campaign, asker, settings, name=name, told=told)
    return result if db else replace(result, path=None)


def _texts_of(items: Any) -> dict[Any, Any]:
    """Texts by label."""
    if isinstance(items, Mapping):
        return dict(items)
    if not isinstance(items, list | tuple) or not all(isinstance(each, str) for each in items):
        raise InputError("items are a mapping of labels to texts, or a list of texts; convert them")
    if len(set(items)) < len(items):
        raise InputError("a text appears twice; give a mapping of labels to texts")
    return {text: text for text in items}


def check_same(store: Store, campaign: Campaign, items: Sequence[Item], question: str, instructions: str) -> None:
    """Refuse to go on with other items or another question than the file has."""
    there = {item.label: (item.body, item.media) for item in store.read(lambda reader: reader.items(campaign.id))}
    now = {item.label: (item.body, item.media) for item in items}
    for label in now:
        if there.get(label) != now[label]:
            raise InputError(f"{store.name} was begun with other items: {label!r} is new or changed; take another file")
    for label in there:
        if label not in now:
            raise InputError(f"{store.name} was begun with other items: {label!r} is gone; take another file")
    check_words(store, campaign, question, instructions)


def check_words(store: Store, campaign: Campaign, question: str, instructions: str) -> None:
    """Refuse to go on with another question or other instructions than the file has."""
    words = (("question", campaign.question, question), ("instructions", campaign.instructions, instructions))
    for what, old, new in words:
        if old != new:
            raise InputError(f"{store.name} was begun with another {what} ({old!r}, now {new!r}); take another file")


def judged(
    store: Store,
    campaign: Campaign,
    asker: Asker,
    settings: Settings,
    *,
    name: str | None = None,
    others: Sequence[tuple[str, str]] = (),
    told: Callable[[Progress], None] | None = None,
    about: Mapping[str, Any] | None = None,
    open_ledger: Callable[[Judge, Mapping[str, Any], ledgers.Material], ledgers.Ledger] | None = None,
) -> Judged:
    """Let an asker judge a campaign until there is a reason to stop; `others` are files and judges to compare with.

    `about` goes into the judge's header. `open_ledger` is for pairs that come from elsewhere.
    """
    if campaign.state != "open":
        raise InputError(f"the campaign {campaign.slug!r} is {campaign.state}; `podium campaign open` opens it")
    header = header_of_asker(asker) | {"orders": "one" if settings.one_order else "both"} | dict(about or {})
    who = name or str(header["model"])
    compared = {f"{path}:{judge}": _found_judge(path, judge) for path, judge in others}
    with ledgers.locked(store, campaign, who) as hold:
        material = ledgers.Material(store, campaign)
        judge = ledgers.joined(store, campaign, who, header, named=name is not None)
        if open_ledger is None:
            ledger = ledgers.Ledger(store, campaign, judge, header)
        else:
            ledger = open_ledger(judge, header, material)
        codes = store.read(lambda reader: reader.active_codes(campaign.id))
        if len(codes) < 2:
            raise InputError(
                f"the campaign {campaign.slug!r} has {counted(len(codes), 'item')}; an order needs at least two"
            )
        wanted = _wanted(material, compared.values())
        items = len(codes) if ledger.plans else MANY  # how many there are elsewhere is not known
        run = Run(ledger, asker, material, settings, items=items, wanted=wanted, told=told, keep=hold.keep)
        why = _run(run)
        tally = tally_of(ledger, material)
        content = store.read(lambda reader: reader.content(campaign.id))
    tally = replace(tally, against=_compared(content, judge.id, compared), lost=run.progress.lost)
    words = REASONS[why].format(words=f": {run.words}" if run.words else "") + _above(settings, run.progress)
    ranking = _one_order_ranking(content, judge.id) if settings.one_order else None
    return Judged(store.name, campaign.slug, who, standing(content), ranking, tally, why, words)


def _run(run: Run) -> str:
    """Run it here, or in a thread of its own where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run.go())
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, run.go()).result()


def _above(settings: Settings, progress: Progress) -> str:
    """That more was spent than was allowed, and why."""
    limit, spent = settings.max_cost, progress.cost
    if limit is None or not settings.is_priced:
        return ""
    if spent <= limit * (1 + ROUNDING):
        return ""
    return f"; {spent:.3g} was spent, {spent - limit:.2g} more than {limit:g}: calls cost more than any before them"


def _found_judge(path: str, name: str) -> tuple[Content, int]:
    if "://" not in path and not Path(path).exists():
        raise InputError(f"no such file: {path}; check the path")
    content = read_campaign_file(path)
    found = next((each.id for each in content.judges if each.name == name), None)
    if found is None:
        names = ", ".join(repr(each.name) for each in content.judges)
        raise InputError(f"{path} has no judge {name!r}; there are {names or 'none'}")
    return content, found


def _wanted(material: ledgers.Material, others: Any) -> list[tuple[int, int]]:
    """Pairs of the others that this judge is asked too, so that there is something to compare."""
    codes = {label: code for code, label in material.labels.items()}
    pairs = [pair for content, judge in others for pair in pairs_of(content, judge)[-MOST_AGAINST:]]
    return [(codes[a], codes[b]) for a, b in dict.fromkeys(pairs) if a in codes and b in codes]


def _compared(content: Content, judge: int, others: Mapping[str, tuple[Content, int]]) -> dict[str, Agreement | None]:
    return {name: against(content, judge, theirs, other) for name, (theirs, other) in others.items()}


def _one_order_ranking(content: Content, judge: int) -> Ranking | None:
    """Scores of this judge's votes on random pairs, the advantage of the first place fitted."""
    from podium.campaign.live import live_comparisons
    from podium.pairwise.bradley_terry import BradleyTerry

    others = [replace(each, state="excluded") if each.id != judge else each for each in content.judges]
    mine = replace(content, judges=others)
    if not len(live_votes(mine)):
        return None
    return BradleyTerry(side_effect=True).fit(live_comparisons(mine)).ranking_
