"""The window predicate of a join of streams, as kernels know it."""

from __future__ import annotations

from panewise.kernels.joins.pairing import Band, Buckets, Pairing
from panewise.plan.nodes import BandJoin, TumblingJoin


def pairing_of(node: BandJoin | TumblingJoin) -> Pairing:
    """A band, or buckets."""
    if isinstance(node, TumblingJoin):
        return Buckets(node.range, node.origin % node.range)
    return Band.of_ranges(node.left_range, node.right_range, node.bounds)
