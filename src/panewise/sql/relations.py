"""What the binder knows of a bound part of a query: its plan, its columns, and how it behaves in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import pyarrow as pa

from panewise.core.errors import SqlError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan.nodes import Node, WindowClause
from panewise.sql.syntax import Span

VALID_FROM = "valid_from"
"""The instant a result came to be: the time attribute of results that have no time column of their own."""


@dataclass(frozen=True)
class BoundWindow:
    """A bracket with its meaning."""

    clause: WindowClause
    by_id: bool
    """WA or RATTR was written: windows have ids and results name their window (rule 2)."""
    span: Span
    has_slide: bool = False
    tumbling: bool = False
    """Written as RANGE TUMBLING."""
    range: int | None = None
    """The RANGE in ordinals, for band and tumbling joins."""
    sliced_by: tuple[str, ...] = ()
    """PA of a window on values: the same as grouping by it (Li 5.1.3)."""
    no_relation: SqlError | None = field(default=None, compare=False)
    """What to say where such windows are read as a relation, of kinds that are none."""


@dataclass(frozen=True)
class Relation:
    """One entry of a FROM list, or the result of a query."""

    node: Node
    columns: tuple[str, ...]
    types: Mapping[str, pa.DataType] = field(default_factory=dict, hash=False)
    time: str | None = None
    clock: OrdinalKind = OrdinalKind.TIMESTAMP
    """What one tick is when there is no time column to ask."""
    open: bool = False
    """Takes any column name."""
    table: bool = False
    changing: bool = False
    """Rows leave again: a relation, not a stream."""
    derived: bool = False
    """A result with instants of its own (joins, aggregates), so that ``valid_from`` can order it."""
    aggregated: bool = False
    internal: Span | None = None
    """Where INTERNAL was written for what is below."""
    slides: tuple[int, ...] = ()
    """The SLIDEs of the windows below, for restore."""

    def find(self, name: str) -> str | None:
        """The column of this name, whatever its case unless that is ambiguous."""
        return match_name(name, self.columns) or (name if self.open else None)

    def ordinal(self, column: str) -> OrdinalKind | None:
        """What one step of a column is; nothing if the type is not known."""
        if column in ROW_NUM_NAMES and column not in self.columns:
            return OrdinalKind.ROWS
        return OrdinalKind.of(self.types[column], column) if column in self.types else None


def match_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is equal, or the only one that is equal but for case.

    >>> match_name("Temperature", ["temperature", "ts"]), match_name("A", ["a", "A"]), match_name("x", [])
    ('temperature', 'A', None)
    """
    exact, alike = _by_name(tuple(known))
    return name if name in exact else alike.get(name.lower())


@lru_cache(maxsize=256)
def _by_name(known: tuple[str, ...]) -> tuple[frozenset[str], dict[str, str]]:
    """The names, and those that no other equals but for case: every column of a query asks."""
    counts = Counter(name.lower() for name in known)
    return frozenset(known), {name.lower(): name for name in known if counts[name.lower()] == 1}


@dataclass(frozen=True)
class Visible:
    """One named input of a query as its expressions see it."""

    alias: str | None
    columns: tuple[str, ...]
    prefix: str = ""
    """What the plan puts before the column's name: ``M1.`` in a join."""
    open: bool = False
    flat: frozenset[str] = frozenset()
    """Columns that are known to have no fields."""
    hidden: bool = False
    """Not among what ``*`` stands for, nor among the names in hints."""

    @classmethod
    def of(cls, alias: str | None, relation: Relation, prefix: str = "") -> Visible:
        """A relation under a name."""
        flat = frozenset(c for c, t in relation.types.items() if not pa.types.is_nested(t))
        return cls(alias, relation.columns, prefix, relation.open, flat)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The names a user may write."""
        return tuple(f"{self.prefix}{c}" for c in self.columns)


@dataclass(frozen=True)
class Scope:
    """All inputs an expression may name."""

    inputs: tuple[Visible, ...]

    @property
    def open(self) -> bool:
        """Whether unknown names may be columns."""
        return any(v.open for v in self.inputs)

    @property
    def names(self) -> list[str]:
        """Every column there is, for hints."""
        inputs = [v for v in self.inputs if not v.hidden]
        return [name for v in inputs for name in v.shown] + [c for v in inputs if v.prefix for c in v.columns]

    def candidates(self, parts: tuple[str, ...]) -> list[str]:
        """The plan columns a dotted name may mean; more than one is ambiguous."""
        found = self._known(parts)
        if found or not self.open:
            return found
        if len(parts) == 1:
            return [v.prefix + parts[0] for v in self.inputs if v.open]
        if len(parts) == 2:
            return [v.prefix + parts[1] for v in self.inputs if v.open and _same(v.alias, parts[0])]
        return []

    def _known(self, parts: tuple[str, ...]) -> list[str]:
        whole = ".".join(parts)
        found = [v.prefix + c for v in self.inputs if (c := match_name(whole, v.columns))]
        found += [c for v in self.inputs if v.prefix and (c := match_name(whole, v.shown))]
        if len(parts) == 2 and not found:
            found = [v.prefix + c for v in self.inputs
                     if _same(v.alias, parts[0]) and (c := match_name(parts[1], v.columns))]
        return list(dict.fromkeys(found))

    def has_fields(self, column: str) -> bool:
        """Whether a plan column may be a struct or a map."""
        return not any(column == v.prefix + c for v in self.inputs for c in v.flat)

    def has_input(self, alias: str) -> bool:
        """Whether an input has this name."""
        return any(_same(v.alias, alias) for v in self.inputs)

    def aliases(self) -> list[str]:
        """The names of the inputs."""
        return [v.alias for v in self.inputs if v.alias]


def _same(alias: str | None, name: str) -> bool:
    return alias is not None and alias.lower() == name.lower()
