"""For every rule plans of the shape it looks for, over any windows that its condition allows."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from oracle.building import call
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, TumblingWindow
from planner.random_plans import STREAMS, WINDOWS, logical, windows

UP_TO_NOW = {
    "last 5": SlidingWindow.scoped(5), "since 3": BandWindow.since(3),
    "growing": TumblingWindow(5, disclosure=Disclosure.GROWING),
}
A, B, C = (STREAMS[name] for name in "abc")
Draw = st.DrawFn


def scalar(text: str) -> Scalar:
    return Scalar.parse(text)


def windowed(draw: Draw, stream: n.Node = A) -> n.Node:
    return n.Window(stream, draw(windows))


def named(draw: Draw, stream: n.Source, alias: str = "") -> n.Qualify:
    return n.Qualify(windowed(draw, stream), alias or stream.name)


def shown(node: n.Node, *columns: str) -> n.Project:
    return n.Project(node, tuple(n.NamedScalar.column(c) for c in columns))


def pair(draw: Draw) -> n.Join:
    return n.Join(named(draw, A), named(draw, B), scalar("`a.v` = `b.v`"))


def existence(draw: Draw, left: n.Node, condition: str = "`a.v` = `c.v`") -> n.Node:
    return draw(st.sampled_from([n.SemiJoin, n.AntiJoin]))(left, named(draw, C), scalar(condition))


def difference(draw: Draw) -> n.BagDifference:
    return n.BagDifference(shown(windowed(draw, A), "v", "x"), shown(windowed(draw, B), "v", "x"))


def counted(node: n.Node, *keys: str) -> n.GroupAggregate:
    return n.GroupAggregate(node, tuple(n.NamedScalar(f"key.{k}", Scalar.column(k)) for k in keys),
                            (call("count.x", "count"), call("top.x", "max", f"`{keys[0].split('.')[0]}.x`")
                             if "." in keys[0] else call("top.x", "max", "x")))


def filtered(draw: Draw, node: n.Node, *conditions: str) -> n.Filter:
    return n.Filter(node, scalar(draw(st.sampled_from(conditions))))


def window_of_pairs(draw: Draw) -> n.Window:
    streams = (n.Qualify(draw(st.sampled_from([s, n.Filter(s, scalar("x > 0"))])), s.name) for s in (A, B))
    join = n.Join(*streams, scalar("`a.v` = `b.v`"))
    items = (*(n.NamedScalar.column(c) for c in join.columns), n.NamedScalar("d", scalar("least(`a.ts`, `b.ts`)")))
    spec = UP_TO_NOW[draw(st.sampled_from(sorted(UP_TO_NOW)))]
    return n.Window(n.Project(join, items), n.WindowClause(spec, "d", OrdinalKind.INTEGER))


def three(draw: Draw) -> n.Join:
    a, b, c = (named(draw, s) for s in (A, B, C))
    last = draw(st.sampled_from(["`a.v` = `c.v`", "`b.x` = `c.x`", "`a.v` = `c.v` AND `b.x` = `c.x`",
                                 "`b.x` = `c.x` AND `b.x` + `c.x` > 2", "`a.v` = `c.v` AND `a.v` || `c.v` <> 'qq'"]))
    first = draw(st.sampled_from(["`a.v` = `b.v`", "`a.x` = `b.x` AND `a.x` * `b.x` < 4"]))
    left = n.Join(n.Join(a, b, scalar(first)), c, scalar(last))
    right = n.Join(a, n.Join(b, c, scalar("`b.x` = `c.x`")), scalar("`a.v` = `b.v`"))
    return draw(st.sampled_from([left, right]))


def union_window(draw: Draw) -> n.Node:
    clause_ = draw(logical)
    whole, parts = n.Window(n.Union((A, B)), clause_), n.Union((n.Window(A, clause_), n.Window(B, clause_)))
    one, other = (n.Filter(s, scalar(f"v = '{v}'")) for s, v in ((A, "p"), (B, "q")))
    each = n.Window(n.Union((one, other)), WINDOWS["2 rows of each"])
    return draw(st.sampled_from([whole, parts, each]))


def partition_filter(draw: Draw) -> n.Node:
    inside = n.Filter(n.Window(A, WINDOWS["2 rows of each"]), scalar("v = 'p' AND x > 1"))
    return draw(st.sampled_from([inside, n.Filter(n.Window(A, draw(logical)), scalar("x > 1"))]))


SHAPES: dict[str, Callable[[Draw], n.Node]] = {
    "projection through window": lambda d: n.Project(windowed(d), tuple(
        n.NamedScalar(name, scalar(text)) for name, text in (("when", "ts"), ("v", "v"), ("x", "x"), ("y", "x + 1")))),
    "selection through window": partition_filter,
    "window of union": union_window,
    "join commutes": pair,
    "join associates": three,
    "selection below join": lambda d: filtered(
        d, pair(d), "`a.x` > 1", "`a.x` > 1 AND `b.x` < 3", "`a.x` > 1 AND `a.x` <> `b.x`", "`a.x` <> `b.x`"),
    "projection below join": lambda d: shown(pair(d), "b.x", "a.x"),
    "window of join": window_of_pairs,
    "union reorders": lambda d: n.Union((n.Union((windowed(d), windowed(d, B))), shown(named(d, C), "c.ts", "c.v",
                                                                                      "c.x"))),
    "selection below union": lambda d: filtered(d, n.Union((windowed(d), named(d, B))), "x > 1", "v = 'p' OR x = 2"),
    "projection below union": lambda d: n.Project(n.Union((windowed(d), named(d, B))), (
        n.NamedScalar("y", scalar("x + 1")), n.NamedScalar.column("v"))),
    "selections merge": lambda d: filtered(d, n.Filter(windowed(d), scalar("v = 'p' OR x = 3")), "x > 1", "v <> 'q'"),
    "selection below names": lambda d: d(st.sampled_from([
        n.Filter(named(d, A), scalar("`a.x` > 1")),
        n.Filter(n.Project(windowed(d), (n.NamedScalar("y", scalar("x + 1")),)), scalar("y * 2 > 4")),
    ])),
    "selection below distinct": lambda d: filtered(d, n.Distinct(shown(windowed(d), "v", "x")), "x > 1", "v = 'p'"),
    "selection below difference": lambda d: filtered(d, difference(d), "x > 1", "v = 'p'"),
    "selection below existence": lambda d: d(st.sampled_from([
        n.Filter(existence(d, named(d, A)), scalar("`a.x` > 1")),
        existence(d, named(d, A), "`a.v` = `c.v` AND `c.x` > 1"),
    ])),
    "selection below aggregate": lambda d: filtered(
        d, counted(windowed(d), "v", "x"), "`key.v` = 'p'", "`key.x` > 1 AND `count.x` > 1"),
    "projection below names": lambda d: d(st.sampled_from([
        shown(named(d, A), "a.v"), shown(filtered(d, windowed(d), "x > 1"), "x", "v"),
    ])),
    "projection below existence": lambda d: d(st.sampled_from([
        shown(existence(d, named(d, A)), "a.x"), existence(d, named(d, A)), shown(existence(d, pair(d)), "b.x"),
    ])),
    "projection below aggregate": lambda d: d(st.sampled_from([
        counted(windowed(d), "v"), counted(pair(d), "a.v"),
    ])),
    "projections merge": lambda d: d(st.sampled_from([
        shown(n.Project(windowed(d), (n.NamedScalar("y", scalar("x + 1")), n.NamedScalar.column("v"))), "y"),
        shown(windowed(d), "ts", "v", "x"),
    ])),
    "alias below operators": lambda d: n.Qualify(d(st.sampled_from([
        n.Distinct(shown(windowed(d), "v")), difference(d), n.Union((windowed(d), windowed(d, B))),
        n.AntiJoin(windowed(d), named(d, C), scalar("v = `c.v`")), pair(d),
    ])), "z"),
    "column order above": lambda d: d(st.sampled_from([
        n.Join(shown(named(d, A), "a.x", "a.ts", "a.v"), named(d, B), scalar("`a.v` = `b.v`")),
        n.Join(named(d, B), shown(named(d, A), "a.x", "a.ts", "a.v"), scalar("`a.v` = `b.v`")),
        existence(d, shown(named(d, A), "a.x", "a.ts", "a.v")),
        n.AntiJoin(named(d, A), shown(named(d, C), "c.v", "c.x", "c.ts"), scalar("`a.v` = `c.v`")),
        n.Distinct(shown(windowed(d), "x", "v", "ts")), counted(shown(windowed(d), "x", "v", "ts"), "v"),
    ])),
    "negation above join": lambda d: d(st.sampled_from([
        n.Join(existence(d, named(d, A)), named(d, B), scalar("`a.v` = `b.v`")),
        n.Join(named(d, B), existence(d, named(d, A)), scalar("`a.v` = `b.v`")),
        existence(d, pair(d)), existence(d, pair(d), "`b.x` = `c.x`"),
    ])),
    "difference above join": lambda d: n.Join(difference(d),
                                              named(d, C), scalar("v = `c.v`")),
    "negation above aggregate": lambda d: d(st.sampled_from([
        counted(existence(d, named(d, A)), "a.v"),
        existence(d, counted(windowed(d), "v"), "`key.v` = `c.v`"),
    ])),
    "negations exchange": lambda d: d(st.sampled_from([n.SemiJoin, n.AntiJoin]))(
        existence(d, named(d, A)), named(d, B), scalar("`a.x` = `b.x`")),
    "distinct twice": lambda d: n.Distinct(filtered(d, n.Distinct(shown(windowed(d), "v", "x")), "x > 1")),
    "distinct below existence": lambda d: d(st.sampled_from([
        n.Distinct(existence(d, shown(named(d, A), "a.v"))), existence(d, n.Distinct(shown(named(d, A), "a.v"))),
    ])),
    "distinct below join": lambda d: d(st.sampled_from([n.Distinct(pair(d)), n.Distinct(shown(pair(d), "b.x"))])),
    "distinct below union": lambda d: n.Distinct(n.Union((shown(windowed(d), "v"), shown(windowed(d, B), "v")))),
    "join reorders": three,
}


@st.composite
def shaped(draw: Draw, name: str) -> n.Node:
    """A plan that the rule of this name rewrites."""
    return SHAPES[name](draw)
