"""What every window kernel is: rows and promises in, results of closed windows out, state that can be saved.

A kernel knows no engine. Rows come as columns in any order and in batches of any size; a punctuation (a promise about
the windowing attribute, for all groups or for some) closes windows; results are a table of window id, keys and
aggregates. The same object runs inside the embedded engine and inside a stateful operator of Spark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import CheckpointError
from panewise.core.ordinals import Ordinals
from panewise.kernels.panes import WINDOW_ID
from panewise.kernels.partials import BoundAggregate
from panewise.kernels.state_file import decode_state, encode_state
from panewise.progress.bounds import BoundTable
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.windows.base import WindowSpec

Mask: TypeAlias = npt.NDArray[np.bool_]
Arguments: TypeAlias = Sequence[Sequence[pa.Array]]

WINDOW_END = "wid.end"
"""A second result column of kernels whose windows end where the data says (sessions): the exclusive end."""


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
    version: ClassVar[int] = 4
    """Of the saved state."""

    def __init__(self, spec: WindowSpec, keys: pa.Schema, aggregates: Sequence[BoundAggregate], *,
                 attribute: str = "ts", late: str | LatePolicy = LatePolicy.DROP,
                 partition: Sequence[str] = ()) -> None:
        self.spec, self.keys, self.aggregates = spec, keys, list(aggregates)
        self.attribute, self.late, self.partition = attribute, LatePolicy.parse(late), tuple(partition)
        self.bounds = BoundTable(attribute)
        self.rows = 0
        self.late_rows = 0

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
        """Everything needed to go on exactly here, as Arrow IPC."""
        extra, tables = self._saved()
        header = {"identity": self._identity(), "bounds": self.bounds.snapshot(), "rows": self.rows,
                  "late_rows": self.late_rows, **extra}
        return encode_state(f"{self.name}-kernel", self.version, header, tables)

    def restore(self, data: bytes) -> None:
        """Become what ``snapshot`` saved; a state of another query is refused."""
        header, tables = decode_state(data, f"{self.name}-kernel", self.version)
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
        return {"window": f"{self.spec.kind}: {self.spec!r}", "late": self.late.value, "attribute": self.attribute,
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

    def _closed_below(self, bound: int) -> int:
        """The first window that a bound leaves open; kinds that close by no bound close at the end."""
        if bound in (FINISHED, NO_BOUND):
            return bound
        try:
            return min(max(self.spec.closed_below(bound), NO_BOUND), FINISHED)
        except NotImplementedError:
            return NO_BOUND
