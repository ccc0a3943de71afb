"""What every window kernel is: rows and promises in, results of closed windows out, state that can be saved.

A kernel knows no engine. Rows come as columns in any order and in batches of any size; a punctuation (a promise about
the windowing attribute, for all groups or for some) closes windows; results are a table of window id, keys and
aggregates. The same object runs inside the embedded engine and inside a stateful operator of Spark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import CheckpointError
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.partials import BoundAggregate
from panewise.kernels.contract.state_file import Saved, decode_state, encode_state
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.progress.bounds import BoundTable
from panewise.progress.late import Decision, LatePolicy, decide
from panewise.progress.patterns import Pattern
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.windows.base import WindowSpec

Mask: TypeAlias = npt.NDArray[np.bool_]
Patterns: TypeAlias = tuple[tuple[str, Pattern], ...]
Arguments: TypeAlias = Sequence[Sequence[pa.Array]]

WINDOW_END = "wid.end"
"""A second result column of kernels whose windows end where the data says (sessions): the exclusive end."""


@dataclass(frozen=True)
class Closing:
    """What a promise closes: windows below ``below``, of the groups that match ``patterns``."""

    bound: int
    below: int
    patterns: Patterns = ()

    @property
    def linear(self) -> bool:
        """Whether it closes windows of all groups."""
        return not self.patterns

    def covers(self, keys: pa.Table) -> Mask:
        """Which rows belong to a group it names."""
        if self.linear:
            return np.ones(keys.num_rows, np.bool_)
        covered: Mask = np.logical_and.reduce([p.mask(keys.column(a)) for a, p in self.patterns])
        return covered


class WindowKernel(ABC):
    """One window aggregate.

    ``keys`` are the columns that form groups. ``partition`` names those of them that have windows of their own (each
    partition counts its own rows); a kernel of a kind without partitions is given none. Punctuation calls the windowing
    attribute ``attribute``, and groups by the names of the key columns.

    A kernel that numbers rows (row windows, n newest rows) numbers those it counts, in the order they come: late rows
    have no number. Such windows close by counting, so their results come out of ``ripe``, not ``advance``.
    """

    name: ClassVar[str] = ""
    """What explain calls the strategy."""

    def __init__(self, spec: WindowSpec, keys: pa.Schema, aggregates: Sequence[BoundAggregate], *,
                 attribute: str = "ts", late: str | LatePolicy = LatePolicy.DROP,
                 partition: Sequence[str] = ()) -> None:
        self.spec, self.keys, self.aggregates = spec, keys, list(aggregates)
        self.attribute, self.late, self.partition = attribute, LatePolicy.parse(late), tuple(partition)
        self.bounds = BoundTable(attribute)
        self.rows = 0
        self.late_rows = 0
        self._prepare()

    def _prepare(self) -> None:
        """Refuse a window that the kernel does not run, and set up its state."""
        return

    # -- rows in

    @abstractmethod
    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *,
                bounds: Ordinals | None = None) -> Mask:
        """Take in a batch; returns which rows are late, by the kernel's policy.

        ``bounds`` are bounds in force at each row that come from elsewhere (a generator at the source); the kernel's
        own, from the punctuation it was given, are always respected.
        """

    def ripe(self) -> pa.Table:
        """Results of windows that the rows themselves have closed since the last call; most kinds have none."""
        return self.nothing

    # -- progress in, results out

    @abstractmethod
    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Take in a promise; the results of the windows it closes, ascending by window id.

        A promise about columns that are not keys says nothing about a whole group and closes nothing.
        """

    def peek(self) -> pa.Table:
        """The results that open windows would have if nothing more came; the state stays as it is."""
        copy = type(self)(self.spec, self.keys, self.aggregates, attribute=self.attribute, late=self.late,
                          partition=self.partition)
        copy.restore(self.snapshot())
        return pa.concat_tables([copy.ripe(), copy.advance(END)])

    @cached_property
    def result_schema(self) -> pa.Schema:
        """The columns of results: the window id, the keys, the aggregates."""
        return pa.schema([pa.field(WINDOW_ID, pa.int64()), *self.keys, *(a.result_field for a in self.aggregates)])

    @cached_property
    def nothing(self) -> pa.Table:
        """No results."""
        return self.result_schema.empty_table()

    # -- counters

    @property
    @abstractmethod
    def closed_below(self) -> int:
        """Windows with smaller ids are closed for every group."""

    @abstractmethod
    def open_windows(self) -> list[int]:
        """The ids of windows that hold rows and are not closed."""

    @abstractmethod
    def counters(self) -> dict[str, int]:
        """How much state there is.

        At least: ``rows`` and ``late`` seen, ``buffered`` input rows held, ``partials`` held, ``bytes`` of both,
        ``open_windows``, and the (window, group) pairs they stand for as ``window_groups``.
        """

    # -- saving

    def snapshot(self) -> bytes:
        """Everything needed to go on exactly here, as bytes."""
        return encode_state(f"{self.name}-kernel", *self.save())

    def restore(self, data: bytes) -> None:
        """Become what ``snapshot`` saved."""
        self.load(*decode_state(data, f"{self.name}-kernel"))

    def save(self) -> Saved:
        """The same as data."""
        extra, tables = self._saved()
        return {"identity": self._identity(), "bounds": self.bounds.snapshot(), "rows": self.rows,
                "late_rows": self.late_rows, **extra}, tables

    def load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``save`` gave; a state of another query is refused."""
        saved: dict[str, Any] = header["identity"]
        for what, value in self._identity().items():
            if saved.get(what) != value:
                raise CheckpointError(f"the saved state has {what} {saved.get(what)!r}, the query has {value!r}: "
                                      "it belongs to another query")
        self.bounds.restore(header["bounds"])
        self.rows, self.late_rows = header["rows"], header["late_rows"]
        self._load(header, tables)

    @abstractmethod
    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """The kernel's own part of a snapshot: JSON data, and tables by name."""

    @abstractmethod
    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``_saved`` gave."""

    def _identity(self) -> dict[str, str]:
        return {"kernel": self.name, "window": f"{self.spec.kind}: {self.spec!r}", "late": self.late.value,
                "attribute": self.attribute,
                "aggregates": ", ".join(f"{a.name} = {a.function!r}" for a in self.aggregates),
                "columns": self.result_schema.to_string(show_schema_metadata=False)}

    # -- what kernels share

    def _in_force(self, keys: pa.Table, rows: int, bounds: Ordinals | None) -> Ordinals | None:
        """The bound in force at each row: what the source says and what the kernel was promised."""
        if self.bounds.linear == NO_BOUND and not self.bounds.groups and not self.bounds.selections:
            return bounds
        columns = {name: keys.column(name) for name in keys.column_names}
        own = self.bounds.bounds_for(columns, rows)
        return own if bounds is None else np.maximum(own, bounds)

    def _lateness(self, values: Ordinals, keys: pa.Table, first: Ordinals, end: Ordinals,
                  bounds: Ordinals | None) -> Decision:
        """What the late policy makes of rows whose windows are ``first`` to ``end``; late rows are counted."""
        in_force = self._in_force(keys, len(values), bounds)
        if in_force is None:
            return Decision(first, end, np.zeros(len(values), np.bool_))
        decision = decide(self.late, first, end, values, in_force, self._closed_below, attribute=self.attribute)
        self.late_rows += decision.late_rows
        return decision

    def _closing(self, punctuation: Punctuation) -> Closing | None:
        """What a promise would close; None where it closes nothing or speaks of no whole group."""
        bound = punctuation.closes_below(self.attribute)
        patterns = tuple((a, p) for a, p in punctuation.patterns if a != self.attribute)
        if bound is None or punctuation.empty or not {a for a, _ in patterns} <= set(self.keys.names):
            return None
        return Closing(bound, self._closed_below(bound), patterns)

    def _promised(self, punctuation: Punctuation) -> Closing | None:
        """Take a promise in: what it closes; None where it is no news."""
        linear = punctuation.linear_bound(self.attribute)
        if linear is not None:  # as most, quickly
            return Closing(linear, self._closed_below(linear)) if self.bounds.advance_to(linear) else None
        if not punctuation.attributes <= {self.attribute, *self.keys.names} or not self.bounds.advance(punctuation):
            return None
        return self._closing(punctuation)

    def _closed_below(self, bound: int) -> int:
        """The first window that a bound leaves open; kinds that close by no bound close at the end."""
        if bound in (FINISHED, NO_BOUND):
            return bound
        try:
            return min(max(self.spec.closed_below(bound), NO_BOUND), FINISHED)
        except NotImplementedError:
            return NO_BOUND


def chosen_rows(mask: Mask, keys: pa.Table, arguments: Arguments) -> tuple[pa.Table, Arguments]:
    """Keys and arguments of some rows."""
    if mask.all():
        return keys, arguments
    chosen = pa.array(mask)
    return (keys.filter(chosen) if keys.num_columns else keys,
            [[column.filter(chosen) for column in columns] for columns in arguments])
