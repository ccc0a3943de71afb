"""Which function names the language knows: aggregates of the registry and scalar functions of Spark."""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from panewise.aggregates.registry import names
from panewise.core.names import nearest
from panewise.core.user_functions import known
from panewise.functions import supported_names
from panewise.sql.hints import listed
from panewise.sql.refused_functions import REFUSED, refused_option
from panewise.sql.syntax import RELATION_TO_STREAM, RESTORE, StreamCall

_SQL_ONLY = frozenset({
    "int", "bigint", "float", "double", "string", "boolean", "tinyint", "smallint", "decimal", "date", "timestamp",
    "binary", "if", "ifnull", "nullif", "nvl", "nvl2", "decode", "mod", "positive", "negative", "dateadd", "date_diff",
    "timestampadd", "timestampdiff", "curdate", "now", "localtimestamp", "isnull", "isnotnull", "named_struct",
    "cardinality",
})
"""Functions that PySpark's list does not have."""


def aggregate_names() -> frozenset[str]:
    """The names an aggregate call may have."""
    return frozenset(names())


@cache
def scalar_names() -> frozenset[str]:
    """The scalar functions of Spark, from PySpark's own list (no JVM is started)."""
    import pyspark.sql.functions as spark

    return frozenset(name.lower() for name in spark.__all__) | supported_names() | _SQL_ONLY


@cache
def _is_aggregate(name: str) -> bool:
    """Whether Spark has an aggregate of this name, which is none of ours."""
    import sqlglot

    for arguments in ("a", "a, b"):
        try:
            return isinstance(sqlglot.parse_one(f"{name}({arguments})", read="spark"), exp.AggFunc)
        except (sqlglot.ParseError, LookupError, ValueError, TypeError, AttributeError):  # it trips over some names
            continue
    return False


def unknown_function(node: exp.Func, name: str) -> tuple[str, str] | None:
    """What is wrong with a function call and what to write instead; nothing if it is known.

    sqlglot has a class of its own for most functions of Spark; others are looked up by the ``name`` as written.
    """
    if isinstance(node, StreamCall) or (isinstance(node, exp.Anonymous) and known(node.name) is not None):
        return None
    for called in (name, node.name if isinstance(node, exp.Anonymous) else node.sql_name()):
        if called.lower() in REFUSED:
            why, remedy = REFUSED[called.lower()]
            return f"{called.lower()}(...) cannot be part of a query: {why}", remedy
        if (found := refused_option(node, called)) is not None:
            return found
    if isinstance(node, exp.AggFunc) or _is_aggregate(name):
        return f"no aggregate {name!r}", f"the aggregates are {listed(sorted(aggregate_names()), 40)}"
    if isinstance(node, exp.Anonymous) and name.lower() not in scalar_names():
        operators = {*RELATION_TO_STREAM, *(r + RESTORE for r in RELATION_TO_STREAM)}
        close = nearest(name, {*aggregate_names(), *scalar_names(), *operators}, cutoff=0.75)
        hint = f"did you mean {close!r}?" if close else (
            f"in Python give a function of your own, functions={{{name!r}: callable}}, or say what {name} stands for: "
            f"functions={{{name!r}: 'sum'}}")
        return f"no function {name!r}", hint
    return None
