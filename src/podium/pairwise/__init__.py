"""Rankers of pairwise comparisons. Each takes `Comparisons` and offers a `Ranking`; none imports another."""
