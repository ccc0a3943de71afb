"""SUM and AVG, exact: integers and decimals never overflow on the way, sums of floats are rounded once, at the end.

State columns: ``count`` of non-null rows, then two limbs (integers, decimals up to 18 digits) or four (longer
decimals), which add column by column, or the three of a sum of floats (see `expansions`).
The sum of floats is the float nearest to the exact sum, so neither order nor batches nor merges matter; infinite beyond
the largest float; NaN with a NaN or both infinities; a sum of zero is +0.0. Their average is that sum by the count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import (
    as_floats,
    as_ints,
    counts_of,
    decimal_array,
    is_decimal,
    plain,
    present,
)
from panewise.aggregates.base import AggClass, Aggregate, Codes, Columns, State, Types
from panewise.aggregates.exact_sums import expansions
from panewise.aggregates.exact_sums.exact import (
    exact_float,
    from_limbs,
    limb_columns,
    limb_count,
    limb_sums,
    rounded_float,
    total_words,
    totals,
)
from panewise.aggregates.exact_sums.totals import EXACT, Totals, plus
from panewise.core.errors import AggregateError

LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1
MAX_DIGITS = 38


@dataclass(frozen=True)
class Sum(Totals):
    """``sum(x)``: bigint for integers, double for floats, ten digits more for decimals; null without a number.

    A bigint that overflows is an error, as in Spark's ANSI mode; overflow that a later negative number would undo is
    not.

    >>> s = Sum()
    >>> s.finish(s.add(s.add(s.add(s.init(), 2**63 - 1), 2**63 - 1), -2**63)) == 2**63 - 2
    True
    """

    name: ClassVar[str] = "sum"
    agg_class: ClassVar[AggClass] = AggClass.DISTRIBUTIVE
    sums: ClassVar[tuple[str, ...]] = ("sum",)

    def limbs(self, inputs: Types) -> tuple[int, ...]:
        """Those of the one total."""
        data_type = self.number_type(inputs)
        return (0,) if pa.types.is_floating(data_type) else (limb_count(data_type),)

    # -- types ---------------------------------------------------------------------------------------------------

    def result_type(self, inputs: Types) -> pa.DataType:
        """As Spark SQL widens it."""
        self.check_inputs(inputs)
        data_type = self.number_type(inputs)
        if is_decimal(data_type):
            return pa.decimal128(min(data_type.precision + 10, MAX_DIGITS), data_type.scale)
        return pa.float64() if pa.types.is_floating(data_type) else pa.int64()

    # -- scalar form ---------------------------------------------------------------------------------------------

    def init(self) -> State:
        """No number yet."""
        return (0, 0)

    def add(self, state: State, *values: Any) -> State:
        """Exact addition: integers, Fraction for floats, Decimal; null adds nothing."""
        (value,) = values
        if value is None:
            return state
        return state[0] + 1, plus(state[1], exact_float(value) if isinstance(value, float) else value)

    def finish(self, state: State) -> Any:
        """Null without a number; the total if its type holds it."""
        count, total = state
        if count == 0:
            return None
        if isinstance(total, Decimal):
            if len(total.as_tuple().digits) > MAX_DIGITS:
                raise self._overflow(total, f"decimal({MAX_DIGITS})")
            return total
        if isinstance(total, int):
            if not LONG_MIN <= total <= LONG_MAX:
                raise self._overflow(total, "bigint")
            return total
        return rounded_float(total)

    def _overflow(self, total: int | Decimal, type_name: str) -> AggregateError:
        return AggregateError(f"{self.name} overflowed: {total} does not fit {type_name}; cast the argument to a wider "
                              f"type, as in {self.name}(CAST(x AS DECIMAL(38, 0))) or AS DOUBLE")

    def total(self, units: int, power: int, inputs: Types) -> Any:
        """An integer, or a decimal of the argument's scale."""
        data_type = self.number_type(inputs)
        return Decimal(units).scaleb(-data_type.scale, EXACT) if is_decimal(data_type) else units

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """Exact sums per group."""
        data_type = self.number_type(inputs)
        (array,), codes = present([plain(arguments[0])], codes)
        if not pa.types.is_floating(data_type):
            return [pa.array(counts_of(codes, groups)), *map(pa.array, limb_sums(array, codes, groups))]
        return [pa.array(counts_of(codes, groups)), *expansions.sums([as_floats(array)], codes, groups)]

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """Totals in the result type, null where nothing was counted."""
        empty = as_ints(partials[0]) == 0
        result_type = self.result_type(inputs)
        if pa.types.is_floating(result_type):
            return pa.array(as_floats(partials[1]), mask=empty)
        limbs = limb_columns(partials[1:])
        low, high, too_long = total_words(limbs)
        if pa.types.is_integer(result_type):
            self._refuse_where(high != low >> 63, limbs, "bigint")
            return pa.array(low, mask=empty)
        # 2⁶⁴·high rounded is close enough to rule out most rows, exact arithmetic decides the rest
        near = np.abs(high.astype(np.float64)) * 2.0**64 >= 0.99 * 10.0**result_type.precision
        limit = 10**result_type.precision
        for i in np.flatnonzero(near | too_long):
            total = from_limbs([int(limb[i]) for limb in limbs])
            if abs(total) >= limit:
                raise self._overflow(Decimal(total).scaleb(-result_type.scale, EXACT),
                                     f"decimal({result_type.precision}, {result_type.scale})")
        return decimal_array(low, high, result_type, empty)

    def _refuse_where(self, overflowed: Any, limbs: list[Any], type_name: str) -> None:
        if overflowed.any():
            at = int(np.flatnonzero(overflowed)[0])
            raise self._overflow(from_limbs([int(limb[at]) for limb in limbs]), type_name)


