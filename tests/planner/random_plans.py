"""Random plans of up to four operators over windows of mixed kinds, random streams, and answers at every instant.

Columns ending in ``v`` hold few texts, those ending in ``x`` few numbers, so that a plan knows what it may compare.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from oracle.building import by_time, call, clause, last, over_rows, source
from oracle.questions import Oracle
from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.progress.timeline import Timeline
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, TumblingWindow

STREAMS = {name: source(name, v=pa.string(), x=pa.int64()) for name in "abc"}
UNTIL = 20

WINDOWS = {
    "last 5": last(5), "last 3": last(3), "last 5 by 3": last(5, 3), "lag": clause(SlidingWindow.scoped(5, 1, lag=2)),
    "growing": clause(TumblingWindow(5, disclosure=Disclosure.GROWING)), "disclosed": clause(TumblingWindow(4)),
    "since 3": clause(BandWindow.since(3)), "band": clause(BandWindow(2, 9)),
    "2 rows": over_rows(CountWindow(2)), "3 rows by 2": over_rows(CountWindow(3, 2)),
    "2 rows of each": over_rows(PartitionedCountWindow(2), "v"),
    "large of last 5": last(5, predicate=Scalar.parse("x > 1")),
}
windows = st.sampled_from(sorted(WINDOWS)).map(WINDOWS.__getitem__)
logical = st.sampled_from([WINDOWS[name] for name in sorted(WINDOWS) if "rows" not in name])


def timeline_of(*streams: list[tuple[int, str | None, int | None]]) -> Timeline:
    return by_time(**{name: [{"ts": ts, "v": v, "x": x} for ts, v, x in data]
                      for name, data in zip("abc", streams, strict=False)})


cells = st.lists(st.tuples(st.integers(0, 11), st.sampled_from([*"pqpqpq", None]),
                           st.sampled_from([0, 1, 2, 3] * 2 + [None])),
                 max_size=5)
timelines = st.builds(timeline_of, cells, cells, cells)


def history(plan: n.Node, items: Timeline, until: int = UNTIL) -> list[Counter[tuple[Any, ...]]]:
    """The bag of rows at every instant, columns with their names and in their order."""
    oracle = Oracle(plan, items)
    return [Counter(tuple(row.items()) for row in oracle.relation_at(tau)) for tau in range(until)]


def equal(one: n.Node, other: n.Node, items: Timeline) -> bool:
    return history(one, items) == history(other, items)


# -- plans ---------------------------------------------------------------------------------------------------------


def texts(node: n.Node) -> list[str]:
    return [c for c in node.columns if c.endswith("v")]


def numbers(node: n.Node) -> list[str]:
    return [c for c in node.columns if c.endswith("x")]


def predicates(node: n.Node) -> st.SearchStrategy[Scalar]:
    """One or two conditions on a node's columns."""
    parts = [f"`{c}` = 'p'" for c in texts(node)] + [f"`{c}` > 1" for c in numbers(node)]
    parts += [f"`{c}` + 1 < 3" for c in numbers(node)]
    if len(numbers(node)) > 1:
        parts.append(f"`{numbers(node)[0]}` <= `{numbers(node)[-1]}`")
    if len(parts) > 1:
        parts += [f"{parts[0]} AND {parts[-1]}", f"{parts[0]} OR {parts[-1]}"]
    return st.sampled_from(parts or ["1 = 1"]).map(Scalar.parse)


def item(column: str) -> st.SearchStrategy[n.NamedScalar]:
    """A column as it is, or a number computed from it."""
    made = [n.NamedScalar.column(column)] * 3
    if column.endswith("x"):
        made.append(n.NamedScalar(column, Scalar.parse(f"`{column}` + 1")))
    return st.sampled_from(made)


