"""Punctuation: a promise that no row matching its patterns will come any more (Li 2.1).

Bounds are exclusive (errata E2, E3, rule U12): ``Below(v)`` covers every value smaller than v, so v is a lower bound of
all that can still come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panewise.core.errors import ProgressError


class Pattern(ABC):
    """What one attribute of a covered row looks like."""

    @abstractmethod
    def matches(self, value: Any) -> bool:
        """Whether the value is covered."""


@dataclass(frozen=True, slots=True)
class Wildcard(Pattern):
    """Covers everything; attributes a punctuation does not name have it."""

    def matches(self, value: Any) -> bool:
        """Always."""
        return True

    def __str__(self) -> str:
        return "*"


@dataclass(frozen=True, slots=True)
class Constant(Pattern):
    """Covers one value."""

    value: Any

    def matches(self, value: Any) -> bool:
        """Equality."""
        return bool(value == self.value)

    def __str__(self) -> str:
        return f"= {self.value}"


@dataclass(frozen=True, slots=True)
class Below(Pattern):
    """The half range: covers every value strictly smaller than the bound."""

    bound: int

    def matches(self, value: Any) -> bool:
        """Strictly smaller."""
        return bool(value < self.bound)

    def __str__(self) -> str:
        return f"< {self.bound}"


@dataclass(frozen=True, slots=True)
class Between(Pattern):
    """Covers ``start <= v < end``."""

    start: Any
    end: Any

    def matches(self, value: Any) -> bool:
        """Inside the half-open range."""
        return bool(self.start <= value < self.end)

    def __str__(self) -> str:
        return f"in [{self.start}, {self.end})"


@dataclass(frozen=True, slots=True)
class OneOf(Pattern):
    """Covers a list of values."""

    values: frozenset[Any]

    def matches(self, value: Any) -> bool:
        """Membership."""
        return value in self.values

    def __str__(self) -> str:
        return f"in {{{', '.join(sorted(map(str, self.values)))}}}"


WILDCARD = Wildcard()


@dataclass(frozen=True)
class Punctuation:
    """Patterns by attribute; attributes that are not named are wild.

    Values of the ordering attribute are ordinals (microseconds, days, integers), other values are plain.

    >>> p = Punctuation.below("ts", 60, seg_id="s1")
    >>> str(p), p.bound("ts"), p.constants("ts"), p.matches({"ts": 59, "seg_id": "s1"})
    ('(seg_id = s1, ts < 60)', 60, {'seg_id': 's1'}, True)
    """

    patterns: tuple[tuple[str, Pattern], ...] = ()

    @classmethod
    def of(cls, patterns: Mapping[str, Pattern]) -> Punctuation:
        """From patterns by attribute; wild ones are left out."""
        return cls(tuple(sorted((a, p) for a, p in patterns.items() if not isinstance(p, Wildcard))))

    @classmethod
    def below(cls, attribute: str, bound: int, /, **constants: Any) -> Punctuation:
        """Linear, or group-wise linear when grouping constants are given."""
        return cls.of({attribute: Below(bound), **{a: Constant(v) for a, v in constants.items()}})

    @classmethod
    def up_to(cls, attribute: str, last: int, /, **constants: Any) -> Punctuation:
        """The inclusive reading: no value up to and including ``last`` comes any more (erratum E2)."""
        return cls.below(attribute, last + 1, **constants)

    @property
    def covers_everything(self) -> bool:
        """The end of a finite input."""
        return not self.patterns

    def pattern(self, attribute: str) -> Pattern:
        """The pattern of one attribute."""
        return dict(self.patterns).get(attribute, WILDCARD)

    def bound(self, attribute: str) -> int | None:
        """The exclusive bound on this attribute, if there is one."""
        pattern = self.pattern(attribute)
        return pattern.bound if isinstance(pattern, Below) else None

    def constants(self, attribute: str) -> dict[str, Any]:
        """The grouping constants beside the ordering attribute; other patterns are not constants and are refused."""
        others = {a: p for a, p in self.patterns if a != attribute}
        for name, pattern in others.items():
            if not isinstance(pattern, Constant):
                raise ProgressError(f"punctuation {self} is not group-wise linear: {name} is neither constant nor wild")
        return {a: p.value for a, p in others.items() if isinstance(p, Constant)}

    def is_linear(self, attribute: str) -> bool:
        """Whether only the ordering attribute is restricted, by a half range."""
        return len(self.patterns) == 1 and self.bound(attribute) is not None

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether the row is covered, so that it may not come after this punctuation."""
        return all(pattern.matches(row[attribute]) for attribute, pattern in self.patterns)

    def __str__(self) -> str:
        return "(" + (", ".join(f"{a} {p}" for a, p in self.patterns) or "*") + ")"


END = Punctuation()
"""The punctuation that covers everything: nothing more will come."""
