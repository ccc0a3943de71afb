"""Generators that derive the bound from the rows themselves (Li 8.1; SIGMOD 2005, 7.2 b)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from panewise.core.errors import CheckpointError, ProgressError, SchemaError
from panewise.core.ordinals import LIMIT, OrdinalKind, Ordinals, to_ordinals
from panewise.progress.generators import Extra, Generator, Observed, Trailing, minus, shifted_maxima
from panewise.progress.jumps import JumpGuard
from panewise.progress.patterns import plain_column
from panewise.progress.watermarks import FINISHED, NO_BOUND


class TimeLate(Generator):
    """Rows come at most ``delay`` behind the largest value seen: the bound is that value minus the delay.

    >>> TimeLate(10).observe(np.array([100, 95, 120])).before.tolist()[1:]
    [90, 90]
    """

    kind: ClassVar[str] = "late"
    saved: ClassVar[tuple[str, ...]] = ("highest",)

    def __init__(self, delay: int, *, guard: JumpGuard | None = None) -> None:
        super().__init__(guard=guard)
        if not 0 <= delay <= FINISHED:
            raise ProgressError(f"the delay must be a non-negative 64-bit number, it was {delay}")
        self.delay = delay
        self.highest = NO_BOUND

    def _observe(self, values: Ordinals, extra: Extra) -> Observed:
        maxima = shifted_maxima(values, self.highest)
        self.highest = int(maxima[-1])
        # maxima ascend: when the first is far enough from the end of time, all are
        bounds = maxima - self.delay if maxima[0] >= NO_BOUND + self.delay else minus(maxima, self.delay)
        return Observed(bounds[:-1], int(bounds[-1]))

    def _observe_checked(self, values: Ordinals, extra: Extra, high: int) -> Observed:
        if self.delay > LIMIT:  # a value minus the delay could wrap round
            return self._observe(values, extra)
        first, self.highest = self._bound(), max(self.highest, high)
        return Observed(Trailing(values, first, self.delay), self.highest - self.delay)

    def _bound(self) -> int:
        return NO_BOUND if self.highest < NO_BOUND + self.delay else self.highest - self.delay

    def describe(self) -> str:
        """With the delay."""
        return f"at most {self.delay} late"


class Ordered(TimeLate):
    """Rows come in order: the last value is the bound, and equal values are not late.

    >>> Ordered().observe(np.array([3, 3, 5])).before.tolist()[1:]
    [3, 3]
    """

    kind: ClassVar[str] = "ordered"

    def __init__(self, *, guard: JumpGuard | None = None) -> None:
        super().__init__(0, guard=guard)

    def describe(self) -> str:
        """Just the name."""
        return self.kind


class RowsLate(Generator):
    """A row is overtaken by at most ``n`` rows: the bound is the maximum over all rows but the last n.

    The state is a queue of n running maxima; equal neighbours are saved once.

    >>> RowsLate(1).observe(np.array([5, 9, 7, 8])).before.tolist()[2:]
    [5, 9]
    """

    kind: ClassVar[str] = "rows"

    def __init__(self, n: int, *, guard: JumpGuard | None = None) -> None:
        super().__init__(guard=guard)
        if n < 0:
            raise ProgressError(f"the number of rows must not be negative, it was {n}")
        self.n = n
        self.maxima = np.full(n + 1, NO_BOUND, np.int64)
        """Running maxima after each of the last n rows, preceded by the bound now in force."""

    def _observe(self, values: Ordinals, extra: Extra) -> Observed:
        grown = shifted_maxima(values, int(self.maxima[-1]))[1:]
        line = np.concatenate((self.maxima, grown))
        self.maxima = line[len(values):]
        return Observed(line[: len(values)], int(line[len(values)]))

    def _bound(self) -> int:
        return int(self.maxima[0])

    def _save(self) -> Any:
        distinct, counts = np.unique(self.maxima, return_counts=True)
        return [[int(v), int(c)] for v, c in zip(distinct, counts, strict=True)]

    def _load(self, state: Any) -> None:
        values, counts = (np.array(part, np.int64) for part in zip(*state, strict=True))
        self.maxima = np.repeat(values, counts)
        if len(self.maxima) != self.n + 1:
            raise CheckpointError(f"saved progress is for {len(self.maxima) - 1} late rows, this run has {self.n}")

    def describe(self) -> str:
        """With the number of rows."""
        return f"at most {self.n} rows late"


class ColumnSupplied(Generator):
    """A column of the newest row is the bound for the rows after it; a null says nothing new.

    >>> import pyarrow as pa
    >>> wm = ColumnSupplied("wm", OrdinalKind.INTEGER)
    >>> wm.observe(np.array([5, 6, 7]), {"wm": pa.array([4, None, 6])}).before.tolist()[1:]
    [4, 4]
    """

    kind: ClassVar[str] = "column"
    saved: ClassVar[tuple[str, ...]] = ("highest",)

    def __init__(self, column: str, ordinal: OrdinalKind, *, guard: JumpGuard | None = None) -> None:
        super().__init__(guard=guard)
        self.columns = (column,)
        self.ordinal = ordinal
        self.highest = NO_BOUND

    def _believed(self, values: Ordinals, extra: Extra) -> Ordinals:
        bounds = self._read(extra)
        if len(bounds) != len(values):
            raise ProgressError(f"{len(values)} rows came with {len(bounds)} values of {self.columns[0]!r}")
        if self.guard is None:
            return bounds
        said = bounds != NO_BOUND
        bounds = bounds.copy()
        bounds[said] = self.guard.believed(bounds[said])
        return bounds

    def _read(self, extra: Extra) -> Ordinals:
        name = self.columns[0]
        if name not in extra:
            raise SchemaError(f"progress comes from the column {name!r}, which the rows do not have")
        column = plain_column(extra[name])
        found = OrdinalKind.of(column.type, name)
        expected = OrdinalKind.INTEGER if self.ordinal is OrdinalKind.ROWS else self.ordinal
        if found is not expected:
            raise SchemaError(
                f"progress column {name!r} is {column.type}, but the windowing attribute is a {self.ordinal.value}: "
                "both must be of one kind"
            )
        bounds = np.full(len(column), NO_BOUND, np.int64)
        said = np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False), np.bool_)
        bounds[said] = to_ordinals(column.drop_null(), name, limit=None)
        return bounds

    def _observe(self, values: Ordinals, extra: Extra) -> Observed:
        bounds = shifted_maxima(values, self.highest)
        self.highest = int(bounds[-1])
        return Observed(bounds[:-1], self.highest)

    def _bound(self) -> int:
        return self.highest

    def describe(self) -> str:
        """With the column."""
        return f"column {self.columns[0]}"
