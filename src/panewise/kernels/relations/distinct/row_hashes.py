"""Numbers of rows that differ whenever the rows do not compare equal by accident only: a quick look before a slow one.

Equal rows have equal numbers, so numbers that differ prove that rows do; numbers that are equal prove nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.columns import as_integers
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals

Hashes = npt.NDArray[np.uint64]

MIX = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(29)
NULL = np.uint64(0x5851F42D4C957F2D)


def row_hashes(at: Ordinals, table: pa.Table) -> Hashes | None:
    """Of rows with their instants; None where a column has a type that has no number."""
    found: Hashes = at.view(np.uint64) * MIX
    for column in table.columns:
        bits = _bits(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
        if bits is None:
            return None
        found ^= found >> SHIFT
        found ^= bits
        found *= MIX
    return found


def _bits(column: pa.Array) -> Hashes | None:
    """Null is a value, NaN equals NaN and -0.0 equals 0.0."""
    kind = column.type
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    types = pa.types
    if kind == pa.uint64() or types.is_integer(kind) or types.is_floating(kind) or (
            types.is_temporal(kind) and not types.is_interval(kind)):
        bits = as_integers(column.view(pa.int64()) if kind == pa.uint64() else column).view(np.uint64)
    elif types.is_nested(kind) or types.is_null(kind) or types.is_dictionary(kind):
        return None
    else:
        bits = as_integers(column.dictionary_encode().indices).view(np.uint64)
    return bits if missing is None else np.where(missing, NULL, bits)


@compiled
def disjoint(some: Hashes, others: Hashes) -> bool:
    """Whether no number is among both."""
    size = 16
    while size < 2 * len(some):
        size *= 2
    table = np.zeros(size, np.uint64)
    mask = np.uint64(size - 1)
    nothing, one, shift = np.uint64(0), np.uint64(1), np.uint64(32)
    for i in range(len(some)):
        number = some[i] | one  # zero marks an empty place; a bit less only makes a slow look likelier
        place = (number ^ (number >> shift)) & mask
        while table[place] != nothing and table[place] != number:
            place = (place + one) & mask
        table[place] = number
    for i in range(len(others)):
        number = others[i] | one
        place = (number ^ (number >> shift)) & mask
        while table[place] != nothing:
            if table[place] == number:
                return False
            place = (place + one) & mask
    return True
