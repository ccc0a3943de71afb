"""The types that Spark SQL names in casts."""

from __future__ import annotations

from sqlglot import exp

from panewise.core.errors import SchemaError, UnsupportedError, shortened
from panewise.engines.oracle.scalar import types as T

_TYPES = {
    "BOOLEAN": T.BOOLEAN, "TINYINT": T.BYTE, "SMALLINT": T.SHORT, "INT": T.INT, "BIGINT": T.LONG, "FLOAT": T.FLOAT,
    "DOUBLE": T.DOUBLE, "TEXT": T.STRING, "BINARY": T.BINARY, "DATE": T.DATE, "TIMESTAMP": T.TIMESTAMP,
    "TIMESTAMPTZ": T.TIMESTAMP, "TIMESTAMPLTZ": T.TIMESTAMP, "TIMESTAMPNTZ": T.NTZ, "NULL": T.NULL,
    "VARBINARY": T.BINARY, "DATETIME": T.TIMESTAMP,
}


def type_of(tree: exp.Expr) -> T.Type:
    """A type as it is written in a cast."""
    if isinstance(tree, exp.DataType):
        name = tree.this.name
        inner = tree.expressions
        if name == "DECIMAL":
            digits = [T.whole(part.this.name) for part in inner]
            precision, scale = digits if len(digits) == 2 else [*digits, 0] if digits else [10, 0]
            if not max(scale, 1) <= precision <= T.MAX_PRECISION:
                raise SchemaError(f"no type {shortened(tree.sql(dialect='spark'))}")
            return T.Decimal(precision, scale)
        if name == "ARRAY" and inner:
            return T.Array(type_of(inner[0]))
        if name == "MAP" and len(inner) == 2:
            return T.Map(type_of(inner[0]), type_of(inner[1]))
        if name == "STRUCT":
            return T.Struct(tuple((field.name, type_of(field.args["kind"])) for field in inner))
        if name in _TYPES and not inner:
            return _TYPES[name]
    raise UnsupportedError(f"the oracle casts nothing to {tree.sql(dialect='spark')}")
