"""The SELECT list of a query with aggregates: keys, aggregate calls, and expressions over both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from panewise.aggregates.base import Aggregate
from panewise.aggregates.registry import resolve
from panewise.core.errors import AggregateError, PanewiseError, SqlError, shortened
from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    WID_COLUMN,
    WINDOW_COLUMN,
    AggregateCall,
    GroupAggregate,
    NamedScalar,
    Node,
    Project,
    WindowAggregate,
)
from panewise.sql import pane_calls
from panewise.sql.expressions import Expressions, column, readable, to_scalar
from panewise.sql.projection import Projector, short_names
from panewise.sql.relations import BoundWindow, Relation, Scope
from panewise.sql.syntax import Item, Span, StreamCall, span_of
from panewise.windows.tumbling import Disclosure


@dataclass
class _Key:
    scalar: Scalar
    span: Span
    alias: str | None = None
    name: str = ""


@dataclass
class _Outputs:
    """What the SELECT list asks for, collected item by item."""

    keys: list[_Key] = field(default_factory=list)
    calls: dict[AggregateCall, str] = field(default_factory=dict)
    """Calls without a name, and the name each one gets."""
    items: list[tuple[Item, exp.Expr]] = field(default_factory=list)

    def key(self, sql: str) -> _Key | None:
        return next((k for k in self.keys if k.scalar.sql == sql), None)


class Aggregator:
    """Binds queries with aggregates or GROUP BY."""

    def __init__(self, expressions: Expressions, projector: Projector, functions: Mapping[str, str], *,
                 lenient: bool) -> None:
        self.expressions, self.projector = expressions, projector
        self.functions = {k.lower(): v.lower() for k, v in functions.items()}
        self.lenient = lenient
        self._types: Mapping[str, pa.DataType] = {}
        self._window: BoundWindow | None = None
        self._below: Node | None = None

    def error(self, problem: str, span: Span, hint: str = "") -> SqlError:
        """An error at a place of the text."""
        return self.expressions.error(problem, span, hint)

    def aggregate(self, relation: Relation, scope: Scope, items: tuple[Item, ...], group_by: tuple[Item, ...],
                  window: BoundWindow | None) -> Relation:
        """``window`` is given when results carry window ids; otherwise the relation's current contents are grouped."""
        outputs = _Outputs()
        if window is not None and getattr(window.clause.spec, "disclosure", None) is Disclosure.GROWING:
            raise self.error("GROWING shows a window while it fills, and an aggregate with WA comes once, when its "
                             "window is complete", window.span,
                             "leave out WA for a relation that grows, or leave out GROWING and ask for results while "
                             "windows fill: emit='change'")
        self._types, self._window, self._below = relation.types, window, relation.node
        self._collect_keys(outputs, scope, group_by, window)
        for item in items:
            if isinstance(item.tree, exp.Star):
                raise self.error("* cannot stand beside aggregates or GROUP BY", item.span, "name the grouped columns")
        window_column = None if window is None else WINDOW_COLUMN if window.clause.has_time_range else WID_COLUMN
        self._name_keys_by_items(outputs, items, scope)
        for item in items:
            outputs.items.append((item, self._item(outputs, item, scope, window_column)))
        self._name_keys(outputs)
        calls = self._name_calls(outputs)
        node = self._node(relation, outputs, calls, window)
        result = self._projected(node, outputs, calls, window_column)
        self.projector.no_duplicates([(c, items[0].span) for c in node.columns])
        types = {k.name: relation.types[c] for k in outputs.keys
                 if (c := k.scalar.column_name) is not None and c in relation.types}
        internal = relation.internal if window is None else None
        return replace(
            relation, node=result, columns=result.columns, types=types, time=None, open=False, derived=True,
            aggregated=True, changing=window is None and internal is None, internal=internal,
        )

    def _node(self, relation: Relation, outputs: _Outputs, calls: tuple[AggregateCall, ...],
              window: BoundWindow | None) -> Node:
        keys = tuple(NamedScalar(k.name, k.scalar) for k in outputs.keys)
        if window is None:
            below = relation.node
            if any(call.function in pane_calls.NAMES for call in calls):
                below = pane_calls.numbered(below)
            return GroupAggregate(below, keys, calls, internal=relation.internal is not None)
        clause = window.clause
        if clause.spec.kind == "session" and not clause.partition:
            # A pause is a pause of one key; without PA the grouping columns are the key.
            clause = replace(clause, partition=tuple(self._plain(k) for k in outputs.keys))
        return WindowAggregate(relation.node, clause, keys, calls)

    def _plain(self, key: _Key) -> str:
        name = key.scalar.column_name
        if name is None:
            raise self.error("sessions are per column, not per expression", key.span,
                             "group by a plain column, or compute it in a sub-query")
        return name

    # -- keys ----------------------------------------------------------------------------------------------------

    def _collect_keys(self, outputs: _Outputs, scope: Scope, group_by: tuple[Item, ...],
                      window: BoundWindow | None) -> None:
        for item in group_by:
            if item.tree.find(StreamCall):
                raise self.error("GROUP BY takes no aggregate", item.span, "group by columns")
            scalar = self.expressions.scalar(item.tree, scope, item.span)
            if not scalar.columns:
                raise self.error("GROUP BY needs a column", item.span, "name a column; positions are not supported")
            if outputs.key(scalar.sql) is not None:
                raise self.error(f"{readable(scalar)} is grouped twice", item.span, "name it once")
            outputs.keys.append(_Key(scalar, item.span))
        if window is not None:
            for name in (*window.clause.partition, *window.sliced_by):
                scalar = to_scalar(column(name))
                if outputs.key(scalar.sql) is None:
                    outputs.keys.append(_Key(scalar, window.span))

    def _name_keys_by_items(self, outputs: _Outputs, items: tuple[Item, ...], scope: Scope) -> None:
        """``SELECT srcIP AS ip ... GROUP BY srcIP`` names the key."""
        for item in items:
            if item.alias is None or item.tree.find(StreamCall):
                continue
            try:
                key = outputs.key(self.expressions.scalar(item.tree, scope, item.span).sql)
            except SqlError:
                continue  # reported with the item itself
            if key is not None and key.alias is None:
                key.alias = item.alias

    def _name_keys(self, outputs: _Outputs) -> None:
        names = short_names([(readable(k.scalar), k.scalar.column_name, k.alias) for k in outputs.keys])
        for key, name in zip(outputs.keys, names, strict=True):
            key.name = name

    # -- items ---------------------------------------------------------------------------------------------------

    def _item(self, outputs: _Outputs, item: Item, scope: Scope, window_column: str | None) -> exp.Expr:
        """The item over aggregate calls (marked) and keys (still as their own expressions)."""

        def visit(node: exp.Expr) -> exp.Expr:
            if isinstance(node, StreamCall):
                call = self._call(outputs, node, scope, item)
                return _marker(call, (item.alias or call_text(call)) if node is tree else None, outputs)
            if isinstance(node, exp.Column):
                about_window = _window_part(node, window_column, scope)
                if about_window is not None:
                    return about_window
            if not isinstance(node, exp.Column) and _has_key(self, outputs, node, scope, item):
                return self.expressions.bind(node, scope, item.span)
            bound = self.expressions.leaf(node, scope, item.span)
            if bound is None:
                self.expressions.refuse(node, item.span)
                return node
            self._must_be_grouped(outputs, bound, node, item)
            return bound

        tree = item.tree.copy()
        return tree.transform(visit, copy=False)

    def _must_be_grouped(self, outputs: _Outputs, bound: exp.Expr, node: exp.Expr, item: Item) -> None:
        """Rule 11: a plain column beside aggregates is grouped, or is the partition key (erratum S3)."""
        columns = [] if isinstance(bound, exp.Literal) else list(bound.find_all(exp.Column))
        for found in columns:
            scalar = to_scalar(found)
            if outputs.key(scalar.sql) is None:
                if not self.lenient:
                    raise self.error(f"{readable(scalar)!r} is neither grouped nor aggregated",
                                     span_of(node, item.span),
                                     f"add GROUP BY {readable(scalar)}, or put it inside an aggregate")
                outputs.keys.append(_Key(scalar, item.span, item.alias if node is item.tree else None))

    def _call(self, outputs: _Outputs, call: StreamCall, scope: Scope, item: Item) -> AggregateCall:
        name = self.functions.get(call.this, call.this)
        place = span_of(call, item.span)
        if call.find(StreamCall) is not call or any(e.find(StreamCall) for e in call.expressions):
            raise self.error(f"an aggregate inside {name}(...)", place,
                             "compute the inner one in a sub-query: SELECT ... FROM (SELECT ...) [...]")
        if any(call.args.get("aliases") or ()):
            raise self.error(f"AS cannot stand inside {name}(...)", place, "write it behind the call")
        stars = [e for e in call.expressions if isinstance(e, exp.Star)]
        if stars and (name != "count" or len(call.expressions) > 1 or call.args.get("distinct")):
            raise self.error(f"{name} does not take *", place, "name a column; only count(*) counts rows")
        bound = [] if stars else [self.expressions.bind(e, scope, item.span) for e in call.expressions]
        if name == "count" and len(bound) == 1 and isinstance(bound[0], exp.Literal) and not call.args.get("distinct"):
            bound = []  # count(1)
        if not bound and name != "count":
            raise self.error(f"{name} needs a column", place, f"write {name}(column)")
        found = AggregateCall("", name, *self._split(bound, name, place), bool(call.args.get("distinct")))
        found = self._with_panes(found, outputs, place)
        self._check_function(found, place)
        if call.condition is not None:
            function = resolve(name, found.parameters, found.distinct)
            if not _ignores_nulls(function, max(len(found.arguments), 1)):
                raise self.error(f"FILTER cannot stand behind {name}, which counts nulls too", place,
                                 "write the condition in WHERE" + f", or {name}(x, true)" * function.needs_order)
            found = replace(found, arguments=self._conditional(call, found.arguments, scope, item))
        return found

    def _with_panes(self, call: AggregateCall, outputs: _Outputs, place: Span) -> AggregateCall:
        if call.function not in pane_calls.NAMES:
            return call
        window, below = self._window, self._below
        assert below is not None
        grouped = {key.scalar.column_name for key in outputs.keys}
        problem = pane_calls.relation_problem(call, below, grouped) if window is None else \
            pane_calls.problem(call, window.clause)
        if problem is not None:
            raise self.error(problem, place, f"write {call.function}(x, 10) over [RANGE 10 minutes, SLIDE 1 minute, "
                                             "WA ts] or [RANGE 100 rows, SLIDE 10 rows, WA row-num], or over [ROWS 100 "
                                             "SLIDE 10], grouped by what it is partitioned by")
        if window is None:
            return pane_calls.completed_in_relation(call, below)
        return pane_calls.completed(call, window.clause)

    def _check_function(self, call: AggregateCall, place: Span) -> None:
        """The function exists, with these constants, for so many columns of these types."""
        name, given = call.function, len(call.arguments)
        try:
            function = resolve(name, call.parameters, call.distinct)
        except AggregateError as error:
            raise self.error(str(error), place, "change the call") from error
        least = function.arity - function.numbered
        most = max(least, given) if function.variadic else least
        if not least <= given <= most:
            raise self.error(f"{name} takes {most} column{'s' * (most != 1)}, not {given}", place,
                             f"write {name}({', '.join('abc'[:most])})")
        types = [self._types.get(a.column_name or "") for a in call.arguments]
        if any(t is None for t in types):
            return
        try:
            function.result_type(types)
        except PanewiseError as error:
            raise self.error(str(error), place, "cast the column, or choose another function") from error

    def _conditional(self, call: StreamCall, arguments: tuple[Scalar, ...], scope: Scope,
                     item: Item) -> tuple[Scalar, ...]:
        """``FILTER (WHERE c)`` of an aggregate that ignores nulls: the argument is null where c does not hold."""
        assert call.condition is not None
        condition = self.expressions.bind(call.condition, scope, item.span)
        values = [a.tree for a in arguments] or [exp.Literal.number(1)]
        place = span_of(call, item.span)
        return tuple(self.expressions.written(exp.Case(ifs=[exp.If(this=condition.copy(), true=v)]), place)
                     for v in values)

    def _split(self, bound: list[exp.Expr], name: str,
               place: Span) -> tuple[tuple[Scalar, ...], tuple[int | float | str, ...]]:
        """Constants behind the first argument fix the function, such as the fraction of a quantile."""
        arguments, parameters = list(bound), []
        while len(arguments) > 1 and not arguments[-1].find(exp.Column):
            scalar = self.expressions.written(arguments.pop(), place)
            try:
                value = scalar.literal_value
            except (ValueError, OverflowError) as error:  # an expression, or more digits than a number may have
                raise self.error(f"{shortened(scalar.sql)} is no constant, and what fixes {name} must be one", place,
                                 f"write the number itself, as in {name}(x, 0.9)") from error
            parameters.append(value if isinstance(value, int | float | str) else str(value))
        return tuple(self.expressions.written(a, place) for a in arguments), tuple(reversed(parameters))

    # -- names and the node --------------------------------------------------------------------------------------

    def _name_calls(self, outputs: _Outputs) -> tuple[AggregateCall, ...]:
        return tuple(replace(call, name=name) for call, name in outputs.calls.items())

    def _projected(self, node: Node, outputs: _Outputs, calls: tuple[AggregateCall, ...],
                   window_column: str | None) -> Node:
        """A Project only where an item is more than a key or a call; keys and window always come first."""
        by_sql = {k.scalar.sql: k.name for k in outputs.keys}
        keys = {k.name for k in outputs.keys}
        kept = [*(k.name for k in outputs.keys), *([window_column] if window_column else [])]
        chosen = [(self._output(item, _over_keys(tree, by_sql), keys), item.span) for item, tree in outputs.items]
        self.projector.no_duplicates([(o.name, span) for o, span in chosen])
        asked = [o for o, _ in chosen if not (o.name in kept and o.scalar.column_name == o.name)]
        if sorted(o.name for o in asked) == sorted(c.name for c in calls) and all(
                o.scalar.column_name == o.name for o in asked):
            return node
        self.projector.no_duplicates([*((c, chosen[0][1]) for c in kept),
                                      *((o.name, span) for o, span in chosen if o in asked)])
        return Project(node, (*(NamedScalar.column(c) for c in kept), *asked))

    def _output(self, item: Item, tree: exp.Expr, keys: set[str]) -> NamedScalar:
        scalar = self.expressions.written(tree, item.span)
        plain = scalar.column_name
        if item.alias is None and plain is not None and plain in keys:
            return NamedScalar(plain, scalar)
        return NamedScalar(item.alias or readable(scalar), scalar)


