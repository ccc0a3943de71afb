"""A projection of plain columns goes below an alias, and below a selection whose columns it keeps."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import columns_of, reordered


def apply(node: n.Node) -> list[n.Node]:
    """The projection one step further down."""
    if not isinstance(node, n.Project):
        return []
    names = node.columns
    plain = all(item.scalar.column_name == item.name for item in node.items) and len(set(names)) == len(names)
    match node.input:
        case n.Qualify() as named if plain:
            prefix, own = f"{named.alias}.", columns_of(named)
            if own is None or set(names) - set(own) or not _narrower(names, own):
                return []
            return [replace(named, input=reordered(named.input, [c.removeprefix(prefix) for c in names]))]
        case n.Filter() as filtered if plain and filtered.predicate.columns <= set(names):
            own = columns_of(filtered)
            if own is None or not _narrower(names, own):
                return []
            return [replace(filtered, input=reordered(filtered.input, names))]
    return []


def _narrower(names: tuple[str, ...], own: tuple[str, ...]) -> bool:
    """Whether anything is dropped: otherwise it would only move around."""
    return len(names) < len(own)


RULE = Rule("projection below names", "relational", "π(σ(R)) = σ(π(R)) if π keeps the columns of σ", apply, Role.NARROW,
            with_internal=True)
