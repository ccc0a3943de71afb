"""Random relations over leaves that a test brings: tables, pairs of streams, internal windows."""

from __future__ import annotations

from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    AntiJoin,
    BagDifference,
    Distinct,
    Filter,
    GroupAggregate,
    Join,
    NamedScalar,
    Node,
    Project,
    Qualify,
    SemiJoin,
    Union,
)
from relations.plans import Specs, columns, source, windows
from relations.random_plans import EVERY_WINDOW, STREAMS, K
from relations.test_group_aggregates import call


@st.composite
def relations(draw: st.DrawFn, depth: int, *, kinds: Specs = EVERY_WINDOW, bare: bool = True,
              leaves: st.SearchStrategy[Node] | None = None, only: bool = False) -> Node:
    """A plan with the columns k and v over windows of these kinds, and if wanted over streams without a window.

    Every other leaf is one of ``leaves``, where there are any; with ``only`` every one.
    """
    if depth == 0:
        if leaves is not None and (only or draw(st.booleans())):
            return draw(leaves)
        stream = draw(st.sampled_from(STREAMS))
        if bare and draw(st.integers(0, 5)) == 0:
            return columns(source(stream), "k", "v")
        return columns(draw(windows(stream, kinds)), "k", "v")
    below = relations(depth - 1, kinds=kinds, bare=bare, leaves=leaves, only=only)
    other = relations(draw(st.integers(0, depth - 1)), kinds=kinds, bare=bare, leaves=leaves, only=only)
    one = draw(below)
    match draw(st.integers(0, 8)):
        case 0:
            return Filter(one, Scalar.parse("v <> 2"))
        case 1:
            return Project(one, (K, NamedScalar("v", Scalar.parse("v % 3"))))
        case 2:
            return Union((one, draw(other)))
        case 3:
            return Distinct(one, draw(st.sampled_from(["keep", "recent"])))
        case 4:
            on = Scalar.parse(draw(st.sampled_from(["`l.k` = `r.k`", "`l.k` = `r.k` AND `l.v` <> `r.v`"])))
            pairs = Join(Qualify(one, "l"), Qualify(draw(other), "r"), on)
            return Project(pairs, (NamedScalar("k", Scalar.column("l.k")), NamedScalar("v", Scalar.column("r.v"))))
        case 5:
            return BagDifference(one, draw(other))
        case 6 | 7:
            kind = draw(st.sampled_from([SemiJoin, AntiJoin]))
            on = Scalar.parse(draw(st.sampled_from(["k = `r.k`", "k = `r.k` AND v >= `r.v`"])))
            return kind(one, Qualify(draw(other), "r"), on)
        case _:
            value = draw(st.sampled_from([call("v", "sum", "v"), call("v", "count"), call("v", "max", "v")]))
            return GroupAggregate(one, (K,), (value,))
