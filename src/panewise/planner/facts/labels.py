"""The update pattern of every edge of a plan (Golab 3.5.1; corrections: rules U2-U5, Golab E2, E3, P9-P11, P17).

Labels are found bottom-up: what an operator's results do depends on the operator and on its inputs' labels, and for
inputs that are windows of one signature on the window's shape (`pattern_table`). A pattern belongs to a plan, not to a
query: two plans of one query may differ in how much of them is STR.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from panewise.core.errors import PlanError
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.planner.facts.pattern_table import OperatorKind, WindowShape
from panewise.planner.facts.patterns import Domain, Label, UpdatePattern
from panewise.planner.facts.read_columns import time_column
from panewise.planner.facts.same_instant import meets_at_birth
from panewise.planner.facts.shapes import UNBOUNDED_STREAM, Shape, domain_of, shape_of
from panewise.windows.base import Clock

__all__ = ["Domain", "Edge", "Label", "Labels", "UpdatePattern", "label"]

Path = tuple[int, ...]
MON, WKS, WK, STR = UpdatePattern


@dataclass(frozen=True)
class Edge:
    """The output of one node: its label, why, and what the rules above it need."""

    label: Label
    reason: str
    shape: Shape | None = None
    """Set while the rows come and go exactly as the rows of one window do."""
    keys: frozenset[str] | None = None
    """The columns that identify a group, while a new row still supersedes the old one."""
    windows: frozenset[str] = frozenset()
    """``internal`` and/or ``external``: the windows below, up to the last stream."""

    @property
    def append_only(self) -> bool:
        """Every window below is internal, so results are kept for ever (Golab 3.3.2)."""
        return self.windows == {"internal"}


@dataclass(frozen=True)
class Labels(Mapping[n.Node, Label]):
    """The label of every node's output; equal sub-plans have equal labels, so a node is looked up by value."""

    plan: n.Node
    edges: Mapping[n.Node, Edge]

    def __getitem__(self, node: n.Node) -> Label:
        return self.edges[node].label

    def __iter__(self) -> Iterator[n.Node]:
        return iter(self.edges)

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def output(self) -> Label:
        """The plan's own pattern."""
        return self[self.plan]

    def at(self, path: Path) -> Label:
        """The label of the node reached by taking these inputs from the root.

        >>> from panewise.core.schema import SourceSchema
        >>> labels = label(n.Union((n.Source("a", SourceSchema()), n.Source("b", SourceSchema()))))
        >>> print(labels.at(()), labels.at((1,)))
        MON MON
        """
        node = self.plan
        for step in path:
            node = node.inputs[step]
        return self[node]

    def reason(self, node: n.Node) -> str:
        """Why the node's output has its label."""
        return self.edges[node].reason


def label(plan: n.Node) -> Labels:
    """Label every edge of a plan.

    >>> from panewise.core.ordinals import OrdinalKind
    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.windows.sliding import SlidingWindow
    >>> clause = n.WindowClause(SlidingWindow(60_000_000, 1), "ts", OrdinalKind.TIMESTAMP)
    >>> left, right = (n.Window(n.Source(s, SourceSchema()), clause) for s in "ab")
    >>> labels = label(n.Join(left, right))
    >>> print(labels[left], labels.output)
    WKS(c=1min) WK
    """
    return Labels(plan, n.folded(plan, _edge))


def _edge(node: n.Node, below: list[Edge]) -> Edge:
    """One rule per node kind."""
    match node:
        case n.Source():
            return _stream("a stream only grows")
        case n.Table():
            return Edge(Label.strict(), "a table changes as its owner likes")
        case n.Relayed():
            return replace(label(node.of).edges[node.of], reason="as where it runs")
        case n.Qualify():
            return _renamed(below[0], {c: f"{node.alias}.{c}" for c in node.input.columns})
        case n.Filter():
            return _filter(node, below[0])
        case n.Project():
            return _project(node, below[0])
        case n.Explode():
            return _without_replace(below[0], "elements come and go with their row")
        case n.Lifetime():
            return replace(below[0], reason="ends with the query, until then as its input")
        case n.Window():
            return _window(node.clause, node.input)
        case n.Union():
            return _union(below)
        case n.Distinct():
            return _distinct(node.policy, below[0])
        case n.GroupAggregate():
            return _aggregate(node, below[0])
        case n.Join():
            return _join(*below)
        case n.SemiJoin():
            return _semi_join(*below)
        case n.AntiJoin() if meets_at_birth(node) and all(edge.label.pattern is MON for edge in below):
            return Edge(Label.mon(), "rows meet only those of their own instant, and neither side ever leaves",
                        UNBOUNDED_STREAM, windows=_windows(*below))
        case n.AntiJoin() | n.BagDifference():
            return _difference(*below)
        case n.TableJoin():
            return _table_join(node, below[0])
        case n.WindowAggregate():
            return _stream("a window is reported once, when it is complete")
        case n.BandJoin() | n.TumblingJoin():
            return _stream("pairs of stream rows are reported once and kept")
        case n.RelationToStream():
            return _relation_to_stream(node)
    raise PlanError(f"no label rule for {type(node).__name__}: add one to planner/facts/labels.py")


