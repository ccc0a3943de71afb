"""AND, OR, NOT, CASE, IF, COALESCE and their kin: a branch is computed only on the rows that reach it.

A branch is tried on all rows first, which is one columnar pass; only where a row fails in it are the rows that do not
reach it left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.errors import EvaluationError
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Datum, Frame, scattered


def conjunction(frame: Frame, parts: tuple[Bound, ...], _: pa.DataType) -> Datum:
    """AND of any number of parts, in three-valued logic, from left to right."""
    found = parts[0].array(frame)
    for part in parts[1:]:
        found = pc.and_kleene(found, reached(part, frame, partial(pc.fill_null, found, True)))
    return found


def disjunction(frame: Frame, parts: tuple[Bound, ...], _: pa.DataType) -> Datum:
    """OR of any number of parts."""
    found = parts[0].array(frame)
    for part in parts[1:]:
        found = pc.or_kleene(found, reached(part, frame, partial(_not_true, found)))
    return found


def branches(frame: Frame, parts: tuple[Bound, ...], of: pa.DataType) -> Datum:
    """CASE: condition, value, condition, value, …, else."""
    conditions, values = [], []
    waiting = pa.array(np.ones(frame.rows, np.bool_))
    for condition, value in zip(parts[:-1:2], parts[1:-1:2], strict=True):
        holds = pc.and_(waiting, pc.fill_null(reached(condition, frame, waiting), False))
        conditions.append(holds)
        values.append(reached(value, frame, holds))
        waiting = pc.and_not(waiting, holds)
    values.append(reached(parts[-1], frame, waiting))
    return chosen_values(conditions, values, of)


def first_value(frame: Frame, parts: tuple[Bound, ...], of: pa.DataType) -> Datum:
    """COALESCE: the first value that is not null."""
    found = parts[0].array(frame)
    for part in parts[1:]:
        missing = found.is_null()
        if not pc.any(missing, min_count=0).as_py():
            break
        found = chosen_values([missing], [reached(part, frame, missing), found], of)
    return found


def _not_true(found: pa.Array) -> pa.Array:
    return pc.invert(pc.fill_null(found, False))


def reached(part: Bound, frame: Frame, mask: pa.Array | Callable[[], pa.Array]) -> pa.Array:
    """The values of a branch, right on the rows of the mask; anything on others. A mask that is made is made late."""
    try:
        return part.array(frame)
    except EvaluationError:
        rows = mask() if callable(mask) else mask
        return scattered(part.array(frame.select(rows)), rows)


def chosen_values(conditions: Sequence[pa.Array], values: Sequence[pa.Array], of: pa.DataType) -> pa.Array:
    """Per row the value of the first condition that holds, else the last value."""
    if not conditions:
        return values[0]
    extended = isinstance(of, pa.ExtensionType)
    plain = [v.storage for v in values] if extended else values
    names = [str(i) for i in range(len(conditions))]
    found = pc.case_when(pa.StructArray.from_arrays(list(conditions), names=names), *plain)
    return pa.ExtensionArray.from_storage(of, found) if extended else found
