"""Conditions that Arrow computes itself: comparisons of a column with a constant or another column, joined by AND.

Everything else goes to DuckDB, which costs more to ask than a small step costs to compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.scalar import Scalar

Condition = Callable[[pa.Table], Any]

COMPARISONS = {"EQ": pc.equal, "NEQ": pc.not_equal, "LT": pc.less, "LTE": pc.less_equal, "GT": pc.greater,
               "GTE": pc.greater_equal}


def arrow_condition(predicate: Scalar, schema: pa.Schema) -> Condition | None:
    """The condition as a function of a table, or None where it is more than plain comparisons.

    >>> table = pa.table({"a": [1, 5, None], "b": ["x", "y", "y"]})
    >>> arrow_condition(Scalar.parse("a > 2 AND b = 'y'"), table.schema)(table).to_pylist()
    [False, True, None]
    >>> arrow_condition(Scalar.parse("a % 2 = 0"), table.schema) is None
    True
    """
    from sqlglot import exp

    if not predicate.columns:  # Arrow would answer once, not for every row
        return None
    tree = predicate.tree
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.And):
        parts = [arrow_condition(Scalar.of(side), schema) for side in (tree.left, tree.right)]
        one, other = parts
        return None if one is None or other is None else lambda table: pc.and_kleene(one(table), other(table))
    compare = COMPARISONS.get(type(tree).__name__)
    if compare is None or not isinstance(tree, exp.Binary):
        return None
    left, right = (_operand(Scalar.of(side), schema) for side in (tree.left, tree.right))
    if left is None or right is None or _kind(left[1]) is None or _kind(left[1]) != _kind(right[1]):
        return None
    return lambda table: compare(left[0](table), right[0](table))


def _operand(scalar: Scalar, schema: pa.Schema) -> tuple[Callable[[pa.Table], Any], pa.DataType] | None:
    name = scalar.column_name
    if name is not None:
        return (lambda table: _flat(table.column(name)), schema.field(name).type) if name in schema.names else None
    try:
        value = pa.scalar(scalar.literal_value)
    except (ValueError, AttributeError, TypeError, OverflowError):
        return None
    return (lambda table: value), value.type


def _kind(data_type: pa.DataType) -> str | None:
    """Types that compare alike here and in DuckDB; floats do not (NaN)."""
    if pa.types.is_string(data_type) or pa.types.is_large_string(data_type):
        return "text"
    return "integer" if pa.types.is_signed_integer(data_type) else None


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
