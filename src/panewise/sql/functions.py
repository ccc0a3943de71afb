"""Which function names the language knows: aggregates of the registry and scalar functions of Spark."""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from panewise.sql.hints import did_you_mean, listed
from panewise.sql.syntax import RELATION_TO_STREAM, RESTORE, StreamCall

AGGREGATES = frozenset({
    "count", "sum", "min", "max", "avg", "mean", "variance", "var_samp", "var_pop", "stddev", "stddev_samp",
    "stddev_pop", "centre_of_mass", "first", "last", "count_distinct", "approx_count_distinct", "median", "percentile",
    "quantile", "mode", "top_k", "heavy_hitters", "distinct",
})


def aggregate_names() -> frozenset[str]:
    """The names an aggregate call may have."""
    return AGGREGATES


@cache
def scalar_names() -> frozenset[str]:
    """The scalar functions of Spark, from PySpark's own list (no JVM is started)."""
    import pyspark.sql.functions as spark

    return frozenset(name.lower() for name in spark.__all__) | {"int", "bigint", "float", "double", "string", "boolean"}


def unknown_function(node: exp.Func) -> tuple[str, str] | None:
    """What is wrong with a function call and what to write instead; nothing if it is known.

    sqlglot has a class of its own for most functions of Spark; others are looked up.
    """
    if isinstance(node, StreamCall):
        return None
    if isinstance(node, exp.AggFunc):
        name = node.sql_name().lower()
        return (f"no aggregate {name!r}", did_you_mean(name, aggregate_names(),
                                                        f"the aggregates are {listed(sorted(aggregate_names()), 40)}"))
    if isinstance(node, exp.Anonymous):
        name = node.name
        if name.lower() not in scalar_names():
            operators = {*RELATION_TO_STREAM, *(r + RESTORE for r in RELATION_TO_STREAM)}
            known = {*aggregate_names(), *scalar_names(), *operators}
            hint = did_you_mean(name, known, f"if {name} stands for another function, say so: "
                                             f"functions={{{name!r}: 'sum'}}")
            return f"no function {name!r}", hint
    return None
