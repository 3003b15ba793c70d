"""Compiled loops on arrays: no checks, no strings, no randomness, nothing of ours imported."""
