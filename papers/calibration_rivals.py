"""Score intervals of other methods and packages beside ours: how many true scores they hold, and how wide they are.

    python -m papers.calibration_rivals                        what is missing of 8 and 30 items × 3, 6, 10 and 30 votes
    python -m papers.calibration_rivals --again --markdown     all of it anew, and the table of docs/intervals.md
    python -m papers.calibration_rivals --sets 0               what has been run

The votes are those of the design *plain* of `papers.calibration_grid`; 95 % intervals of every item that was compared,
relative to the mean of the items whose scores the votes bound. Packages that are not installed are left out: choix,
evalica, arena-rank, and R's BradleyTerry2 (Debian's r-cran-bradleyterry2), which `Rscript` runs. The slow ones,
arena-rank and our bootstrap, see one set in ten. An interval wider than
50 log-odds, a chance of one in 10¹¹, says nothing: such ones have no bound, and are left out of the mean width.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from papers.calibration_grid import BLOCK, HERE, LEVEL, Cell, blocks_of, cells, compact, numbers, plain, sums
from podium.data.comparisons import Comparisons
from podium.pairwise.bradley_terry import BradleyTerry

NO_BOUND = 50.0  # log-odds
CRITICAL = 1.959964
REPLICATES = 200
SLOW, SOME = ("Podium, bootstrap", "arena-rank"), 1  # methods that are run on so many sets of a block only

Bounds = tuple[np.ndarray, np.ndarray]
Method = Callable[["Votes", int], Bounds]


class Votes:
    """One set: who won, over whom, and which items the votes bound."""

    def __init__(self, made: Comparisons, truth: np.ndarray) -> None:
        left, right, outcome, _ = made.vote_rows()
        self.made, self.truth, self.n = made, truth, len(truth)
        self.won, self.lost = np.where(outcome == 1, left, right), np.where(outcome == 1, right, left)
        self.compared = np.isin(np.arange(self.n), np.concatenate([left, right]))
        bounded = ~np.logical_or(*made.adjacency.open_ended)
        self.bounded = bounded if bounded.any() else self.compared

    def around(self, scores: np.ndarray, covariance: np.ndarray) -> Bounds:
        """Wald's bounds relative to the mean of the bounded items."""
        contrast = np.eye(len(scores)) - self.bounded / self.bounded.sum()
        middle = contrast @ scores
        half = CRITICAL * np.sqrt(np.maximum(np.diag(contrast @ covariance @ contrast.T), 0.0))
        return middle - half, middle + half


def ours(votes: Votes, seed: int) -> Bounds:
    """What Podium prints."""
    ranking = BradleyTerry().fit(votes.made).ranking_
    lower, upper = ranking.intervals(LEVEL)
    middle = ranking.scores[votes.bounded].mean()
    return lower - middle, upper - middle


def our_credible(votes: Votes, seed: int) -> Bounds:
    """The posterior's intervals, under the penalty from the votes."""
    ranking = BradleyTerry().fit(votes.made).ranking_
    lower, upper = ranking.intervals(LEVEL, kind="credible")
    middle = ranking.scores[votes.bounded].mean()
    return lower - middle, upper - middle


def our_bootstrap(votes: Votes, seed: int) -> Bounds:
    """The same with errors from redrawn votes."""
    ranking = BradleyTerry().fit(votes.made).ranking_
    ranking = ranking.with_uncertainty("bootstrap", replicates=REPLICATES, seed=seed)
    lower, upper = ranking.intervals(LEVEL)
    middle = ranking.scores[votes.bounded].mean()
    return lower - middle, upper - middle


def profile(votes: Votes, seed: int) -> Bounds:
    """Scores at which the likelihood, all other scores free, is 1.92 below its maximum; bounded items only."""
    kept = np.flatnonzero(votes.bounded)
    place = np.full(votes.n, -1)
    place[kept] = np.arange(len(kept))
    rows = (place[votes.won] >= 0) & (place[votes.lost] >= 0)
    lower, upper = np.full(votes.n, -np.inf), np.full(votes.n, np.inf)
    if np.logical_or(*votes.made.adjacency.open_ended).all():
        return lower, upper
    likelihood = _Likelihood(len(kept), place[votes.won][rows], place[votes.lost][rows])
    for k, item in enumerate(kept.tolist()):
        try:
            lower[item], upper[item] = (likelihood.end(k, sign) for sign in (-1.0, 1.0))
        except np.linalg.LinAlgError:  # flat where it should bend: no bound
            continue
    return lower, upper


