"""Random relations up to four operators deep, with the rows they read, made so that most of them have results.

Every operator puts out the columns k (text) and v (number), so that any of them can stand over any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from hypothesis import strategies as st

from panewise.core.ordinals import OrdinalKind
from panewise.plan.nodes import GroupAggregate, Lifetime, Node, RelationToStream, Source, Window, WindowClause
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.legal.legality import problems
from panewise.progress.timeline import Timeline
from panewise.windows.base import Clock, WindowSpec
from panewise.windows.calendar import CalendarWindow
from panewise.windows.count import CountWindow
from relations.operator_shapes import BINARY, UNARY, binary, unary
from relations.plans import COUNT_WINDOWS, TIME_WINDOWS, Specs, columns, source, timelines, windows
from relations.random_days import CALENDAR_WINDOWS, days, in_days
from relations.random_tables import beside_a_table, table_rows
from relations.test_group_aggregates import call

STREAMS = ("s", "t")
FOUR = ("s", "t", "u", "w")
EVERY_WINDOW = TIME_WINDOWS | COUNT_WINDOWS
OPERATORS = (*UNARY, *BINARY)
EVERYTHING = (*OPERATORS, "stream", "lifetime")
"""Also a relation that becomes a stream and has a window again, and one that stops."""
POSITIVE = ("filter", "project", "distinct", "union", "join")
"""Operators that take back nothing whose end was not known, over windows in time."""

every_operator = pytest.mark.parametrize("operator", OPERATORS)
"""A run for each operator on top. Hypothesis spends all but its first ten examples on variants of those it has, so
many short runs see more plans than a long one."""

DEPTHS = st.sampled_from([1, 2, 3, 4, 3, 4])
LIFETIMES = st.sampled_from([2, 4, 6, 8])
STREAM_KINDS = st.sampled_from([Kind.ISTREAM, Kind.DSTREAM, Kind.RSTREAM])


class Drawn(NamedTuple):
    """A plan and what arrives."""

    plan: Node
    timeline: Timeline


@st.composite
def relations(draw: st.DrawFn, depth: int, *, top: str | None = None, kinds: Specs = EVERY_WINDOW, bare: bool = True,
              operators: tuple[str, ...] = OPERATORS, streams: tuple[str, ...] = STREAMS, apart: bool = False,
              tables: bool = False, again: bool = False) -> Node:
    """A plan this deep over windows of these kinds, with the operator ``top`` last.

    ``bare`` also reads streams without a window, ``tables`` joins some of what it reads with a table, ``again`` turns
    relations into streams that have a window of their own, or ends them; with ``apart`` every leaf has another stream.
    """
    fresh = iter(streams if apart else ())

    def leaf() -> Node:
        stream = next(fresh, None) or draw(st.sampled_from(streams))
        if bare and draw(st.integers(0, 7)) == 0:
            below: Node = source(stream)
        else:
            below = draw(windows(stream, kinds))
        if tables and _leaves_in_time(below) and draw(st.booleans()):
            return draw(beside_a_table(columns(below, "k", "v")))
        return columns(below, "k", "v")

    def build(height: int, kind: str | None) -> Node:
        if height == 0:
            return leaf()
        kind = kind or draw(st.sampled_from((*operators, "stream", "stream", "lifetime") if again else operators))
        one = build(height - 1, None)
        if kind in BINARY:
            other = build(draw(st.integers(0, min(height - 1, 1))), None)
            more = [leaf() for _ in range(draw(st.sampled_from([0, 0, 1, 2])))] if kind == "union" else []
            return draw(binary(kind, one, other, more))
        if kind == "lifetime":
            return Lifetime(one, draw(LIFETIMES))
        if kind == "stream":
            return draw(stream_again(one, kinds))
        ordered = again and kind == "groups" and is_legal(by_age(one))
        return draw(unary(kind, one, ordered=ordered, shown=height == depth))

    return build(depth, top)


def by_age(below: Node) -> Node:
    """An aggregate that asks which row is older."""
    return GroupAggregate(below, (), (call("v", "first", "v"),))


@st.composite
def stream_again(draw: st.DrawFn, below: Node, kinds: Specs) -> Node:
    """A relation as a stream, with a window over it, by rows only where the rows of an instant have an order."""
    stream = RelationToStream(below, draw(STREAM_KINDS))
    spec = draw(kinds if _ages_are_known(stream) else TIME_WINDOWS)
    if spec.clock is Clock.TIME:
        return Window(stream, WindowClause(spec, "valid_from", OrdinalKind.INTEGER))
    return by_rows(stream, spec)


def by_rows(below: Node, spec: WindowSpec) -> Window:
    """A window by rows."""
    return Window(below, WindowClause(spec, "row-num", OrdinalKind.ROWS, ("k",) if spec.per_partition else ()))


def is_legal(plan: Node) -> bool:
    """Whether engines would run it: what asks for the order of rows that have none is refused."""
    return next(problems(plan), None) is None


def _ages_are_known(stream: Node) -> bool:
    return is_legal(by_rows(stream, CountWindow(1)))


@st.composite
def cases(draw: st.DrawFn, top: str | None = None, *, depths: st.SearchStrategy[int] = DEPTHS, rows: int = 8,
          times: int = 10, calendar: bool = False, kinds: Specs = EVERY_WINDOW,
          only: Callable[[Node], bool] = lambda plan: True, **options: object) -> Drawn:
    """A plan with rows for what it reads, up to ``rows`` for each stream and as many again, and rows of its tables.

    With ``calendar`` windows may be weeks and months: then all times are dates.
    """
    if calendar:
        kinds = kinds | CALENDAR_WINDOWS
    plan = draw(relations(draw(depths), top=top, kinds=kinds, **options).filter(only))  # type: ignore[arg-type]
    streams = tuple(sorted({node.name for node in plan.walk() if isinstance(node, Source)}))
    arriving = timelines(streams, least=3 * len(streams), rows=rows * (1 + len(streams)), times=times)
    items = [*draw(table_rows(plan)), *draw(arriving)]
    if any(isinstance(spec, CalendarWindow) for spec in specs_of(plan)):
        return Drawn(in_days(plan), days(items))
    return Drawn(plan, items)


def specs_of(plan: Node) -> Iterator[object]:
    """The windows of a plan."""
    return (node.clause.spec for node in plan.walk() if isinstance(node, Window))


def _leaves_in_time(below: Node) -> bool:
    """Whether a table may stand beside it: when rows leave must be known while the table is as it is."""
    return not isinstance(below, Window) or below.clause.spec.clock is Clock.TIME
