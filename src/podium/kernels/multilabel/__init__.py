"""Loops of label rankers."""
