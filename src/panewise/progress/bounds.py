"""The bookkeeping of bounds: what has been promised so far, for all rows and for single groups.

The *bound in force* for a group is the largest exclusive bound on the ordering attribute of all punctuation that covers
the group. A row below it is late; a window that ends at or below it is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.errors import CheckpointError
from panewise.core.ordinals import Ordinals
from panewise.progress.notation import value_from_state, value_to_state
from panewise.progress.patterns import (
    Between,
    Constant,
    OneOf,
    Pattern,
    as_values,
    one_of_each,
    one_value,
    plain_column,
)
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND

Key = tuple[Any, ...]


@dataclass
class GroupBounds:
    """Bounds of the groups that one set of attributes forms."""

    names: tuple[str, ...]
    bounds: dict[Key, int] = field(default_factory=dict)
    _index: _KeyIndex | None = field(default=None, repr=False, compare=False)

    def set(self, key: Key, bound: int) -> None:
        """A new bound for a group."""
        self.bounds[key] = bound
        self._index = None

    def forget_up_to(self, bound: int) -> None:
        """Drop what a bound for all groups has overtaken: this keeps the state as small as the groups ahead of it."""
        ahead = {k: b for k, b in self.bounds.items() if b > bound}
        if len(ahead) < len(self.bounds):
            self.bounds, self._index = ahead, None

    def lookup(self, columns: Mapping[str, Any], rows: int) -> Ordinals:
        """The bound of each row's group; ``NO_BOUND`` for groups that have none."""
        if self._index is None:
            self._index = _KeyIndex(self.names, list(self.bounds))
        spots = self._index.find(columns, rows)
        found = np.append(np.fromiter(self.bounds.values(), np.int64, len(self.bounds)), NO_BOUND)
        return found[spots]


