"""What comes out: a ranking with its ranks, intervals and tables."""
