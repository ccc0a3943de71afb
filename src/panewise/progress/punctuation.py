"""Punctuation: a promise that no row matching its patterns will come any more (Li 2.1).

Bounds are exclusive (errata E2, E3, rule U12): ``Below(v)`` covers every value smaller than v, so v is a lower bound of
all that can still come.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import Any

import pyarrow as pa

from panewise.core.errors import ProgressError
from panewise.core.names import unknown_name
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import SourceSchema
from panewise.progress.notation import (
    constant_reader,
    constant_to_json,
    ordinal_reader,
    ordinal_to_json,
    pattern_from_json,
    pattern_from_state,
    pattern_to_json,
    pattern_to_state,
    values_of,
    with_values,
)
from panewise.progress.patterns import WILDCARD, Below, Constant, Pattern, Wildcard
from panewise.progress.watermarks import FINISHED

PUNCTUATION_KEY = "punctuation"
"""An NDJSON line whose single key is this one is a punctuation, not a row."""


@dataclass(frozen=True)
class Punctuation:
    """Patterns by attribute; attributes that are not named are wild.

    Values of the ordering attribute are ordinals (microseconds, days, integers), other values are plain.

    >>> p = Punctuation.below("ts", 60, seg_id="s1")
    >>> str(p), p.bound("ts"), p.constants("ts"), p.matches({"ts": 59, "seg_id": "s1"})
    ('(seg_id = s1, ts < 60)', 60, {'seg_id': 's1'}, True)
    """

    patterns: tuple[tuple[str, Pattern], ...] = ()

    # -- making one ----------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, patterns: Mapping[str, Pattern]) -> Punctuation:
        """From patterns by attribute; wild ones are left out."""
        return cls(tuple(sorted((a, p) for a, p in patterns.items() if not isinstance(p, Wildcard))))

    @classmethod
    def below(cls, attribute: str, bound: int | date | str, /, **constants: Any) -> Punctuation:
        """Linear, or group-wise linear when grouping constants are given.

        A bound in ``datetime``, ``date`` or ISO text becomes an ordinal when the promise reaches its stream.
        """
        if not constants:
            return cls(((attribute, Below(bound)),))  # type: ignore[arg-type]
        return cls.of({attribute: Below(bound),  # type: ignore[arg-type]
                       **{a: Constant(v) for a, v in constants.items()}})

    @classmethod
    def up_to(cls, attribute: str, last: int, /, **constants: Any) -> Punctuation:
        """The inclusive reading: no value up to and including ``last`` comes any more (erratum E2)."""
        if not isinstance(last, int):
            raise ProgressError(f"up_to({attribute!r}, {last!r}): what comes right after is known of integers only: "
                                "use below() with the first value that can still come")
        return cls.below(attribute, last + 1, **constants)

    @classmethod
    def from_json(cls, patterns: Any, ordering: str, kind: OrdinalKind,
                  types: Mapping[str, pa.DataType] | None = None) -> Punctuation:
        """From the value of an NDJSON line's ``punctuation`` key; ``{}`` covers everything.

        With the stream's column ``types`` unknown columns are refused and constants take their column's type.

        >>> print(Punctuation.from_json({"ts": "1970-01-01T00:01:00Z", "seg_id": "s1"}, "ts", OrdinalKind.TIMESTAMP))
        (seg_id = s1, ts < 60000000)
        >>> listed = {"ts": {"up_to": 59}, "seg": {"in": ["a", "b"]}}
        >>> print(Punctuation.from_json(listed, "ts", OrdinalKind.INTEGER))
        (seg in {a, b}, ts < 60)
        """
        if not isinstance(patterns, Mapping):
            raise ProgressError(
                f"a punctuation is an object of patterns by column, not {patterns!r}: "
                f'write {{"{PUNCTUATION_KEY}": {{"{ordering}": bound}}}}'
            )
        found: dict[str, Pattern] = {}
        for name, value in patterns.items():
            if name == ordering:
                found[name] = pattern_from_json(name, value, ordinal_reader(name, kind), bare=Below)
                continue
            if types is not None and name not in types:
                known = ", ".join(types) or "none"
                raise ProgressError(f"punctuation names {name!r}, which is no column of the stream; there are {known}")
            read = constant_reader(name, types[name] if types is not None else None)
            found[name] = pattern_from_json(name, value, read, bare=Constant)
        return cls.of(found)

    def arriving(self, schema: SourceSchema, stream: str, ordering: Collection[str] = ()) -> Punctuation:
        """The promise in the terms of a stream: no column that it does not have, times of ``ordering`` as ordinals.

        A program may give times as ``datetime``, ``date`` or ISO text.

        >>> from datetime import datetime
        >>> clicks = SourceSchema({"ts": pa.timestamp("us", tz="UTC")}, time="ts")
        >>> print(Punctuation.below("ts", datetime(1970, 1, 1, 0, 1)).arriving(clicks, "clicks"))
        (ts < 60000000)
        """
        changed: dict[str, Pattern] = {}
        for name, pattern in self.patterns:
            if schema.columns and name not in schema.columns:
                raise ProgressError(f"stream {stream!r}: punctuation {self} names {name!r}, which is no column of the "
                                    f"stream: {unknown_name('column', name, schema.columns)}")
            ordered = name == schema.time or name in ordering
            if ordered and schema.columns and not all(isinstance(value, int) for value in values_of(pattern)):
                changed[name] = with_values(pattern, ordinal_reader(name, schema.ordinal_kind(name)))
        return self if not changed else Punctuation.of({**dict(self.patterns), **changed})

    def to_state(self) -> dict[str, Any]:
        """As saved state has it: exact without a schema."""
        return {attribute: pattern_to_state(pattern) for attribute, pattern in self.patterns}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Punctuation:
        """The inverse of ``to_state``.

        >>> Punctuation.from_state(Punctuation.below("ts", 5).to_state()) == Punctuation.below("ts", 5)
        True
        """
        return cls.of({attribute: pattern_from_state(attribute, saved) for attribute, saved in state.items()})

    def to_json(self, ordering: str, kind: OrdinalKind) -> dict[str, Any]:
        """The value of an NDJSON line's ``punctuation`` key.

        >>> Punctuation.below("ts", 60_000_000, seg_id="s1").to_json("ts", OrdinalKind.TIMESTAMP)
        {'seg_id': 's1', 'ts': '1970-01-01T00:01:00Z'}
        """
        return {
            name: pattern_to_json(pattern, lambda v: ordinal_to_json(v, kind), bare=Below) if name == ordering
            else pattern_to_json(pattern, constant_to_json, bare=Constant)
            for name, pattern in self.patterns
        }

    # -- reading one ---------------------------------------------------------------------------------------------

    @property
    def covers_everything(self) -> bool:
        """The end of a finite input."""
        return not self.patterns

    @property
    def empty(self) -> bool:
        """Whether no row at all is covered, so that nothing is promised."""
        return any(pattern.empty for _, pattern in self.patterns)

    def linear_bound(self, attribute: str) -> int | None:
        """The bound, if the punctuation says nothing but a bound on this attribute; the usual case, quickly."""
        if len(self.patterns) != 1:
            return None
        name, pattern = self.patterns[0]
        return pattern.bound if name == attribute and isinstance(pattern, Below) else None

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that are not wild."""
        return frozenset(name for name, _ in self.patterns)

    def pattern(self, attribute: str) -> Pattern:
        """The pattern of one attribute."""
        return dict(self.patterns).get(attribute, WILDCARD)

    def bound(self, attribute: str) -> int | None:
        """The exclusive bound on this attribute, if there is one."""
        pattern = self.pattern(attribute)
        return pattern.bound if isinstance(pattern, Below) else None

    def closes_below(self, attribute: str) -> int | None:
        """The bound for the rows the other patterns select: a wild attribute closes them for ever.

        >>> Punctuation.of({"ip": Constant("202.3.12.4")}).closes_below("ts") == FINISHED
        True
        """
        return FINISHED if isinstance(self.pattern(attribute), Wildcard) else self.bound(attribute)

    def constants(self, attribute: str) -> dict[str, Any]:
        """The grouping constants beside the ordering attribute; other patterns are not constants and are refused."""
        others = {a: p for a, p in self.patterns if a != attribute}
        for name, pattern in others.items():
            if not isinstance(pattern, Constant):
                raise ProgressError(f"punctuation {self} is not group-wise linear: {name} is neither constant nor wild")
        return {a: p.value for a, p in others.items() if isinstance(p, Constant)}

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether the row is covered, so that it may not come after this punctuation."""
        return all(pattern.matches(row[attribute]) for attribute, pattern in self.patterns)

    def subsumes(self, other: Punctuation) -> bool:
        """Whether this one promises everything the other does.

        >>> Punctuation.below("ts", 60).subsumes(Punctuation.below("ts", 50, seg_id="s1"))
        True
        """
        return other.empty or all(pattern.subsumes(other.pattern(name)) for name, pattern in self.patterns)

    # -- carrying one to another schema --------------------------------------------------------------------------

    def rename(self, names: Mapping[str, str]) -> Punctuation:
        """The same promise where columns are called differently; names not given stay.

        >>> print(Punctuation.below("ts", 60).rename({"ts": "M1.ts"}))
        (M1.ts < 60)
        """
        renamed = {names.get(a, a): p for a, p in self.patterns}
        if len(renamed) < len(self.patterns):
            raise ProgressError(f"punctuation {self} cannot be renamed by {dict(names)}: two columns get one name")
        return Punctuation.of(renamed)

    def translate(self, columns: Mapping[str, str]) -> list[Punctuation]:
        """What it says of rows made of ``{new name: old name}``; a column under two names gives a promise on each.

        >>> [str(p) for p in Punctuation.below("ts", 60).translate({"start": "ts", "stop": "ts", "k": "key"})]
        ['(start < 60)', '(stop < 60)']
        """
        names = {a: [new for new, old in columns.items() if old == a] for a, _ in self.patterns}
        return [
            Punctuation.of({new: p for new, (_, p) in zip(choice, self.patterns, strict=True)})
            for choice in product(*(names[a] for a, _ in self.patterns))
        ]

    def __str__(self) -> str:
        return "(" + (", ".join(f"{a} {p}" for a, p in self.patterns) or "*") + ")"


END = Punctuation()
"""The punctuation that covers everything: nothing more will come."""
