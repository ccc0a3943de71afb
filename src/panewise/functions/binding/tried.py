"""Null instead of a failure, for whole expressions: what fails somewhere inside a ``try_`` call is null on that row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panewise.core.errors import EvaluationError
from panewise.functions.binding.bound import Bound, Lazy
from panewise.functions.binding.frame import Datum, Frame


def tried(call: Bound) -> Bound:
    """The call with null on the rows where it, or anything it reads, fails."""
    return Lazy(call.type, call.tree, (call,), _run)


def _run(frame: Frame, parts: tuple[Bound, ...], of: pa.DataType) -> Datum:
    """All rows at once; where some fail, halves of them, until each failing row is alone."""
    (part,) = parts
    try:
        return part.array(frame)
    except EvaluationError:
        if frame.rows == 1:
            return pa.nulls(1, of)
    first = np.arange(frame.rows) < frame.rows // 2
    halves = [pa.array(first), pa.array(~first)]
    found = [_run(frame.select(mask), parts, of) for mask in halves]
    return pa.concat_arrays(found)
