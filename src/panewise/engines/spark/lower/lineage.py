"""Where a column comes from: the names a source's punctuation uses for the windowing attribute and the keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.engines.spark.lower.fragment import ORDINAL, Fragment
from panewise.plan import nodes as n
from panewise.progress.punctuation import Punctuation

SINGLE = ""
"""The tag of the only input of a query without unions."""


@dataclass(frozen=True)
class Origin:
    """One input of a fragment as its punctuation sees it."""

    tag: str
    source: n.Source
    attribute: str | None
    """The source's name of the windowing attribute; ``None`` when it is computed, so that no bound reaches it."""
    names: tuple[tuple[str, str], ...]
    """Pairs (internal name of the ordinal or a key, the source's name)."""
    types: tuple[tuple[str, pa.DataType], ...]
    """The source's columns."""
    kind: OrdinalKind

    def read(self, value: dict[str, object]) -> list[Punctuation]:
        """A punctuation as it stands on the wire, in internal names; empty when it says nothing of whole groups."""
        if not value:
            return [Punctuation()]
        ordering = self.attribute if self.attribute is not None else "\0"
        promise = Punctuation.from_json(value, ordering, self.kind, types=dict(self.types) or None)
        return promise.translate(dict(self.names))


def origins(fragment: Fragment) -> list[Origin]:
    """All inputs of a fragment, each with its tag."""
    node = fragment.node
    wanted = [(ORDINAL, Scalar.column(fragment.clause.attribute))]
    wanted += [(name, key.scalar) for name, key in zip(fragment.keys, node.keys, strict=True)]
    wanted += [(name, Scalar.column(column)) for name, column in
               zip(fragment.partition, fragment.clause.partition, strict=True) if name not in fragment.keys]
    named = [(name, scalar.column_name) for name, scalar in wanted]
    return list(_trace(node.input, named, SINGLE, fragment.clause.ordinal))


def _trace(node: n.Node, wanted: list[tuple[str, str | None]], tag: str, kind: OrdinalKind) -> Iterator[Origin]:
    if isinstance(node, n.Source):
        known = [(name, column) for name, column in wanted if column is not None]
        attribute = dict(known).get(ORDINAL)
        yield Origin(tag, node, attribute, tuple(known), tuple(node.schema.columns.items()), kind)
        return
    for number, below in enumerate(node.inputs):
        names = [(name, column and _below(node, number, column)) for name, column in wanted]
        apart = "." if tag else ""
        yield from _trace(below, names, f"{tag}{apart}{number}" if isinstance(node, n.Union) else tag, kind)


def _below(node: n.Node, number: int, column: str) -> str | None:
    """The name of a column in one of the inputs; parts of a union whose columns are not declared share their names."""
    if isinstance(node, n.Union) and not node.columns:
        return column
    found = node.comes_from(column)
    return found[number][1] if number < len(found) else None
