"""Numbers and types as they are written."""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from panewise.functions.binding.spans import Span, span_from_text
from panewise.functions.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    MAX_PRECISION,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
)

_WHOLE = re.compile(r"-?\d+")
_FRACTION = re.compile(r"-?(\d*)\.(\d*)")
_TYPES = {
    exp.DType.BOOLEAN: BOOLEAN, exp.DType.TINYINT: TINYINT, exp.DType.SMALLINT: SMALLINT, exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT, exp.DType.FLOAT: FLOAT, exp.DType.DOUBLE: DOUBLE, exp.DType.TEXT: STRING,
    exp.DType.BINARY: BINARY, exp.DType.DATE: DATE, exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP, exp.DType.TIMESTAMP: TIMESTAMP, exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
    exp.DType.NULL: VOID, exp.DType.INTERVAL: INTERVAL,
}


def number(text: str) -> pa.Scalar | None:
    """A number as Spark types it: INT, BIGINT, DECIMAL, or DOUBLE with an exponent; None beyond 38 digits.

    >>> [str(number(text).type) for text in ("1", "3000000000", "1.50", "1e3")]
    ['int32', 'int64', 'decimal128(3, 2)', 'double']
    """
    if _WHOLE.fullmatch(text):
        if len(text) <= 20:
            value = int(text)
            for fits in (INT, BIGINT):
                if -(1 << fits.bit_width - 1) <= value < 1 << fits.bit_width - 1:
                    return pa.scalar(value, fits)
        return _decimal(text, len(text.lstrip("-").lstrip("0")) or 1, 0)
    parts = _FRACTION.fullmatch(text)
    if parts is not None:
        scale = len(parts[2])
        return _decimal(text, max(len((parts[1] + parts[2]).lstrip("0")), scale, 1), scale)
    return pa.scalar(float(text), DOUBLE)


def _decimal(text: str, precision: int, scale: int) -> pa.Scalar | None:
    if precision > MAX_PRECISION:
        return None
    return pa.scalar(Decimal(text), pa.decimal128(precision, scale))


def type_from_syntax(tree: exp.DataType) -> pa.DataType | None:
    """The type a text names; None where there is none.

    >>> import sqlglot
    >>> type_from_syntax(exp.DataType.build("map<string,array<decimal(5,1)>>", dialect="spark"))
    MapType(map<string, list<item: decimal128(5, 1)>>)
    """
    kind = tree.this
    inner = tree.expressions
    if kind == exp.DType.DECIMAL:
        written = [part.this.name if isinstance(part.this, exp.Literal) else "" for part in inner]
        if len(written) > 2 or not all(size.isascii() and size.isdecimal() and len(size) < 5 for size in written):
            return None
        precision, scale = (*map(int, written), *(10, 0)[len(written):])
        return pa.decimal128(precision, scale) if 0 < precision <= MAX_PRECISION and 0 <= scale <= precision else None
    if kind in (exp.DType.VARCHAR, exp.DType.CHAR) and not inner:
        return STRING
    if kind == exp.DType.ARRAY and len(inner) == 1:
        element = type_from_syntax(inner[0])
        return None if element is None else pa.list_(element)
    if kind == exp.DType.MAP and len(inner) == 2:
        key, item = (type_from_syntax(part) for part in inner)
        return None if key is None or item is None else pa.map_(key, item)
    if kind == exp.DType.STRUCT:
        fields = [(part.name, type_from_syntax(part.args["kind"])) for part in inner]
        return None if any(found is None for _, found in fields) else pa.struct(fields)
    if isinstance(kind, exp.Interval):
        span = span_from_syntax(tree)
        return None if span is None else span.type
    return _TYPES.get(kind)


def span_from_syntax(tree: exp.DataType) -> Span | None:
    """The fields of an interval type; None where the type is another."""
    return span_from_text(str(tree.this.args.get("unit") or "")) if isinstance(tree.this, exp.Interval) else None
