"""Plans in words and pictures."""
