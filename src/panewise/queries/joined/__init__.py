"""Joins of streams on the embedded engine: pairs as they are found, and window aggregates over them."""

from panewise.queries.joined.query import JoinedQuery

__all__ = ["JoinedQuery"]
