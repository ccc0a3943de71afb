"""Syntax tree and catalog to logical plan: SELECT, set operations, relation-to-stream operators and LIFETIME."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from panewise.core.errors import QuantityError, SqlError
from panewise.core.schema import Catalog
from panewise.plan import nodes as n
from panewise.sql import syntax
from panewise.sql.aggregation import Aggregation
from panewise.sql.expressions import Expressions
from panewise.sql.from_clause import FromBinder
from panewise.sql.generators import GeneratorBinder
from panewise.sql.hints import listed
from panewise.sql.joins import JoinBinder
from panewise.sql.parameters import Parameters
from panewise.sql.parser import STREAM_OPERATORS
from panewise.sql.projection import Projector
from panewise.sql.relations import BoundWindow, Relation, Scope, Visible
from panewise.sql.set_operations import MeetingColumns
from panewise.sql.sources import SourceBinder, apply_window
from panewise.sql.windows.bracket_windows import WindowBinder
from panewise.sql.windows.window_times import with_time
from panewise.windows.count import CountWindow
from panewise.windows.sliding import SlidingWindow


@dataclass(frozen=True)
class _Operator:
    """A relation-to-stream operator around the SELECT list."""

    kind: n.RelationToStreamKind
    restore: bool
    bracket: syntax.Bracket | None
    span: syntax.Span


class Binder:
    """Binds one query text."""

    def __init__(self, text: str, catalog: Catalog, parameters: Parameters, functions: Mapping[str, str], *,
                 lenient: bool) -> None:
        self.expressions = Expressions(text, parameters)
        self.error = self.expressions.error
        self.columns = MeetingColumns(self.error)
        self.windows = WindowBinder(self.expressions)
        self.sources = SourceBinder(catalog, self.windows, self.query)
        self.joins = JoinBinder(self.expressions, self._exists_source)
        self.generators = GeneratorBinder(self.expressions)
        self.from_clause = FromBinder(self.generators, self.joins, self.windows)
        self.projector = Projector(self.expressions)
        self.functions, self.lenient = functions, lenient

    def query(self, query: syntax.Query) -> Relation:
        """A SELECT or a set operation."""
        return self.select(query) if isinstance(query, syntax.Select) else self._set_operation(query)

    # -- set operations ------------------------------------------------------------------------------------------

    def _set_operation(self, query: syntax.SetOperation) -> Relation:
        """A chain of set operations, from left to right; one of unions is one union, however long."""
        first, steps = syntax.chain_of(query)
        relation, i = self.query(first), 0
        while i < len(steps):
            until = next((j for j in range(i, len(steps)) if steps[j].operator == "EXCEPT ALL"), len(steps))
            if until > i:
                relation = self._union(relation, steps[i:until])
            if until < len(steps):
                relation = self._except(relation, steps[until])
            i = until + 1
        return relation

    def _except(self, left: Relation, step: syntax.SetOperation) -> Relation:
        right = self._right_side(left, left.internal, step)
        return replace(left, node=n.BagDifference(left.node, right.node), changing=True,
                       internal=left.internal or right.internal, slides=(*left.slides, *right.slides))

    def _union(self, left: Relation, steps: Sequence[syntax.SetOperation]) -> Relation:
        """Every part up to the last UNION without ALL counts once: what earlier ones leave out, it leaves out, too."""
        parts, relations, internal, every = [left.node], [left], left.internal, -1
        for i, step in enumerate(steps):
            right = self._right_side(left, internal, step)
            internal = internal or right.internal
            parts.append(right.node)
            relations.append(right)
            every = i if step.operator == "UNION" else every
        if every >= 0:
            parts = [n.Distinct(n.Union(tuple(parts[:every + 2]))), *parts[every + 2:]]
        return replace(left, node=n.Union(tuple(parts)) if len(parts) > 1 else parts[0], internal=internal,
                       changing=any(r.changing for r in relations),
                       slides=tuple(slide for r in relations for slide in r.slides))

    def _right_side(self, left: Relation, internal: syntax.Span | None, step: syntax.SetOperation) -> Relation:
        right = self.query(step.right)
        if not (left.open or right.open) and len(left.columns) != len(right.columns):
            raise self.error(f"{step.operator} of {len(left.columns)} and {len(right.columns)} columns", step.span,
                             f"select as many on both sides: {listed(left.columns)} and {listed(right.columns)}")
        self.columns.check(left, right, step)
        inside = internal or right.internal
        if inside is not None and step.operator != "UNION ALL":
            raise self._internal(inside, step.operator)
        return right

    def _internal(self, span: syntax.Span, what: str) -> SqlError:
        return self.error(f"an INTERNAL window under {what}", span,
                          f"remove INTERNAL: rows that left the window must be gone for {what} to mean anything")

    # -- SELECT --------------------------------------------------------------------------------------------------

    def select(self, select: syntax.Select) -> Relation:
        """One SELECT."""
        nested = self._nested_operator(select)
        if nested is not None:
            return self._with_lifetime(nested, select)
        operator, inner = self._operator(select)
        wstream = operator is not None and operator.kind is n.RelationToStreamKind.WSTREAM
        if operator is not None and operator.bracket is not None and any(
                c.exists is not None and c.exists[1] for c in self.joins.conditions(inner)):
            raise self.error("an output window over NOT EXISTS", operator.bracket.span,
                             "it would show rows that are no longer in the answer: remove the window")
        relation = self._body(inner, internal=wstream)
        if inner.distinct:
            if operator is not None and operator.bracket is not None:
                raise self.error("an output window over DISTINCT", operator.bracket.span,
                                 "it would show rows that are no longer in the answer: remove the window or DISTINCT")
            if relation.internal is not None:
                raise self._internal(relation.internal, "DISTINCT")
            relation = replace(relation, node=n.Distinct(relation.node, inner.distinct))
        if operator is not None:
            relation = self._to_stream(relation, operator)
        return self._with_lifetime(relation, select)

    def _body(self, select: syntax.Select, *, internal: bool) -> Relation:
        """FROM, WHERE, GROUP BY and the SELECT list."""
        self._no_windows_in_where(select)
        sources = [self.sources.bind(s, internal=internal) for s in select.sources]
        conditions = self.joins.conditions(select)
        outer = self._aggregate_bracket(select)
        aggregated = bool(select.group_by) or any(i.tree.find(syntax.StreamCall) for i in select.items)
        relation, scope, window = self.from_clause.bind(select.views, sources, conditions, aggregated=aggregated)
        if outer is not None:
            if window is not None or (len(sources) == 1 and sources[0].window is not None):
                raise self.error("two windows, on the aggregate and on its source", outer.span,
                                 "keep one of the two brackets")
            window = self.windows.bind(outer, relation, scope)
        if not aggregated:
            if outer is not None:
                raise self.error("a window behind GROUP BY needs an aggregate", outer.span, "add an aggregate")
            return self.projector.project(*self.generators.selected(relation, scope, select.items))
        if window is not None and internal and not window.clause.internal:
            window = replace(window, clause=replace(window.clause, internal=True))
        if window is not None and window.clause.attribute in n.WINDOW_TIMES and relation.aggregated:
            relation = replace(relation, node=with_time(relation.node, window.clause.attribute))
        if window is not None and relation.changing:
            raise self.error("a window with ids over a relation whose rows leave again", window.span,
                             "give the sources windows with WA, or INTERNAL ones, or leave this window out")
        if window is not None and not window.by_id:
            relation, window = apply_window(relation, window), None
        return self._aggregated(relation, scope, select.items, select.group_by, window)

    def _aggregated(self, relation: Relation, scope: Scope, items: tuple[syntax.Item, ...],
                    group_by: tuple[syntax.Item, ...], window: BoundWindow | None) -> Relation:
        binding = Aggregation(self.expressions, self.projector, self.functions, relation, scope, window,
                              lenient=self.lenient)
        return binding.bind(items, group_by)

    def _aggregate_bracket(self, select: syntax.Select) -> syntax.Bracket | None:
        """The one window of all aggregates: behind a call or behind GROUP BY (rule 12)."""
        calls = [c for i in select.items for c in i.tree.find_all(syntax.StreamCall) if c.this not in STREAM_OPERATORS]
        brackets = [c.bracket for c in calls if c.bracket is not None]
        if select.group_bracket is not None:
            brackets.append(select.group_bracket)
        for other in brackets[1:]:
            if _meaning(other) != _meaning(brackets[0]):
                raise self.error("two different windows in one query", other.span,
                                 "all aggregates of a query share one window: write two queries")
        return brackets[0] if brackets else None

    def _no_windows_in_where(self, select: syntax.Select) -> None:
        for call in select.where.find_all(syntax.StreamCall) if select.where is not None else ():
            self.expressions.refuse(call, syntax.span_of(call, select.where_span or select.span))

    def _exists_source(self, select: syntax.Select) -> tuple[Relation, Scope]:
        """FROM of a sub-query of EXISTS; its WHERE may speak of the query around it and is bound there."""
        if any(c.this not in STREAM_OPERATORS for i in select.items for c in i.tree.find_all(syntax.StreamCall)):
            raise self.error("EXISTS takes a plain SELECT", select.span, "leave out the aggregate: SELECT * FROM ...")
        sources = [self.sources.bind(s) for s in select.sources]
        if select.views:
            raise self.error("LATERAL VIEW in EXISTS", select.views[0].span,
                             "put it in a query in FROM: EXISTS (SELECT * FROM (SELECT ...) AS q WHERE ...)")
        if len(sources) == 1:
            self.joins.check_names(sources)
        relation, scope = self.joins.join(sources, [])
        for item in self._operator(select)[1].items:  # they do not matter, but a wrong name there is still a mistake
            if not isinstance(item.tree, exp.Star):
                self.expressions.bind(item.tree, scope, item.span)
        return relation, scope

    # -- relation to stream --------------------------------------------------------------------------------------

    def _operator(self, select: syntax.Select) -> tuple[_Operator | None, syntax.Select]:
        """``Rstream(...)`` as the only item, and the SELECT inside it."""
        calls = [c for i in select.items for c in i.tree.find_all(syntax.StreamCall) if c.this in STREAM_OPERATORS]
        if not calls:
            return None, select
        call = calls[0]
        shown = _shown(call.this)
        place = syntax.span_of(select.items[0].tree, select.items[0].span)
        if len(select.items) > 1 or select.items[0].tree is not call:
            place = next(i.span for i in select.items if i.tree.find(syntax.StreamCall) and call in list(i.tree.walk()))
            raise self.error(f"{shown} must be the whole SELECT list", place, f"write SELECT {shown}(a, b) FROM ...")
        start = select.items[0].span.start
        operator = self._checked(call, syntax.Span(start, start + len(call.this)))
        if not call.expressions:
            raise self.error(f"{shown}() is empty", place, f"write {shown}(*) or name the columns")
        aliases: list[str | None] = call.args.get("aliases") or []
        pairs = zip(call.expressions, aliases, strict=True)
        items = tuple(syntax.Item(tree, alias, syntax.span_of(tree, place)) for tree, alias in pairs)
        return operator, replace(select, items=items, distinct=select.distinct or call.args.get("distinct") or "")

    def _checked(self, call: syntax.StreamCall, span: syntax.Span) -> _Operator:
        name = call.this.removesuffix(syntax.RESTORE)
        kind = n.RelationToStreamKind(name.capitalize())
        restore = call.this.endswith(syntax.RESTORE)
        if restore and kind not in {n.RelationToStreamKind.ISTREAM, n.RelationToStreamKind.RSTREAM}:
            raise self.error(f"{_shown(call.this)} is not defined", span, "write Istream-restore or Rstream-restore")
        if call.condition is not None:
            raise self.error(f"FILTER cannot stand behind {_shown(call.this)}", span, "write the condition in WHERE")
        if kind is n.RelationToStreamKind.WSTREAM and call.bracket is None:
            raise self.error("Wstream needs an output window", span, "write Wstream(*) [ROWS 10] or [RANGE 1 minute]")
        if kind is not n.RelationToStreamKind.WSTREAM and call.bracket is not None:
            raise self.error(f"an output window stands behind Wstream, not behind {_shown(call.this)}",
                             call.bracket.span, "write Wstream(...) [...], or remove the window")
        return _Operator(kind, restore, call.bracket, span)

    def _to_stream(self, relation: Relation, operator: _Operator) -> Relation:
        if operator.restore and len(set(relation.slides)) > 1:
            raise self.error("restore needs one SLIDE for all windows", operator.span,
                             "give every window of the query the same SLIDE")
        window = None
        if operator.bracket is not None:
            if any(isinstance(below, n.AntiJoin | n.BagDifference | n.Distinct) for below in relation.node.walk()):
                raise self.error("an output window over NOT EXISTS, EXCEPT ALL or DISTINCT", operator.bracket.span,
                                 "it would show rows that are no longer in the answer: remove the window")
            window = self._output_window(operator.bracket, relation)
        node = n.RelationToStream(relation.node, operator.kind, operator.restore, window.clause if window else None)
        return replace(relation, node=node, changing=False, derived=True, internal=None)

    def _output_window(self, bracket: syntax.Bracket, relation: Relation) -> BoundWindow:
        """ROWS or RANGE over the results, ordered by when they came to be."""
        allowed = {"ROWS", "RANGE"}
        wrong = next((c for c in bracket.clauses if c.keyword not in allowed), None)
        if wrong is not None:
            raise self.error(f"an output window takes ROWS or RANGE, not {wrong.keyword}", wrong.span,
                             "write [ROWS 10] or [RANGE 1 minute]")
        window = self.windows.bind(bracket, replace(relation, time=None, derived=True))
        if not isinstance(window.clause.spec, CountWindow | SlidingWindow):
            raise self.error("an output window is ROWS or RANGE", bracket.span, "write [ROWS 10] or [RANGE 1 minute]")
        return window

    def _nested_operator(self, select: syntax.Select) -> Relation | None:
        """``SUM(Wstream(SUM(a)) [ROWS 10])``: an aggregate over the windowed results of the same query."""
        if len(select.items) != 1 or not isinstance(select.items[0].tree, syntax.StreamCall):
            return None
        item, outer = select.items[0], select.items[0].tree
        if outer.this in STREAM_OPERATORS or len(outer.expressions) != 1:
            return None
        inner = outer.expressions[0]
        if not isinstance(inner, syntax.StreamCall) or inner.this not in STREAM_OPERATORS:
            return None
        if select.group_by or outer.bracket is not None or select.distinct or outer.args.get("distinct"):
            raise self.error("an aggregate over a stream operator takes no GROUP BY, DISTINCT or window", item.span,
                             "write a sub-query: SELECT ... FROM (SELECT ... ) [ROWS 10] GROUP BY ...")
        operand = syntax.Item(inner, None, syntax.span_of(inner, item.span))
        results = self.select(replace(select, items=(operand,), lifetime=None))
        if len(results.columns) != 1:
            raise self.error(f"{outer.this} needs one column, {_shown(inner.this)} gives {len(results.columns)}",
                             item.span, "select one column inside")
        scope = Scope((Visible(None, results.columns),))
        call = outer.copy()
        call.set("expressions", [exp.column(exp.to_identifier(results.columns[0], quoted=True))])
        outermost = (syntax.Item(call, item.alias, item.span),)
        return self._aggregated(replace(results, aggregated=False), scope, outermost, (), None)

    # -- LIFETIME ------------------------------------------------------------------------------------------------

    def _with_lifetime(self, relation: Relation, select: syntax.Select) -> Relation:
        clause = select.lifetime
        if clause is None or clause.amount is None:
            return relation
        quantity = self.windows.quantity(clause.amount)
        try:
            amount = relation.clock.amount(quantity)
        except QuantityError as error:
            raise self.error(f"LIFETIME: {error}", clause.amount.span, "write LIFETIME 1 hour, or the like") from error
        return replace(relation, node=n.Lifetime(relation.node, amount))


def _shown(name: str) -> str:
    return name[0].upper() + name[1:]


def _meaning(bracket: syntax.Bracket) -> object:
    """What a bracket says, wherever it stands and in whatever order."""
    if bracket.signature is not None:
        return bracket.signature.name
    return frozenset(
        (c.keyword, str(getattr(c.amount, "number", getattr(c.amount, "name", ""))),
         str(getattr(c.amount, "unit", "")).lower(), tuple(str(name) for name in c.names),
         str(getattr(c.constant, "value", getattr(c.constant, "name", ""))),
         "" if c.condition is None else c.condition.sql(), c.rank)
        for c in bracket.clauses
    )
