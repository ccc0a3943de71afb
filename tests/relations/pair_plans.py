"""Random joins of streams, and windows over their pairs, for the tests of relations over them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import BandJoin, NamedScalar, Node, Project, Qualify, TumblingJoin, Union, Window, WindowClause
from panewise.planner.facts.stream_joins import missing_in
from panewise.windows.base import Clock
from panewise.windows.count import CountWindow
from relations.plans import COUNT_WINDOWS, TIME_WINDOWS, Specs, source
from relations.random_plans import by_rows, is_legal

STREAMS = ("s", "t", "u")
CONDITIONS = (None, "`{l}.k` = `{r}.k`", "`{l}.k` = `{r}.k`", "`{l}.k` = `{r}.k` AND `{l}.v` <= `{r}.v`",
              "`{l}.k` = `{r}.k` OR `{l}.v` = `{r}.v`", "`{l}.v` < `{r}.v`")


def as_stream(pairs: Node, ts: str, k: str, v: str) -> Project:
    """Pairs with the columns of the streams they are of."""
    return Project(pairs, tuple(NamedScalar(name, Scalar.column(c)) for name, c in (("ts", ts), ("k", k), ("v", v))))


@st.composite
def joins(draw: st.DrawFn, *, kinds: tuple[JoinKind, ...] = tuple(JoinKind)) -> BandJoin | TumblingJoin:
    """Two streams, one with itself, a union with one, or (of pairs) a join with a third."""
    left, right = draw(st.sampled_from(STREAMS)), draw(st.sampled_from(STREAMS))
    one: Node = source(left) if draw(st.integers(0, 4)) else Union((source(left), source("u")))
    kind = draw(st.sampled_from(kinds))
    found = draw(of(Qualify(one, "l"), Qualify(source(right), "r"), "l", "r", kind))
    if kind is not JoinKind.FULL and draw(st.integers(0, 2)) == 0:
        third = Qualify(source(draw(st.sampled_from(STREAMS))), "x")
        whole = draw(st.sampled_from(["lr"[side] for side in sorted(kind.whole)]))
        above = draw(st.sampled_from(kinds))
        if above is not JoinKind.RIGHT and above is not JoinKind.FULL:  # else no time of l and r is always there
            return draw(of(found, third, whole, "x", above))
    return found


@st.composite
def of(draw: st.DrawFn, left: Node, right: Node, one: str, other: str, kind: JoinKind) -> Any:
    text = draw(st.sampled_from(CONDITIONS))
    on = None if text is None else Scalar.parse(text.format(l=one, r=other))
    times = f"{one}.ts", f"{other}.ts"
    if draw(st.integers(0, 2)) == 0:
        return TumblingJoin(left, right, *times, draw(st.integers(1, 6)), on, draw(st.integers(-7, 7)), kind=kind)
    low, wide = draw(st.integers(-4, 4)), draw(st.integers(0, 5))
    return BandJoin(left, right, *times, low + wide, -low, on, kind=kind)


@st.composite
def pairs(draw: st.DrawFn, **options: Any) -> Project:
    """Joins as streams with the columns ts, k and v."""
    join = draw(joins(**options))
    shown = [side for side in "lr" if f"{side}.ts" in join.columns]
    always = [side for side in shown if missing_in(join, f"{side}.ts") is None]
    side = draw(st.sampled_from(always or shown))
    return as_stream(join, f"{side}.ts", f"{side}.k", f"{draw(st.sampled_from(shown))}.v")


@st.composite
def pair_windows(draw: st.DrawFn, kinds: Specs = TIME_WINDOWS | COUNT_WINDOWS, **options: Any) -> Window:
    """Any window over pairs: by their birth, by the time of one side, by rows where these have an order."""
    below = draw(pairs(**options))
    spec = draw(kinds if is_legal(by_rows(below, CountWindow(1))) else TIME_WINDOWS)
    if spec.clock is Clock.TIME:
        attribute = draw(st.sampled_from(["ts", ""] if missing_in(below, "ts") is None else [""]))
        return Window(below, WindowClause(spec, attribute, OrdinalKind.INTEGER))
    return by_rows(below, spec)


LEAVES: st.SearchStrategy[Node] = (pairs() | pair_windows()).map(
    lambda below: Project(below, (NamedScalar.column("k"), NamedScalar.column("v"))))
"""Relations over pairs with the columns k and v."""
