"""Outer, semi and anti joins of what windows hold: at every instant the pairs, and the rows that meet none.

They are made of operators that there are. A row without a partner is one that NOT EXISTS shows, beside nulls, and both
kinds of rows together are a UNION ALL; the rows that have a partner are those that EXISTS shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from panewise.core.errors import SqlError
from panewise.core.join_kinds import LEFT, RIGHT, JoinKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.planner.facts.same_instant import meets_at_birth
from panewise.sql.relations import Relation
from panewise.sql.sources import BoundSource
from panewise.sql.syntax import JoinClause, Span
from panewise.sql.time_joins import conjunction

NULL = Scalar.of(exp.Null())


class StateJoins:
    """Joins two sources that are relations, tables among them."""

    def __init__(self, error: Callable[[str, Span, str], SqlError]) -> None:
        self.error = error

    def outer(self, sources: Sequence[BoundSource], met: Sequence[Scalar], join: JoinClause) -> Relation:
        """The join of ``sources`` where all of ``met`` holds."""
        kind = join.kind
        self._check(sources, join)
        inputs = [source.windowed() for source in sources]
        left, right = (n.Qualify(relation.node, source.alias or "") for relation, source in zip(inputs, sources,
                                                                                              strict=True))
        condition = conjunction(list(met)) if met else None
        node: n.Node
        if kind is JoinKind.SEMI:
            node = n.SemiJoin(left, right, condition)
        elif kind is JoinKind.ANTI:
            node = n.AntiJoin(left, right, condition)
        else:
            parts: list[n.Node] = [n.Join(left, right, condition)]
            if LEFT in kind.preserved:
                parts.append(_beside_nulls(n.AntiJoin(left, right, condition), (*left.columns, *right.columns)))
            if RIGHT in kind.preserved:
                parts.append(_beside_nulls(n.AntiJoin(right, left, condition), (*left.columns, *right.columns)))
            node = n.Union(tuple(parts))
        shown = zip(inputs[:1] if kind.left_only else inputs, sources, strict=False)
        types = {f"{source.alias}.{name}": data_type for relation, source in shown
                 for name, data_type in relation.types.items()}
        return Relation(node, node.columns, types, None, inputs[LEFT].clock, any(relation.open for relation in inputs),
                        changing=any(relation.changing for relation in inputs) or
                        (kind is not JoinKind.SEMI and not meets_at_birth(n.AntiJoin(left, right, condition))),
                        derived=True, slides=tuple(slide for relation in inputs for slide in relation.slides))

    def _check(self, sources: Sequence[BoundSource], join: JoinClause) -> None:
        name = join.kind.value
        for source in sources:
            relation = source.windowed()
            if relation.internal is not None:
                raise self.error(f"an INTERNAL window in a {name} join", relation.internal,
                                 "remove INTERNAL: which rows have no partner follows from the rows that are there")
            if relation.table and next(node.schema for node in relation.node.walk()
                                       if isinstance(node, n.Table)).kind is not SourceKind.RELATION:
                raise self.error(f"a {name} join with a table whose changes do not reach back", source.span,
                                 "join it without LEFT, RIGHT, FULL, SEMI or ANTI, or declare the table a retroactive "
                                 "relation: pw.table(..., retroactive=True)")
            if not relation.columns and not join.kind.left_only:
                raise self.error(f"a {name} join needs the columns of both sides", source.span,
                                 "declare the columns of the stream, or select some in a sub-query")


def _beside_nulls(alone: n.Node, columns: Sequence[str]) -> n.Node:
    """Rows of one side, with nulls in the columns of the other."""
    items = tuple(n.NamedScalar.column(name) if name in alone.columns else n.NamedScalar(name, NULL)
                  for name in columns)
    return n.Project(alone, items)
