"""How many rows flow over every edge of a plan, how many are kept, and how many are taken back early.

Sizes follow Golab 5.3: uniform values, and of two sets of values the smaller inside the larger. In a steady state as
many results leave as come. What no formula covers is a guess that is named here and replaced by measured shares as soon
as there are any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import exp, prod

from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.facts.labels import Labels, UpdatePattern, label
from panewise.planner.facts.result_forms import is_internal, is_retroactive
from panewise.planner.facts.working_labels import has_internal, working_labels
from panewise.planner.rewrites.scalars import conjuncts, equalities
from panewise.planner.statistics.condition_names import known_share, taking_back_key
from panewise.planner.statistics.relation_statistics import VALUES, RelationStatistics, occupied, unit_of
from panewise.windows.base import Clock

ELEMENTS = 4.0
"""So many elements a collection is taken to have."""
RANGE_SHARE, OTHER_SHARE = 1 / 3, 1 / 2
"""Shares of rows for which a comparison, or any other condition, is taken to hold."""
LEAST = 1e-6


@dataclass(frozen=True)
class Flow:
    """One edge in a steady state, per unit of time."""

    rate: float
    """Results produced."""
    size: float
    """Results there at a time."""
    values: Mapping[str, float]
    """Different values per column."""
    early: float = 0.0
    """Results taken back before their time (premature expirations)."""
    leaves: bool = True
    """Whether results leave at all."""

    @property
    def expiries(self) -> float:
        """Results that leave, early ones included."""
        return self.rate if self.leaves else 0.0

    @property
    def premature(self) -> float:
        """The share of what leaves that leaves early (Golab 2.2.2)."""
        return min(1.0, self.early / self.expiries) if self.expiries else 0.0

    def value_count(self, column: str) -> float:
        """Different values of a column."""
        return self.values.get(column, VALUES)


class Flows(Mapping[n.Node, Flow]):
    """The flow of every node's output."""

    def __init__(self, plan: n.Node, statistics: RelationStatistics, labels: Labels | None = None) -> None:
        self.plan, self.statistics, self.labels = plan, statistics, working_labels(labels or label(plan))
        self._internal = has_internal(plan)
        self.unit = unit_of(plan)
        self._found = n.folded(plan, lambda node, below: self._staying(node, self._flow(node, below)))

    def __getitem__(self, node: n.Node) -> Flow:
        return self._found[node]

    def __iter__(self) -> Iterator[n.Node]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def _staying(self, node: n.Node, flow: Flow) -> Flow:
        """Results of internal windows only grow, at the operator that shows them; not the state below it."""
        if not self._internal or not is_internal(node) or self.labels[node].pattern is not UpdatePattern.MON:
            return flow
        return replace(flow, size=flow.rate * self.statistics.horizon, early=0.0, leaves=False)

    def _flow(self, node: n.Node, below: list[Flow]) -> Flow:
        match node:
            case n.Source():
                known = self.statistics.input(node.name)
                return Flow(known.rate, known.rate * self.statistics.horizon, known.values, leaves=False)
            case n.Table():
                known = self.statistics.input(node.name)
                return Flow(known.rate, known.rows or VALUES, known.values)
            case n.Relayed():
                return Flows(node.of, self.statistics)[node.of]
            case n.Qualify():
                return replace(below[0], values={f"{node.alias}.{c}": v for c, v in below[0].values.items()})
            case n.Filter():
                return scaled(below[0], self.share(node.predicate, below[0], node.input))
            case n.Project():
                return replace(below[0], values={i.name: self.computed(i.scalar, below[0]) for i in node.items})
            case n.Explode():
                return _exploded(node, below[0])
            case n.Window():
                return self._window(node, below[0])
            case n.Union():
                return _union(below)
            case n.Distinct():
                return _distinct(below[0], node.columns)
            case n.GroupAggregate():
                return self._groups(node, below[0])
            case n.Join():
                return self._join(node, *below)
            case n.SemiJoin() | n.AntiJoin():
                return self._existence(node, *below)
            case n.BagDifference():
                found = _difference(*below)
                return replace(found, early=min(self._early(node, found.early, found.rate), found.rate))
            case n.TableJoin():
                return self._table_join(node, *below)
            case n.BandJoin() | n.TumblingJoin():
                steps = node.range if isinstance(node, n.TumblingJoin) else node.left_range + node.right_range
                span = steps / self.unit
                pairs = self._join(node, *(replace(f, size=f.rate * span / 2) for f in below))
                return replace(pairs, size=pairs.rate * self.statistics.horizon, leaves=False)
        return below[0] if below else Flow(1.0, 1.0, {})

    # -- windows and columns

    def _window(self, node: n.Window, stream: Flow) -> Flow:
        spec = node.clause.spec.plain
        if node.clause.predicate is not None:
            stream = scaled(stream, self.share(node.clause.predicate, stream, node.input))
        if spec.clock in (Clock.ORDER, Clock.PARTITION_ORDER):
            rows = float(getattr(spec, "n", 0) or getattr(spec, "range", 1))
            groups = prod(stream.value_count(c) for c in node.clause.partition)
            return replace(stream, size=rows * groups, leaves=True)
        length = getattr(spec, "range", None)
        leaves = self.labels[node].pattern is not UpdatePattern.MON
        if length is None or not leaves:
            return replace(stream, size=stream.rate * self.statistics.horizon, leaves=leaves)
        return replace(stream, size=stream.rate * length / self.unit, leaves=True)

    def computed(self, scalar: Scalar, flow: Flow) -> float:
        """Values of an expression: those of its column, or of all its columns together."""
        if scalar.column_name is not None:
            return flow.value_count(scalar.column_name)
        return prod(flow.value_count(c) for c in scalar.columns)

    # -- shares

    def share(self, predicate: Scalar | None, flow: Flow, *over: n.Node) -> float:
        """The share of rows (of two inputs: pairs) for which a condition holds; parts are taken as independent."""
        return prod(self._part(part, flow, *over) for part in conjuncts(predicate))

    def _part(self, part: Scalar, flow: Flow, *over: n.Node) -> float:
        found = known_share(self.statistics.passing, part, *over) if self.statistics.passing else None
        return _guess(part, flow) if found is None else found

    def _join(self, node: n.Join | n.BandJoin | n.TumblingJoin | n.TableJoin, left: Flow, right: Flow) -> Flow:
        values, predicate = {**left.values, **right.values}, node.predicate
        both = Flow(1.0, 1.0, values)
        share = self.share(predicate, both, *node.inputs)
        for one, other in equalities(predicate):
            values[one] = values[other] = min(both.value_count(one), both.value_count(other))
        rate = share * (left.rate * right.size + right.rate * left.size)
        early = share * (left.early * right.size + right.early * left.size)
        return Flow(rate, share * left.size * right.size, values, min(early, rate), left.leaves or right.leaves)

    def _existence(self, node: n.SemiJoin | n.AntiJoin, left: Flow, right: Flow) -> Flow:
        """A row shows while its value is absent (present) on the right; a value that comes (goes) takes rows back."""
        outer = [c for c in (node.predicate.columns if node.predicate is not None else ()) if not node.right.has(c)]
        inner = [c for c in (node.predicate.columns if node.predicate is not None else ()) if c not in outer]
        there = prod(right.value_count(c) for c in inner) if inner else 1.0
        domain = max(there, prod(left.value_count(c) for c in outer) if outer else 1.0)
        absent = exp(-right.size / there)
        matched = there * (1.0 - absent) / domain
        shown = matched if isinstance(node, n.SemiJoin) else 1.0 - matched
        links = node.predicate
        if links is not None and self.statistics.passing:
            known = [known_share(self.statistics.passing, part, node.left, node.right) for part in conjuncts(links)]
            if None not in known:
                shown = prod(share for share in known if share is not None)
        shown = max(shown, LEAST)
        moved = right.rate * absent * left.size / domain if right.leaves or isinstance(node, n.AntiJoin) else 0.0
        early = moved + left.early * shown
        rate = left.rate * shown + moved
        early = self._early(node, early, rate)
        leaves = left.leaves or right.leaves or isinstance(node, n.AntiJoin)
        return Flow(rate, left.size * shown, left.values, min(early, rate), leaves)

    def _early(self, node: n.SemiJoin | n.AntiJoin | n.BagDifference, early: float, rate: float) -> float:
        """What is taken back early: as declared or measured, else as estimated."""
        known = self.statistics.premature
        if not known:
            return early
        as_written = "" if isinstance(node, n.BagDifference) or node.predicate is None else node.predicate.sql
        share = known.get(taking_back_key(node), known.get(as_written))
        return early if share is None else share * rate

    # -- grouping and tables

    def _groups(self, node: n.GroupAggregate, below: Flow) -> Flow:
        groups = 1.0  # also of no rows
        if node.keys:
            groups = occupied(prod(self.computed(key.scalar, below) for key in node.keys), below.size)
        values = {key.name: self.computed(key.scalar, below) for key in node.keys}
        return Flow(below.rate + below.expiries, groups, values)

    def _table_join(self, node: n.TableJoin, below: Flow, table: Flow) -> Flow:
        pairs = self._join(node, replace(below, early=0.0), replace(table, rate=0.0, leaves=False))
        if not is_retroactive(node):
            return replace(pairs, leaves=below.leaves)
        share = pairs.size / max(below.size * table.size, LEAST)
        moved = table.rate * share * below.size
        return replace(pairs, rate=pairs.rate + moved, early=moved, leaves=True)