class BoundTable:
    """Current bounds of one stream on one attribute: one for all rows, and one per group of constants.

    Bounds never go back: a punctuation that repeats or weakens what is known changes nothing.

    >>> table = BoundTable("ts")
    >>> table.advance(Punctuation.below("ts", 60, seg_id="s1")), table.advance(Punctuation.below("ts", 30))
    (True, True)
    >>> table.bound_for({"seg_id": "s1"}), table.bound_for({"seg_id": "s2"}), table.linear
    (60, 30, 30)
    """

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute
        self.linear = NO_BOUND
        self.groups: dict[tuple[str, ...], GroupBounds] = {}
        self.selections: list[tuple[Punctuation, int]] = []
        """Bounds for rows selected by ranges rather than constants, each with the patterns that select them."""
        self.ranges: list[tuple[Punctuation, int]] = []
        """Promises that name instants instead of a bound, each with the first instant after all of them: a row that
        one covers is late, but they close nothing."""

    # -- learning ------------------------------------------------------------------------------------------------

    def advance(self, punctuation: Punctuation) -> bool:
        """Take a punctuation in; whether it promised anything new about the ordering attribute.

        Other patterns on the ordering attribute than a half range or the wildcard (a range, a list of instants) close
        nothing, so they are no news; they are kept for as long as a row may break them.
        """
        if (linear := punctuation.linear_bound(self.attribute)) is not None:
            return self.advance_to(linear)
        bound = punctuation.closes_below(self.attribute)
        if punctuation.empty:
            return False
        if bound is None:
            self._keep_range(punctuation, _beyond(punctuation.pattern(self.attribute)))
            return False
        others = {a: p for a, p in punctuation.patterns if a != self.attribute}
        if not others:
            return self.advance_to(bound)
        if all(isinstance(p, Constant | OneOf) for p in others.values()):
            names = tuple(sorted(others))
            choices = [_values(others[n]) for n in names]
            # a list of constants is the same promise for each of them
            news = [self._advance_group(names, key, bound) for key in product(*choices)]
            return any(news)
        return self._advance_selection(Punctuation.of(others), bound)

    def advance_to(self, bound: int) -> bool:
        """Take a bound for all rows in."""
        if bound <= self.linear:
            return False
        self.linear = bound
        if self.groups:
            for table in self.groups.values():
                table.forget_up_to(bound)
            self.groups = {n: t for n, t in self.groups.items() if t.bounds}
        if self.selections:
            self.selections = [(p, b) for p, b in self.selections if b > bound]
        if self.ranges:
            self.ranges = [(p, b) for p, b in self.ranges if b > bound]
        return True

    def finish(self) -> bool:
        """Nothing more will come."""
        return self.advance_to(FINISHED)

    def _advance_group(self, names: tuple[str, ...], key: Key, bound: int) -> bool:
        table = self.groups.get(names)
        if bound <= self.bound_for(dict(zip(names, key, strict=True))):
            return False  # the same promise, or a wider one, already says so
        (table or self.groups.setdefault(names, GroupBounds(names))).set(key, bound)
        return True

    def _advance_selection(self, patterns: Punctuation, bound: int) -> bool:
        if bound <= self.linear or any(b >= bound and p.subsumes(patterns) for p, b in self.selections):
            return False
        kept = [(p, b) for p, b in self.selections if not (bound >= b and patterns.subsumes(p))]
        self.selections = [*kept, (patterns, bound)]
        return True

    def _keep_range(self, patterns: Punctuation, beyond: int) -> None:
        if beyond > self.linear and not any(p.subsumes(patterns) for p, _ in self.ranges):
            self.ranges = [*((p, b) for p, b in self.ranges if not patterns.subsumes(p)), (patterns, beyond)]

    # -- asking --------------------------------------------------------------------------------------------------

    def bound_for(self, group: Mapping[str, Any]) -> int:
        """The bound in force for the rows of a group; attributes that are not named are not constant in it."""
        best = self.linear
        for names, table in self.groups.items():
            if all(n in group for n in names):
                best = max(best, table.bounds.get(tuple(one_value(group[n]) for n in names), NO_BOUND))
        for patterns, bound in self.selections:
            if bound > best and patterns.attributes <= group.keys() and patterns.matches(group):
                best = bound
        return best

    def ahead(self) -> list[int]:
        """The bounds that hold for some rows only."""
        return [b for table in self.groups.values() for b in table.bounds.values()] + [b for _, b in self.selections]

    def bounds_for(self, columns: Mapping[str, Any], rows: int | None = None) -> Ordinals:
        """The bound in force for each row of a batch, from its columns of grouping constants.

        Promises about attributes that are not among the columns cover only part of a group and do not count.
        ``rows`` is needed when there are no columns.
        """
        count = len(next(iter(columns.values()))) if rows is None else rows
        best = np.full(count, self.linear, np.int64)
        for names, table in self.groups.items():
            if all(n in columns for n in names):
                np.maximum(best, table.lookup(columns, count), out=best)
        for patterns, bound in [*self.selections, *self.ranges]:
            if patterns.attributes <= columns.keys():
                covered = np.logical_and.reduce([p.mask(columns[a]) for a, p in patterns.patterns])
                best[covered & (best < bound)] = bound
        return best

    def group_keys(self) -> Iterable[dict[str, Any]]:
        """The groups that are ahead of the bound for all rows."""
        for names, table in self.groups.items():
            for key in table.bounds:
                yield dict(zip(names, key, strict=True))

    # -- saving --------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """The table as data that JSON can hold."""
        return {
            "attribute": self.attribute,
            "linear": self.linear,
            "groups": [
                {"names": list(names),
                 "bounds": [[[value_to_state(v) for v in key], bound] for key, bound in table.bounds.items()]}
                for names, table in self.groups.items()
            ],
            "selections": [
                {"patterns": patterns.to_state(), "bound": bound}
                for patterns, bound in self.selections
            ],
            "ranges": [{"patterns": patterns.to_state(), "bound": beyond} for patterns, beyond in self.ranges],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved."""
        if state.get("attribute") != self.attribute:
            raise CheckpointError(
                f"saved bounds are on {state.get('attribute')!r}, this stream is ordered by {self.attribute!r}"
            )
        try:
            self._restore(state)
        except (KeyError, TypeError, ValueError) as error:  # a checkpoint is input
            raise CheckpointError(f"saved bounds on {self.attribute!r} are damaged: {error!r}") from error

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.linear = int(state["linear"])
        self.groups = {}
        for saved in state["groups"]:
            names = tuple(saved["names"])
            bounds = {tuple(one_value(value_from_state(v)) for v in key): int(bound) for key, bound in saved["bounds"]}
            self.groups[names] = GroupBounds(names, bounds)
        self.selections = [
            (Punctuation.from_state(saved["patterns"]), int(saved["bound"]))
            for saved in state["selections"]
        ]
        self.ranges = [(Punctuation.from_state(saved["patterns"]), int(saved["bound"]))
                       for saved in state.get("ranges", ())]


class _KeyIndex:
    """Finds rows' keys among known keys, column by column, without a Python step per row."""

    def __init__(self, names: tuple[str, ...], keys: list[Key]) -> None:
        self.names, self.size = names, len(keys)
        self.distinct: list[list[Any]] = []
        self.known: list[Ordinals] = []
        codes = np.zeros(len(keys), np.int64)
        for i in range(len(names)):
            at = {value: n for n, value in enumerate(dict.fromkeys(key[i] for key in keys))}
            column = np.fromiter((at[key[i]] for key in keys), np.int64, len(keys))
            known, codes = np.unique(codes * len(at) + column, return_inverse=True)
            self.distinct.append(list(at))
            self.known.append(known)
        self.order = np.argsort(codes)  # dense code of a whole key -> its place in ``keys``

    def find(self, columns: Mapping[str, Any], rows: int) -> Ordinals:
        """For each row the place of its key, -1 where it is not known."""
        codes = np.zeros(rows, np.int64)
        for name, distinct, known in zip(self.names, self.distinct, self.known, strict=True):
            column = one_of_each(plain_column(columns[name]))
            values = as_values(distinct, column.type, f"on {name!r}")
            place = _as_numpy(pc.fill_null(pc.index_in(column, value_set=values), -1))
            pair = codes * len(distinct) + place
            spot = np.minimum(np.searchsorted(known, pair), len(known) - 1)
            codes = np.where((codes >= 0) & (place >= 0) & (known[spot] == pair), spot, -1)
        return np.where(codes >= 0, self.order[codes], -1)


def _beyond(pattern: Pattern) -> int:
    """The first instant after all that a pattern names: a row that it covers is below it."""
    if isinstance(pattern, Between):
        return int(pattern.end)
    named = [value for value in _values(pattern) if value is not None]
    return max(int(value) for value in named) + 1 if named else NO_BOUND


def _values(pattern: object) -> list[Any]:
    if isinstance(pattern, Constant):
        return [pattern.value]
    return sorted(pattern.values, key=str) if isinstance(pattern, OneOf) else []


def _as_numpy(column: pa.Array) -> Ordinals:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)
