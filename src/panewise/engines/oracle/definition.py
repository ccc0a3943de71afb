"""The definitions of all plan nodes over one timeline, and what they share: caches, late rows, expressions.

Every question has one function: the rows a node ever puts out (``stream``), its contents at an instant (``relation``),
and when these can change (``instants``). They call each other only through this object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from panewise.core.ages import stream_rows
from panewise.core.beginning import BEGINNING
from panewise.core.errors import LateRowError
from panewise.core.scalar import Scalar
from panewise.engines.oracle import accumulation, inputs, instants, relations, scopes
from panewise.engines.oracle.column_types import ColumnTypes
from panewise.engines.oracle.expressions import Expressions
from panewise.engines.oracle.late import EVERYTHING, TIME, Guard
from panewise.engines.oracle.tables import TableChange, changes_of
from panewise.engines.oracle.tuples import Tup
from panewise.plan.nodes import Lifetime, Node, Source, Table
from panewise.planner.facts.labels import UpdatePattern, label
from panewise.progress.late import LatePolicy
from panewise.progress.timeline import Timeline
from panewise.windows.base import WindowSpec

F = TypeVar("F", bound=Callable[..., Any])


def remembered(question: F) -> F:
    """An answer is found once for each node (by its identity) and each other argument."""

    @wraps(question)
    def asked(self: Definition, about: Any, *arguments: Any, **options: Any) -> Any:
        is_node = isinstance(about, Node)
        given = (*(value for value in arguments if value is not None), *(name for name, on in options.items() if on))
        at = (question, id(about) if is_node else about, *given)
        if at not in self._found:
            if is_node:
                self._kept.append(about)
            self._found[at] = question(self, about, *arguments, **options)
        return self._found[at]

    return cast("F", asked)


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
        self._found: dict[tuple[object, ...], Any] = {}
        self._kept: list[Node] = []  # what was found is known by the ids of nodes: keep them alive

    # -- the three questions -----------------------------------------------------------------------------------------

    @remembered
    def stream(self, node: Node, guard: Guard = None) -> list[Tup]:
        """Every row the node ever puts out, in the order it does; late rows still among them, marked."""
        return inputs.stream_of(self, node, guard)

    @remembered
    def produced(self, node: Node) -> list[Tup]:
        """Every result a relation ever held, once (see ``accumulation``)."""
        return accumulation.ever_produced(self, node)

    @remembered
    def mixed(self, node: Node) -> list[tuple[int, Tup]]:
        """Every result of internal and external windows together, with its first instant (see ``accumulation``)."""
        return accumulation.mixed_results(self, node)

    @remembered
    def relation(self, node: Node, tau: int, *, external: bool = False) -> list[Tup]:
        """The bag of rows at one instant; ``external`` reads internal windows as if they were not."""
        return relations.relation_of(self, node, tau, external=external)

    @remembered
    def instants(self, node: Node, *, refreshes: bool = False) -> list[int]:
        """Every instant at which the node's relation can change, ascending; with all refreshes if asked."""
        found = instants.instants_of(self, node, refreshes)
        start = self.registered_at
        if start is not None:  # a query begins when it is registered
            found = {max(t, start) if t == BEGINNING else t for t in found}
        return sorted(t for t in found if start is None or t >= start)

    @remembered
    def history(self, table: Table | Source) -> list[TableChange]:
        """What happened to a table, in the order of the instants."""
        return changes_of(self, table)

    def passing(self, rows: Sequence[Tup], predicate: Scalar | None, *over: Node) -> list[Tup]:
        """The rows for which a predicate holds; all without one."""
        kept = self.expressions.holds(predicate, rows, *over)
        return [t for t, keep in zip(rows, kept, strict=True) if keep]

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
        """A row came too late; of what a join has made the rows were late that it is made of."""
        if row.entered is not None:
            return
        if self.policy == "error":
            raise LateRowError(f"row {dict(row.origin or row.values)} came after a punctuation had promised that "
                               f"nothing below {row.late_by} would; choose another late policy to go on")
        self.late[stream_rows(row.order)] = row.origin or row.values

    def since_registration(self, rows: list[Tup]) -> list[Tup]:
        """Windows show nothing from before the query was registered (rule U1)."""
        start = self.registered_at
        return rows if start is None else [row for row in rows if row.ts >= start]

    @remembered
    def is_strict(self, node: Node) -> bool:
        """Whether rows of a node leave at instants that are not known beforehand."""
        return label(node).output.downgrade().pattern is UpdatePattern.STR

    def progress_of(self, stream: str) -> str:
        """The progress policy of one stream."""
        return self._progress if isinstance(self._progress, str) else self._progress.get(stream, "source")

    def shown(self, node: Node) -> set[tuple[int, int]]:
        """From when until when windows over time below a node show rows."""
        return instants.shown(self, node)

    def refreshes(self, node: Node) -> list[int] | None:
        """The instants at which the windows of a plan move; None if they move at every instant."""
        return instants.refresh_instants(self, node)

    @remembered
    def visible(self, spec: WindowSpec, value: int, born: int) -> tuple[int, int | None] | None:
        """When a value is inside the scope of a window (see ``scopes.visible``)."""
        return scopes.visible(spec, value, born)

    def expiry(self, spec: WindowSpec, value: int, born: int) -> int | None:
        """When a value leaves the scope of a window; None if never."""
        life = self.visible(spec, value, born)
        return None if life is None else life[1]

    @property
    def end(self) -> int:
        """The place after the last item: the end of the input."""
        return len(self.timeline)

    def start(self, node: Lifetime) -> int | None:
        """When a query with a lifetime begins: with its registration, else with its first row, if there is one."""
        if self.registered_at is not None:
            return self.registered_at
        sources = [below for below in node.walk() if isinstance(below, Source)]
        return min((t.ts for source in sources for t in relations.come_in(self, source, TIME)), default=None)

    def stop(self, node: Lifetime) -> int:
        """When a query with a lifetime ends; one that does not begin does not end."""
        start = self.start(node)
        return EVERYTHING if start is None else start + node.amount
