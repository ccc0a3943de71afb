"""Several sources and WHERE: which join, and where each part of the condition goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from panewise.core.join_kinds import JoinKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.planner.facts.same_instant import meets_at_birth
from panewise.sql.expressions import Expressions, conjuncts
from panewise.sql.relations import BoundWindow, Relation, Scope, Visible
from panewise.sql.sources import BoundSource
from panewise.sql.state_joins import StateJoins
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


class JoinBinder:
    """Puts sources together."""

    def __init__(self, expressions: Expressions, inner: Callable[[Select], tuple[Relation, Scope]]) -> None:
        self.expressions, self.inner, self.error = expressions, inner, expressions.error
        self.by_time, self.states = TimeJoins(self.error), StateJoins(self.error)

    # -- conditions ----------------------------------------------------------------------------------------------

    def conditions(self, select: Select) -> list[Condition]:
        """The parts of WHERE."""
        span = select.where_span or select.span
        return [Condition(tree, span_of(tree, span)) for tree in conjuncts(select.where)]

    def filtered(self, relation: Relation, scope: Scope, conditions: list[Condition]) -> Relation:
        """Plain conditions as one Filter, then each EXISTS as a join of its own."""
        plain = [self.expressions.scalar(c.tree, scope, c.span) for c in conditions if c.exists is None]
        if plain:
            relation = replace(relation, node=n.Filter(relation.node, conjunction(plain)))
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
        right, inner = self.inner(query)
        clash = next((a for a in inner.aliases() if scope.has_input(a)), None)
        if clash is not None:
            raise self.error(f"the sub-query uses the name {clash!r} of the query around it", condition.span,
                             f"give the inner one another name: {clash} AS other")
        if negated and (relation.internal or right.internal):
            place = relation.internal or right.internal or condition.span
            raise self.error("an INTERNAL window under NOT EXISTS", place,
                             "remove INTERNAL: rows that left the window must be gone for NOT EXISTS to mean anything")
        if all(not v.prefix for v in inner.inputs):
            only = inner.inputs[0]
            right = replace(right, node=n.Qualify(right.node, only.alias or ""))
            inner = Scope((replace(only, prefix=f"{only.alias}."),))
        both = Scope((*inner.inputs, *scope.inputs))
        local: list[Scalar] = []
        correlated: list[Scalar] = []
        for part in self.conditions(query):
            if part.exists is not None:
                raise self.error("EXISTS inside EXISTS", part.span, "take the query apart, one EXISTS beside the other")
            tree = self.expressions.bind(part.tree, both, part.span, first=inner)
            found = self.expressions.written(tree, part.span)
            own = found.columns <= set(inner_columns(inner, tree))
            (local if own else correlated).append(found)
        node = n.Filter(right.node, conjunction(local)) if local else right.node
        made = (n.AntiJoin if negated else n.SemiJoin)(relation.node, node,
                                                       conjunction(correlated) if correlated else None)
        return replace(
            relation, node=made, slides=(*relation.slides, *right.slides), internal=relation.internal,
            changing=relation.changing or right.changing or (negated and not meets_at_birth(made)),
        )

    # -- several sources -----------------------------------------------------------------------------------------

    def join(self, sources: list[BoundSource], conditions: list[Condition]) -> tuple[Relation, Scope]:
        """Left-deep joins in the order of FROM; each condition at the lowest place that has its columns."""
        if len(sources) == 1:
            scope = Scope((Visible.of(sources[0].alias, sources[0].relation),))
            return self.filtered(sources[0].windowed(), scope, conditions), scope
        self.check_names(sources)
        outer = next((source.join for source in sources if source.join is not None), None)
        if outer is not None and len(sources) > 2:
            raise self.error(f"a {outer.kind.value} join joins two streams, here are {len(sources)}", outer.span,
                             "join the others in a sub-query")
        scope = Scope(tuple(Visible.of(s.alias, s.relation, f"{s.alias}.") for s in sources))
        written, sources = sources, self._streams_first(sources)
        if outer is not None:
            return self._with_partners_or_not(sources, scope, outer, conditions)
        plain = [(c, self.expressions.scalar(c.tree, scope, c.span)) for c in conditions if c.exists is None]
        joined, rest = self._steps(sources, [scalar for _, scalar in plain])
        if rest:
            joined = replace(joined, node=n.Filter(joined.node, conjunction(rest)))
        joined = self.filtered(joined, scope, [c for c in conditions if c.exists is not None])
        if sources != written and not joined.open:  # columns stand as the text has them
            names = tuple(f"{source.alias}.{column}" for source in written for column in source.relation.columns)
            node = n.Project(joined.node, tuple(map(n.NamedScalar.column, names)))
            joined = replace(joined, node=node, columns=names)
        return joined, scope

    def _with_partners_or_not(self, sources: list[BoundSource], scope: Scope, join: JoinClause,
                              conditions: list[Condition]) -> tuple[Relation, Scope]:
        """An outer, semi or anti join of two sources: ON decides who meets, WHERE looks at what comes out."""
        parts = [Condition(tree, span_of(tree, join.span)) for tree in conjuncts(join.condition)]
        if any(part.exists is not None for part in parts):
            raise self.error("EXISTS in ON", join.span, "write it in WHERE")
        met = [self.expressions.scalar(part.tree, scope, part.span) for part in parts]
        kind = join.kind
        style = self.by_time.style(sources, met, kind)
        if style == STATES or any(source.relation.table for source in sources):
            joined = self.states.outer(sources, met, join)
            return self._of_kind(joined, scope, conditions, kind)
        left, right = (replace(s.relation, node=n.Qualify(self.by_time.met(s).node, s.alias or "")) for s in sources)
        joined = self._pair(style, left, right, sources, met, sources[-1].window, kind)
        return self._of_kind(joined, scope, conditions, kind)

    def _of_kind(self, joined: Relation, scope: Scope, conditions: list[Condition],
                 kind: JoinKind) -> tuple[Relation, Scope]:
        scope = Scope(scope.inputs[:1]) if kind.left_only else scope
        return self.filtered(joined, scope, conditions), scope

    def _streams_first(self, sources: list[BoundSource]) -> list[BoundSource]:
        """Tables that stand before all streams behind them, where their place does not matter.

        It does where a table changes and its changes do not reach back: a row of one stream meets it as it was before
        this row, and a pair of two as it was before the pair.
        """
        streams = [place for place, source in enumerate(sources) if not source.relation.table]
        moved = sources[: streams[0]] if streams else list(sources)
        for source in moved:
            schema = next(node.schema for node in source.relation.node.walk() if isinstance(node, n.Table))
            if schema.kind is SourceKind.RELATION:
                continue
            if not streams:
                raise self.error("no stream meets this table", source.span,
                                 "name a stream beside it, or declare the table a retroactive relation: "
                                 "pw.table(..., retroactive=True)")
            if len(streams) > 1 and schema.time is not None:
                raise self.error("a table that changes stands before several streams", source.span,
                                 "name it behind the stream whose rows are to meet it, or behind all of them for it to "
                                 "meet what these make together")
        return [*sources[len(moved) :], *moved]

    def check_names(self, sources: list[BoundSource]) -> None:
        """Every source has a name of its own."""
        seen: dict[str, BoundSource] = {}
        for source in sources:
            if source.alias is None:
                raise self.error("this source needs a name", source.span, "write AS name behind it")
            if source.alias.lower() in seen:
                raise self.error(f"two sources are named {source.alias!r}", source.span,
                                 f"name one of them: {source.alias} AS other")
            seen[source.alias.lower()] = source

    def _steps(self, sources: list[BoundSource], conditions: list[Scalar]) -> tuple[Relation, list[Scalar]]:
        style = self.by_time.style(sources, conditions)
        windowed = [s.windowed() if style == STATES else self.by_time.met(s) for s in sources]
        inputs: list[Relation] = []
        remaining = list(conditions)
        for source, relation in zip(sources, windowed, strict=True):
            node: n.Node = n.Qualify(relation.node, source.alias or "")
            own = [c for c in remaining if c.columns and all(_belongs(col, source) for col in c.columns)]
            remaining = [c for c in remaining if c not in own]
            if own and not relation.table:
                node = n.Filter(node, conjunction(own))
            elif own:
                remaining.extend(own)
            inputs.append(replace(relation, node=node))
        left, used = inputs[0], [sources[0]]
        last = next((source.window for source in reversed(sources) if not source.relation.table), None)
        for source, right in zip(sources[1:], inputs[1:], strict=True):
            used.append(source)
            here = [c for c in remaining if c.columns and all(any(_belongs(col, s) for s in used) for col in c.columns)]
            remaining = [c for c in remaining if c not in here]
            left = self._pair(style, left, right, used, here, last)
        return left, remaining

    def _pair(self, style: str, left: Relation, right: Relation, used: list[BoundSource], here: list[Scalar],
              window: BoundWindow | None, kind: JoinKind = JoinKind.INNER) -> Relation:
        """One step; ``window`` is the one behind the last stream, of which buckets are."""
        node: n.Node
        predicate = conjunction(here) if here else None
        if right.table and not left.table:
            node = n.TableJoin(left.node, right.node, predicate)
        elif style == TUMBLING and window is not None:
            node = self.by_time.in_buckets(left.node, right.node, used, window, predicate, kind)
        elif style == BAND:
            node = self.by_time.in_band(left.node, right.node, used, here, kind)
        else:
            node = n.Join(left.node, right.node, predicate)
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
