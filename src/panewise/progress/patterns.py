"""What one attribute of a covered row looks like: anything, one value, a half range, a range, a list (Li 2.1).

Every pattern answers three questions: does it cover this value, which rows of this column does it cover, and does it
cover everything another pattern covers. A null is covered only by patterns that name it, or by the wildcard.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.errors import ProgressError

Mask = npt.NDArray[np.bool_]
Column: TypeAlias = pa.Array | pa.ChunkedArray


class Pattern(ABC):
    """What one attribute of a covered row looks like."""

    @abstractmethod
    def matches(self, value: Any) -> bool:
        """Whether the value is covered."""

    @abstractmethod
    def mask(self, column: Column) -> Mask:
        """Which rows of a column are covered; the same answer as ``matches`` on every value."""

    @abstractmethod
    def subsumes(self, other: Pattern) -> bool:
        """Whether all values the other pattern covers are covered here too.

        Attributes may be continuous, so a list never subsumes a range.
        """

    @property
    def empty(self) -> bool:
        """Whether no value at all is covered."""
        return False


@dataclass(frozen=True, slots=True)
class Wildcard(Pattern):
    """Covers everything; attributes a punctuation does not name have it."""

    def matches(self, value: Any) -> bool:
        """Always."""
        return True

    def mask(self, column: Column) -> Mask:
        """Every row."""
        return np.ones(len(column), np.bool_)

    def subsumes(self, other: Pattern) -> bool:
        """Always."""
        return True

    def __str__(self) -> str:
        return "*"


@dataclass(frozen=True, slots=True)
class Constant(Pattern):
    """Covers one value; null is a value here, as it is a group in SQL."""

    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", one_value(self.value))

    def matches(self, value: Any) -> bool:
        """Equality."""
        return bool(one_value(value) is self.value or value == self.value)

    def mask(self, column: Column) -> Mask:
        """Equality."""
        if self.value is None:
            return _to_mask(pc.is_null(column))
        if isinstance(self.value, float) and math.isnan(self.value):
            return _to_mask(pc.is_nan(plain_column(column)))
        return _to_mask(pc.equal(plain_column(column), as_scalar(self.value, column.type, self)))

    def subsumes(self, other: Pattern) -> bool:
        """Only itself, a list of nothing else, or nothing."""
        if isinstance(other, OneOf):
            return other.values <= {self.value}
        return other.empty or (isinstance(other, Constant) and self.matches(other.value))

    def __str__(self) -> str:
        return f"= {self.value}"


@dataclass(frozen=True, slots=True)
class Below(Pattern):
    """The half range: covers every value strictly smaller than the bound.

    >>> Below(60).matches(59), Below(60).matches(60), Below(60).subsumes(Between(0, 60))
    (True, False, True)
    """

    bound: int

    def matches(self, value: Any) -> bool:
        """Strictly smaller."""
        return value is not None and _less(value, self.bound, self)

    def mask(self, column: Column) -> Mask:
        """Strictly smaller."""
        return _to_mask(pc.less(plain_column(column), as_scalar(self.bound, column.type, self)))

    def subsumes(self, other: Pattern) -> bool:
        """Smaller half ranges, ranges that end in time, constants and lists below the bound."""
        if isinstance(other, Below):
            return not _less(self.bound, other.bound, self)
        if isinstance(other, Between):
            return other.empty or not _less(self.bound, other.end, self)
        return _covers_values(self, other)

    def __str__(self) -> str:
        return f"< {self.bound}"


@dataclass(frozen=True, slots=True)
class Between(Pattern):
    """Covers ``start <= v < end``."""

    start: Any
    end: Any

    def matches(self, value: Any) -> bool:
        """Inside the half-open range."""
        return value is not None and not _less(value, self.start, self) and _less(value, self.end, self)

    def mask(self, column: Column) -> Mask:
        """Inside the half-open range."""
        values = plain_column(column)
        start, end = (as_scalar(v, column.type, self) for v in (self.start, self.end))
        return _to_mask(pc.and_(pc.greater_equal(values, start), pc.less(values, end)))

    def subsumes(self, other: Pattern) -> bool:
        """Ranges inside it, constants and lists of values inside it; never a half range."""
        if isinstance(other, Between):
            inside = not _less(other.start, self.start, self) and not _less(self.end, other.end, self)
            return other.empty or inside
        return _covers_values(self, other)

    @property
    def empty(self) -> bool:
        """Whether it ends before it starts."""
        return not _less(self.start, self.end, self)

    def __str__(self) -> str:
        return f"in [{self.start}, {self.end})"


@dataclass(frozen=True, slots=True)
class OneOf(Pattern):
    """Covers a list of values."""

    values: frozenset[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozenset(map(one_value, self.values)))

    def matches(self, value: Any) -> bool:
        """Membership."""
        return one_value(value) in self.values

    def mask(self, column: Column) -> Mask:
        """Membership; a null in the list covers nulls."""
        column = one_of_each(plain_column(column))
        return _to_mask(pc.is_in(column, value_set=as_values(sorted(self.values, key=str), column.type, self)))

    def subsumes(self, other: Pattern) -> bool:
        """Constants and lists whose values are all in it."""
        return _covers_values(self, other)

    @property
    def empty(self) -> bool:
        """Whether the list is empty."""
        return not self.values

    def __str__(self) -> str:
        return f"in {{{', '.join(sorted(map(str, self.values)))}}}"


WILDCARD = Wildcard()


def one_value(value: Any) -> Any:
    """The one value that stands for all that are equal in SQL: there is one zero, and one NaN, which equals itself.

    >>> str(one_value(-0.0)), one_value(float("nan")) is one_value(float("nan")), one_value("x")
    ('0.0', True, 'x')
    """
    if not isinstance(value, float | np.floating):
        return value
    return math.nan if value != value else value + 0.0  # noqa: PLR0124


def one_of_each(column: pa.Array) -> pa.Array:
    """The same for a column, before its values are looked up."""
    if not pa.types.is_floating(column.type):
        return column
    zero, nan = (pa.scalar(value, column.type) for value in (0.0, math.nan))
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def plain_column(column: Column) -> pa.Array:
    """One chunk without dictionary encoding, so that values compare directly."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def as_values(values: list[Any], data_type: pa.DataType, context: object) -> pa.Array:
    """Pattern values as Arrow values of a column's type; a mismatch is the punctuation's fault and is named."""
    if pa.types.is_dictionary(data_type):
        data_type = data_type.value_type
    try:
        return pa.array(values, type=data_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ProgressError(
            f"punctuation pattern {context} does not fit a column of type {data_type}: "
            "give values of the column's own type"
        ) from error


def as_scalar(value: Any, data_type: pa.DataType, context: object) -> pa.Scalar:
    """One pattern value as an Arrow scalar of a column's type."""
    return as_values([value], data_type, context)[0]


def _covers_values(pattern: Pattern, other: Pattern) -> bool:
    if isinstance(other, Constant):
        return pattern.matches(other.value)
    if isinstance(other, OneOf):
        return all(pattern.matches(value) for value in other.values)
    return other.empty


def _less(left: Any, right: Any, context: object) -> bool:
    try:
        return bool(left < right)
    except TypeError as error:
        raise ProgressError(
            f"punctuation pattern '{context}' cannot be compared with the value {left!r} "
            f"({type(left).__name__}): both must be of one type"
        ) from error


def _to_mask(answer: Any) -> Mask:
    return np.asarray(pc.fill_null(answer, False).to_numpy(zero_copy_only=False), dtype=np.bool_)
