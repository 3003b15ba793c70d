"""Bradley–Terry without and with ties against btmodel() of R's psychotools 0.7.2 (R 4.2.2), by its log-linear form."""

import math

import pytest

from podium import BradleyTerry, Comparisons

# Parties preferred by 192 people, as psychotools ships it (GermanParties2009): times that the first of a pair was
# preferred, and the second.
PARTIES = ("none", "Linke", "Gruene", "SPD", "CDU/CSU", "FDP")
PREFERRED = """
119-73 25-167 23-169 38-154 34-158 124-68 69-123 76-116 128-64 125-67 83-109 70-122 137-55 134-58 106-86
"""
# Scores against FDP, and their errors.
PARTY_SCORES = {"none": -0.3755616499, "Linke": -0.6160699789, "Gruene": 1.1857553782, "SPD": 0.8130986757,
                "CDU/CSU": 0.1756202778}  # fmt: skip
PARTY_ERRORS = {"none": 0.08901536288, "Linke": 0.09102082422, "Gruene": 0.09506521747, "SPD": 0.09067349618,
                "CDU/CSU": 0.08749797800}  # fmt: skip
PARTY_LOG_LIKELIHOOD = -1716.807322

# A made-up round of four with ties: wins of the first, ties, wins of the second. Its tie parameter is log ν.
FOUR = {("a", "b"): (7, 3, 2), ("a", "c"): (8, 2, 4), ("b", "c"): (5, 4, 6),
        ("a", "d"): (9, 1, 3), ("b", "d"): (6, 5, 4), ("c", "d"): (4, 6, 5)}  # fmt: skip
FOUR_SCORES = {"a": 1.2059789683, "b": 0.1278389434, "c": 0.1637122512}
FOUR_ERRORS = {"a": 0.4903817170, "b": 0.4434259291, "c": 0.4401419527}
LOG_TIE, FOUR_LOG_LIKELIHOOD = -0.3377393894, -86.83617952


def assert_differences(ranking, last, scores, errors):
    rows = {frozenset((row["item"], row["against"])): row for row in ranking.differences().to_dicts()}
    for item, score in scores.items():
        assert ranking.score(item) - ranking.score(last) == pytest.approx(score, abs=1e-6)
        assert rows[frozenset((item, last))]["std_error"] == pytest.approx(errors[item], rel=1e-5)


def test_scores_errors_and_likelihood_of_party_preferences():
    rows = []
    pairs = [(first, second) for k, second in enumerate(PARTIES) for first in PARTIES[:k]]
    for (first, second), counts in zip(pairs, PREFERRED.split(), strict=True):
        won, lost = map(int, counts.split("-"))
        rows += [(first, second)] * won + [(second, first)] * lost
    model = BradleyTerry(l2=0, tol=1e-10).fit(Comparisons.from_pairs(rows))
    assert_differences(model.ranking_, "FDP", PARTY_SCORES, PARTY_ERRORS)
    assert model.log_likelihood_ == pytest.approx(PARTY_LOG_LIKELIHOOD, rel=1e-8)


def test_scores_errors_ties_and_likelihood_with_undecided_votes():
    rows = []
    for (first, second), (won, tied, lost) in FOUR.items():
        rows += [(first, second, False)] * won + [(first, second, True)] * tied + [(second, first, False)] * lost
    winner, loser, tie = zip(*rows, strict=True)
    votes = Comparisons.from_arrays(winner, loser, tie=tie)
    model = BradleyTerry(l2=0, tol=1e-10, ties="davidson").fit(votes)
    assert_differences(model.ranking_, "d", FOUR_SCORES, FOUR_ERRORS)
    assert math.log(model.tie_strength_) == pytest.approx(LOG_TIE, abs=1e-6)
    assert model.log_likelihood_ == pytest.approx(FOUR_LOG_LIKELIHOOD, rel=1e-8)
