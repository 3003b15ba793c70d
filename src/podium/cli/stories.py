"""Example data with a known truth, and the commands that make something of it: one story for each kind of user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.writing import write_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["STORIES", "Story"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Story:
    """What it tells, how its files are made, the commands that read them, and what to open at the end.

    URL in a command stands for the address of a simulated model that runs beside the commands and looks for `likes`.
    """

    about: str
    write: Callable[[Path, np.random.Generator], None]
    commands: tuple[str, ...]
    shows: str
    likes: Callable[[str], float] | None = None


def _chance(gap: Array) -> Array:
    return 1 / (1 + np.exp(-gap))


def _pairs(count: int, items: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """So many pairs of different items."""
    left = rng.integers(0, items, count)
    return left, (left + rng.integers(1, items, count)) % items


MODELS = (
    "atlas-large", "atlas-mini", "birch-2", "birch-2-chat", "corvid", "delta-9", "ember", "ember-lite", "fjord-70b",
    "fjord-8b", "granite", "heron",
)  # fmt: skip
LANGUAGES = {"English": 0.6, "German": 0.25, "Chinese": 0.15}


def _arena(folder: Path, rng: np.random.Generator) -> None:
    """Battles of models: longer answers win more often, some models are better in one language, a fifth are ties."""
    count, n = 9_000, len(MODELS)
    skill = np.sort(rng.normal(0, 0.7, n))[::-1]
    wordy = rng.normal(0, 0.35, n)
    languages = np.array(list(LANGUAGES))[rng.choice(3, count, p=list(LANGUAGES.values()))]
    accent = rng.normal(0, 0.35, (3, n))
    left, right = _pairs(count, n, rng)
    tokens = [np.exp(5.5 + wordy[side] + rng.normal(0, 0.5, count)).astype(int) + 5 for side in (left, right)]
    place = np.array([list(LANGUAGES).index(each) for each in languages])
    gap = skill[left] + accent[place, left] - skill[right] - accent[place, right]
    gap += 0.5 * np.log(tokens[0] / tokens[1]) + 0.1
    winner = np.where(rng.random(count) < _chance(gap), "model_a", "model_b")
    winner = np.where(rng.random(count) < 0.2 * np.exp(-np.abs(gap)), "tie", winner)
    names = np.array(MODELS)
    votes = _frame(
        model_a=names[left], model_b=names[right], winner=winner, length_a=tokens[0], length_b=tokens[1],
        language=languages,
    )  # fmt: skip
    votes.write_ndjson(folder / "battles.jsonl")
    votes.head(6_000).write_ndjson(folder / "last-month.jsonl")


def _essays(folder: Path, rng: np.random.Generator) -> None:
    """Eighty essays compared by twelve readers, one of whom guesses."""
    n, count = 80, 1_600
    worth = rng.normal(0, 1.4, n)
    left, right = _pairs(count, n, rng)
    reader = rng.integers(0, 12, count)
    steady = np.where(reader == 11, 0.0, 1.0)
    won = rng.random(count) < _chance(steady * (worth[left] - worth[right]))
    names = np.array([f"essay {k + 1:02}" for k in range(n)])
    readers = np.array([f"reader {k + 1}" for k in range(12)])
    votes = _frame(
        winner=names[np.where(won, left, right)], loser=names[np.where(won, right, left)], judge=readers[reader]
    )
    write_table(votes, folder / "votes.csv")


TEAMS = ("Arden", "Brook", "Castle", "Dunmore", "Elm Park", "Foxhill", "Grange", "Harbour", "Ivybridge", "Jarrow")


def _league(folder: Path, rng: np.random.Generator) -> None:
    """Ten teams that get better and worse, each against each four times, five games a week; nine weeks are left."""
    n = len(TEAMS)
    strength = rng.normal(0, 0.45, n)
    played, left = [], []
    for week in range(4 * (n - 1)):
        strength += rng.normal(0, 0.035, n)
        day = np.datetime64("2026-08-08") + 7 * week
        ring = [0, *np.roll(np.arange(1, n), week % (n - 1)).tolist()]  # all meet once while the ring turns
        for one, other in zip(ring[: n // 2], ring[: n // 2 - 1 : -1], strict=True):
            home, away = sorted((one, other), reverse=bool((week // (n - 1) + one + other) % 2))
            goals = (
                rng.poisson(np.exp(0.2 + 0.15 + strength[home] - strength[away])),
                rng.poisson(np.exp(0.2 + strength[away] - strength[home])),
            )
            row = (str(day), TEAMS[home], TEAMS[away])
            if week < 3 * (n - 1):
                played.append((*row, int(goals[0]), int(goals[1])))
            else:
                left.append(row)
    names = ("date", "home", "away", "home_goals", "away_goals")
    write_table(_rows(played, names), folder / "season.csv")
    write_table(_rows(left, names[:3]), folder / "fixtures.csv")


DISHES = (
    "Burger", "Curry", "Dumplings", "Falafel", "Fish and chips", "Lasagne", "Pierogi", "Quiche", "Ramen", "Salad bowl",
    "Soup", "Sushi", "Tacos", "Tagine",
)  # fmt: skip


def _survey(folder: Path, rng: np.random.Generator) -> None:
    """Everyone lists the first three dishes of fourteen."""
    n, people = len(DISHES), 250
    worth = rng.normal(0, 0.8, n)
    first = np.argsort(-(worth + rng.gumbel(size=(people, n))), axis=1)[:, :3]
    names = np.array(DISHES)
    shift = np.array(["day", "night"])[rng.integers(0, 2, people)]
    lists = {f"Rank {k + 1}": names[first[:, k]] for k in range(3)}
    write_table(_frame(respondent=[f"r{k + 1}" for k in range(people)], shift=shift, **lists), folder / "survey.csv")


def _grades(folder: Path, rng: np.random.Generator) -> None:
    """Essays with a few counts each and a range of grades: one reader was unsure by a grade or two."""
    for name, n in (("graded.csv", 1_200), ("held-out.csv", 400), ("new.csv", 40)):
        words, errors, sources = rng.normal(450, 120, n), rng.poisson(7, n), rng.poisson(2.2, n)
        score = 0.006 * (words - 450) - 0.22 * (errors - 7) + 0.5 * (sources - 2.2) + rng.logistic(0, 0.6, n)
        grade = 1 + np.searchsorted([-1.6, -0.4, 0.7, 1.9], score)
        unsure = rng.random((2, n)) < 0.3
        low, high = np.maximum(grade - unsure[0], 1), np.minimum(grade + unsure[1], 5)
        table = _frame(
            essay=[f"E{k + 1:04}" for k in range(n)], words=words.astype(int), errors=errors, sources=sources
        )
        if name != "new.csv":
            table = table.with_columns(**_columns(low=low, high=high))
        write_table(table, folder / name)


TAGS = ("sport", "politics", "money", "science", "culture", "weather")


def _labels(folder: Path, rng: np.random.Generator) -> None:
    """Articles with word counts, and the tags that fit."""
    words = rng.normal(0, 1, (len(TAGS), 12))
    for name, n in (("articles.csv", 800), ("held-out.csv", 200), ("new.csv", 20)):
        counts = rng.poisson(1.5, (n, 12))
        scores = counts @ words.T / 2 + rng.logistic(0, 0.7, (n, len(TAGS)))
        fits = scores > np.quantile(scores, 0.7)
        table = _frame(title=[f"article {k + 1}" for k in range(n)], **{f"word_{k}": counts[:, k] for k in range(12)})
        if name != "new.csv":
            table = table.with_columns(**_columns(**{f"tag_{tag}": fits[:, k] for k, tag in enumerate(TAGS)}))
        write_table(table, folder / name)


OPINIONS = (
    "Cars should leave the old market square.", "The square belongs to those who walk.",
    "Nobody has asked the people who live there.", "The plan is older than the trees.",
)  # fmt: skip
REASONS = (
    "It is quieter, because the buses already go round it.", "Shops gain, because people on foot stay longer.",
    "Children can cross alone, because there is one street less.", "It costs little, because the stones are there.",
    "The air improves, because the queue at the lights is gone.", "It can be undone, because nothing is built.",
)  # fmt: skip
FILLING = ("One could say much more about this.", "That is how it has always been.", "Everyone knows this square.")


def _judge(folder: Path, rng: np.random.Generator) -> None:
    """Essays with more and fewer reasons."""
    texts = []
    for _ in range(24):
        reasons = rng.permutation(len(REASONS))[: rng.integers(0, len(REASONS) + 1)]
        sentences = [REASONS[k] for k in reasons] + [FILLING[rng.integers(0, 3)] for _ in range(rng.integers(1, 4))]
        texts.append(" ".join([OPINIONS[rng.integers(0, 4)], *(sentences[k] for k in rng.permutation(len(sentences)))]))
    write_table(_frame(id=[f"essay {k + 1:02}" for k in range(24)], text=texts), folder / "essays.csv")


def reasons_given(text: str) -> float:
    """What the simulated model of the story looks for."""
    return 1.2 * text.count("because")


def _rows(rows: list[Any], names: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(rows, schema=list(names), orient="row")


def _frame(**columns: Any) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(columns)


def _columns(**columns: Array) -> dict[str, pl.Series]:
    import polars as pl

    return {name: pl.Series(values.astype(int)) for name, values in columns.items()}


STORIES = {
    "arena": Story(
        "battles of language models, with style control",
        _arena,
        (
            "rank last-month.jsonl --covariates length --side-effect --ties davidson -o last.csv",
            "rank battles.jsonl --covariates length --side-effect --ties davidson -o now.csv",
            "rank battles.jsonl --covariates length --side-effect --ties davidson --by language --since last.csv "
            "--report page.html --title 'Model arena'",
            "diff last.csv now.csv",
        ),
        "page.html",
    ),
    "league": Story(
        "a season of goals: strength now, curves over time, the games to come",
        _league,
        (
            "rank season.csv --time date --method dynamic --side-effect --ties davidson --save season.podium "
            "--fixtures fixtures.csv --report page.html --title 'The league' --plot curves.png --picture curves",
            "predict fixtures.csv --model season.podium --time date -o predicted.csv",
        ),
        "page.html",
    ),
    "survey": Story(
        "a survey in which everyone lists three favourites",
        _survey,
        (
            "check survey.csv --unranked below",
            "rank survey.csv --unranked below --by shift --report page.html --title 'Lunch'",
        ),
        "page.html",
    ),
    "essays": Story(
        "essays compared by readers, one of whom guesses",
        _essays,
        (
            "check votes.csv",
            "rank votes.csv --method crowd --marks 0:100 --boundaries A=70,B=55,C=40 --report page.html "
            "--title 'Essays' -o marks.csv",
        ),
        "page.html",
    ),
    "judge": Story(
        "a simulated model judges essays, two at a time and in both orders",
        _judge,
        (
            "judge essays.csv --question 'Which essay argues better?' --base-url URL --model simulated "
            "--preset quick --repeat 0.05 --seed 1 --db essays.db --report page.html -o order.csv",
            "campaign export calls --db essays.db -o calls.jsonl",
        ),
        "page.html",
        reasons_given,
    ),
    "grades": Story(
        "grades given as ranges, and a grade with its set for new essays",
        _grades,
        (
            "grade fit graded.csv --low low --high high --id essay --passes 5 --save grades.podium --plot learning.png",
            "grade predict new.csv --model grades.podium --id essay --level 0.9 -o graded-new.csv",
            "grade evaluate held-out.csv --low low --high high --model grades.podium --plot grades.png",
        ),
        "grades.png",
    ),
    "labels": Story(
        "tags for articles, best first",
        _labels,
        (
            "label fit articles.csv --labels 'tag_*' --id title --save tags.podium",
            "label evaluate held-out.csv --labels 'tag_*' --model tags.podium --at 1,3",
            "label predict new.csv --id title --model tags.podium --top 2 -o tagged.csv",
        ),
        "tagged.csv",
    ),
}
