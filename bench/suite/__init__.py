"""One tool that measures this project beside what a user would otherwise pick: ``panewise bench``."""
