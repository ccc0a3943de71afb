"""What becomes of values that a cast has no counterpart for: CAST fails on the row, TRY_CAST gives null."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.frame import Here
from panewise.functions.types import type_name

INVALID = "CAST_INVALID_INPUT"
OVERFLOW = "CAST_OVERFLOW"
OUT_OF_RANGE = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"


class NoValue(Exception):  # noqa: N818 -- becomes an EvaluationError, or null
    """Raised by a cast of one value that has no counterpart."""

    def __init__(self, condition: str = INVALID) -> None:
        super().__init__(condition)
        self.condition = condition


def nulls_of(values: pa.Array) -> np.ndarray[Any, Any]:
    """Which values are null."""
    found: np.ndarray[Any, Any] = values.is_null().to_numpy(zero_copy_only=False)
    return found


def missing(values: pa.Array, wrong: np.ndarray[Any, Any], here: Here, failing: bool,
            condition: str = OVERFLOW) -> np.ndarray[Any, Any]:
    """Which results are null; or a failure for the first value that is wrong."""
    null = nulls_of(values)
    wrong = wrong & ~null
    if failing and wrong.any():
        refuse(values, int(np.argmax(wrong)), here, condition)
    found: np.ndarray[Any, Any] = null | wrong
    return found


def refuse(values: pa.Array, row: int, here: Here, condition: str) -> None:
    """Fail on a row."""
    what = "is no" if condition == INVALID else "does not fit"
    here.fail(row, condition, "{} " + what + " " + type_name(here.type), values)


def distinct(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The numbers of the distinct values, per row, and these values."""
    encoded = values.dictionary_encode()
    return encoded.indices, encoded.dictionary


def by_value(values: pa.Array, plain: Callable[[Any], Any], here: Here, failing: bool,
             of: pa.DataType | None = None) -> pa.Array:
    """A cast of one Python value, computed once per distinct value."""
    indices, known = distinct(values)
    found: list[Any] = []
    for number, value in enumerate(known.to_pylist()):
        try:
            found.append(plain(value))
        except NoValue as problem:
            if failing:
                refuse(values, pc.index(indices, pa.scalar(number, indices.type)).as_py(), here, problem.condition)
            found.append(None)
    return pa.array(found, here.type if of is None else of).take(indices)


def patched(quick: pa.Array, slow: np.ndarray[Any, Any], values: pa.Array, here: Here,
            cast: Callable[[pa.Array, Here], pa.Array]) -> pa.Array:
    """Results of a quick cast, replaced by a slower one where the quick one does not apply."""
    if not slow.any():
        return quick
    mask = pa.array(slow)
    return pc.replace_with_mask(quick, mask, cast(values.filter(mask), selected(here, mask)))


def selected(here: Here, mask: pa.Array) -> Here:
    """The call on some of its rows, so that a failure names the right one."""
    return replace(here, frame=here.frame.select(mask))
