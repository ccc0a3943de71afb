"""Internal windows beside external ones: what comes of both ends with the rows of the external ones alone."""

from __future__ import annotations

from typing import Protocol

from panewise.core.scalar import Scalar
from panewise.kernels.relations.operator import RelationOperator
from panewise.kernels.relations.stateless import FilterRows, ProjectRows, RenameRows, UnionRows
from panewise.kernels.relations.staying import STAYS, THEIRS, FirstToGo, NoteEnds
from panewise.plan import nodes as n
from panewise.planner.forms import is_internal, is_mixed
from panewise.planner.refreshing import externalised
from panewise.queries.relations.tree import Stage

MIXABLE = (n.Filter, n.Project, n.Qualify, n.Union, n.Join)
"""What may stand above internal and external windows at once."""


class Compiles(Protocol):
    """What is needed of the compiler."""

    def relation(self, node: n.Node) -> Stage:
        """A node as a relation at every instant."""

    def join(self, node: n.Join, left: Stage, right: Stage) -> Stage:
        """Pairs of two stages."""

    def stage(self, node: n.Node, operator: RelationOperator, *inputs: Stage) -> Stage:
        """An operator with its label."""


def staying(compiler: Compiles, node: n.Node) -> Stage:
    """A node as if all its windows were external, with a hidden column for the ends of the external rows."""
    match node:
        case n.Filter() if is_mixed(node):
            below = staying(compiler, node.input)
            return compiler.stage(node, FilterRows(below.schema, node.predicate), below)
        case n.Project() if is_mixed(node):
            below = staying(compiler, node.input)
            scalars = [*(item.scalar for item in node.items), Scalar.column(STAYS)]
            return compiler.stage(node, ProjectRows(below.schema, [*node.columns, STAYS], scalars), below)
        case n.Qualify() if is_mixed(node):
            below = staying(compiler, node.input)
            names = [*(f"{node.alias}.{name}" for name in below.schema.names[:-1]), STAYS]
            return compiler.stage(node, RenameRows(below.schema, names), below)
        case n.Union() if is_mixed(node):
            parts = [staying(compiler, part) for part in node.parts]
            return compiler.stage(node, UnionRows([part.schema for part in parts]), *parts)
        case n.Join() if is_mixed(node):
            left, right = staying(compiler, node.left), staying(compiler, node.right)
            theirs = RenameRows(right.schema, [*right.schema.names[:-1], THEIRS])
            pairs = compiler.join(node, left, Stage(theirs, (right,), right.label, "hidden"))
            return Stage(FirstToGo(pairs.schema), (pairs,), pairs.label, "hidden")
    internal = is_internal(node)
    below = compiler.relation(externalised(node))
    return compiler.stage(node, NoteEnds(below.schema, internal=internal), below)
