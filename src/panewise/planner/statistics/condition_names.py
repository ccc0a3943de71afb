"""The names by which shares of rows are known: conditions on columns of sources, whatever they are called on the way.

A condition is renamed as it moves through a plan (```S1.b` > 3`` below an alias is ``b > 3``), and two conditions of
different streams may read alike. What was declared or measured of one belongs to all its forms, and to no other. A
condition on a union speaks of a column of every part, and so has a name for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice, product

from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.rewrites.columns import by_position
from panewise.planner.rewrites.scalars import conjuncts, substituted
from panewise.planner.statistics.relation_statistics import RelationStatistics

ALTERNATIVES = 8
"""Names of one condition that are looked at: unions of many parts have more."""
TAKES_BACK = (n.SemiJoin, n.AntiJoin, n.BagDifference)
"""Operators of which the share that leaves early is known."""
Origins = dict[str, Scalar]


def keys_of(part: Scalar, *over: n.Node) -> tuple[str, ...]:
    """The names of one part of a condition over one input, or over the two of a join."""
    found = [_ordered(substituted(part, origins)) for origins in _beside(part.columns, over)]
    return tuple(dict.fromkeys(found))


def taking_back_key(node: n.SemiJoin | n.AntiJoin | n.BagDifference) -> str:
    """The name of a negation: what links its sides, or whose rows take results back if nothing does."""
    if not isinstance(node, n.BagDifference):
        links = [part for part in conjuncts(node.predicate)
                 if len({node.right.has(c) for c in part.columns}) == 2]
        if links:
            return " AND ".join(sorted(keys_of(part, node.left, node.right)[0] for part in links))
    names = sorted({below.name for below in node.right.walk() if isinstance(below, n.Named)})
    return f"{'EXCEPT ALL' if isinstance(node, n.BagDifference) else 'EXISTS'} {', '.join(names)}"


def known_share(known: Mapping[str, float], part: Scalar, *over: n.Node) -> float | None:
    """What is known of a part, by its names or as it reads; the mean where the parts of a union differ."""
    found = [known[key] for key in keys_of(part, *over) if key in known]
    return sum(found) / len(found) if found else known.get(part.sql)


def spread(share: float, keys: Iterable[tuple[str, ...]]) -> dict[str, float]:
    """A share of a whole condition as shares of its parts, whose product it is wherever they go.

    >>> spread(0.25, [("a > 1",), ("b > 1", "c > 1")])
    {'a > 1': 0.5, 'b > 1': 0.5, 'c > 1': 0.5}
    """
    names = list(keys)
    return {key: share ** (1 / len(names)) for names_of_one in names for key in names_of_one}


def resolved(plan: n.Node, statistics: RelationStatistics) -> RelationStatistics:
    """Statistics with the shares of conditions as a query writes them under the names all plans of it know.

    Columns are written as `explain` shows them: ``S1.b > 3`` or ```S1.b` > 3``, and ``b > 3`` where there is one input.
    """
    if not statistics.passing and not statistics.premature:
        return statistics
    passing: dict[str, float] = {}
    for text, share in statistics.passing.items():
        passing |= spread(share, [(part.sql,) for part in conjuncts(Scalar(_flat(text)))])
    premature = {_flat(text): share for text, share in statistics.premature.items()}
    named: dict[str, float] = {}
    early: dict[str, float] = {}
    for node in plan.walk():
        predicate = node.condition
        named |= {key: passing[part.sql] for part in conjuncts(predicate) if part.sql in passing
                  for key in keys_of(part, *node.inputs)}
        if isinstance(node, TAKES_BACK) and predicate is not None and predicate.sql in premature:
            early[taking_back_key(node)] = premature[predicate.sql]
    written = {predicate.sql for node in plan.walk() if (predicate := node.condition) is not None}
    parts = {part.sql for node in plan.walk() for part in conjuncts(node.condition)}
    return replace(statistics, passing={**{k: v for k, v in passing.items() if k not in parts}, **named},
                   premature={**{k: v for k, v in premature.items() if k not in written}, **early})


def _flat(text: str) -> str:
    """A condition as plans have it: a column of an input is one name."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.table:
            return exp.column(exp.to_identifier(f"{node.table}.{node.name}", quoted=True))
        return node

    try:
        return Scalar.of(Scalar.parse(text).tree.transform(visit)).sql
    except SqlglotError:  # the name of a negation without a condition
        return text


def _ordered(part: Scalar) -> str:
    """The text of a part; of an equality with its sides in order."""
    from sqlglot import exp

    tree = part.tree
    if isinstance(tree, exp.EQ):
        return " = ".join(sorted(Scalar.of(side).sql for side in (tree.left, tree.right)))
    return part.sql


# -- where columns come from ---------------------------------------------------------------------------------------


def origins_of(node: n.Node, columns: frozenset[str]) -> list[Origins]:
    """What columns are, in columns of sources; more than one answer below a union."""
    match node:
        case n.Relayed():
            return origins_of(node.of, columns)
        case n.Named():
            return [{c: _origin(node, c) for c in columns}]
        case n.Qualify():
            names = {c: c.removeprefix(f"{node.alias}.") for c in columns}
            return _renamed(origins_of(node.input, frozenset(names.values())), names)
        case n.Project() | n.GroupAggregate():
            items = node.items if isinstance(node, n.Project) else node.keys
            wanted = {item.name: item.scalar for item in items if item.name in columns}
            below = frozenset[str]().union(*(scalar.columns for scalar in wanted.values()))
            return [{c: substituted(wanted[c], found) if c in wanted else Scalar.column(c) for c in columns}
                    for found in origins_of(node.input, below)]
        case n.Union():
            named = [(part, by_position(node, part)) for part in node.parts]
            return [found for part, names in named if names is not None and columns <= names.keys()
                    for found in _renamed(origins_of(part, frozenset(names[c] for c in columns)),
                                          {c: names[c] for c in columns})] or [{}]
        case n.Pairs() | n.TableJoin():
            return _beside(columns, node.inputs)
        case n.WindowAggregate() | n.Explode():
            return [{}]
    return origins_of(node.inputs[0], columns)


def _origin(node: n.Named, column: str) -> Scalar:
    """A column of an input under its whole name; one that was computed as what it was computed from."""
    made = node.schema.computed.get(column)
    whole = {c: Scalar.column(f"{node.name}.{c}") for c in (made.columns if made is not None else (column,))}
    return whole[column] if made is None else substituted(made, whole)


def _renamed(found: list[Origins], names: Mapping[str, str]) -> list[Origins]:
    return [{c: origins.get(below, Scalar.column(below)) for c, below in names.items()} for origins in found]


def _beside(columns: frozenset[str], sides: Iterable[n.Node]) -> list[Origins]:
    """Of columns of several inputs, each where it belongs; what has a name of its own on the right is the right's."""
    left = columns
    answers: list[list[Origins]] = []
    for side in reversed(list(sides)):
        mine = frozenset(c for c in left if side.has(c))
        left -= mine
        answers.append(origins_of(side, mine) if mine else [{}])
    return [{c: scalar for origins in found for c, scalar in origins.items()}
            for found in islice(product(*answers), ALTERNATIVES)]