class _Likelihood:
    """A Bradley-Terry likelihood that may be climbed with one centred score held."""

    def __init__(self, n: int, won: np.ndarray, lost: np.ndarray) -> None:
        self.n, self.won, self.lost = n, won, lost
        self.top = np.zeros(n)
        self.least = 0.0
        self.top, self.least = self._climb(np.zeros(n), None, 0.0)

    def _climb(self, scores: np.ndarray, item: int | None, at: float) -> tuple[np.ndarray, float]:
        """Newton's method; the loss where it ends."""
        n, contrast = self.n, np.full(self.n, -1.0 / self.n)
        if item is not None:
            contrast[item] += 1.0
        for _ in range(40):
            upset = 1.0 / (1.0 + np.exp(scores[self.won] - scores[self.lost]))
            gradient = np.bincount(self.lost, upset, n) - np.bincount(self.won, upset, n)
            across = np.zeros((n, n))
            np.add.at(across, (self.won, self.lost), upset * (1.0 - upset))
            across = across + across.T
            system = np.zeros((n + 1, n + 1))
            system[:n, :n] = np.diag(across.sum(axis=1)) - across + 1.0 / n
            if item is None:
                system[n, n] = 1.0
            else:
                system[:n, n] = system[n, :n] = contrast
            right = np.append(-gradient, 0.0 if item is None else at - contrast @ scores)
            step = np.linalg.solve(system, right)[:n]
            step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
            scores = scores + step
            if np.abs(step).max() < 1e-6:
                break
        return scores, float(np.log1p(np.exp(scores[self.lost] - scores[self.won])).sum())

    def end(self, item: int, sign: float) -> float:
        """Where the loss has risen by 1.92: the root of twice the rise is nearly linear in the score."""
        middle, scores = float(self.top[item] - self.top.mean()), self.top
        away = 1.0
        for _ in range(8):
            scores, loss = self._climb(scores, item, middle + sign * away)
            root = math.sqrt(max(2.0 * (loss - self.least), 1e-12))
            if away >= NO_BOUND or abs(root - CRITICAL) < 1e-3:
                break
            away = min(away * min(CRITICAL / root, 3.0), NO_BOUND)
        return middle + sign * away


def choix_ep(votes: Votes, seed: int) -> Bounds:
    """Expectation propagation with a prior of variance 1."""
    import choix

    rows = list(zip(votes.won.tolist(), votes.lost.tolist(), strict=True))
    return votes.around(*choix.ep_pairwise(votes.n, rows, alpha=1.0))


def evalica_bootstrap(votes: Votes, seed: int) -> Bounds:
    """Percentiles of redrawn votes."""
    import evalica

    drawn = evalica.bootstrap(
        evalica.bradley_terry, votes.won.tolist(), votes.lost.tolist(), [evalica.Winner.X] * len(votes.won),
        n_resamples=REPLICATES, bootstrap_method="percentile", random_state=seed,
    )  # fmt: skip
    known = np.array([int(item) for item in drawn.result.scores.index])
    lower, upper, middle = (np.full(votes.n, np.nan) for _ in range(3))
    for values, source in ((lower, drawn.low), (upper, drawn.high), (middle, drawn.result.scores)):
        values[known] = np.log(np.asarray(source, dtype=np.float64))
    shift = middle[votes.bounded].mean()
    return lower - shift, upper - shift


def arena_rank(votes: Votes, seed: int) -> Bounds:
    """The sandwich of LMArena's package, each vote a row of its own."""
    import jax.numpy as jnp
    from arena_rank.models.bradley_terry import BradleyTerry as ArenaBradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    known, codes = np.unique(np.concatenate([votes.won, votes.lost]), return_inverse=True)
    ones = jnp.ones(len(votes.won))
    rows = PairDataset(
        [str(item) for item in known.tolist()], jnp.array(codes.reshape(2, -1).T), ones, ones, ones, ones
    )
    model = ArenaBradleyTerry(n_competitors=len(known))
    found = model.compute_ratings_and_cis(rows, significance_level=1 - LEVEL)
    lower, upper, middle = (np.full(votes.n, np.nan) for _ in range(3))
    for values, name in ((lower, "rating_lower"), (upper, "rating_upper"), (middle, "ratings")):
        values[known] = (np.asarray(found[name]) - model.init_rating) / model.alpha
    shift = middle[votes.bounded].mean()
    return lower - shift, upper - shift


