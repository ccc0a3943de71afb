"""Spark SQL text as a tree in which a function call is a call by name, whatever else the name means to the parser."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark

from panewise.core.errors import UnsupportedError
from panewise.core.trees import ExpressionParser
from panewise.engines.oracle.scalar.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NTZ,
    NULL,
    SHORT,
    STRING,
    TIMESTAMP,
    Array,
    Map,
    Struct,
    Type,
    decimal,
)

_SYNTAX = {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION"}
"""Functions whose arguments have a syntax of their own."""


class Calls(Spark):
    """Spark's dialect without any function of its own."""

    class Parser(ExpressionParser):
        """Keeps calls as they are written."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parse for name, parse in Spark.Parser.FUNCTION_PARSERS.items() if name in _SYNTAX}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}


@lru_cache(maxsize=2048)
def tree_of(sql: str) -> exp.Expr:
    """The tree of an expression."""
    return sqlglot.parse_one(sql, read=Calls)


_TYPES = {
    "BOOLEAN": BOOLEAN, "TINYINT": BYTE, "SMALLINT": SHORT, "INT": INT, "BIGINT": LONG, "FLOAT": FLOAT,
    "DOUBLE": DOUBLE, "TEXT": STRING, "BINARY": BINARY, "DATE": DATE, "TIMESTAMP": TIMESTAMP, "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP, "TIMESTAMPNTZ": NTZ, "NULL": NULL, "VARBINARY": BINARY, "DATETIME": TIMESTAMP,
}


def type_of(tree: exp.Expr) -> Type:
    """A type as it is written in a cast."""
    if isinstance(tree, exp.DataType):
        name = tree.this.name
        inner = tree.expressions
        if name == "DECIMAL":
            digits = [int(part.this.name) for part in inner]
            return decimal(*(digits if len(digits) == 2 else [*digits, 0] if digits else [10, 0]))
        if name == "ARRAY" and inner:
            return Array(element=type_of(inner[0]))
        if name == "MAP" and len(inner) == 2:
            return Map(key=type_of(inner[0]), value=type_of(inner[1]))
        if name == "STRUCT":
            return Struct(fields=tuple((field.name, type_of(field.args["kind"])) for field in inner))
        if name in _TYPES and not inner:
            return _TYPES[name]
    raise UnsupportedError(f"the oracle casts nothing to {tree.sql(dialect='spark')}")
