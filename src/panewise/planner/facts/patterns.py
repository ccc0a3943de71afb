"""Update patterns: what is known, when a result is produced, about the moment it will leave (Golab 3.2, rules U2-U5).

The four patterns are ordered by how hard they are to maintain. The *domain* says in which clock the pattern holds: a
row of a count window leaves after a known number of arrivals, which in time is not known at all (rule U2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from panewise.core.ordinals import OrdinalKind
from panewise.core.time import format_duration

Domain = Literal["time", "order"]


class UpdatePattern(IntEnum):
    """How results leave, from the simplest to the hardest to maintain.

    >>> UpdatePattern.MON < UpdatePattern.WKS < UpdatePattern.WK < UpdatePattern.STR
    True
    """

    MON = 0  # monotonic: results never leave
    WKS = 1  # weakest non-monotonic: results leave in the order they came, at a known moment
    WK = 2   # weak non-monotonic: the moment is known when a result is produced, the order is any
    STR = 3  # strict non-monotonic: when a result leaves depends on what is still to come

    @property
    def meaning(self) -> str:
        """One line for people who do not know the four names."""
        return {
            UpdatePattern.MON: "results never leave",
            UpdatePattern.WKS: "results leave first in, first out, at a known moment",
            UpdatePattern.WK: "results leave at a known moment, in any order",
            UpdatePattern.STR: "when a result leaves depends on rows still to come",
        }[self]


@dataclass(frozen=True)
class Label:
    """The update pattern of one edge of a plan.

    Equal lifetimes are a property of their own (rule U3): first in, first out does not imply them, and what relies on
    them, such as an output window that equals the window's own contents, asks for ``lifetime`` not to be None.

    >>> print(Label.wks(90_000_000), Label.wk("order"), Label.replaced())
    WKS(c=90s) WK@order STR(replace)
    >>> print(Label.wks(100, domain="order", unit=OrdinalKind.ROWS))
    WKS(c=100 rows)@order
    """

    pattern: UpdatePattern
    domain: Domain = "time"
    lifetime: int | None = None
    """How long every result lives, in steps of ``unit``, where all live equally long."""
    replace: bool = False
    """A new row of a group supersedes the old one, so no deletions are sent (rule U4)."""
    unit: OrdinalKind = field(default=OrdinalKind.TIMESTAMP, compare=False)
    """What the lifetime counts; for people only."""

    @classmethod
    def mon(cls) -> Label:
        """Append-only."""
        return cls(UpdatePattern.MON)

    @classmethod
    def wks(cls, lifetime: int | None = None, *, domain: Domain = "time",
            unit: OrdinalKind = OrdinalKind.TIMESTAMP) -> Label:
        """First in, first out."""
        return cls(UpdatePattern.WKS, domain, lifetime, unit=unit)

    @classmethod
    def wk(cls, domain: Domain = "time") -> Label:
        """Known expiry, any order."""
        return cls(UpdatePattern.WK, domain)

    @classmethod
    def strict(cls, domain: Domain = "time") -> Label:
        """Expiry by deletion only."""
        return cls(UpdatePattern.STR, domain)

    @classmethod
    def replaced(cls, domain: Domain = "time") -> Label:
        """One row per group, superseded by the next."""
        return cls(UpdatePattern.STR, domain, replace=True)

    def downgrade(self) -> Label:
        """The same edge for a consumer that only knows time: what leaves by arrival order becomes STR (rule U2).

        Such consumers are queues by expiry time, duplicate elimination by expiry time, joins with tables and internal
        windows.

        >>> print(Label.wks(10, domain="order").downgrade(), Label.wk().downgrade())
        STR WK
        """
        if self.domain == "order" and self.pattern is not UpdatePattern.MON:
            return Label.strict()
        return self

    def covers(self, observed: Label) -> bool:
        """Whether results that behave as ``observed`` keep what this label promises (label soundness).

        >>> Label.wk().covers(Label.wks(5)), Label.wks(5).covers(Label.wks(6)), Label.wks().covers(Label.wks(6))
        (True, False, True)
        """
        if observed.pattern is UpdatePattern.MON or observed.pattern < self.pattern:
            return True
        equal_lives = self.lifetime is None or self.lifetime == observed.lifetime
        return observed.pattern is self.pattern and equal_lives

    def __str__(self) -> str:
        name = self.pattern.name
        if self.lifetime is not None:
            name += f"(c={format_amount(self.lifetime, self.unit)})"
        if self.replace:
            name += "(replace)"
        return name if self.domain == "time" or self.pattern is UpdatePattern.MON else f"{name}@order"


def format_amount(amount: int, unit: OrdinalKind) -> str:
    """An ordinal amount as people write it.

    >>> [format_amount(7, kind) for kind in OrdinalKind]
    ['7us', '7d', '7', '7 rows']
    """
    if unit is OrdinalKind.TIMESTAMP:
        return format_duration(amount)
    if unit is OrdinalKind.ROWS:
        return f"{amount} row" if amount == 1 else f"{amount} rows"
    return f"{amount}d" if unit is OrdinalKind.DATE else str(amount)
