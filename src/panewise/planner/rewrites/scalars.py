"""Predicates taken apart, put together and renamed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from panewise.core.scalar import Scalar

VOLATILE = frozenset({"rand", "randn", "random", "uuid", "now", "current_timestamp", "current_date", "shuffle",
                      "monotonically_increasing_id", "localtimestamp", "localtime", "current_time", "unix_timestamp",
                      "sysdate", "getdate", "systimestamp", "clock_timestamp", "today", "randstr", "uniform",
                      "spark_partition_id", "input_file_name"})
"""Functions that give another answer each time: an expression with one of them stays where it is."""
WITHOUT_BRACKETS = frozenset({"localtimestamp", "localtime"})
"""Those of them that read as the name of a column: the brackets behind them are optional."""


def conjuncts(predicate: Scalar | None) -> list[Scalar]:
    """The parts between ANDs; nothing for no predicate.

    >>> [str(part) for part in conjuncts(Scalar.parse("a = 1 AND (b = 2 AND c > 3 OR d = 4)"))]
    ['a = 1', 'b = 2 AND c > 3 OR d = 4']
    """
    return [] if predicate is None else [Scalar(sql) for sql in _conjuncts(predicate.sql)]


@lru_cache(maxsize=1024)
def _conjuncts(sql: str) -> tuple[str, ...]:
    from sqlglot import exp

    from panewise.core.trees import operands

    return tuple(Scalar.of(part).sql for part in operands(Scalar(sql).tree, exp.And, (exp.Expr,)))


def conjunction(parts: Iterable[Scalar | None]) -> Scalar | None:
    """All parts as one predicate, each once; None if there are none.

    >>> str(conjunction([Scalar("a = 1"), None, Scalar("b = 1 OR c = 2"), Scalar("a = 1")]))
    'a = 1 AND (b = 1 OR c = 2)'
    """
    from panewise.core.trees import all_of

    every = list(dict.fromkeys(part for given in parts for part in conjuncts(given)))
    if not every:
        return None
    return every[0] if len(every) == 1 else Scalar.of(all_of(part.tree for part in every))


def without(predicate: Scalar | None, parts: Iterable[Scalar]) -> Scalar | None:
    """What a condition asks beside some of its parts."""
    left_out = set(parts)
    return conjunction(part for part in conjuncts(predicate) if part not in left_out)


def columns_read(*scalars: Scalar | None) -> frozenset[str]:
    """The columns of expressions, and of conditions where there are any."""
    return frozenset[str]().union(*(scalar.columns for scalar in scalars if scalar is not None))


def substituted(scalar: Scalar, columns: Mapping[str, Scalar]) -> Scalar:
    """The expression with columns replaced by expressions; others stay.

    >>> str(substituted(Scalar("a * 2 > b"), {"a": Scalar("x + 1")}))
    '(x + 1) * 2 > b'
    """
    from sqlglot import exp

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in columns:
            tree = columns[node.name].tree
            return tree if isinstance(tree, exp.Column | exp.Literal | exp.Func) else exp.paren(tree, copy=False)
        return node

    if not scalar.columns & columns.keys():
        return scalar
    if scalar.column_name is not None:
        return columns[scalar.column_name]
    return Scalar.of(scalar.tree.transform(visit, copy=False))


def renamed(scalar: Scalar, names: Mapping[str, str]) -> Scalar:
    """The expression with other column names.

    >>> str(renamed(Scalar("`l.v` = 3"), {"l.v": "v"}))
    'v = 3'
    """
    return substituted(scalar, {old: Scalar.column(new) for old, new in names.items() if old != new})


@lru_cache(maxsize=1024)
def movable(scalar: Scalar) -> bool:
    """Whether an expression gives the same answer wherever and whenever it is computed.

    >>> movable(Scalar("a > 3")), movable(Scalar("a > rand()")), movable(Scalar.parse("a > localtimestamp()"))
    (True, False, False)
    """
    from sqlglot import exp

    if any(column.lower() in WITHOUT_BRACKETS for column in scalar.columns):
        return False
    return not any((node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower() in VOLATILE
                   for node in scalar.tree.find_all(exp.Func))


def all_movable(*scalars: Scalar | None) -> bool:
    """Whether all of these may be computed elsewhere, as far as there are any."""
    return all(scalar is None or movable(scalar) for scalar in scalars)


def equalities(predicate: Scalar | None) -> list[tuple[str, str]]:
    """The pairs of columns that must be equal.

    >>> equalities(Scalar.parse("`l.v` = `r.w` AND `l.x` < `r.x` AND 3 = `l.y`"))
    [('l.v', 'r.w')]
    """
    from sqlglot import exp

    found = []
    for part in conjuncts(predicate):
        tree = part.tree
        if isinstance(tree, exp.EQ) and isinstance(tree.left, exp.Column) and isinstance(tree.right, exp.Column):
            found.append((tree.left.name, tree.right.name))
    return found
