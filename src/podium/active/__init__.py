"""Ask the fewest questions for the best order."""
