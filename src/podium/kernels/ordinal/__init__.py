"""Loops of threshold models."""
