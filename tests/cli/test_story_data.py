"""The data of the stories, each made a second time by a slow twin that says row by row how it comes about."""

import datetime
import math

import numpy as np
import polars as pl
import pytest

from podium.cli.stories import DISHES, FILLING, MODELS, OPINIONS, REASONS, STORIES, TAGS, TEAMS, reasons_given


def chance(gap):
    return 1 / (1 + math.exp(-gap))


def pairs(count, n, rng):
    """The first of a pair is any item, the second any other."""
    left, step = rng.integers(0, n, count), rng.integers(1, n, count)
    return [(int(a), (int(a) + int(b)) % n) for a, b in zip(left, step, strict=True)]


def arena(rng):
    """Skill, what a model is worth more in a language, half the log-ratio of lengths, and a tenth for the first."""
    names, shares = ["English", "German", "Chinese"], [0.6, 0.25, 0.15]
    skill = sorted(rng.normal(0, 0.7, 12), reverse=True)
    wordy = rng.normal(0, 0.35, 12)
    spoken = rng.choice(3, 9000, p=shares)
    accent = rng.normal(0, 0.35, (3, 12))
    met = pairs(9000, 12, rng)
    lengths = []
    for side in (0, 1):
        spread = rng.normal(0, 0.5, 9000)
        lengths.append([int(math.exp(5.5 + wordy[pair[side]] + z)) + 5 for pair, z in zip(met, spread, strict=True)])
    draws, ties = rng.random(9000), rng.random(9000)
    rows = []
    for k, (a, b) in enumerate(met):
        own = skill[a] + accent[spoken[k]][a] - skill[b] - accent[spoken[k]][b]
        gap = own + 0.5 * math.log(lengths[0][k] / lengths[1][k]) + 0.1
        winner = "model_a" if draws[k] < chance(gap) else "model_b"
        if ties[k] < 0.2 * math.exp(-abs(gap)):
            winner = "tie"
        rows.append((MODELS[a], MODELS[b], winner, lengths[0][k], lengths[1][k], names[spoken[k]]))
    return {"battles.jsonl": rows, "last-month.jsonl": rows[:6000]}


def essays(rng):
    """The twelfth of the readers guesses."""
    worth = rng.normal(0, 1.4, 80)
    met = pairs(1600, 80, rng)
    readers, draws = rng.integers(0, 12, 1600), rng.random(1600)
    rows = []
    for (a, b), reader, draw in zip(met, readers, draws, strict=True):
        won = draw < (0.5 if reader == 11 else chance(worth[a] - worth[b]))
        first, second = (a, b) if won else (b, a)
        rows.append((f"essay {first + 1:02d}", f"essay {second + 1:02d}", f"reader {reader + 1}"))
    return {"votes.csv": rows}


