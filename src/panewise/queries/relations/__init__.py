"""Continuous relations on the embedded engine: a plan becomes a tree of kernels, stepped from bound to bound."""

from panewise.queries.relations.query import RelationQuery

__all__ = ["RelationQuery"]
