"""What comes in, checked once: comparisons, features of items, files and tables."""
