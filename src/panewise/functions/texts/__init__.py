"""Functions of text, and patterns."""
