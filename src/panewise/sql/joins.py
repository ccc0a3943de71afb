"""Several sources and WHERE: which join, and where each part of the condition goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from panewise.core.errors import PanewiseError, SqlError
from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    AntiJoin,
    BandJoin,
    Filter,
    Join,
    Node,
    Qualify,
    SemiJoin,
    TableJoin,
    TumblingJoin,
)
from panewise.sql.bands import TimeBand, Times, of_windows
from panewise.sql.expressions import Expressions, conjuncts, to_scalar
from panewise.sql.relations import Relation, Scope, Visible
from panewise.sql.sources import BoundSource
from panewise.sql.syntax import ExistsQuery, JoinClause, Query, Select, Span, span_of
from panewise.windows.sliding import SlidingWindow


@dataclass(frozen=True)
class Condition:
    """One part of WHERE between ANDs."""

    tree: exp.Expr
    span: Span

    @property
    def exists(self) -> tuple[ExistsQuery, bool] | None:
        """The EXISTS this part is, and whether it is negated."""
        tree, negated = self.tree, False
        while isinstance(tree, exp.Not | exp.Paren):
            negated ^= isinstance(tree, exp.Not)
            tree = tree.this
        return (tree, negated) if isinstance(tree, ExistsQuery) else None


@dataclass(frozen=True)
class Joined:
    """What FROM and WHERE came to."""

    relation: Relation
    scope: Scope


class JoinBinder:
    """Puts sources together."""

    def __init__(self, expressions: Expressions, inner: Callable[[Select], tuple[Relation, Scope, str]]) -> None:
        self.expressions, self.inner = expressions, inner

    def error(self, problem: str, span: Span, hint: str = "") -> SqlError:
        """An error at a place of the text."""
        return self.expressions.error(problem, span, hint)

    # -- conditions ----------------------------------------------------------------------------------------------

    def conditions(self, select: Select) -> list[Condition]:
        """The parts of WHERE."""
        span = select.where_span or select.span
        return [Condition(tree, span_of(tree, span)) for tree in conjuncts(select.where)]

    def filtered(self, relation: Relation, scope: Scope, conditions: list[Condition]) -> Relation:
        """Plain conditions as one Filter, then each EXISTS as a join of its own."""
        plain = [self.expressions.scalar(c.tree, scope, c.span) for c in conditions if c.exists is None]
        if plain:
            relation = replace(relation, node=Filter(relation.node, conjunction(plain)))
        for condition in conditions:
            if condition.exists is not None:
                relation = self._exists(relation, scope, condition)
        return relation

    def _exists(self, relation: Relation, scope: Scope, condition: Condition) -> Relation:
        assert condition.exists is not None
        exists, negated = condition.exists
        query: Query = exists.query
        if not isinstance(query, Select) or query.group_by or query.lifetime:
            raise self.error("EXISTS takes a plain SELECT", condition.span,
                             "write EXISTS (SELECT * FROM stream [...] WHERE ...) without UNION, GROUP BY or LIFETIME")
        right, inner, alias = self.inner(query)
        clash = next((a for a in inner.aliases() if scope.has_input(a)), None)
        if clash is not None:
            raise self.error(f"the sub-query uses the name {clash!r} of the query around it", condition.span,
                             f"give the inner one another name: {clash} AS other")
        if negated and (relation.internal or right.internal):
            place = relation.internal or right.internal or condition.span
            raise self.error("an INTERNAL window under NOT EXISTS", place,
                             "remove INTERNAL: rows that left the window must be gone for NOT EXISTS to mean anything")
        if all(not v.prefix for v in inner.inputs):
            right = replace(right, node=Qualify(right.node, alias))
            inner = Scope(tuple(replace(v, alias=v.alias or alias, prefix=f"{alias}.") for v in inner.inputs))
        both = Scope((*inner.inputs, *scope.inputs))
        local: list[Scalar] = []
        correlated: list[Scalar] = []
        for part in self.conditions(query):
            if part.exists is not None:
                raise self.error("EXISTS inside EXISTS", part.span, "take the query apart, one EXISTS beside the other")
            tree = self._correlated(part, inner, both)
            own = to_scalar(tree).columns <= set(inner_columns(inner, tree))
            (local if own else correlated).append(to_scalar(tree))
        node = Filter(right.node, conjunction(local)) if local else right.node
        join = AntiJoin if negated else SemiJoin
        return replace(
            relation, node=join(relation.node, node, conjunction(correlated) if correlated else None),
            changing=relation.changing or negated or right.changing, slides=(*relation.slides, *right.slides),
            internal=relation.internal,
        )

    def _correlated(self, part: Condition, inner: Scope, both: Scope) -> exp.Expr:
        """Names of the inner query come first; only what it does not have is looked up outside."""

        def visit(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column):
                parts = tuple(p.name for p in node.parts)
                scope = inner if inner.candidates(parts) else both
                found = self.expressions.leaf(node, scope, part.span)
                return node if found is None else found
            replaced = self.expressions.leaf(node, both, part.span)
            if replaced is not None:
                return replaced
            self.expressions.refuse(node, part.span)
            return node

        return part.tree.copy().transform(visit, copy=False)

    # -- several sources -----------------------------------------------------------------------------------------

    def join(self, sources: list[BoundSource], conditions: list[Condition], outer: JoinClause | None = None) -> Joined:
        """Left-deep joins in the order of FROM; each condition at the lowest place that has its columns."""
        self._check_names(sources)
        scope = Scope(tuple(self._visible(s) for s in sources))
        if outer is not None:
            return self._with_partners_or_not(sources, scope, outer, conditions)
        plain = [(c, self.expressions.scalar(c.tree, scope, c.span)) for c in conditions if c.exists is None]
        joined, rest = self._steps(sources, [scalar for _, scalar in plain])
        if rest:
            joined = replace(joined, node=Filter(joined.node, conjunction(rest)))
        for condition in conditions:
            if condition.exists is not None:
                joined = self._exists(joined, scope, condition)
        return Joined(joined, scope)

    def _with_partners_or_not(self, sources: list[BoundSource], scope: Scope, join: JoinClause,
                              conditions: list[Condition]) -> Joined:
        """An outer, semi or anti join of two streams: ON decides who meets, WHERE looks at what comes out."""
        parts = [Condition(tree, span_of(tree, join.span)) for tree in conjuncts(join.condition)]
        if any(part.exists is not None for part in parts):
            raise self.error("EXISTS in ON", join.span, "write it in WHERE")
        met = [self.expressions.scalar(part.tree, scope, part.span) for part in parts]
        style, kind = self._style(sources, met), join.kind
        if style == "states" or any(source.relation.table for source in sources):
            raise self.error(f"a {kind.value} join needs two streams with windows on their times", join.span,
                             f"write FROM a [RANGE 5 seconds, WA ts] {kind.value.upper()} JOIN b [RANGE 5 seconds, WA "
                             "ts] ON a.x = b.x, or no windows and both ends of the distance in time: ON a.x = b.x AND "
                             "b.ts - a.ts BETWEEN INTERVAL '0' SECOND AND INTERVAL '5' SECOND; over windows whose rows "
                             "leave again there are EXISTS and NOT EXISTS")
        left, right = (replace(s.relation, node=Qualify(self._met(s).node, s.alias or "")) for s in sources)
        joined = self._pair(style, left, right, sources, met, kind)
        if kind.left_only:
            scope = Scope(scope.inputs[:1])
        return Joined(self.filtered(joined, scope, conditions), scope)

    def _check_names(self, sources: list[BoundSource]) -> None:
        seen: dict[str, BoundSource] = {}
        for source in sources:
            if source.alias is None:
                raise self.error("this source needs a name", source.span, "write AS name behind it")
            if source.alias.lower() in seen:
                raise self.error(f"two sources are named {source.alias!r}", source.span,
                                 f"name one of them: {source.alias} AS other")
            seen[source.alias.lower()] = source

    @staticmethod
    def _visible(source: BoundSource) -> Visible:
        return Visible.of(source.alias, source.relation, f"{source.alias}.")

    def _steps(self, sources: list[BoundSource], conditions: list[Scalar]) -> tuple[Relation, list[Scalar]]:
        style = self._style(sources, conditions)
        windowed = [s.windowed() if style == "states" else self._met(s) for s in sources]
        inputs: list[Relation] = []
        remaining = list(conditions)
        for source, relation in zip(sources, windowed, strict=True):
            node: Node = Qualify(relation.node, source.alias or "")
            own = [c for c in remaining if c.columns and all(_belongs(col, source) for col in c.columns)]
            remaining = [c for c in remaining if c not in own]
            if own and not relation.table:
                node = Filter(node, conjunction(own))
            elif own:
                remaining.extend(own)
            inputs.append(replace(relation, node=node))
        left, used = inputs[0], [sources[0]]
        if left.table:
            raise self.error("a table cannot be the first source", sources[0].span, "name a stream before the table")
        for source, right in zip(sources[1:], inputs[1:], strict=True):
            used.append(source)
            here = [c for c in remaining if c.columns and all(any(_belongs(col, s) for s in used) for col in c.columns)]
            remaining = [c for c in remaining if c not in here]
            left = self._pair(style, left, right, used, here)
        return left, remaining

    def _pair(self, style: str, left: Relation, right: Relation, used: list[BoundSource],
              here: list[Scalar], kind: JoinKind = JoinKind.INNER) -> Relation:
        node: Node
        predicate = conjunction(here) if here else None
        if right.table:
            node = TableJoin(left.node, right.node, predicate)
        elif style == "tumbling":
            node = self._tumbling_join(left.node, right.node, used, predicate, kind)
        elif style == "band":
            node = self._band_join(left.node, right.node, used, here, kind)
        else:
            node = Join(left.node, right.node, predicate)
        prefixed = {} if kind.left_only else {f"{used[-1].alias}.{c}": t for c, t in right.types.items()}
        if len(used) == 2:
            prefixed |= {f"{used[0].alias}.{c}": t for c, t in left.types.items()}
        else:
            prefixed |= dict(left.types)
        return Relation(
            node, node.columns, prefixed, None, left.clock, left.open or right.open,
            changing=left.changing or right.changing, derived=True,
            internal=left.internal or right.internal, slides=(*left.slides, *right.slides),
        )

    # -- which join ----------------------------------------------------------------------------------------------

    def _style(self, sources: list[BoundSource], conditions: list[Scalar]) -> str:
        """Band join, tumbling join, or a join of window states."""
        streams = [s for s in sources if not s.relation.table]
        if len(streams) == 2 and streams == sources[:2] and all(s.window is None for s in streams) \
                and self._band(streams, conditions)[0].bounded:
            return "band"
        last = streams[-1].window
        if last is not None and last.tumbling and all(s.window is None for s in streams[:-1]):
            self._two(streams, "RANGE TUMBLING joins", last.span)
            return "tumbling"
        by_id = [s for s in streams if s.window is not None and s.window.by_id]
        if not by_id:
            return "states"
        other = next((s for s in streams if s not in by_id), None)
        if other is not None:
            hint = "give every source a window with WA, or write none with WA"
            if any(s.window is not None and s.window.tumbling for s in by_id):
                hint = "write RANGE TUMBLING once, behind the last source"
            raise self.error("a join of a window with WA and one without", other.span, hint)
        windows = [s.window for s in by_id if s.window is not None]
        if any(w.has_slide or w.tumbling or not isinstance(w.clause.spec, SlidingWindow)
               or w.clause.ordinal is OrdinalKind.ROWS for w in windows):
            return "states"
        self._two(streams, "windows with WA join", by_id[-1].span)
        return "band"

    def _two(self, streams: list[BoundSource], what: str, span: Span) -> None:
        if len(streams) != 2:
            raise self.error(f"{what} two streams, here are {len(streams)}", span,
                             "write windows without WA on each source, or join in a sub-query")

    def _met(self, source: BoundSource) -> Relation:
        """The rows of a source that a join by times looks at: those that its window takes."""
        window = source.window
        if window is None:
            return source.relation
        spec, clause = window.clause.spec, window.clause
        wrong = {"LAG": getattr(spec, "lag", 0), "ORIGIN": getattr(spec, "origin", 0),
                 "PA": clause.partition or window.sliced_by}
        for keyword, given in wrong.items():
            if given:
                hint = "write the columns that must be equal in WHERE" if keyword == "PA" else \
                    "remove it; WHERE can say how far apart the times are: b.ts BETWEEN a.ts AND a.ts + INTERVAL ..."
                raise self.error(f"{keyword} means nothing where two streams meet by their times", window.span, hint)
        if clause.predicate is None:
            return source.relation
        return replace(source.relation, node=Filter(source.relation.node, clause.predicate))

    def _tumbling_join(self, left: Node, right: Node, used: list[BoundSource], predicate: Scalar | None,
                       kind: JoinKind) -> Node:
        first, second = used[0], used[1]
        window = second.window
        assert window is not None
        assert window.range is not None
        attribute = window.clause.attribute
        if first.relation.find(attribute) is None:
            raise self.error(f"{first.alias} has no column {attribute!r}", window.span,
                             "name a column that both sources have")
        other = first.relation.find(attribute) or attribute
        return TumblingJoin(left, right, f"{first.alias}.{other}", f"{second.alias}.{attribute}", window.range,
                            predicate, kind=kind)

    def _band_join(self, left: Node, right: Node, used: list[BoundSource], conditions: list[Scalar],
                   kind: JoinKind) -> Node:
        """Windows give a band, and so do conditions on the distance of the times; what is inside both meets."""
        band, rest = self._band(used, conditions)
        one, two = used[0].window, used[1].window
        if one is not None and two is not None:
            assert one.range is not None
            assert two.range is not None
            band = band.within(of_windows(one.range, two.range))
        assert band.low is not None
        assert band.high is not None
        if band.empty:
            raise self.error("no two rows can meet: the time between them ends before it begins", used[1].span,
                             "exchange the two ends, or look at the sign: b.ts - a.ts is how much later b is")
        one_time, other_time = (f"{source.alias}.{_time(source)}" for source in used[:2])
        return BandJoin(left, right, one_time, other_time, band.high.at, -band.low.at,
                        conjunction(rest) if rest else None, band.bounds, kind=kind)

    def _band(self, streams: list[BoundSource], conditions: list[Scalar]) -> tuple[TimeBand, list[Scalar]]:
        """What conditions say about the distance of the times of two streams, and the other conditions."""
        first, second = streams[:2]
        one, two = _time(first), _time(second)
        if one is None or two is None or any(s.relation.changing for s in streams):
            return TimeBand(), conditions
        kinds = {_kind(source, name) for source, name in ((first, one), (second, two))}
        if len(kinds) > 1:
            return TimeBand(), conditions
        try:
            return Times(f"{first.alias}.{one}", f"{second.alias}.{two}", kinds.pop()).split(conditions)
        except PanewiseError as error:
            raise self.error(str(error), second.span, "write a time of fixed length, such as INTERVAL '10' SECOND") \
                from error


def conjunction(scalars: list[Scalar]) -> Scalar:
    """All of them, with AND.

    >>> conjunction([Scalar("a = 1"), Scalar("b = 1 OR c = 2")]).sql
    'a = 1 AND (b = 1 OR c = 2)'
    """
    if len(scalars) == 1:
        return scalars[0]
    return to_scalar(exp.and_(*(s.tree for s in scalars)))


def inner_columns(inner: Scope, tree: exp.Expr) -> list[str]:
    """The columns of an expression that belong to these inputs."""
    prefixes = tuple(v.prefix for v in inner.inputs)
    return [c.name for c in tree.find_all(exp.Column) if c.name.startswith(prefixes)]


def _belongs(column: str, source: BoundSource) -> bool:
    return column.startswith(f"{source.alias}.")


def _time(source: BoundSource) -> str | None:
    """The column of a source that its window is on, else its time."""
    return source.relation.time if source.window is None else source.window.clause.attribute


def _kind(source: BoundSource, name: str) -> OrdinalKind:
    if source.window is not None:
        return source.window.clause.ordinal
    known = source.relation.types.get(name)
    return source.relation.clock if known is None else OrdinalKind.of(known, name)
