"""The definitions of all plan nodes over one timeline, and what they share: caches, late rows, expressions.

Every question has one function: the rows a node ever puts out (``stream``), its contents at an instant (``relation``),
and when these can change (``instants``). They call each other only through this object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from panewise.core.ages import stream_rows
from panewise.core.beginning import BEGINNING
from panewise.core.errors import LateRowError
from panewise.engines.oracle import accumulation, inputs, instants, relations, scopes
from panewise.engines.oracle.column_types import ColumnTypes
from panewise.engines.oracle.expressions import Expressions
from panewise.engines.oracle.late import TIME, Guard
from panewise.engines.oracle.tables import TableChange
from panewise.engines.oracle.tuples import Tup
from panewise.plan.nodes import Lifetime, Node, Source
from panewise.planner.labels import UpdatePattern, label
from panewise.progress.late import LatePolicy
from panewise.progress.timeline import Timeline
from panewise.windows.base import WindowSpec


class Definition:
    """A timeline and what every plan node means over it."""

    def __init__(self, timeline: Timeline, *, tables: Mapping[str, Sequence[TableChange]] | None = None,
                 late: str = "generous", progress: str | Mapping[str, str] = "source",
                 registered_at: int | None = None, numbers: Mapping[str, int] | None = None,
                 expressions: Expressions | None = None) -> None:
        self.timeline, self.tables = timeline, dict(tables or {})
        self.policy, self.registered_at = LatePolicy.parse(late).value, registered_at
        self._progress = progress
        self.numbers = dict(numbers or {})
        """The inputs in the order that counts for rows of tables (`core.ages`)."""
        self.expressions = Expressions(ColumnTypes(timeline, tables)) if expressions is None else expressions
        self.late: dict[tuple[int, ...], Mapping[str, Any]] = {}
        self._streams: dict[tuple[int, Guard], list[Tup]] = {}
        self._produced: dict[int, list[Tup]] = {}
        self._mixed: dict[int, list[tuple[int, Tup]]] = {}
        self._strict: dict[int, bool] = {}
        self._relations: dict[tuple[int, int, bool], list[Tup]] = {}
        self._instants: dict[tuple[int, bool], list[int]] = {}
        self._lives: dict[tuple[WindowSpec, int, int], tuple[int, int | None] | None] = {}
        self._kept: list[Node] = []  # cache keys are ids: keep the nodes they belong to alive

    # -- the three questions -----------------------------------------------------------------------------------------

    def stream(self, node: Node, guard: Guard = None) -> list[Tup]:
        """Every row the node ever puts out, in the order it does; late rows still among them, marked."""
        at = (id(node), guard)
        if at not in self._streams:
            self._kept.append(node)
            self._streams[at] = inputs.stream_of(self, node, guard)
        return self._streams[at]

    def produced(self, node: Node) -> list[Tup]:
        """Every result a relation ever held, once (see ``accumulation``)."""
        if id(node) not in self._produced:
            self._kept.append(node)
            self._produced[id(node)] = accumulation.ever_produced(self, node)
        return self._produced[id(node)]

    def mixed(self, node: Node) -> list[tuple[int, Tup]]:
        """Every result of internal and external windows together, with its first instant (see ``accumulation``)."""
        if id(node) not in self._mixed:
            self._kept.append(node)
            self._mixed[id(node)] = accumulation.mixed_results(self, node)
        return self._mixed[id(node)]

    def relation(self, node: Node, tau: int, *, external: bool = False) -> list[Tup]:
        """The bag of rows at one instant; ``external`` reads internal windows as if they were not."""
        at = (id(node), tau, external)
        if at not in self._relations:
            self._kept.append(node)
            compute = relations.external_of if external else relations.relation_of
            self._relations[at] = compute(self, node, tau)
        return self._relations[at]

    def instants(self, node: Node, *, refreshes: bool = False) -> list[int]:
        """Every instant at which the node's relation can change, ascending; with all refreshes if asked."""
        at = (id(node), refreshes)
        if at not in self._instants:
            self._kept.append(node)
            found = instants.instants_of(self, node, refreshes)
            start = self.registered_at
            if start is not None:  # a query begins when it is registered
                found = {max(t, start) if t == BEGINNING else t for t in found}
            self._instants[at] = sorted(t for t in found if start is None or t >= start)
        return self._instants[at]

    # -- what the definitions share ----------------------------------------------------------------------------------

    def admitted(self, node: Node, guard: Guard) -> list[Tup]:
        """The rows of a stream that are not late; the late ones go where the policy says."""
        self.report_late_rows(node, guard)
        return [row for row in self.stream(node, guard) if row.late_by is None]

    def report_late_rows(self, node: Node, guard: Guard) -> None:
        """All rows that entered below a node too late: a promise is broken whatever WHERE would say of the row."""
        for row in inputs.broken_promises(self, node, guard):
            self.report_late(row)

    def report_late(self, row: Tup) -> None:
        """A row came too late."""
        if self.policy == "error":
            raise LateRowError(f"row {dict(row.origin or row.values)} came after a punctuation had promised that "
                               f"nothing below {row.late_by} would; choose another late policy to go on")
        self.late[stream_rows(row.order)] = row.origin or row.values

    def since_registration(self, rows: list[Tup]) -> list[Tup]:
        """Windows show nothing from before the query was registered (rule U1)."""
        start = self.registered_at
        return rows if start is None else [row for row in rows if row.ts >= start]

    def is_strict(self, node: Node) -> bool:
        """Whether rows of a node leave at instants that nobody knows beforehand."""
        if id(node) not in self._strict:
            self._kept.append(node)
            self._strict[id(node)] = label(node).output.downgrade().pattern is UpdatePattern.STR
        return self._strict[id(node)]

    def progress_of(self, stream: str) -> str:
        """The progress policy of one stream."""
        return self._progress if isinstance(self._progress, str) else self._progress.get(stream, "source")

    def last_shown(self, node: Node) -> int:
        """When the last row of all windows over time below a node has left."""
        return instants.last_shown(self, node)

    def refreshes(self, node: Node) -> list[int] | None:
        """The instants at which the windows of a plan move; None if they move at every instant."""
        return instants.refresh_instants(self, node)

    def visible(self, spec: WindowSpec, value: int, born: int) -> tuple[int, int | None] | None:
        """When a value is inside the scope of a window (see ``scopes.visible``)."""
        at = (spec, value, born)
        if at not in self._lives:
            self._lives[at] = scopes.visible(spec, value, born)
        return self._lives[at]

    def expiry(self, spec: WindowSpec, value: int, born: int) -> int | None:
        """When a value leaves the scope of a window; None if never."""
        life = self.visible(spec, value, born)
        return None if life is None else life[1]

    @property
    def end(self) -> int:
        """The place after the last item: the end of the input."""
        return len(self.timeline)

    def stop(self, node: Lifetime) -> int:
        """When a query with a lifetime ends, counted from its registration, else from its first row."""
        start = self.registered_at
        if start is None:
            sources = [below for below in node.walk() if isinstance(below, Source)]
            start = min((t.ts for source in sources for t in self.admitted(source, TIME)), default=0)
        return start + node.amount
