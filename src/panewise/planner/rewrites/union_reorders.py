"""L10, first part: ∪ is commutative and associative over any windows, each base stream windowed once.

A union takes its names from its first part, so an exchange of parts puts a projection above that restores them.
"""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import columns_of


def apply(node: n.Node) -> list[n.Node]:
    """The parts of inner unions as parts of the outer one; the parts in the opposite order."""
    if not isinstance(node, n.Union):
        return []
    flat = tuple(inner for part in node.parts for inner in (part.parts if isinstance(part, n.Union) else (part,)))
    found: list[n.Node] = [n.Union(flat)] if len(flat) > len(node.parts) else []
    names, turned = columns_of(node), n.Union(node.parts[::-1])
    below = columns_of(turned)
    if len(node.parts) > 1 and names is not None and below is not None and len(set(below)) == len(below) == len(names):
        items = (n.NamedScalar(name, n.NamedScalar.column(own).scalar) for name, own in zip(names, below, strict=True))
        found.append(n.Project(turned, tuple(items)))
    return found


RULE = Rule("union reorders", "L10", "∪ is commutative and associative", apply, Role.LAW, with_internal=True)