def call_text(call: AggregateCall) -> str:
    """A call as Spark would name its column.

    >>> call_text(AggregateCall("", "max", (Scalar("`bid-price`"),))), call_text(AggregateCall("", "count"))
    ('max(bid-price)', 'count(*)')
    """
    call = pane_calls.as_written(call)
    inside = ", ".join([*(readable(a) for a in call.arguments), *map(str, call.parameters)]) or "*"
    return f"{call.function}({'DISTINCT ' if call.distinct else ''}{inside})"


def _ignores_nulls(function: Aggregate, arguments: int) -> bool:
    """Whether a row of nulls leaves the state as it is; a function that cannot take nulls at all does not."""
    position = (1,) if function.needs_order or function.numbered else ()
    try:
        return bool(function.add(function.init(), *(None,) * arguments, *position) == function.init())
    except (TypeError, ValueError, ArithmeticError):
        return False


def _marker(call: AggregateCall, wanted: str | None, outputs: _Outputs) -> exp.Expr:
    """A reference to the column of a call; inside an expression any column of the same call will do."""
    name = wanted or outputs.calls.get(call) or call_text(call)
    named = call
    if wanted is not None and outputs.calls.get(call, wanted) != wanted:
        named = replace(call, name=wanted)  # the same call under a second name
    outputs.calls.setdefault(named, name)
    return column(outputs.calls[named])


def _window_part(node: exp.Column, window_column: str | None, scope: Scope) -> exp.Expr | None:
    """``window``, ``window.start`` or ``wid`` in the SELECT list of a window aggregate."""
    if window_column is None:
        return None
    parts = [p.name for p in node.parts]
    if parts[0].lower() != window_column or (scope.candidates(tuple(parts)) and not scope.open):
        return None
    tree: exp.Expr = column(window_column)
    for name in parts[1:]:
        tree = exp.Bracket(this=tree, expressions=[exp.Literal.string(name.lower())])
    return tree


def _has_key(self: Aggregator, outputs: _Outputs, node: exp.Expr, scope: Scope, item: Item) -> bool:
    if node.find(StreamCall) or not node.find(exp.Column):
        return False
    keys = {k.scalar.sql for k in outputs.keys if k.scalar.column_name is None}
    if not keys:
        return False
    try:
        return self.expressions.scalar(node, scope, item.span).sql in keys
    except SqlError:
        return False


def _over_keys(tree: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    """Replace the keys' expressions by the keys' columns."""

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Condition):
            name = names.get(to_scalar(node).sql)
            if name is not None:
                return column(name)
        return node

    return tree.copy().transform(visit, copy=False)
