"""Scalar expressions: Spark SQL text with the columns it reads, and a way to compute it without Spark.

On Spark the text goes to ``functions.expr`` unchanged. In process it is translated once to DuckDB's dialect and
evaluated on Arrow data, so every engine understands the same expressions.

Parser and DuckDB are imported by the first expression that needs them: Spark's workers import this module and need
neither.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from panewise.core.errors import SchemaError

if TYPE_CHECKING:
    import duckdb
    from sqlglot import exp


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
        return cls(_tree(text).sql(dialect="spark"))

    @classmethod
    def of(cls, tree: exp.Expr) -> Scalar:
        """Wrap a parsed expression."""
        return cls(tree.sql(dialect="spark"))

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

    def evaluate(self, table: pa.Table) -> pa.Array:
        """Compute the expression on every row."""
        return evaluate([self], table)[0]

    def __str__(self) -> str:
        return self.sql


@lru_cache(maxsize=1024)
def _tree(sql: str) -> exp.Expr:
    import sqlglot

    return sqlglot.parse_one(sql, read="spark")


@lru_cache(maxsize=1024)
def _columns(sql: str) -> frozenset[str]:
    from sqlglot import exp

    return frozenset(column.name for column in _tree(sql).find_all(exp.Column))


@lru_cache(maxsize=1024)
def _column_name(sql: str) -> str | None:
    from sqlglot import exp

    tree = _tree(sql)
    return tree.name if isinstance(tree, exp.Column) else None


@lru_cache(maxsize=1024)
def _column_sql(name: str) -> str:
    """A column as text that reads as that column again: a name that is also a keyword needs quotes."""
    import sqlglot
    from sqlglot import exp

    plain = exp.column(exp.to_identifier(name)).sql(dialect="spark")
    try:
        tree = sqlglot.parse_one(plain, read="spark")
        if isinstance(tree, exp.Column) and tree.name == name:
            return plain
    except sqlglot.ParseError:
        pass
    return exp.column(exp.to_identifier(name, quoted=True)).sql(dialect="spark")


@lru_cache(maxsize=1024)
def _duckdb(sql: str) -> str:
    return _tree(sql).sql(dialect="duckdb")


def evaluate(scalars: list[Scalar], table: pa.Table) -> list[pa.Array]:
    """Compute several expressions on every row of one table, in one pass; row order is kept.

    >>> table = pa.table({"a": [1, 2, None], "b": ["x", "y", "z"]})
    >>> [c.to_pylist() for c in evaluate([Scalar.parse("a + 1"), Scalar.parse("upper(b)")], table)]
    [[2, 3, None], ['X', 'Y', 'Z']]
    """
    missing = sorted({c for scalar in scalars for c in scalar.columns} - set(table.column_names))
    if missing:
        raise SchemaError(f"no column {missing[0]!r}; there are {', '.join(table.column_names)}")
    computed = list(dict.fromkeys(scalar for scalar in scalars if scalar.column_name is None))
    found = dict(zip(computed, _compute(computed, table), strict=True)) if computed else {}
    return [_flat(table.column(name)) if (name := scalar.column_name) is not None else found[scalar]
            for scalar in scalars]


def _compute(scalars: list[Scalar], table: pa.Table) -> list[pa.Array]:
    """Everything that is more than a column goes to DuckDB, with only the columns it reads."""
    import duckdb

    needed = sorted({c for scalar in scalars for c in scalar.columns})
    table = table.select(needed) if needed else pa.table({"": pa.nulls(table.num_rows)})
    items = ", ".join(f"{_duckdb(scalar.sql)} AS c{i}" for i, scalar in enumerate(scalars))
    connection = _connection()
    connection.register("input", table)
    try:
        result: pa.Table = connection.sql(f"SELECT {items} FROM input").to_arrow_table()
    except duckdb.Error as error:
        raise SchemaError(f"cannot compute {', '.join(s.sql for s in scalars)}: {error}") from error
    finally:
        connection.unregister("input")
    return [_flat(result.column(i)) for i in range(len(scalars))]


_local = threading.local()


def _connection() -> duckdb.DuckDBPyConnection:
    """One connection per thread: opening one costs more than computing most expressions."""
    import duckdb

    connection: duckdb.DuckDBPyConnection | None = getattr(_local, "connection", None)
    if connection is None:
        connection = _local.connection = duckdb.connect()
        connection.execute("SET TimeZone = 'UTC'; SET threads = 1; SET preserve_insertion_order = true")
    return connection


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
