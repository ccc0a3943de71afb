"""Which function names the language knows: aggregates of the registry and scalar functions of Spark."""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from panewise.aggregates.registry import names
from panewise.sql.hints import listed, nearest
from panewise.sql.syntax import RELATION_TO_STREAM, RESTORE, StreamCall


def aggregate_names() -> frozenset[str]:
    """The names an aggregate call may have."""
    return frozenset(names())


@cache
def scalar_names() -> frozenset[str]:
    """The scalar functions of Spark, from PySpark's own list (no JVM is started)."""
    import pyspark.sql.functions as spark

    return frozenset(name.lower() for name in spark.__all__) | {"int", "bigint", "float", "double", "string", "boolean"}


def unknown_function(node: exp.Func, name: str) -> tuple[str, str] | None:
    """What is wrong with a function call and what to write instead; nothing if it is known.

    sqlglot has a class of its own for most functions of Spark; others are looked up by the ``name`` as written.
    """
    if isinstance(node, StreamCall):
        return None
    if isinstance(node, exp.AggFunc):
        return f"no aggregate {name!r}", f"the aggregates are {listed(sorted(aggregate_names()), 40)}"
    if isinstance(node, exp.Anonymous) and name.lower() not in scalar_names():
        operators = {*RELATION_TO_STREAM, *(r + RESTORE for r in RELATION_TO_STREAM)}
        close = nearest(name, {*aggregate_names(), *scalar_names(), *operators}, cutoff=0.75)
        hint = f"did you mean {close!r}?" if close else (
            f"if {name} stands for another function, say so: functions={{{name!r}: 'sum'}}")
        return f"no function {name!r}", hint
    return None
