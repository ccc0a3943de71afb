"""Steps that keep nothing: what selections, projections, aliases and generators make of the rows of a table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.generators import elements
from panewise.core.ordinals import Ordinals
from panewise.functions import evaluate, truth
from panewise.plan.nodes import Explode, Filter, Node, Project, Qualify


@dataclass(frozen=True)
class Mapped:
    """Rows that a step puts out."""

    table: pa.Table
    parents: npt.NDArray[np.bool_] | Ordinals | None = None
    """Which rows of the input they are or come from; None: each from the one at its place."""


def mapped(node: Node, table: pa.Table, read: Collection[str] | None = None) -> Mapped:
    """What a step makes of a table; of a generator's input those columns go on that are ``read``, all where None.

    >>> from panewise.core.scalar import Scalar
    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.plan.nodes import Source
    >>> kept = mapped(Filter(Source("s", SourceSchema()), Scalar.parse("v > 1")), pa.table({"v": [1, 2, None]}))
    >>> kept.table.to_pylist(), kept.parents
    ([{'v': 2}], array([False,  True, False]))
    """
    match node:
        case Filter():
            keep = truth(node.predicate, table)
            return Mapped(table) if keep.all() else Mapped(table.filter(pa.array(keep)), keep)
        case Project():
            columns = evaluate([item.scalar for item in node.items], table)
            return Mapped(pa.table(columns, names=[item.name for item in node.items]))
        case Qualify():
            return Mapped(table.rename_columns([f"{node.alias}.{c}" for c in table.column_names]))
        case Explode():
            made = elements(node.generator, evaluate([node.collection], table)[0], outer=node.outer)
            kept = [name for name in table.column_names if read is None or name in read]
            shown = table.select(kept).take(pa.array(made.parents)).columns if kept else []
            return Mapped(pa.Table.from_arrays([*shown, *made.named(node.names)], names=[*kept, *node.names]),
                          made.parents)
    raise AssertionError(f"{type(node).__name__} keeps something")
