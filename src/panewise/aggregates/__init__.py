"""Aggregate functions as mergeable states: scalar form (the definition) and columnar form (what kernels run)."""

from panewise.aggregates.base import AggClass, Aggregate, Codes, Columns, Elementwise, State
from panewise.aggregates.registry import is_aggregate, names, register, resolve, unregister

__all__ = [
    "AggClass",
    "Aggregate",
    "Codes",
    "Columns",
    "Elementwise",
    "State",
    "is_aggregate",
    "names",
    "register",
    "resolve",
    "unregister",
]
