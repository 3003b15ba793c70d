"""Loops of asking: posteriors, orders of a tournament."""
