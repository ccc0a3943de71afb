"""The session, its workers, and what goes wrong with them."""