@dataclass(frozen=True)
class Avg(Sum):
    """``avg(x)``: double, or a decimal with four digits more; the total is the exact one of SUM.

    >>> avg = Avg()
    >>> avg.finish(avg.add(avg.add(avg.init(), 2**62), 2**62 + 2)) == 2.0**62
    True
    """

    name: ClassVar[str] = "avg"
    agg_class: ClassVar[AggClass] = AggClass.ALGEBRAIC

    def result_type(self, inputs: Types) -> pa.DataType:
        """Double, or decimal(p + 4, s + 4)."""
        self.check_inputs(inputs)
        data_type = self.number_type(inputs)
        if is_decimal(data_type):
            return pa.decimal128(min(data_type.precision + 4, MAX_DIGITS), min(data_type.scale + 4, MAX_DIGITS))
        return pa.float64()

    def finish(self, state: State) -> Any:
        """Total by count, rounded once; of floats the rounded total by count."""
        count, total = state
        if count == 0:
            return None
        if isinstance(total, Decimal):
            exponent = total.as_tuple().exponent
            scale = min(-int(exponent) + 4, MAX_DIGITS)
            average = EXACT.divide(total, Decimal(count)).quantize(Decimal(1).scaleb(-scale), context=EXACT)
            if len(average.as_tuple().digits) > MAX_DIGITS:
                raise self._overflow(average, f"decimal({MAX_DIGITS}, {scale})")
            return average
        if isinstance(total, int):
            return rounded_float(Fraction(total, count))
        return rounded_float(total) / count

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """Vectorised where a double holds the total exactly, else by exact arithmetic per group."""
        result_type = self.result_type(inputs)
        if is_decimal(result_type):
            return Aggregate.finish_all(self, partials, inputs)
        count = as_ints(partials[0])
        empty = count == 0
        divisor = np.where(empty, 1, count)
        if pa.types.is_floating(self.number_type(inputs)):
            return pa.array(as_floats(partials[1]) / divisor, mask=empty)
        limbs = limb_columns(partials[1:])
        low, high, _ = total_words(limbs)
        averages = low / divisor
        inexact = np.flatnonzero((high != low >> 63) | (np.abs(low.astype(np.float64)) >= 2.0**53))
        if len(inexact):
            exact = zip(totals([limb[inexact] for limb in limbs]), divisor[inexact].tolist(), strict=True)
            averages[inexact] = [total / n for total, n in exact]
        return pa.array(averages, mask=empty)
