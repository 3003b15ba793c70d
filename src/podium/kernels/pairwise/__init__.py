"""Loops of counting, solving and resampling pairs."""
