"""The rows an expression is computed on, and how a row that cannot be computed is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.errors import EvaluationError, shortened
from panewise.core.sizes import TOO_LARGE, most_of_a_batch

if TYPE_CHECKING:
    from panewise.functions.binding.bound import Bound

Datum: TypeAlias = pa.Array | pa.Scalar
"""A value per row, or one value for all rows."""


@dataclass
class Frame:
    """Columns of equal length; a selection of rows where only some of them are to be computed."""

    columns: Mapping[str, pa.Array]
    rows: int
    numbers: pa.Array | None = None
    """Which rows of the batch these are; all of them where None."""
    known: dict[Bound, Datum] = field(default_factory=dict)
    """What has been computed already. An expression is itself the key, not its ``id``: one that the cache of bound
    expressions lets go would leave its number to another."""
    bound: Mapping[str, Datum] = field(default_factory=dict)
    """The parameters of lambdas around this expression."""

    def select(self, mask: pa.Array) -> Frame:
        """The rows where the mask is true."""
        numbers = self.numbers if self.numbers is not None else pa.array(np.arange(self.rows))
        kept = numbers.filter(mask)
        return Frame(_Selected(self.columns, mask), len(kept), kept,
                     bound={n: d.filter(mask) if isinstance(d, pa.Array) else d for n, d in self.bound.items()})

    def place(self, row: int) -> int:
        """The number of a row in its batch, 1-based."""
        return (row if self.numbers is None else self.numbers[row].as_py()) + 1

    def array(self, datum: Datum) -> pa.Array:
        """A value per row; one large value is not written out for many."""
        if isinstance(datum, pa.Scalar) and self.rows > 1 and datum.is_valid and not pa.types.is_primitive(datum.type):
            each = pa.repeat(datum, 1).nbytes
            most = most_of_a_batch(self.rows)
            if each * self.rows > most:
                raise EvaluationError(f"one value of {each:,} bytes for {self.rows:,} rows of a batch: at most "
                                      f"{most:,} are made", condition=TOO_LARGE, row=self.place(0))
        return as_array(datum, self.rows)


class _Selected(dict[str, pa.Array]):
    """Columns of a selection, filtered when they are read."""

    def __init__(self, whole: Mapping[str, pa.Array], mask: pa.Array) -> None:
        super().__init__()
        self._whole, self._mask = whole, mask

    def __missing__(self, name: str) -> pa.Array:
        self[name] = picked_apart(self._whole[name]).filter(self._mask)
        return self[name]


def picked_apart(column: pa.Array) -> pa.Array:
    """A column whose rows Arrow can select: it has no kernels for views of text."""
    if pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column.cast(pa.binary()) if pa.types.is_binary_view(column.type) else column


@dataclass(frozen=True)
class Here:
    """What a function may ask about the call it computes."""

    frame: Frame
    type: pa.DataType
    """The type of the result."""
    zone: str
    """The time zone of the session."""
    expression: Bound

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.frame.rows

    def array(self, datum: Datum) -> pa.Array:
        """A value per row."""
        return self.frame.array(datum)

    def fail_where(self, mask: Datum, condition: str, message: str, *shown: Datum) -> None:
        """Raise for the first row where the mask is true; null is not true. ``shown`` fills {} in the message."""
        if isinstance(mask, pa.Scalar):
            if mask.as_py() and self.frame.rows:
                self.fail(0, condition, message, *shown)
        elif pc.any(mask, min_count=0).as_py():
            self.fail(pc.index(mask, True).as_py(), condition, message, *shown)

    def fail(self, row: int, condition: str, message: str, *shown: Datum) -> NoReturn:
        """Raise for one row."""
        values = [shortened(text_of(d if isinstance(d, pa.Scalar) else d[row])) for d in shown]
        raise EvaluationError(f"{message.format(*values)}, in {shortened(self.expression.sql, 200)}"
                              f"{self._inputs(row)}", condition=condition, row=self.frame.place(row))

    def _inputs(self, row: int) -> str:
        names = sorted(self.expression.columns)[:8]
        parts = [f"{name} = {shortened(text_of(self.frame.columns[name][row]))}" for name in names]
        return f" with {', '.join(parts)}" if parts else ""


def text_of(value: pa.Scalar) -> str:
    """A value for a message."""
    try:
        plain = value.as_py()
    except (ValueError, OverflowError, KeyError):  # a time that Python's calendar does not have
        return str(value)
    return "NULL" if plain is None else str(plain) if not isinstance(plain, str) else repr(plain)


def as_array(datum: Datum, rows: int) -> pa.Array:
    """A value per row, whatever it was."""
    if isinstance(datum, pa.Scalar):
        if not datum.is_valid:
            return pa.nulls(rows, datum.type)
        return pa.repeat(datum, rows)
    return datum


def scattered(values: pa.Array, mask: pa.Array) -> pa.Array:
    """Values of some rows at the places of these rows, null elsewhere."""
    there = mask.to_numpy(zero_copy_only=False)
    return values.take(pa.array(np.cumsum(there) - 1, mask=~there))


def as_numpy(values: pa.Array, fill: Any) -> np.ndarray[Any, Any]:
    """The values as NumPy holds them, nulls replaced."""
    filled = values.fill_null(fill) if values.null_count else values
    found: np.ndarray[Any, Any] = filled.to_numpy(zero_copy_only=False)
    return found


def with_nulls(values: np.ndarray[Any, Any], like: pa.Array, of: pa.DataType) -> pa.Array:
    """NumPy values as Arrow, null where another column is null."""
    return pa.array(values, of, mask=like.is_null().to_numpy(zero_copy_only=False) if like.null_count else None)
