"""Loops over text: labels to codes, rows of delimited text."""