R_SCRIPT = """
suppressMessages(library(BradleyTerry2))
given <- commandArgs(trailingOnly = TRUE)
rows <- read.csv(given[1]); n <- as.integer(given[2]); out <- list()
for (set in unique(rows$set)) for (br in c(FALSE, TRUE)) {
  votes <- rows[rows$set == set, ]
  known <- sort(unique(c(votes$won, votes$lost)))
  won <- factor(votes$won, levels = known); lost <- factor(votes$lost, levels = known)
  model <- suppressWarnings(BTm(rep(1, nrow(votes)), won, lost, br = br))
  found <- coef(model); errors <- vcov(model)
  out[[length(out) + 1]] <- data.frame(set = set, br = br, item = known[-1], score = found, errors)
  names(out[[length(out)]])[-(1:4)] <- paste0("v", seq_along(found))
}
for (each in out) { write.table(each, given[3], append = TRUE, col.names = FALSE, row.names = FALSE, sep = ",") }
"""


def bradley_terry2(sets: list[Votes]) -> dict[str, list[Bounds]]:
    """Of many sets at once, as R takes a second to start: by likelihood, and with its bias reduction."""
    with tempfile.TemporaryDirectory() as folder:
        rows, out, script = (Path(folder) / name for name in ("rows.csv", "out.csv", "fit.R"))
        lines = [f"{k},{a},{b}" for k, each in enumerate(sets) for a, b in zip(each.won, each.lost, strict=True)]
        rows.write_text("\n".join(["set,won,lost", *lines]) + "\n")
        script.write_text(R_SCRIPT)
        command = ["Rscript", "--vanilla", script, rows, str(sets[0].n), out]
        subprocess.run(command, check=True, capture_output=True)
        told = [line.split(",") for line in out.read_text().splitlines()]
    found: dict[str, list[Bounds]] = {"BradleyTerry2": [], "BradleyTerry2, br=TRUE": []}
    for bounds, br in zip(found.values(), ("FALSE", "TRUE"), strict=True):
        for k, votes in enumerate(sets):
            own = [line for line in told if line[:2] == [str(k), br]]
            item = np.array([int(line[2]) for line in own])
            numbers_of = np.array([[float(x) if x != "NA" else math.nan for x in line[3:]] for line in own])
            scores, covariance = np.zeros(votes.n), np.zeros((votes.n, votes.n))  # the first compared is held at 0
            scores[item], covariance[np.ix_(item, item)] = numbers_of[:, 0], numbers_of[:, 1:]
            bounds.append(votes.around(scores, covariance))
    return found


METHODS: dict[str, Method] = {
    "Podium": ours,
    "Podium, credible": our_credible,
    "Podium, bootstrap": our_bootstrap,
    "profile likelihood": profile,
    "choix, EP": choix_ep,
    "evalica, bootstrap": evalica_bootstrap,
    "arena-rank": arena_rank,
}
EVERY = (*METHODS, "BradleyTerry2", "BradleyTerry2, br=TRUE")


def held(votes: Votes, bounds: Bounds, only: np.ndarray) -> dict[str, float]:
    """Share held, mean width, and share without a bound, among some items."""
    placed = votes.truth - votes.truth[votes.bounded].mean()
    lower, upper = (each[only] for each in bounds)
    width = upper - lower
    wide = ~(width < NO_BOUND)
    return {
        "held": float(((lower <= placed[only]) & (placed[only] <= upper)).mean()),
        "width": float(width[~wide].mean()) if (~wide).any() else math.nan,
        "no bound": float(wide.mean()),
    }


def ranks(votes: Votes) -> dict[str, float]:
    """Both ways to rank intervals: share held, and mean width as a share of the items."""
    ranking, truth = BradleyTerry().fit(votes.made).ranking_, votes.truth
    place = 1 + (truth[:, None] < truth).sum(axis=1)
    found = {}
    for method in ("pairwise", "guaranteed"):
        best, worst = ranking.rank_intervals(LEVEL, method=method)
        found[f"ranks, {method}, held"] = float(((best <= place) & (place <= worst)).mean())
        found[f"ranks, {method}, width"] = float((worst - best + 1).mean() / votes.n)
    return found


