"""What functions share whose state is a count and exact sums: of integers and decimals in limbs, of floats in parts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar

import pyarrow as pa

from panewise.aggregates.arrays import COUNT, as_ints, is_decimal, numeric_input
from panewise.aggregates.base import EXACT_SUM, AggClass, Aggregate, Codes, Columns, Elementwise, State, Types
from panewise.aggregates.exact_sums import expansions
from panewise.aggregates.exact_sums.exact import add_exact, carry, from_limbs, group_sum, limb_columns, to_limbs

EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
"""Wide enough that only the final rounding of a decimal result ever rounds."""


@dataclass(frozen=True)
class Totals(Aggregate):
    """A count of rows and one or two sums; state columns are the count, then those of each sum."""

    agg_class: ClassVar[AggClass] = AggClass.ALGEBRAIC
    short_lists: ClassVar[bool] = True
    sums: ClassVar[tuple[str, ...]]
    """What is summed: the state has as many sums, of which the n-th is in n-th powers of the argument's unit."""

    @abstractmethod
    def limbs(self, inputs: Types) -> tuple[int, ...]:
        """Of every sum how many limbs it has; 0: it is one of floats, and has three columns."""

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """The count, and the parts of each sum."""
        self.check_inputs(inputs)
        fields = [COUNT]
        for name, limbs in zip(self.sums, self.limbs(inputs), strict=True):
            fields += [pa.field(f"{name}{i}", pa.int64(), nullable=False) for i in reversed(range(limbs))] or \
                expansions.fields(name)
        return fields

    def is_floating(self, inputs: Types) -> bool:
        """Whether the sums are sums of floats."""
        return not any(self.limbs(inputs))

    def is_invertible(self, inputs: Types) -> bool:
        """Integers and decimals are; of floats a NaN or an infinity cannot be taken away again."""
        return not self.is_floating(inputs)

    def elementwise(self, inputs: Types) -> list[Elementwise] | None:
        """Counts and limbs add; the three columns of a sum of floats are one number."""
        found: list[Elementwise] = ["sum"]
        for count in self.limbs(inputs):
            found += ["sum"] * count or EXACT_SUM
        return found

    def init(self) -> State:
        """No number yet."""
        return (0, *(Fraction(0) for _ in self.sums))

    def merge(self, left: State, right: State) -> State:
        """Add everything."""
        return tuple(map(plus, left, right))

    def inverse(self, whole: State, part: State) -> State:
        """Subtract everything; exact where ``is_invertible``."""
        less = (amount.copy_negate() if isinstance(amount, Decimal) else -amount for amount in part)
        return tuple(map(plus, whole, less))

    def pack(self, state: State, inputs: Types) -> State:
        """Every sum in parts."""
        found = [state[0]]
        for power, (total, limbs) in enumerate(zip(state[1:], self.limbs(inputs), strict=True), start=1):
            if limbs:
                found += to_limbs(int(Fraction(total) * self.unit(inputs) ** power), limbs)
            else:
                found += expansions.to_parts(total if isinstance(total, float) else Fraction(total))
        return tuple(found)

    def unpack(self, row: State, inputs: Types) -> State:
        """Every sum as one number."""
        floating = self.is_floating(inputs)
        sums = (expansions.from_parts(*parts) if floating else self.total(from_limbs(parts), power, inputs)
                for power, parts in enumerate(self.parts(row[1:], inputs), start=1))
        return row[0], *sums

    def total(self, units: int, power: int, inputs: Types) -> Any:
        """The number that so many units of a sum are."""
        return units / self.unit(inputs) ** power

    def unit(self, inputs: Types) -> Fraction:
        """How many unscaled units of the argument are one."""
        data_type = self.number_type(inputs)
        return Fraction(10) ** (data_type.scale if is_decimal(data_type) else 0)

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """Add everything."""
        floating = self.is_floating(inputs)
        found = [pa.array(group_sum(as_ints(partials[0]), codes, groups))]
        for columns in self.parts(partials[1:], inputs):
            found += expansions.combined(columns, codes, groups) if floating else \
                map(pa.array, carry([group_sum(limb, codes, groups) for limb in limb_columns(columns)]))
        return found

    def subtract_all(self, whole: Columns, part: Columns, inputs: Types) -> Columns:
        """Subtract every column; floats go the way of the scalar form."""
        if self.is_floating(inputs):
            return super().subtract_all(whole, part, inputs)
        count, *limbs = (as_ints(w) - as_ints(p) for w, p in zip(whole, part, strict=True))
        return [pa.array(count), *(pa.array(limb) for one in self.parts(limbs, inputs) for limb in carry(one))]

    def parts(self, columns: Sequence[Any], inputs: Types) -> Iterator[list[Any]]:
        """What belongs to each sum, of what is behind the count."""
        at = 0
        for count in self.limbs(inputs):
            yield list(columns[at : at + (count or 3)])
            at += count or 3

    def number_type(self, inputs: Types) -> pa.DataType:
        """The plain type of the numbers; anything else is refused."""
        return numeric_input(self.name, inputs)


def plus(left: Any, right: Any) -> Any:
    """Addition that loses nothing, among integers, decimals, or fractions with the special floats."""
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return EXACT.add(Decimal(left), Decimal(right))
    if isinstance(left, float) or isinstance(right, float):
        return add_exact(left, right)
    return left + right