def scaled(flow: Flow, share: float) -> Flow:
    """A share of all rows."""
    return replace(flow, rate=flow.rate * share, size=flow.size * share, early=flow.early * share)


def _guess(part: Scalar, flow: Flow) -> float:
    from sqlglot import exp as sql

    tree = part.tree
    if isinstance(tree, sql.EQ) and part.columns:
        return 1.0 / max(flow.value_count(c) for c in part.columns)
    if isinstance(tree, sql.NEQ) and part.columns:
        return 1.0 - 1.0 / max(flow.value_count(c) for c in part.columns)
    return RANGE_SHARE if isinstance(tree, sql.GT | sql.GTE | sql.LT | sql.LTE | sql.Between) else OTHER_SHARE


def _union(parts: list[Flow]) -> Flow:
    values = {c: max(p.value_count(c) for p in parts) for c in parts[0].values}
    return Flow(sum(p.rate for p in parts), sum(p.size for p in parts), values, sum(p.early for p in parts),
                any(p.leaves for p in parts))


def _distinct(below: Flow, columns: tuple[str, ...]) -> Flow:
    """One result per value; a representative is replaced when it leaves, as often as any row of the input does."""
    domain = prod(min(below.value_count(c), 1e9) for c in columns) if columns else below.size
    size = min(below.size, occupied(min(domain, 1e12), below.size))
    rate = below.rate * size / below.size if below.size else 0.0
    return Flow(rate, size, below.values, below.early * (rate / below.rate if below.rate else 0.0), below.leaves)


def _difference(left: Flow, right: Flow) -> Flow:
    """Every row on the right takes back at most one on the left, of those that have its value."""
    domain = max([1.0, *left.values.values()])
    met = min(1.0, left.size / domain)
    moved = right.rate * met
    size = max(left.size - right.size * met, LEAST * left.size)
    rate = left.rate * size / left.size + moved if left.size else 0.0
    return Flow(rate, size, left.values, min(moved + left.early, rate), True)


def _exploded(node: n.Explode, flow: Flow) -> Flow:
    """As many rows more as a collection has elements."""
    return replace(flow, rate=flow.rate * ELEMENTS, size=flow.size * ELEMENTS, early=flow.early * ELEMENTS,
                   values={**flow.values, **dict.fromkeys(node.names, VALUES)})
