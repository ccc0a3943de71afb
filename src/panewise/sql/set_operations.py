"""The columns of UNION, UNION ALL and EXCEPT ALL: by position, of one type or of types that meet in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from panewise.core.errors import PanewiseError, SqlError
from panewise.functions.types import type_name
from panewise.functions.unions import EXCEPT_ALL, UNION, met
from panewise.plan.nodes import Node
from panewise.planner.facts.requests import schema_of
from panewise.sql.relations import Relation
from panewise.sql.syntax import SetOperation

Types = Mapping[str, pa.DataType]


class MeetingColumns:
    """Refuses columns that have no common type at the place of the operator, where their types are known already."""

    def __init__(self, error: Callable[..., SqlError]) -> None:
        self._error = error
        self._last: tuple[Node, Types] | None = None

    def check(self, left: Relation, right: Relation, step: SetOperation) -> None:
        """The columns of both sides, in pairs."""
        ours, theirs = self._of_left(left), types_of(right)
        operator = EXCEPT_ALL if step.operator == EXCEPT_ALL else UNION
        for one, other in zip(left.columns, right.columns, strict=False):
            kinds = ours.get(one), theirs.get(other)
            if kinds[0] is not None and kinds[1] is not None and met(*kinds, operator) is None:
                raise self._error(f"{step.operator} of columns whose types differ: {one!r} is {type_name(kinds[0])} "
                                  f"and {other!r} is {type_name(kinds[1])}", step.span,
                                  f"cast one of them: CAST({other} AS ...)")

    def _of_left(self, left: Relation) -> Types:
        """Those of the first part, which all parts of a chain are held against."""
        if self._last is None or self._last[0] is not left.node:
            self._last = left.node, types_of(left)
        return self._last[1]


def types_of(relation: Relation) -> Types:
    """What is known of the types of the columns: those that are computed are bound for it."""
    if all(column in relation.types for column in relation.columns):
        return relation.types
    try:
        schema = schema_of(relation.node)
    except PanewiseError:  # what is wrong with an expression is said at its own place
        schema = None
    return relation.types if schema is None else dict(zip(schema.names, schema.types, strict=True))
