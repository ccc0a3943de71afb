"""Windowing attributes as integers: timestamps, dates, integers and row positions share one arithmetic.

Windows, punctuation and kernels only ever see int64 *ordinals*; this module is the border on both sides.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.columns import as_column
from panewise.core.errors import QuantityError, SchemaError
from panewise.core.time import DAY, EPOCH, Domain, Quantity, format_timestamp, parse_timestamp

Ordinals = npt.NDArray[np.int64]

LIMIT = 2**62
"""Values of a windowing attribute stay below this on both sides of zero, so that sums with RANGE and SLIDE fit."""


class OrdinalKind(Enum):
    """What one step of a windowing attribute is."""

    TIMESTAMP = "timestamp"  # one microsecond
    DATE = "date"            # one day
    INTEGER = "integer"      # one
    ROWS = "rows"            # one arrival position

    @classmethod
    def of(cls, data_type: pa.DataType, column: str = "?") -> OrdinalKind:
        """The kind of a column; anything without a discrete order is refused.

        >>> OrdinalKind.of(pa.timestamp("us", tz="UTC")), OrdinalKind.of(pa.int32())
        (<OrdinalKind.TIMESTAMP: 'timestamp'>, <OrdinalKind.INTEGER: 'integer'>)
        """
        if pa.types.is_timestamp(data_type):
            return cls.TIMESTAMP
        if pa.types.is_date(data_type):
            return cls.DATE
        if pa.types.is_integer(data_type):
            return cls.INTEGER
        raise SchemaError(
            f"column {column!r} is {data_type} and cannot order a window: "
            "use a timestamp, date or integer column, or cast it"
        )

    def amount(self, quantity: Quantity) -> int:
        """A RANGE or SLIDE in steps of this attribute.

        >>> OrdinalKind.DATE.amount(Quantity.parse("2 days"))
        2
        """
        if quantity.domain is Domain.TICKS:
            return quantity.amount
        if self is OrdinalKind.TIMESTAMP and quantity.domain is Domain.TIME:
            return quantity.amount
        if self is OrdinalKind.DATE and quantity.domain is Domain.TIME:
            if quantity.amount % DAY:
                raise QuantityError(f"{quantity} is not a whole number of days, and the attribute is a date")
            return quantity.amount // DAY
        if self is OrdinalKind.ROWS and quantity.domain is Domain.ROWS:
            return quantity.amount
        unit = {"timestamp": "a time unit, such as '10 s'", "date": "days", "rows": "rows",
                "integer": "ticks (one tick is 1), or a plain number"}[self.value]
        raise QuantityError(f"{quantity} does not measure a {self.value} attribute: write {unit}")

    def parse(self, value: Any) -> int:
        """One literal of this attribute as an ordinal."""
        if self is OrdinalKind.TIMESTAMP:
            return parse_timestamp(value)
        if self is OrdinalKind.DATE:
            return parse_timestamp(value) // DAY if not isinstance(value, int) else value
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            try:
                return int(str(value))
            except ValueError as error:
                raise QuantityError(f"{value!r} is not an integer") from error
        return int(value)

    def present(self, ordinal: int) -> datetime | date | int:
        """An ordinal as the Python value a user expects."""
        if self is OrdinalKind.TIMESTAMP:
            return EPOCH + timedelta(microseconds=ordinal)
        if self is OrdinalKind.DATE:
            return (EPOCH + timedelta(days=ordinal)).date()
        return ordinal

    def text(self, ordinal: int) -> str:
        """An ordinal as text for messages and NDJSON; the number itself where no calendar reaches."""
        try:
            return format_timestamp(ordinal) if self is OrdinalKind.TIMESTAMP else str(self.present(ordinal))
        except OverflowError:
            return str(ordinal)

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of values of this attribute at the border."""
        return _ARROW[self.value]


_ARROW = {"timestamp": pa.timestamp("us", tz="UTC"), "date": pa.date32(), "integer": pa.int64(), "rows": pa.int64()}


def to_ordinals(values: pa.Array | pa.ChunkedArray, column: str, *, first_row: int = 1,
                limit: int | None = LIMIT) -> Ordinals:
    """A column as int64 ordinals; nulls, unordered types and values beyond the limit are refused with the place.

    Nanoseconds are cut down to the microsecond they are in.

    >>> to_ordinals(pa.array([datetime(1970, 1, 1, 0, 0, 1)]), "ts")
    array([1000000])
    """
    if isinstance(values, pa.ChunkedArray) and values.num_chunks == 1:
        values = values.chunk(0)
    kind = OrdinalKind.of(values.type, column)
    if values.null_count:
        row = first_row + pc.index(pc.is_null(values), True).as_py()
        raise SchemaError(f"row {row}: {column!r} is null; every row needs a value of the windowing attribute")
    try:
        integers = _integers(values, kind)
    except pa.ArrowInvalid as error:
        raise SchemaError(f"{column!r} is {values.type} and has a value that cannot order a window: {error}") from error
    if limit is not None and len(integers) and not (-limit < integers.min() and integers.max() < limit):
        at = int(np.flatnonzero((integers <= -limit) | (integers >= limit))[0])
        raise SchemaError(f"row {first_row + at}: {column!r} is {integers[at]}, too far from zero to compute windows "
                          f"with: values must lie between -{limit} and {limit}")
    return integers


def _integers(values: pa.Array | pa.ChunkedArray, kind: OrdinalKind) -> Ordinals:
    if kind is OrdinalKind.TIMESTAMP and values.type.unit == "us" and isinstance(values, pa.Array):
        view: Ordinals = values.view(pa.int64()).to_numpy()  # the usual case, without a copy
        return view
    nanoseconds = kind is OrdinalKind.TIMESTAMP and values.type.unit == "ns"
    if kind is OrdinalKind.TIMESTAMP and not nanoseconds:
        values = values.cast(pa.timestamp("us", tz=values.type.tz))
    elif kind is OrdinalKind.DATE:
        values = values.cast(pa.date32()).cast(pa.int32())
    values = values.cast(pa.int64())
    integers = np.asarray(values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy())
    return integers // 1000 if nanoseconds else integers


def from_ordinals(ordinals: Ordinals, kind: OrdinalKind) -> pa.Array:
    """Ordinals as an Arrow column of their kind."""
    if kind is OrdinalKind.DATE:
        try:
            return pa.array(ordinals).cast(pa.int32()).cast(pa.date32())
        except pa.ArrowInvalid as error:
            raise QuantityError(f"a window ends beyond the last date there is: {error}; use a shorter RANGE") from error
    return as_column(np.ascontiguousarray(ordinals, np.int64), kind.arrow)
