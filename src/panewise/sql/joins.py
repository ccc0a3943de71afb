"""Several sources and WHERE: which join, and where each part of the condition goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from panewise.core.errors import SqlError
from panewise.core.join_kinds import JoinKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    AntiJoin,
    Filter,
    Join,
    Node,
    Qualify,
    SemiJoin,
    TableJoin,
)
from panewise.sql.expressions import Expressions, conjuncts
from panewise.sql.relations import BoundWindow, Relation, Scope, Visible
from panewise.sql.sources import BoundSource
from panewise.sql.syntax import ExistsQuery, JoinClause, Query, Select, Span, span_of
from panewise.sql.time_joins import BAND, STATES, TUMBLING, TimeJoins, conjunction


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
        self.by_time = TimeJoins(self.error)

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
            found = self.expressions.written(tree, part.span)
            own = found.columns <= set(inner_columns(inner, tree))
            (local if own else correlated).append(found)
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
        style, kind = self.by_time.style(sources, met), join.kind
        if style == STATES or any(source.relation.table for source in sources):
            raise self.error(f"a {kind.value} join needs two streams with windows on their times", join.span,
                             f"write FROM a [RANGE 5 seconds, WA ts] {kind.value.upper()} JOIN b [RANGE 5 seconds, WA "
                             "ts] ON a.x = b.x, or no windows and both ends of the distance in time: ON a.x = b.x AND "
                             "b.ts - a.ts BETWEEN INTERVAL '0' SECOND AND INTERVAL '5' SECOND; over windows whose rows "
                             "leave again there are EXISTS and NOT EXISTS")
        left, right = (replace(s.relation, node=Qualify(self.by_time.met(s).node, s.alias or "")) for s in sources)
        joined = self._pair(style, left, right, sources, met, sources[-1].window, kind)
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
        style = self.by_time.style(sources, conditions)
        windowed = [s.windowed() if style == STATES else self.by_time.met(s) for s in sources]
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
        last = [source.window for source in sources if not source.relation.table][-1]
        for source, right in zip(sources[1:], inputs[1:], strict=True):
            used.append(source)
            here = [c for c in remaining if c.columns and all(any(_belongs(col, s) for s in used) for col in c.columns)]
            remaining = [c for c in remaining if c not in here]
            left = self._pair(style, left, right, used, here, last)
        return left, remaining

    def _pair(self, style: str, left: Relation, right: Relation, used: list[BoundSource], here: list[Scalar],
              window: BoundWindow | None, kind: JoinKind = JoinKind.INNER) -> Relation:
        """One step; ``window`` is the one behind the last stream, of which buckets are."""
        node: Node
        predicate = conjunction(here) if here else None
        if right.table:
            node = TableJoin(left.node, right.node, predicate)
        elif style == TUMBLING and window is not None:
            node = self.by_time.in_buckets(left.node, right.node, used, window, predicate, kind)
        elif style == BAND:
            node = self.by_time.in_band(left.node, right.node, used, here, kind)
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


def inner_columns(inner: Scope, tree: exp.Expr) -> list[str]:
    """The columns of an expression that belong to these inputs."""
    prefixes = tuple(v.prefix for v in inner.inputs)
    return [c.name for c in tree.find_all(exp.Column) if c.name.startswith(prefixes)]


def _belongs(column: str, source: BoundSource) -> bool:
    return column.startswith(f"{source.alias}.")