def league(rng):
    """Goals are Poisson numbers of strengths that drift; a ring of teams turns by one place a week."""
    strength = list(rng.normal(0, 0.45, 10))
    played, left = [], []
    for week in range(36):
        strength = [old + step for old, step in zip(strength, rng.normal(0, 0.035, 10), strict=True)]
        day = datetime.date(2026, 8, 8) + datetime.timedelta(weeks=week)
        others = list(range(1, 10))
        turn = week % 9
        ring = [0, *others[9 - turn :], *others[: 9 - turn]]
        for k in range(5):
            one, other = ring[k], ring[9 - k]
            home, away = min(one, other), max(one, other)
            if (week // 9 + one + other) % 2 == 1:
                home, away = away, home
            gap = strength[home] - strength[away]
            goals = rng.poisson(math.exp(0.35 + gap)), rng.poisson(math.exp(0.2 - gap))
            row = (str(day), TEAMS[home], TEAMS[away])
            if week < 27:
                played.append((*row, *map(int, goals)))
            else:
                left.append(row)
    return {"season.csv": played, "fixtures.csv": left}


def survey(rng):
    """Worth and a Gumbel number for each dish: the three largest are listed."""
    worth = rng.normal(0, 0.8, 14)
    liking = rng.gumbel(size=(250, 14))
    shifts = rng.integers(0, 2, 250)
    rows = []
    for k in range(250):
        order = sorted(range(14), key=lambda dish: -(worth[dish] + liking[k][dish]))
        rows.append((f"r{k + 1}", ("day", "night")[shifts[k]], *(DISHES[dish] for dish in order[:3])))
    return {"survey.csv": rows}


def grades(rng):
    """Words and sources raise a score, errors lower it; each side of a range is open by a grade in three of ten."""
    tables = {}
    for name, n in (("graded.csv", 1200), ("held-out.csv", 400), ("new.csv", 40)):
        words, errors, sources = rng.normal(450, 120, n), rng.poisson(7, n), rng.poisson(2.2, n)
        noise, unsure = rng.logistic(0, 0.6, n), rng.random((2, n))
        rows = []
        for k in range(n):
            score = 0.006 * (words[k] - 450) - 0.22 * (errors[k] - 7) + 0.5 * (sources[k] - 2.2) + noise[k]
            grade = 1 + sum(score > least for least in (-1.6, -0.4, 0.7, 1.9))
            low, high = max(1, grade - (unsure[0][k] < 0.3)), min(5, grade + (unsure[1][k] < 0.3))
            known = () if name == "new.csv" else (low, high)
            rows.append((f"E{k + 1:04d}", int(words[k]), int(errors[k]), int(sources[k]), *known))
        tables[name] = rows
    return tables


def labels(rng):
    """A tag fits where half the sum of its words' weights, and noise, is among the largest three tenths."""
    weights = rng.normal(0, 1, (6, 12))
    tables = {}
    for name, n in (("articles.csv", 800), ("held-out.csv", 200), ("new.csv", 20)):
        counts, noise = rng.poisson(1.5, (n, 12)), rng.logistic(0, 0.7, (n, 6))
        scores = [[sum(counts[k] * weights[tag]) / 2 + noise[k][tag] for tag in range(6)] for k in range(n)]
        least = np.quantile(scores, 0.7)
        tables[name] = [
            (f"article {k + 1}", *map(int, counts[k]),
             *(() if name == "new.csv" else (int(scores[k][tag] > least) for tag in range(6))))
            for k in range(n)
        ]  # fmt: skip
    return tables


def judge(rng):
    """An opinion, then up to six reasons and one to three fillings in any order."""
    rows = []
    for k in range(24):
        reasons = [REASONS[at] for at in rng.permutation(6)[: rng.integers(0, 7)]]
        filling = [FILLING[rng.integers(0, 3)] for _ in range(rng.integers(1, 4))]
        opinion, rest = OPINIONS[rng.integers(0, 4)], reasons + filling
        rows.append((f"essay {k + 1:02d}", " ".join([opinion, *(rest[at] for at in rng.permutation(len(rest)))])))
    return {"essays.csv": rows}


COLUMNS = {
    "battles.jsonl": ["model_a", "model_b", "winner", "length_a", "length_b", "language"],
    "votes.csv": ["winner", "loser", "judge"], "season.csv": ["date", "home", "away", "home_goals", "away_goals"],
    "fixtures.csv": ["date", "home", "away"], "survey.csv": ["respondent", "shift", "Rank 1", "Rank 2", "Rank 3"],
    "graded.csv": ["essay", "words", "errors", "sources", "low", "high"],
    "articles.csv": ["title", *(f"word_{k}" for k in range(12)), *(f"tag_{tag}" for tag in TAGS)],
    "essays.csv": ["id", "text"],
}  # fmt: skip


@pytest.mark.parametrize(
    "story", [arena, essays, league, survey, grades, labels, judge], ids=lambda each: each.__name__
)
def test_a_storys_files_are_those_of_its_twin(tmp_path, story):
    STORIES[story.__name__].write(tmp_path, np.random.default_rng(11))
    expected = story(np.random.default_rng(11))
    assert {path.name for path in tmp_path.iterdir()} == set(expected)
    for name, rows in expected.items():
        path = tmp_path / name
        table = pl.read_ndjson(path) if name.endswith("jsonl") else pl.read_csv(path)
        assert table.rows() == rows, name
        if name in COLUMNS:
            assert table.columns == COLUMNS[name]


def test_a_reason_is_worth_more_than_a_filling():
    text = " ".join(REASONS)
    assert reasons_given(text) == pytest.approx(1.2 * 6)
    assert reasons_given(" ".join((*FILLING, *OPINIONS))) == 0.0
