"""Where a column comes from: the names a source's punctuation uses for the windowing attribute and the keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.engines.spark.fragment import ORDINAL, Fragment
from panewise.plan.nodes import Explode, Filter, Node, Project, Qualify, Source, Union
from panewise.progress.punctuation import Punctuation

SINGLE = ""
"""The tag of the only input of a query without unions."""


@dataclass(frozen=True)
class Origin:
    """One input of a fragment as its punctuation sees it."""

    tag: str
    source: Source
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
    return list(_trace(node.input, [(n, s.column_name) for n, s in wanted], SINGLE, fragment.clause.ordinal))


def _trace(node: Node, wanted: list[tuple[str, str | None]], tag: str, kind: OrdinalKind) -> Iterator[Origin]:
    if isinstance(node, Source):
        known = [(name, column) for name, column in wanted if column is not None]
        attribute = dict(known).get(ORDINAL)
        yield Origin(tag, node, attribute, tuple(known), tuple(node.schema.columns.items()), kind)
    elif isinstance(node, Filter):
        yield from _trace(node.input, wanted, tag, kind)
    elif isinstance(node, Explode):
        yield from _trace(node.input, [(n, None if c in node.names else c) for n, c in wanted], tag, kind)
    elif isinstance(node, Qualify):
        prefix = f"{node.alias}."
        below = [(n, c.removeprefix(prefix) if c is not None else None) for n, c in wanted]
        yield from _trace(node.input, below, tag, kind)
    elif isinstance(node, Project):
        made = {item.name: item.scalar.column_name for item in node.items}
        yield from _trace(node.input, [(n, made.get(c) if c is not None else None) for n, c in wanted], tag, kind)
    elif isinstance(node, Union):
        names = node.parts[0].columns
        for number, part in enumerate(node.parts):
            by_position = dict(zip(names, part.columns, strict=False)) if names else {}
            below = [(n, by_position.get(c, c) if c is not None else None) for n, c in wanted]
            yield from _trace(part, below, f"{tag}.{number}" if tag else str(number), kind)
