"""The SELECT list of a query with aggregates: keys, aggregate calls, and expressions over both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from panewise.aggregates.base import Aggregate
from panewise.aggregates.registry import resolve
from panewise.core.errors import AggregateError, PanewiseError, SqlError, shortened
from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.sql.expressions import Expressions, column, readable, to_scalar
from panewise.sql.projection import Projector, short_names
from panewise.sql.relations import BoundWindow, Relation, Scope
from panewise.sql.syntax import Item, Span, StreamCall, span_of
from panewise.sql.windows import pane_calls
from panewise.windows.tumbling import Disclosure


@dataclass
class _Key:
    scalar: Scalar
    span: Span
    alias: str | None = None
    name: str = ""


class Aggregation:
    """Binds one query with aggregates or GROUP BY.

    ``window`` is given when results carry window ids; otherwise the relation's current contents are grouped.
    """

    def __init__(self, expressions: Expressions, projector: Projector, functions: Mapping[str, str], relation: Relation,
                 scope: Scope, window: BoundWindow | None, *, lenient: bool) -> None:
        self.expressions, self.projector, self.error = expressions, projector, expressions.error
        self.functions = {k.lower(): v.lower() for k, v in functions.items()}
        self.relation, self.scope, self.window, self.lenient = relation, scope, window, lenient
        self.window_column = None if window is None else \
            n.WINDOW_COLUMN if window.clause.has_time_range else n.WID_COLUMN
        self.keys: list[_Key] = []
        self.calls: dict[n.AggregateCall, str] = {}
        """Calls without a name, and the name each one gets."""

    def bind(self, items: tuple[Item, ...], group_by: tuple[Item, ...]) -> Relation:
        """The aggregated relation."""
        window, relation = self.window, self.relation
        if window is not None and getattr(window.clause.spec, "disclosure", None) is Disclosure.GROWING:
            raise self.error("GROWING shows a window while it fills, and an aggregate with WA comes once, when its "
                             "window is complete", window.span,
                             "leave out WA for a relation that grows, or leave out GROWING and ask for results while "
                             "windows fill: emit='change'")
        self._collect_keys(group_by)
        for item in items:
            if isinstance(item.tree, exp.Star):
                raise self.error("* cannot stand beside aggregates or GROUP BY", item.span, "name the grouped columns")
        self._name_keys_by_items(items)
        bound = [(item, self._item(item)) for item in items]
        names = short_names([(readable(k.scalar), k.scalar.column_name, k.alias) for k in self.keys])
        for key, name in zip(self.keys, names, strict=True):
            key.name = name
        calls = tuple(replace(call, name=name) for call, name in self.calls.items())
        node = self._node(calls)
        result = self._projected(node, bound, calls)
        self.projector.no_duplicates([(c, items[0].span) for c in node.columns])
        types = {k.name: relation.types[c] for k in self.keys
                 if (c := k.scalar.column_name) is not None and c in relation.types}
        internal = relation.internal if window is None else None
        return replace(
            relation, node=result, columns=result.columns, types=types, time=None, open=False, derived=True,
            aggregated=True, changing=window is None and internal is None, internal=internal,
        )

    def _node(self, calls: tuple[n.AggregateCall, ...]) -> n.Node:
        keys = tuple(n.NamedScalar(k.name, k.scalar) for k in self.keys)
        if self.window is None:
            below = self.relation.node
            if any(call.function in pane_calls.NAMES for call in calls):
                below = pane_calls.numbered(below)
            return n.GroupAggregate(below, keys, calls, internal=self.relation.internal is not None)
        clause = self.window.clause
        if clause.spec.kind == "session" and not clause.partition:
            # A pause is a pause of one key; without PA the grouping columns are the key.
            clause = replace(clause, partition=tuple(self._plain(k) for k in self.keys))
        return n.WindowAggregate(self.relation.node, clause, keys, calls)

    def _plain(self, key: _Key) -> str:
        name = key.scalar.column_name
        if name is None:
            raise self.error("sessions are per column, not per expression", key.span,
                             "group by a plain column, or compute it in a sub-query")
        return name

    # -- keys ----------------------------------------------------------------------------------------------------

    def _key(self, scalar: Scalar) -> _Key | None:
        return next((key for key in self.keys if key.scalar.sql == scalar.sql), None)

    def _collect_keys(self, group_by: tuple[Item, ...]) -> None:
        for item in group_by:
            if item.tree.find(StreamCall):
                raise self.error("GROUP BY takes no aggregate", item.span, "group by columns")
            scalar = self.expressions.scalar(item.tree, self.scope, item.span)
            if not scalar.columns:
                raise self.error("GROUP BY needs a column", item.span, "name a column; positions are not supported")
            if self._key(scalar) is not None:
                raise self.error(f"{readable(scalar)} is grouped twice", item.span, "name it once")
            self.keys.append(_Key(scalar, item.span))
        if self.window is not None:
            for name in (*self.window.clause.partition, *self.window.sliced_by):
                scalar = Scalar.column(name)
                if self._key(scalar) is None:
                    self.keys.append(_Key(scalar, self.window.span))

    def _name_keys_by_items(self, items: tuple[Item, ...]) -> None:
        """``SELECT srcIP AS ip ... GROUP BY srcIP`` names the key."""
        for item in items:
            if item.alias is None or item.tree.find(StreamCall):
                continue
            try:
                key = self._key(self.expressions.scalar(item.tree, self.scope, item.span))
            except SqlError:
                continue  # reported with the item itself
            if key is not None and key.alias is None:
                key.alias = item.alias

    # -- items ---------------------------------------------------------------------------------------------------

    def _item(self, item: Item) -> exp.Expr:
        """The item over aggregate calls (marked) and keys (still as their own expressions)."""

        def visit(node: exp.Expr) -> exp.Expr:
            if isinstance(node, StreamCall):
                call = self._call(node, item)
                return self._marker(call, (item.alias or call_text(call)) if node is tree else None)
            if isinstance(node, exp.Column):
                about_window = self._window_part(node)
                if about_window is not None:
                    return about_window
            elif self._is_key(node, item):
                return self.expressions.bind(node, self.scope, item.span)
            bound = self.expressions.leaf(node, self.scope, item.span)
            if bound is None:
                self.expressions.refuse(node, item.span)
                return node
            self._must_be_grouped(bound, node, item)
            return bound

        tree = item.tree.copy()
        return tree.transform(visit, copy=False)

    def _must_be_grouped(self, bound: exp.Expr, node: exp.Expr, item: Item) -> None:
        """Rule 11: a plain column beside aggregates is grouped, or is the partition key (erratum S3)."""
        columns = [] if isinstance(bound, exp.Literal) else list(bound.find_all(exp.Column))
        for found in columns:
            scalar = to_scalar(found)
            if self._key(scalar) is None:
                if not self.lenient:
                    raise self.error(f"{readable(scalar)!r} is neither grouped nor aggregated",
                                     span_of(node, item.span),
                                     f"add GROUP BY {readable(scalar)}, or put it inside an aggregate")
                self.keys.append(_Key(scalar, item.span, item.alias if node is item.tree else None))

    def _marker(self, call: n.AggregateCall, wanted: str | None) -> exp.Expr:
        """A reference to the column of a call; inside an expression any column of the same call will do."""
        name = wanted or self.calls.get(call) or call_text(call)
        if wanted is not None and self.calls.get(call, wanted) != wanted:
            call = replace(call, name=wanted)  # the same call under a second name
        return column(self.calls.setdefault(call, name))

    def _window_part(self, node: exp.Column) -> exp.Expr | None:
        """``window``, ``window.start`` or ``wid`` in the SELECT list of a window aggregate."""
        parts = tuple(p.name for p in node.parts)
        if parts[0].lower() != self.window_column or (self.scope.candidates(parts) and not self.scope.open):
            return None
        tree = column(self.window_column)
        for name in parts[1:]:
            tree = exp.Bracket(this=tree, expressions=[exp.Literal.string(name.lower())])
        return tree

    def _is_key(self, node: exp.Expr, item: Item) -> bool:
        """Whether an expression, which is no column, is grouped by."""
        if node.find(StreamCall) or not node.find(exp.Column) or all(k.scalar.column_name for k in self.keys):
            return False
        try:
            key = self._key(self.expressions.scalar(node, self.scope, item.span))
        except SqlError:
            return False
        return key is not None and key.scalar.column_name is None

    def _call(self, call: StreamCall, item: Item) -> n.AggregateCall:
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
        bound = [] if stars else [self.expressions.bind(e, self.scope, item.span) for e in call.expressions]
        if name == "count" and len(bound) == 1 and isinstance(bound[0], exp.Literal) and not call.args.get("distinct"):
            bound = []  # count(1)
        if not bound and name != "count":
            raise self.error(f"{name} needs a column", place, f"write {name}(column)")
        found = n.AggregateCall("", name, *self._split(bound, name, place), bool(call.args.get("distinct")))
        found = self._with_panes(found, place)
        self._check_function(found, place)
        if call.condition is not None:
            function = resolve(name, found.parameters, found.distinct)
            if not _ignores_nulls(function, max(len(found.arguments), 1)):
                raise self.error(f"FILTER cannot stand behind {name}, which counts nulls too", place,
                                 "write the condition in WHERE" + f", or {name}(x, true)" * function.needs_order)
            found = replace(found, arguments=self._conditional(call, found.arguments, item))
        return found

    def _with_panes(self, call: n.AggregateCall, place: Span) -> n.AggregateCall:
        if call.function not in pane_calls.NAMES:
            return call
        found = pane_calls.completed(call, self.window.clause) if self.window is not None else \
            pane_calls.completed_in_relation(call, self.relation.node, {key.scalar.column_name for key in self.keys})
        if isinstance(found, str):
            raise self.error(found, place, f"write {call.function}(x, 10) over [RANGE 10 minutes, SLIDE 1 minute, "
                                           "WA ts] or [RANGE 100 rows, SLIDE 10 rows, WA row-num], or over [ROWS 100 "
                                           "SLIDE 10], grouped by what it is partitioned by")
        return found

    def _check_function(self, call: n.AggregateCall, place: Span) -> None:
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
        types = [self.relation.types.get(a.column_name or "") for a in call.arguments]
        if any(t is None for t in types):
            return
        try:
            function.result_type(types)
        except PanewiseError as error:
            raise self.error(str(error), place, "cast the column, or choose another function") from error

    def _conditional(self, call: StreamCall, arguments: tuple[Scalar, ...], item: Item) -> tuple[Scalar, ...]:
        """``FILTER (WHERE c)`` of an aggregate that ignores nulls: the argument is null where c does not hold."""
        assert call.condition is not None
        condition = self.expressions.bind(call.condition, self.scope, item.span)
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

    def _projected(self, node: n.Node, items: list[tuple[Item, exp.Expr]],
                   calls: tuple[n.AggregateCall, ...]) -> n.Node:
        """A Project only where an item is more than a key or a call; keys and window always come first."""
        by_sql = {k.scalar.sql: k.name for k in self.keys}
        keys = {k.name for k in self.keys}
        kept = [*(k.name for k in self.keys), *([self.window_column] if self.window_column else [])]
        chosen = [(self._output(item, _over_keys(tree, by_sql), keys), item.span) for item, tree in items]
        self.projector.no_duplicates([(o.name, span) for o, span in chosen])
        asked = [o for o, _ in chosen if not (o.name in kept and o.scalar.column_name == o.name)]
        if sorted(o.name for o in asked) == sorted(c.name for c in calls) and all(
                o.scalar.column_name == o.name for o in asked):
            return node
        self.projector.no_duplicates([*((c, chosen[0][1]) for c in kept),
                                      *((o.name, span) for o, span in chosen if o in asked)])
        return n.Project(node, (*(n.NamedScalar.column(c) for c in kept), *asked))

    def _output(self, item: Item, tree: exp.Expr, keys: set[str]) -> n.NamedScalar:
        scalar = self.expressions.written(tree, item.span)
        plain = scalar.column_name
        if item.alias is None and plain is not None and plain in keys:
            return n.NamedScalar(plain, scalar)
        return n.NamedScalar(item.alias or readable(scalar), scalar)


def call_text(call: n.AggregateCall) -> str:
    """A call as Spark would name its column.

    >>> call_text(n.AggregateCall("", "max", (Scalar("`bid-price`"),))), call_text(n.AggregateCall("", "count"))
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


def _over_keys(tree: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    """Replace the keys' expressions by the keys' columns."""

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Condition):
            name = names.get(to_scalar(node).sql)
            if name is not None:
                return column(name)
        return node

    return tree.copy().transform(visit, copy=False)
