"""What messages call rows that are no rows of a stream: pairs, groups, results of windows."""

from __future__ import annotations

from collections.abc import Sequence

from panewise.dataflow.origins import Origins
from panewise.plan import nodes as n

PAIRS = (n.Join, n.SemiJoin, n.AntiJoin, n.TableJoin, n.BandJoin, n.TumblingJoin)
MADE = {n.GroupAggregate: "a result of GROUP BY", n.WindowAggregate: "a result of a window"}
"""Rows that many rows went into; some of them are known, which says nothing."""


def row_in_words(over: object, made_of: Sequence[int], origins: Origins) -> str:
    """A row that the operator of a node reads, by the arrivals it is made of; empty where nothing is known of it."""
    if not isinstance(over, n.Node):
        return ""
    made = next((MADE[type(below)] for part in over.inputs for below in part.walk() if type(below) in MADE), None)
    if made is not None:
        return made
    rows = [origins.of(arrival) for arrival in reversed(made_of)]
    known = [row for row in rows if row is not None]
    if not rows and isinstance(over, PAIRS):
        return made_by(over)
    if not rows or len(known) < len(rows):
        return ""
    return known[0] if len(known) == 1 else f"made of {' and '.join(known)}"


def made_by(node: n.Node) -> str:
    """A row that an operator makes of rows of its inputs.

    >>> from panewise.core.schema import SourceSchema
    >>> made_by(n.Join(n.Source("a", SourceSchema()), n.Source("b", SourceSchema()), None))
    "a pair of 'a' and 'b'"
    """
    sides = [dict.fromkeys(below.name for below in side.walk() if isinstance(below, n.Named)) for side in node.inputs]
    return f"a pair of {' and '.join(', '.join(map(repr, names)) for names in sides)}"
