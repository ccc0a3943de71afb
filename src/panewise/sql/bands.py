"""Conditions on the distance of two times: ``b.ts BETWEEN a.ts + INTERVAL '2' SECOND AND a.ts + INTERVAL '9' SECOND``.

A comparison counts when it comes to ``right - left`` against a constant, however its sides are written. What is left
over stays a predicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.time import Quantity
from panewise.sql.expressions import conjuncts, to_scalar

COMPARISONS: dict[type[exp.Expr], tuple[str, bool]] = {
    exp.LT: ("<", True), exp.LTE: ("<", False), exp.GT: (">", True), exp.GTE: (">", False)}
"""The sign of a comparison, and whether the end itself is outside."""


@dataclass(frozen=True)
class End:
    """One end of a band; ``open`` when the end itself is outside."""

    at: int
    open: bool = False


@dataclass(frozen=True)
class TimeBand:
    """Where ``right - left`` lies; an end that is None is nowhere.

    >>> times = Times("a.ts", "b.ts", OrdinalKind.INTEGER)
    >>> band, rest = times.split([Scalar("`b.ts` > `a.ts` + 2"), Scalar("`a.x` = 1"), Scalar("`b.ts` - 9 <= `a.ts`")])
    >>> band, rest
    (TimeBand(low=End(at=2, open=True), high=End(at=9, open=False)), [Scalar(sql='`a.x` = 1')])
    """

    low: End | None = None
    high: End | None = None

    @property
    def bounded(self) -> bool:
        """Whether both ends are known, so that rows need not be kept for ever."""
        return self.low is not None and self.high is not None

    @property
    def reach(self) -> tuple[int, int]:
        """How far right may be before left, and behind; of a band with both ends."""
        assert self.low is not None
        assert self.high is not None
        return -self.low.at, self.high.at

    @property
    def width(self) -> int:
        """From one end to the other."""
        return sum(self.reach)

    @property
    def empty(self) -> bool:
        """Whether no distance is inside."""
        if self.low is None or self.high is None:
            return False
        return self.low.at + self.low.open > self.high.at - self.high.open

    @property
    def bounds(self) -> str:
        """Which ends count, as a band join names it."""
        low, high = (end is None or not end.open for end in (self.low, self.high))
        return "both" if low and high else "left" if low else "right" if high else "strict"

    def within(self, other: TimeBand) -> TimeBand:
        """What is inside both."""
        lows = [end for end in (self.low, other.low) if end is not None]
        highs = [end for end in (self.high, other.high) if end is not None]
        return TimeBand(max(lows, key=lambda end: end.at + end.open, default=None),
                        min(highs, key=lambda end: end.at - end.open, default=None))


@dataclass(frozen=True)
class Times:
    """The time columns of two inputs, and what one step of them is."""

    left: str
    right: str
    kind: OrdinalKind

    def split(self, conditions: Iterable[Scalar]) -> tuple[TimeBand, list[Scalar]]:
        """The band that some of the conditions make, and the others."""
        band, rest = TimeBand(), list[Scalar]()
        for condition in conditions:
            for part in conjuncts(condition.tree):
                found = self._band(part)
                if found is None:
                    rest.append(to_scalar(part))
                else:
                    band = band.within(found)
        return band, rest

    def _band(self, tree: exp.Expr) -> TimeBand | None:
        while isinstance(tree, exp.Paren):
            tree = tree.this
        if isinstance(tree, exp.Between):
            low = self._compared(tree.this, ">", False, tree.args["low"])
            high = self._compared(tree.this, "<", False, tree.args["high"])
            return None if low is None or high is None else low.within(high)
        if type(tree) not in COMPARISONS:
            return None
        return self._compared(tree.this, *COMPARISONS[type(tree)], tree.expression)

    def _compared(self, one: exp.Expr, sign: str, is_open: bool, other: exp.Expr) -> TimeBand | None:
        """``one - other`` against zero."""
        first, second = self._linear(one), self._linear(other)
        if first is None or second is None:
            return None
        left, right, rest = (a - b for a, b in zip(first, second, strict=True))
        if (left, right) == (1, -1):
            rest, sign = -rest, "<" if sign == ">" else ">"
        elif (left, right) != (-1, 1):
            return None
        end = End(-rest, is_open)
        return TimeBand(low=end) if sign == ">" else TimeBand(high=end)

    def _linear(self, tree: exp.Expr) -> tuple[int, int, int] | None:
        """How often the left time, the right time, and one step of them; None for anything else."""
        match tree:
            case exp.Paren():
                return self._linear(tree.this)
            case exp.Column():
                return {self.left: (1, 0, 0), self.right: (0, 1, 0)}.get(tree.name)
            case exp.Interval():
                return self._interval(tree)
            case exp.Literal() if not tree.is_string and tree.this.isdigit() and self._counts:
                return 0, 0, int(tree.this)
            case exp.Neg():
                return _summed([(-1, self._linear(tree.this))])
            case exp.Add():
                return _summed([(1, self._linear(tree.this)), (1, self._linear(tree.expression))])
            case exp.Sub():
                return _summed([(1, self._linear(tree.this)), (-1, self._linear(tree.expression))])
        return None

    @property
    def _counts(self) -> bool:
        return self.kind in (OrdinalKind.INTEGER, OrdinalKind.DATE)

    def _interval(self, tree: exp.Interval) -> tuple[int, int, int] | None:
        amount, unit = tree.this, tree.args.get("unit")
        if not isinstance(amount, exp.Literal | exp.Neg) or not isinstance(unit, exp.Var):
            return None
        text = amount.sql().replace("'", "").strip()
        sign = -1 if text.startswith("-") else 1
        return 0, 0, sign * self.kind.amount(Quantity.parse(f"{text.lstrip('-')} {unit.name}"))


def _summed(parts: Sequence[tuple[int, tuple[int, int, int] | None]]) -> tuple[int, int, int] | None:
    found = [tuple(sign * x for x in part) for sign, part in parts if part is not None]
    if len(found) < len(parts):
        return None
    left, right, rest = (sum(column) for column in zip(*found, strict=True))
    return left, right, rest


def of_windows(left_range: int, right_range: int) -> TimeBand:
    """The band of windows declared on both streams: a row stays joinable for the range of its own (Li 2.8)."""
    return TimeBand(End(-right_range), End(left_range))
