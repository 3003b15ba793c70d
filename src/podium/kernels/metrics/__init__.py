"""Loops of ranking metrics."""
