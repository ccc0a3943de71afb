"""Which rows of a table come (+1) and which go (-1): a column ``change`` that the table does not declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from panewise.core.errors import SchemaError
from panewise.core.ordinals import Ordinals
from panewise.core.schema import SourceKind, SourceSchema
from panewise.planner.facts.result_forms import CHANGE

Signs: TypeAlias = tuple[Ordinals, dict[int, str]]
"""+1 or -1 of every row, and what is wrong with the others, by place."""


def tells_signs(schema: SourceSchema, names: Sequence[str]) -> bool:
    """Whether rows with these columns say of themselves that they come or go."""
    return schema.kind is not SourceKind.STREAM and CHANGE in names and CHANGE not in schema.columns


def signs_of(name: str, schema: SourceSchema, said: Sequence[Any]) -> Signs:
    """Of rows of a table as they came; a table without a time has none that go.

    >>> signs_of("t", SourceSchema(time="at", kind=SourceKind.NRR), [1, -1, None])
    (array([ 1, -1,  1]), {2: "'change' is None, expected +1 (the row comes) or -1 (it goes)"})
    """
    if schema.time is None:
        raise SchemaError(f"table {name!r}: its rows have a column {CHANGE!r}, which says that they come and go, and "
                          "no time column that says when: name it, as in pw.table(..., time='at')")
    wrong = {at: wrong_sign(value) for at, value in enumerate(said) if type(value) is not int or value not in (1, -1)}
    return np.array([1 if at in wrong else value for at, value in enumerate(said)], np.int64), wrong


def wrong_sign(value: object) -> str:
    """What is wrong with a row that neither comes nor goes."""
    return f"{CHANGE!r} is {value}, expected +1 (the row comes) or -1 (it goes)"


def column_of_signs(name: str, schema: SourceSchema, column: pa.ChunkedArray) -> Signs:
    """Of rows in Arrow."""
    if not (pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
        raise SchemaError(f"table {name!r}: {CHANGE!r} is {column.type}, expected integers: +1 for a row that comes, "
                          "-1 for one that goes")
    return signs_of(name, schema, column.to_pylist())
