"""The oracle: the complete answer of any plan over a finite timeline, by definition. Slow, plain, obviously right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from panewise.core.ages import numbered
from panewise.core.bad_rows import BadRow, BadRowPolicy
from panewise.core.beginning import ALWAYS
from panewise.core.errors import SchemaError
from panewise.core.places import placed
from panewise.core.time import AmountGiven
from panewise.engines.oracle import changes, relations
from panewise.engines.oracle.changes import Change
from panewise.engines.oracle.column_types import ColumnTypes
from panewise.engines.oracle.definition import Definition
from panewise.engines.oracle.expressions import Expressions
from panewise.engines.oracle.late import TIME
from panewise.engines.oracle.scalar.types import NULL, to_arrow
from panewise.engines.oracle.tables import TableChange
from panewise.engines.oracle.tuples import Tup
from panewise.engines.oracle.usable import Bad, usable
from panewise.plan.nodes import Named, Node, RelationToStream, Table, WindowAggregate, zone_of
from panewise.plan.written import text_of
from panewise.planner.facts import result_forms as forms
from panewise.planner.legal.capabilities import refuse_hidden
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
            expressions.bind(plan)
        given = timeline
        timeline, self._bad = usable(plan, given, expressions, max_jump)
        expressions.number(given, timeline)
        if self._bad and not tolerant:
            first = self._bad[0]
            raise BadRowPolicy.error(BadRow.of_stream(first.stream, first.number, first.problem), first.stream)
        self._definition = Definition(timeline, tables=tables, late=late, progress=progress,
                                      registered_at=registered_at, expressions=expressions,
                                      numbers=numbered(node.name for node in plan.walk() if isinstance(node, Named)))
        self._kind = forms.time_kind(plan)
        for node in plan.walk():
            if isinstance(node, Table):  # a history that cannot be is refused, whether or not a row ever meets it
                self._definition.history(node)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the results: the plan's, and what its form adds."""
        return (*self.plan.columns, *forms.form_of(self.plan).added)

    # -- complete answers --------------------------------------------------------------------------------------------

    def results(self) -> list[dict[str, Any]]:
        """All results, in an order that does not depend on the order of arrival where the results do not.

        A stream (window aggregates, joins by time, filters) gives its rows. A continuous relation gives its rows
        with ``valid_from`` and ``expires_at`` where the end of a result is known when it is produced, else every
        change with ``valid_from`` and ``change``. Istream, Dstream and Rstream give what they put out, with the
        instant in ``valid_from``.
        """
        form = forms.form_of(self.plan)
        if form is forms.Form.STREAM:
            rows = self._rows()
            if any(isinstance(node, WindowAggregate) for node in self.plan.walk()):
                rows = sorted(rows, key=lambda t: t.order[1:])  # without the place that closed the windows
            return [dict(t.values) for t in rows]
        if form is forms.Form.EVENTS:
            return [self._dated(t.values, t.ts) for t in self._definition.stream(self.plan)]
        if form is forms.Form.CHANGES:
            return [self._dated(c.row, c.tau) | {forms.CHANGE: c.sign} for c in self.changes()]
        return [self._dated(life.row, life.valid_from) | {forms.EXPIRES_AT: self._present(life.expires_at)}
                for life in changes.lives_of(self._definition, self.plan)]

    def late_rows(self) -> list[dict[str, Any]]:
        """The rows that came too late for something, as they came, in arrival order."""
        self.results()
        for node in self.plan.walk():
            if isinstance(node, RelationToStream):  # results look at refreshes alone, which may be none
                self._definition.instants(node.input)
        late = self._definition.late
        return [dict(late[place]) for place in sorted(late)]

    def bad_rows(self) -> list[Bad]:
        """The rows that cannot be used."""
        return list(self._bad)

    def table(self) -> pa.Table:
        """All results as a table."""
        rows, columns = self.results(), tuple(self.columns)  # a question of the whole plan: asked once
        types = self._definition.expressions.types.of(self.plan)
        known = {name: to_arrow(kind) for name, kind in types.items() if kind != NULL}
        try:
            return pa.table({name: pa.array([row.get(name) for row in rows], known.get(name)) for name in columns})
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise SchemaError(f"a result column has values of different types, or integers of more than 64 bits: "
                              f"{error}; cast them where they come from") from error

    def changes(self) -> list[Change]:
        """The net changes of every instant."""
        return changes.changes_of(self._definition, self.plan)

    def _rows(self) -> list[Tup]:
        """What a stream puts out; it waits for instants only if it stops some time after the first row."""
        if forms.stops(self.plan):
            return relations.come_in(self._definition, self.plan, TIME)
        return self._definition.stream(self.plan)

    # -- presentation ------------------------------------------------------------------------------------------------

    def _dated(self, row: Mapping[str, Any], tau: int) -> dict[str, Any]:
        return {**row, forms.VALID_FROM: self._present(tau)}

    def _present(self, tau: int | None) -> Any:
        return None if tau in (None, ALWAYS) else self._kind.present(tau)