def _stream(reason: str) -> Edge:
    return Edge(Label.mon(), reason, UNBOUNDED_STREAM)


def _window(clause: n.WindowClause, stream: n.Node) -> Edge:
    shape = shape_of(clause, stream)
    if clause.internal:
        return Edge(Label.mon(), "INTERNAL: results are kept for ever, state still expires", UNBOUNDED_STREAM,
                    windows=frozenset({"internal"}))
    found, dated = shape.label(), time_column(stream)
    if found.pattern is WKS and clause.spec.clock is Clock.TIME and dated not in {None, clause.attribute}:
        return Edge(Label.wk(), "rows of a window on another column than their time leave in another order than they "
                                "come", shape, windows=frozenset({"external"}))
    return Edge(found, f"rows of a window: {shape.kind.value}", shape, windows=frozenset({"external"}))


def _relation_to_stream(node: n.RelationToStream) -> Edge:
    if node.output_window is not None:
        edge = _window(replace(node.output_window, internal=False), node.input)
        return replace(edge, reason=f"output window over results: {edge.reason}")
    return _stream(f"{node.kind.value} reports and never takes back")


def _renamed(edge: Edge, names: Mapping[str, str]) -> Edge:
    keys = None if edge.keys is None else frozenset(names.get(k, k) for k in edge.keys)
    return replace(edge, keys=keys, reason="as its input")


def _without_replace(edge: Edge, reason: str) -> Edge:
    return replace(edge, label=replace(edge.label, replace=False), keys=None, reason=reason)


def _filter(node: n.Filter, edge: Edge) -> Edge:
    if edge.label.replace and not node.predicate.columns <= (edge.keys or frozenset()):
        return _without_replace(edge, "a new row that fails the filter cannot supersede the old one")
    return replace(edge, reason="neutral: as its input")


def _project(node: n.Project, edge: Edge) -> Edge:
    if not edge.label.replace:
        return replace(edge, reason="neutral: as its input")
    names = {key: node.shown_as(key) for key in edge.keys or ()}
    if not all(names.values()):
        return _without_replace(edge, "without the group's key a new row cannot supersede the old one")
    return _renamed(edge, {key: shown[0] for key, shown in names.items()})


def _windows(*edges: Edge) -> frozenset[str]:
    return frozenset[str]().union(*(e.windows for e in edges))


def _one_shape(edges: list[Edge]) -> Shape | None:
    first = edges[0].shape
    return first if first is not None and all(e.shape == first for e in edges) else None


def _by_table(operator: OperatorKind, shape: Shape, edges: list[Edge]) -> Edge:
    found = shape.label(operator)
    if shape.survives(operator):
        reason = _TOGETHER.get(shape.kind, "windows of one signature stay as they are")
    else:
        reason = _ALONE[operator]
    return Edge(found, reason, shape if shape.survives(operator) else None, windows=_windows(*edges))


_TOGETHER = {
    WindowShape.GROWING: "rows of one period all leave when it ends",
    WindowShape.DISCLOSED: "rows show at one refresh and leave at the next",
    WindowShape.LANDMARK: "nothing below ever leaves",
}
_ALONE = {
    OperatorKind.JOIN: "a pair leaves with its first half",
    OperatorKind.DISTINCT_KEEP: "a representative leaves at its own expiry",
    OperatorKind.DISTINCT_RECENT: "the next duplicate ends a representative's life (erratum P17)",
    OperatorKind.DIFFERENCE: "a row on the right takes a result back",
}


def _union(edges: list[Edge]) -> Edge:
    """Not the maximum of the labels: windows that differ do not stay first in, first out (errata P11, Golab E2)."""
    shape = _one_shape(edges)
    if shape is not None:
        return _by_table(OperatorKind.NEUTRAL, shape, edges)
    domain, windows = domain_of(*(e.label for e in edges)), _windows(*edges)
    worst = max(e.label.pattern for e in edges)
    if worst is STR:
        return Edge(Label.strict(domain), "an input is STR", windows=windows)
    if worst is MON:
        return Edge(Label.mon(), "all inputs only grow", UNBOUNDED_STREAM, windows=windows)
    return Edge(Label.wk(domain), "windows of different signatures do not leave first in, first out", windows=windows)


