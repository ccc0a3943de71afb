"""How a built-in aggregate is folded and merged by compiled loops: the third form beside scalar and columnar.

A form says which loop folds rows into the columns of a state, and for every column its initial value and how two of
them merge. Only aggregates whose states are plain numbers that merge column by column have one; the loops are in
``kernels/panes/cells_numba.py`` and ``kernels/panes/roll_up_numba.py``. The columns are those of ``state_fields``,
except that a sum of floats is kept as `digits`, as many as the data has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Literal

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import has_long_key, is_decimal, plain_type
from panewise.aggregates.base import Aggregate, Types
from panewise.aggregates.count import Count
from panewise.aggregates.exact_sums.digits import Digits
from panewise.aggregates.extremes import Extreme
from panewise.aggregates.sums import Sum

Fold = Literal["rows", "count", "int sum", "float sum", "int min", "int max", "float min", "float max"]
Merge = Literal["sum", "min", "max"]


@dataclass(frozen=True)
class StateColumn:
    """One number of a state."""

    merge: Merge
    initial: int | float

    @property
    def is_float(self) -> bool:
        """Whether it is a float64; else an int64."""
        return isinstance(self.initial, float)

    @property
    def invertible(self) -> bool:
        """Whether a part can be taken away again exactly."""
        return self.merge == "sum" and not self.is_float


@dataclass(frozen=True)
class CompiledForm:
    """The loop that folds rows, and the columns of a state in the order of ``state_fields``."""

    fold: Fold
    columns: tuple[StateColumn, ...]
    level: int = 0
    """What an extreme notes as seen for an ordinary value."""
    digits: Digits | None = None
    """The digits that follow the count of a sum of floats."""

    def with_digits(self, digits: Digits) -> CompiledForm:
        """A sum of floats that has these digits; three at least, so that a zero has a place."""
        digits = replace(digits, count=max(digits.count, 3))
        return replace(self, digits=digits, columns=(ADDED,) * (1 + digits.width))


ADDED = StateColumn("sum", 0)
LIMITS = np.iinfo(np.int64)


def compiled_form(aggregate: Aggregate, inputs: Types) -> CompiledForm | None:
    """The form of this function for arguments of these types, or ``None``.

    >>> compiled_form(Count(), []).fold, compiled_form(Sum(), [pa.int32()]).fold
    ('rows', 'int sum')
    """
    if isinstance(aggregate, Count):
        return CompiledForm("count" if inputs else "rows", (ADDED,))
    if not inputs:
        return None
    data_type = plain_type(inputs[0])
    floating = pa.types.is_floating(data_type)
    if isinstance(aggregate, Sum):
        if floating:
            return CompiledForm("float sum", (ADDED,), digits=Digits())
        if pa.types.is_integer(data_type) or (is_decimal(data_type) and data_type.precision <= 18):
            return CompiledForm("int sum", (ADDED, ADDED, ADDED))
        return None
    if isinstance(aggregate, Extreme) and (floating or has_long_key(data_type)):
        level = StateColumn("max", 0)
        if aggregate.sign > 0:
            value = StateColumn("max", -inf if floating else int(LIMITS.min))
            return CompiledForm("float max" if floating else "int max", (level, value), 3 - aggregate.nan_level)
        value = StateColumn("min", inf if floating else int(LIMITS.max))
        return CompiledForm("float min" if floating else "int min", (level, value), 3 - aggregate.nan_level)
    return None