@st.composite
def plans(draw: st.DrawFn, operators: int = 4) -> n.Node:
    """A random relation with at most this many operators above its windows; columns of its leaves are ts, v, x."""
    aliases = iter("klmnopqr")

    def leaf() -> n.Node:
        return n.Window(STREAMS[draw(st.sampled_from("abc"))], draw(windows))

    def build(budget: int) -> n.Node:
        if budget == 0:
            return leaf()
        kind = draw(st.sampled_from(["filter", "filter", "project", "distinct", "groups", "union", "except", "join",
                                     "join", "exists", "not exists", "not exists"]))
        if kind in {"filter", "project", "distinct", "groups"}:
            below = build(budget - 1)
            return unary(kind, below)
        left_budget = draw(st.integers(0, budget - 1))
        return binary(kind, build(left_budget), build(budget - 1 - left_budget))

    def unary(kind: str, below: n.Node) -> n.Node:
        if kind == "filter":
            return n.Filter(below, draw(predicates(below)))
        if kind == "project":
            kept = draw(st.lists(st.sampled_from(below.columns), min_size=1, max_size=3, unique=True))
            return n.Project(below, tuple(draw(item(c)) for c in kept))
        if kind == "distinct":
            return n.Distinct(below, draw(st.sampled_from(["keep", "recent"])))
        keys = draw(st.lists(st.sampled_from(below.columns), min_size=1, max_size=2, unique=True))
        named = tuple(n.NamedScalar(f"key.{c}", Scalar.column(c)) for c in keys)
        calls = [call("count.x", "count"), *([call("top.x", "max", f"`{numbers(below)[0]}`"),
                                              call("total.x", "sum", f"`{numbers(below)[0]}`"),
                                              call("kinds.x", "count", f"`{numbers(below)[0]}`", distinct=True)]
                                             if numbers(below) else [])]
        some = draw(st.lists(st.sampled_from(calls), min_size=1, max_size=3, unique_by=lambda c: c.name))
        return n.GroupAggregate(below, named if draw(st.integers(0, 4)) else (), tuple(some))

    def binary(kind: str, left: n.Node, right: n.Node) -> n.Node:
        if kind in {"union", "except"}:
            pairs = [(one, other) for one in left.columns for other in right.columns if one[-1] == other[-1]]
            if not pairs:
                return unary("distinct", left)
            kept = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=2, unique_by=(lambda p: p[0],
                                                                                            lambda p: p[1])))
            sides = [n.Project(side, tuple(n.NamedScalar.column(pair[i]) for pair in kept))
                     for i, side in enumerate((left, right))]
            if kind == "except":
                return n.BagDifference(*sides)
            return n.Union((*sides, *draw(st.lists(st.sampled_from(sides), max_size=1))))
        if kind == "join" or draw(st.booleans()):  # else the names stay as they are, as those of a join do in SQL
            left, right = (n.Qualify(side, next(aliases)) for side in (left, right))
        elif set(left.columns) & set(right.columns):
            right = n.Qualify(right, next(aliases))
        conditions = [f"`{one}` = `{other}`" for one in left.columns for other in right.columns
                      if one[-1] == other[-1] and one[-1] in "vx"]
        conditions += [f"`{one}` = `{other}` AND `{one}` + `{other}` > 2" for one in numbers(left)
                       for other in numbers(right)]  # says more of two columns than that they are equal
        conditions += [f"`{one}` < `{other}`" for one in numbers(left)[:1] for other in numbers(right)[:1]]
        conditions += [f"`{one}` = `{other}` OR `{numbers(left)[0]}` = `{numbers(right)[0]}`" for one in texts(left)[:1]
                       for other in texts(right)[:1] if numbers(left) and numbers(right)]
        condition = draw(st.sampled_from(conditions)) if conditions else None
        predicate = None if condition is None else Scalar.parse(condition)
        node = {"join": n.Join, "exists": n.SemiJoin, "not exists": n.AntiJoin}[kind]
        return node(left, right, predicate)

    return build(draw(st.integers(1, operators)))
