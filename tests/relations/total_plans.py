"""Random plans with an aggregate without GROUP BY in them, over relations that are empty at times, and fill again."""

from __future__ import annotations

from hypothesis import strategies as st

from panewise.plan.nodes import GroupAggregate, Lifetime, Node, Source
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.count import CountWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, NowWindow, TumblingWindow
from relations.operator_shapes import BINARY, COLLECTED, MERGED, SUBTRACTED, UNARY, binary, unary
from relations.plans import KEYS, NUMBERS, columns
from relations.random_plans import STREAMS, Drawn, relations, stream_again
from relations.random_tables import table_rows
from relations.test_group_aggregates import call

SHORT = st.one_of(
    st.builds(SlidingWindow.scoped, st.integers(1, 4)),
    st.builds(SlidingWindow.scoped, st.integers(1, 2)),
    st.builds(SlidingWindow.scoped, st.integers(2, 4), st.integers(1, 4)),
    st.builds(TumblingWindow, st.integers(1, 4), st.integers(-2, 2), st.just(0), st.sampled_from(Disclosure)),
    st.builds(NowWindow, st.integers(1, 2)),
    st.builds(CountWindow, st.integers(1, 2)),
)
"""Windows that are mostly empty before the next rows come."""
ABOVE = (*UNARY, *BINARY, "alone", "total", "lifetime", "stream")
GAPS = st.sampled_from([0, 1, 2, 5, 5, 7])
VALUES = st.sampled_from([call("v", "count"), call("v", "sum", "v"), call("v", "max", "v"),
                          call("v", "count", "v", distinct=True)])
MORE = st.sampled_from([*SUBTRACTED, *MERGED, *COLLECTED])


@st.composite
def totals(draw: st.DrawFn, below: Node) -> Node:
    """An aggregate without GROUP BY with the columns k and v, and sometimes more that nobody reads."""
    more = draw(st.lists(MORE, max_size=2, unique_by=lambda each: each.name))
    return columns(GroupAggregate(below, (), (call("k", "min", "k"), draw(VALUES), *more)), "k", "v")


@st.composite
def over_totals(draw: st.DrawFn, above: str) -> Node:
    """An operator over such an aggregate; of two inputs either may be it."""
    below = draw(relations(draw(st.sampled_from([0, 0, 1, 2])), kinds=SHORT, bare=False, tables=True))
    total = draw(totals(columns(below, "k", "v")))
    if above in BINARY:
        other: Node = columns(draw(relations(draw(st.integers(0, 1)), kinds=SHORT, bare=False)), "k", "v")
        if draw(st.booleans()):
            other = draw(totals(other))
        return draw(binary(above, *draw(st.permutations([total, other]))))
    match above:
        case "alone":
            return total
        case "total":
            return draw(totals(total))
        case "lifetime":
            return Lifetime(total, draw(st.integers(1, 9)))
        case "stream":
            return draw(stream_again(total, SHORT))
    return draw(unary(above, total))


@st.composite
def sparse(draw: st.DrawFn, streams: tuple[str, ...]) -> Timeline:
    """Rows in bursts, with pauses that are longer than most windows; rows of a burst come in any order."""
    made: Timeline = []
    at = 0
    for _ in range(draw(st.integers(3, 5))):
        at += draw(GAPS)
        made += [Arrival(draw(st.sampled_from(streams)), {"ts": at + draw(st.integers(0, 2)), "k": draw(KEYS),
                                                          "v": draw(NUMBERS)}) for _ in range(draw(st.integers(1, 3)))]
        at += 3
        made += [Arrival(name, Punctuation.below("ts", at)) for name in STREAMS if draw(st.integers(0, 3))]
    return made


@st.composite
def cases(draw: st.DrawFn, above: str) -> Drawn:
    """A plan and what arrives."""
    plan = draw(over_totals(above))
    streams = tuple(sorted({node.name for node in plan.walk() if isinstance(node, Source)}))
    return Drawn(plan, [*draw(table_rows(plan)), *draw(sparse(streams))])
