"""Joins of streams on the embedded engine: pairs as they are found, window aggregates and relations over them."""

from panewise.engines.embedded.joined.query import JoinedQuery
from panewise.engines.embedded.joined.relation import PairRelationQuery

__all__ = ["JoinedQuery", "PairRelationQuery"]
