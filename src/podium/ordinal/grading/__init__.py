"""Grades learned from tables of any length, read piece by piece: what `podium grade` runs."""
