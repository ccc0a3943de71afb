"""Joins of streams on the embedded engine: pairs as they are found, window aggregates and relations over them."""

from panewise.queries.joined.query import JoinedQuery
from panewise.queries.joined.relation import PairRelationQuery

__all__ = ["JoinedQuery", "PairRelationQuery"]
