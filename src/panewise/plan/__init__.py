"""Immutable plans: what is asked, as a tree of nodes that no engine changes."""
