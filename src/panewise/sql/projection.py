"""The SELECT list of a query without aggregates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from panewise.plan.nodes import NamedScalar, Project
from panewise.sql.expressions import Expressions, readable
from panewise.sql.relations import Relation, Scope
from panewise.sql.syntax import Item, Span


class Projector:
    """Binds SELECT lists."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions, self.error = expressions, expressions.error

    def project(self, relation: Relation, scope: Scope, items: Iterable[Item]) -> Relation:
        """The selected columns; ``*`` alone leaves the relation as it is."""
        listed = list(items)
        if len(listed) == 1 and isinstance(listed[0].tree, exp.Star):
            self._no_star_options(listed[0])
            return relation
        chosen: list[tuple[NamedScalar, Item]] = []
        for item in listed:
            chosen.extend((named, item) for named in self._expand(item, relation, scope))
        names = short_names([(n.name, n.scalar.column_name, item.alias) for n, item in chosen])
        outputs = tuple(NamedScalar(name, n.scalar) for name, (n, _) in zip(names, chosen, strict=True))
        self.no_duplicates([(o.name, item.span) for o, (_, item) in zip(outputs, chosen, strict=True)])
        types = {o.name: relation.types[c] for o in outputs
                 if (c := o.scalar.column_name) is not None and c in relation.types}
        time = next((o.name for o in outputs if relation.time and o.scalar.column_name == relation.time), None)
        return replace(relation, node=Project(relation.node, outputs), columns=tuple(o.name for o in outputs),
                       types=types, time=time, open=False)

    def _expand(self, item: Item, relation: Relation, scope: Scope) -> list[NamedScalar]:
        tree = item.tree
        qualifier = _qualified_star(tree)
        if isinstance(tree, exp.Star) or qualifier is not None:
            self._no_star_options(item)
            if item.alias is not None:
                raise self.error("* has no name", item.span, "name the columns one by one")
            return [NamedScalar.column(c) for c in self._star(qualifier, relation, scope, item.span)]
        scalar = self.expressions.scalar(tree, scope, item.span)
        return [NamedScalar(item.alias or readable(scalar), scalar)]

    def _star(self, qualifier: str | None, relation: Relation, scope: Scope, span: Span) -> list[str]:
        inputs = [v for v in scope.inputs if not v.hidden and (
            qualifier is None or (v.alias or "").lower() == qualifier.lower())]
        if not inputs:
            raise self.expressions.no_column((qualifier or "", "*"), scope, span)
        if any(v.open for v in inputs):
            raise self.error("the columns behind * are not known here", span, "name the columns, or select * alone")
        return [name for v in inputs for name in v.shown]

    def _no_star_options(self, item: Item) -> None:
        star = item.tree.find(exp.Star)
        if star is not None and any(star.args.get(option) for option in ("except_", "except", "replace", "rename")):
            raise self.error("* takes no options", item.span, "name the columns one by one")

    def no_duplicates(self, names: Iterable[tuple[str, Span]]) -> None:
        """Every output column has its own name."""
        seen: set[str] = set()
        for name, span in names:
            if name.lower() in seen:
                raise self.error(f"two columns named {name!r}", span, "name one of them with AS")
            seen.add(name.lower())


def short_names(columns: list[tuple[str, str | None, str | None]]) -> list[str]:
    """Output names: the alias, else a join's column without its source where that is unique.

    >>> short_names([("M1.a", "M1.a", None), ("M1.b", "M1.b", None), ("M2.b", "M2.b", None)])
    ['a', 'M1.b', 'M2.b']
    """
    short = [alias or (name.rpartition(".")[2] if plain else name) for name, plain, alias in columns]
    lowered = [s.lower() for s in short]
    return [
        s if alias or lowered.count(s.lower()) == 1 else name
        for s, (name, _, alias) in zip(short, columns, strict=True)
    ]


def _qualified_star(tree: exp.Expr) -> str | None:
    if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star):
        return tree.table
    return None