def blocks(n: int, per_item: int, missing: list[int], seed: int, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Some blocks of one cell by every method that is there."""
    drawn = []
    for number in missing:
        rng = np.random.default_rng([seed, 0, n, per_item, number])
        drawn.append([Votes(*plain(rng, n, per_item)) for _ in range(BLOCK)])
    by_r = bradley_terry2([votes for sets in drawn for votes in sets]) if "BradleyTerry2" in names else {}
    for k, (number, sets) in enumerate(zip(missing, drawn, strict=True)):
        of_r = [{name: bounds[BLOCK * k + i] for name, bounds in by_r.items()} for i in range(BLOCK)]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = []
            for i, (votes, own) in enumerate(zip(sets, of_r, strict=True)):
                here = tuple(name for name in names if i < SOME or name not in SLOW)
                found.append(measured(votes, number, here, own))
        row = {"design": "rivals", "items": n, "votes": per_item, "block": number, "refused": 0}
        yield row | {"sums": sums(found)}


def measured(votes: Votes, number: int, names: tuple[str, ...], by_r: dict[str, Bounds]) -> dict[str, float]:
    """What each method holds of one set."""
    here = ranks(votes)
    every = {name: METHODS[name](votes, number) for name in names if name in METHODS} | by_r
    for name, bounds in every.items():
        here |= {f"{name}, {what}": value for what, value in held(votes, bounds, votes.compared).items()}
        inner = held(votes, bounds, votes.bounded & votes.compared)
        here |= {f"{name}, bounded, {what}": value for what, value in inner.items()}
    return here


def installed() -> tuple[str, ...]:
    """The methods that can be run here."""
    import importlib.util

    needs = {"choix, EP": "choix", "evalica, bootstrap": "evalica", "arena-rank": "arena_rank"}
    names = [name for name in METHODS if name not in needs or importlib.util.find_spec(needs[name])]
    return (*names, *(EVERY[-2:] if shutil.which("Rscript") else ()))


def page(found: list[Cell]) -> str:
    """The table of docs/intervals.md."""
    heads = [f"{cell.items} × {cell.votes}" for cell in found]
    lines = ["| Method | " + " | ".join(heads) + " |", "|---" * (1 + len(heads)) + "|"]
    for name in EVERY:
        texts = []
        for cell in found:
            if f"{name}, held" not in cell.sums:
                texts.append("")
                continue
            share, none = cell.mean(f"{name}, held"), cell.mean(f"{name}, no bound")
            width = f", {cell.mean(f'{name}, width'):.1f}" if f"{name}, width" in cell.sums else ""
            texts.append(f"{100 * share:.0f} %{width}" + (f" ({100 * none:.0f} %)" if none >= 0.005 else ""))
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    for method in ("pairwise", "guaranteed"):
        texts = [
            f"{100 * cell.mean(f'ranks, {method}, held'):.0f} %, {cell.mean(f'ranks, {method}, width'):.2f}"
            for cell in found
        ]
        lines.append(f"| ranks, `{method}` | " + " | ".join(texts) + " |")
    sets = " | ".join(str(int(cell.sums["Podium, held"][0])) for cell in found)
    return "\n".join([*lines, f"| sets | {sets} |"])


def main() -> None:
    """Run what is missing, then print all that is there."""
    parser = argparse.ArgumentParser(description="Score intervals of other packages beside ours.")
    parser.add_argument("--sets", type=int, default=100, help="sets per cell, in blocks of 10")
    parser.add_argument("--items", type=numbers, default=(8, 30))
    parser.add_argument("--votes", type=numbers, default=(3, 6, 10, 30), help="votes an item")
    parser.add_argument("--again", action="store_true", help="draw all anew; what is there is kept until that is done")
    parser.add_argument("--seed", type=int, default=103)
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/intervals.md instead")
    parser.add_argument("-o", "--output", type=Path, default=HERE, help="folder for the results")
    given = parser.parse_args()
    place = given.output / "rivals.jsonl"
    path = place.with_name("rivals-again.jsonl") if given.again else place
    lines = path.read_text().splitlines() if path.exists() else []
    done = {(row["items"], row["votes"], number) for row in map(json.loads, lines) for number in blocks_of(row)}
    names = installed()
    print("left out: " + (", ".join(name for name in EVERY if name not in names) or "nothing"))
    with path.open("a") as file:
        for n in given.items:
            for per_item in given.votes:
                missing = [k for k in range(-(-given.sets // BLOCK)) if (n, per_item, k) not in done]
                for row in blocks(n, per_item, missing, given.seed, names) if missing else ():
                    file.write(json.dumps(row) + "\n")
                    file.flush()
    path.write_text("".join(f"{line}\n" for line in compact(path.read_text().splitlines())))
    path.replace(place)
    found = cells(place.read_text().splitlines())
    if given.markdown:
        print(page(found))
        return
    for cell in found:
        print(f"{cell.items} items, {cell.votes} votes an item")
        for name in cell.sums:
            print(f"    {name:44} {cell.mean(name):8.3f} ± {1.96 * cell.error(name):.3f}")


if __name__ == "__main__":
    main()
