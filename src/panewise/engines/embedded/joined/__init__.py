"""Joins of streams on the embedded engine: rows out as they are found, or a window aggregate over them."""

from panewise.engines.embedded.joined.query import JoinedQuery

__all__ = ["JoinedQuery"]
