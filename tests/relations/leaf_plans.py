"""Random relations over leaves that a test brings: tables, pairs of streams, internal windows."""

from __future__ import annotations

from hypothesis import strategies as st

from panewise.plan.nodes import Node
from relations.operator_shapes import BINARY, UNARY, binary, unary
from relations.plans import Specs, columns, source, windows
from relations.random_plans import EVERY_WINDOW, STREAMS


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
    one, kind = draw(below), draw(st.sampled_from((*UNARY, *BINARY)))
    if kind in UNARY:
        return draw(unary(kind, one))
    more = [draw(relations(0, kinds=kinds, bare=bare, leaves=leaves, only=only))] if kind == "union" and draw(
        st.booleans()) else []
    return draw(binary(kind, one, draw(other), more))
