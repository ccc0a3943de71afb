"""Scalar expressions as syntax: Spark SQL text, its tree and the columns it reads.

What an expression means is said elsewhere: on Spark the JVM computes the text unchanged, in process
``panewise.functions`` does, and the oracle has an evaluator of its own.

The parser is imported by the first expression that needs it: Spark's workers import this module and do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from panewise.core.user_functions import UserFunction, called_in, plain_names, remember

if TYPE_CHECKING:
    from sqlglot import exp

REMEMBERED = 32_768
"""Expressions that stay parsed and bound: every step of planning asks again, so a query of 10,000 branches with a
condition and a computed column each has to fit."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One scalar expression in canonical Spark SQL.

    Column names are flat: a column of a join is one quoted identifier such as ```M1.srcIP```.

    >>> price = Scalar.parse("price * 2 + 1")
    >>> price.sql, sorted(price.columns)
    ('price * 2 + 1', ['price'])
    >>> Scalar.column("seg-id").sql, Scalar.column("case").sql
    ('`seg-id`', '`case`')
    """

    sql: str

    @classmethod
    def parse(cls, text: str) -> Scalar:
        """Canonicalise Spark SQL text."""
        return cls.of(_tree(text))

    @classmethod
    def of(cls, tree: exp.Expr) -> Scalar:
        """Wrap a parsed expression; comments are no part of it."""
        from panewise.core.trees import deep_stack

        with deep_stack():
            return cls(tree.sql(dialect="spark", comments=False))

    @classmethod
    def column(cls, name: str) -> Scalar:
        """A reference to one column."""
        return cls(_column_sql(name))

    @classmethod
    def literal(cls, value: str | int | float | bool | None) -> Scalar:
        """A constant."""
        from sqlglot import exp

        return cls.of(exp.convert(value))

    @property
    def tree(self) -> exp.Expr:
        """A fresh syntax tree; changing it does not change this expression."""
        return _tree(self.sql).copy()

    @property
    def columns(self) -> frozenset[str]:
        """The columns the expression reads."""
        return _columns(self.sql)

    @property
    def column_name(self) -> str | None:
        """The column's name if the expression is nothing but a column."""
        return _column_name(self.sql)

    @property
    def literal_value(self) -> str | int | float | bool | None:
        """The value of a constant; raises for anything else."""
        from sqlglot import exp

        tree = _tree(self.sql)
        if isinstance(tree, exp.Null):
            return None
        value = tree.to_py()
        return value if isinstance(value, str | int | bool) else float(value)

    @property
    def shared_tree(self) -> exp.Expr:
        """The syntax tree that all equal expressions share; it must not be changed."""
        return _tree(self.sql)

    def __str__(self) -> str:
        return plain_names(self.sql)

    def __repr__(self) -> str:
        """By the plain names of a user's functions: checkpoints know plans by it, in any process."""
        return f"Scalar(sql={plain_names(self.sql)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """With the functions of the user that it calls, which another process does not know."""
        return _received, (self.sql, called_in(self.sql))


def _received(sql: str, functions: tuple[UserFunction, ...]) -> Scalar:
    """An expression that came from another process."""
    remember(functions)
    return Scalar(sql)


@lru_cache(maxsize=REMEMBERED)
def _tree(sql: str) -> exp.Expr:
    from panewise.core.trees import parse_expression

    return parse_expression(sql)


@lru_cache(maxsize=REMEMBERED)
def _columns(sql: str) -> frozenset[str]:
    from sqlglot import exp

    return frozenset(column.name for column in _tree(sql).find_all(exp.Column))


@lru_cache(maxsize=REMEMBERED)
def _column_name(sql: str) -> str | None:
    from sqlglot import exp

    tree = _tree(sql)
    return tree.name if isinstance(tree, exp.Column) else None


@lru_cache(maxsize=REMEMBERED)
def _column_sql(name: str) -> str:
    """A column as text that reads as that column again: a name that is also a keyword needs quotes."""
    import sqlglot
    from sqlglot import exp

    plain = exp.column(exp.to_identifier(name)).sql(dialect="spark")
    try:
        tree = sqlglot.parse_one(plain, read="spark")
        if isinstance(tree, exp.Column) and tree.name == name:
            return plain
    except sqlglot.errors.SqlglotError:
        pass
    return exp.column(exp.to_identifier(name, quoted=True)).sql(dialect="spark")
