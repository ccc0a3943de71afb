"""The oracle: the complete answer of any plan over a finite timeline, by definition. Slow, plain, obviously right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from panewise.core.ages import numbered
from panewise.core.beginning import ALWAYS, BEGINNING
from panewise.core.errors import BadRowError, PlanError, SchemaError
from panewise.core.places import placed
from panewise.core.time import AmountGiven
from panewise.engines.oracle import changes, windows
from panewise.engines.oracle.binding import bind_plan
from panewise.engines.oracle.changes import Change, Form
from panewise.engines.oracle.column_types import ColumnTypes
from panewise.engines.oracle.definition import Definition
from panewise.engines.oracle.expressions import Expressions
from panewise.engines.oracle.late import TIME
from panewise.engines.oracle.scalar.types import NULL, to_arrow
from panewise.engines.oracle.tables import TableChange
from panewise.engines.oracle.tuples import Tup, sorted_rows
from panewise.engines.oracle.usable import usable
from panewise.engines.oracle.windows import Closing
from panewise.plan.nodes import Named, Node, RelationToStream, WindowAggregate, zone_of
from panewise.plan.written import text_of
from panewise.planner.forms import CHANGE, EXPIRES_AT, VALID_FROM, refuse_hidden, stops, time_kind
from panewise.progress.timeline import Timeline


class Oracle:
    """One plan over one timeline; every answer is computed from the definitions when it is asked for.

    The timeline is complete: its end is a punctuation that covers everything. ``progress`` is one policy, or one by
    stream. Rows without a time, or further ahead than ``max_jump``, are an error unless ``tolerant``.
    ``registered_at`` is the instant at which continuous relations begin; without it they see the whole
    timeline.

    >>> from panewise.core.ordinals import OrdinalKind
    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.plan.nodes import AggregateCall, Source, Window, WindowClause
    >>> from panewise.progress.timeline import timeline
    >>> from panewise.windows.sliding import SlidingWindow
    >>> stream = Source("s", SourceSchema({"ts": pa.int64(), "v": pa.int64()}, time="ts"))
    >>> clause = WindowClause(SlidingWindow(10, 5), "ts", OrdinalKind.INTEGER)
    >>> plan = WindowAggregate(stream, clause, (), (AggregateCall("n", "count"),))
    >>> Oracle(plan, timeline(s=[{"ts": 3, "v": 1}, {"ts": 7, "v": 2}])).results()
    [{'window': {'start': -5, 'end': 5}, 'n': 1}, {'window': {'start': 0, 'end': 10}, 'n': 2},
     {'window': {'start': 5, 'end': 15}, 'n': 1}]
    """

    def __init__(self, plan: Node, timeline: Timeline, *, tables: Mapping[str, Sequence[TableChange]] | None = None,
                 late: str = "generous", progress: str | Mapping[str, str] = "source",
                 registered_at: int | None = None, max_jump: AmountGiven | None = None, tolerant: bool = False) -> None:
        refuse_hidden(plan)
        self.plan = plan
        expressions = Expressions(ColumnTypes(timeline, tables), zone_of(plan))
        with placed(text_of(plan)):
            bind_plan(plan, expressions)
        timeline, self._bad = usable(plan, timeline, expressions, max_jump)
        if self._bad and not tolerant:
            stream, problem, row = self._bad[0]
            raise BadRowError(f"stream {stream!r}: {problem}: {row}; to go on without such rows: bad_rows='skip' "
                              "counts them, 'aside' keeps them")
        self._definition = Definition(timeline, tables=tables, late=late, progress=progress,
                                      registered_at=registered_at, expressions=expressions,
                                      numbers=numbered(node.name for node in plan.walk() if isinstance(node, Named)))
        self._kind = time_kind(plan)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the results: the plan's, and what its form adds."""
        return (*self.plan.columns, *changes.form_of(self.plan).added)

    # -- complete answers --------------------------------------------------------------------------------------------

    def results(self) -> list[dict[str, Any]]:
        """All results, in an order that does not depend on the order of arrival where the results do not.

        A stream (window aggregates, joins by time, filters) gives its rows. A continuous relation gives its rows
        with ``valid_from`` and ``expires_at`` where the end of a result is known when it is produced, else every
        change with ``valid_from`` and ``change``. Istream, Dstream and Rstream give what they put out, with the
        instant in ``valid_from``.
        """
        form = changes.form_of(self.plan)
        if form is Form.STREAM:
            rows = self._rows()
            if any(isinstance(node, WindowAggregate) for node in self.plan.walk()):
                rows = sorted(rows, key=lambda t: t.order[1:])  # without the place that closed the window
            return [dict(t.values) for t in rows]
        if form is Form.EVENTS:
            return [self._dated(t.values, t.ts) for t in self._definition.stream(self.plan)]
        if form is Form.CHANGES:
            return [self._dated(c.row, c.tau) | {CHANGE: c.sign} for c in self.changes()]
        return [self._dated(life.row, life.valid_from) | {EXPIRES_AT: self._present(life.expires_at)}
                for life in changes.lives_of(self._definition, self.plan)]

    def late_rows(self) -> list[dict[str, Any]]:
        """The rows that came too late for something, as they came, in arrival order."""
        self.results()
        for node in self.plan.walk():
            if isinstance(node, RelationToStream):  # results look at refreshes alone, which may be none
                self._definition.instants(node.input)
        late = self._definition.late
        return [dict(late[place]) for place in sorted(late)]

    def bad_rows(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The rows that cannot be used: stream, what is wrong, the row."""
        return list(self._bad)

    def table(self) -> pa.Table:
        """All results as a table."""
        rows = self.results()
        types = self._definition.expressions.types.of(self.plan)
        known = {name: to_arrow(kind) for name, kind in types.items() if name in self.columns and kind != NULL}
        try:
            return pa.table({name: pa.array([row.get(name) for row in rows], known.get(name)) for name in self.columns})
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise SchemaError(f"a result column has values of different types, or integers of more than 64 bits: "
                              f"{error}; cast them where they come from") from error

    # -- continuous relations ----------------------------------------------------------------------------------------

    def relation_at(self, tau: int) -> list[dict[str, Any]]:
        """The bag of rows at an instant, after everything that happens at it."""
        return sorted_rows(t.values for t in self._definition.relation(self.plan, tau))

    def instants(self) -> list[int]:
        """Every instant at which the relation can change."""
        return [tau for tau in self._definition.instants(self.plan) if tau > BEGINNING]

    def changes(self) -> list[Change]:
        """The net changes of every instant."""
        return changes.changes_of(self._definition, self.plan)

    # -- progress ----------------------------------------------------------------------------------------------------

    def closings(self) -> list[Closing]:
        """Every window of every group with the place of the item that closed it (the timeline's length: its end)."""
        for node in self.plan.walk():
            if isinstance(node, WindowAggregate):
                return windows.closings(self._definition, node)
        raise PlanError("nothing closes in this plan: it has no windows with ids")

    def results_after(self, place: int) -> list[dict[str, Any]]:
        """What an engine may have put out after the item at this place of the timeline, in the order it would."""
        if changes.form_of(self.plan) is not Form.STREAM:
            raise PlanError("only streams put out rows one after the other; ask a relation for relation_at(instant)")
        return [dict(t.values) for t in self._rows() if t.order[0] <= place]

    def _rows(self) -> list[Tup]:
        """What a stream puts out; none of its rows is too late, unless it stops some time after the first."""
        return self._definition.admitted(self.plan, TIME) if stops(self.plan) else self._definition.stream(self.plan)

    # -- presentation ------------------------------------------------------------------------------------------------

    def _dated(self, row: Mapping[str, Any], tau: int) -> dict[str, Any]:
        return {**row, VALID_FROM: self._present(tau)}

    def _present(self, tau: int | None) -> Any:
        return None if tau in (None, ALWAYS) else self._kind.present(tau)


def run_oracle(plan: Node, timeline: Timeline, *, tables: Mapping[str, Sequence[TableChange]] | None = None,
               late: str = "generous", progress: str | Mapping[str, str] = "source",
               registered_at: int | None = None) -> pa.Table:
    """The results of ``Oracle.results`` as a table."""
    return Oracle(plan, timeline, tables=tables, late=late, progress=progress, registered_at=registered_at).table()