def _distinct(policy: str, edge: Edge) -> Edge:
    operator = OperatorKind.DISTINCT_RECENT if policy == "recent" else OperatorKind.DISTINCT_KEEP
    if edge.shape is not None:
        return _by_table(operator, edge.shape, [edge])
    domain = edge.label.domain
    if operator is OperatorKind.DISTINCT_RECENT:
        return Edge(Label.strict(domain), _ALONE[operator], windows=edge.windows)
    if edge.label.pattern is STR:
        return Edge(Label.strict(domain), "the input is STR", windows=edge.windows)
    return Edge(Label.wk(domain), _ALONE[operator], windows=edge.windows)


def _aggregate(node: n.GroupAggregate, edge: Edge) -> Edge:
    if node.internal or edge.append_only:
        return Edge(Label.mon(), "INTERNAL: every value is appended and kept", UNBOUNDED_STREAM,
                    windows=frozenset({"internal"}))
    reason = "how long a value lasts depends on the next row (rule U4)"
    if not node.keys:
        reason = f"one row at every instant, also of no rows; {reason}"
    return Edge(Label.replaced(edge.label.domain), reason, keys=frozenset(k.name for k in node.keys),
                windows=edge.windows)


def _join(left: Edge, right: Edge) -> Edge:
    shape, windows = _one_shape([left, right]), _windows(left, right)
    if shape is not None:
        return _by_table(OperatorKind.JOIN, shape, [left, right])
    domain = domain_of(left.label, right.label)
    patterns = {left.label.pattern, right.label.pattern}
    if STR in patterns:
        return Edge(Label.strict(domain), "an input is STR", windows=windows)
    if patterns == {MON}:
        return Edge(Label.mon(), "neither side ever leaves", UNBOUNDED_STREAM, windows=windows)
    reason = _ALONE[OperatorKind.JOIN]
    if MON in patterns:  # Golab erratum E3: not WKS, a late partner of an old row lives only for the rest
        reason = "a pair leaves with its windowed half, so a late partner shortens its life (Golab erratum E3)"
    return Edge(Label.wk(domain), reason, windows=windows)


def _semi_join(left: Edge, right: Edge) -> Edge:
    """Not in the papers; a left row shows while it has a match, so its life depends on matches still to come."""
    shape, windows = _one_shape([left, right]), _windows(left, right)
    together = (WindowShape.GROWING, WindowShape.DISCLOSED, WindowShape.LANDMARK)
    if shape is not None and shape.kind in together:
        return _by_table(OperatorKind.JOIN, shape, [left, right])
    domain = domain_of(left.label, right.label)
    if right.label.pattern is MON and left.label.pattern is MON:
        return Edge(Label.mon(), "neither side ever leaves", UNBOUNDED_STREAM, windows=windows)
    if right.label.pattern is MON and left.label.pattern is not STR:
        return Edge(Label.wk(domain), "once matched, a row leaves at its own expiry", windows=windows)
    return Edge(Label.strict(domain), "when the last match leaves, a later row may have become one", windows=windows)


def _difference(left: Edge, right: Edge) -> Edge:
    shape, windows = _one_shape([left, right]), _windows(left, right)
    if shape is not None and shape.label(OperatorKind.DIFFERENCE).pattern is not STR:
        return _by_table(OperatorKind.DIFFERENCE, shape, [left, right])
    if _frozen_before(left.shape, right.shape):
        return Edge(Label.mon(), "the right side is frozen before the left side begins", UNBOUNDED_STREAM,
                    windows=windows)
    return Edge(Label.strict(domain_of(left.label, right.label)), _ALONE[OperatorKind.DIFFERENCE],
                windows=windows)


def _frozen_before(left: Shape | None, right: Shape | None) -> bool:
    if left is None or right is None or left.unit is not right.unit:
        return False
    landmarks = left.kind is right.kind is WindowShape.LANDMARK
    return landmarks and left.lower is not None and right.upper is not None and left.lower >= right.upper


def _table_join(node: n.TableJoin, edge: Edge) -> Edge:
    kinds = {t.schema.kind for t in node.table.walk() if isinstance(t, n.Table)}
    if kinds == {SourceKind.NRR}:
        return replace(edge, reason="table updates reach only later rows: as its input", keys=None)
    return Edge(Label.strict(edge.label.domain), "a table update reaches back to rows already joined",
                windows=edge.windows)
