"""The command line: ``panewise run | explain | generate | demo``."""
