"""FROM with its LATERAL VIEWs, and WHERE around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from panewise.core.ordinals import OrdinalKind
from panewise.sql.generators import GeneratorBinder
from panewise.sql.joins import Condition, JoinBinder
from panewise.sql.relations import BoundWindow, Relation, Scope, Visible
from panewise.sql.sources import BoundSource, apply_window
from panewise.sql.syntax import LateralView
from panewise.sql.windows.bracket_windows import WindowBinder


class FromBinder:
    """Binds FROM and WHERE of a query."""

    def __init__(self, generators: GeneratorBinder, joins: JoinBinder, windows: WindowBinder) -> None:
        self.generators, self.joins, self.windows, self.error = generators, joins, windows, windows.error

    def bind(self, views: Sequence[LateralView], sources: list[BoundSource], conditions: list[Condition], *,
             aggregated: bool) -> tuple[Relation, Scope, BoundWindow | None]:
        """Sources, views, WHERE; and the window, where an aggregate takes it over.

        What WHERE asks of the sources alone is asked before rows become many; not where a window stands behind the last
        view, which is over what the views make of all rows.
        """
        bracket = views[-1].bracket if views else None
        before = [] if bracket is not None else [c for c in conditions if not views or _of_sources(c, sources, views)]
        window = None
        if len(sources) == 1 and aggregated and bracket is None:
            window = self._taken_over(sources[0], views)
        if bracket is not None and len(sources) == 1 and sources[0].window is not None:
            raise self.error("two windows, on a source and behind LATERAL VIEW", bracket.span, "keep one of them")
        if window is not None:
            sources = [replace(sources[0], window=None)]
        relation, scope = self.joins.join(sources, before)
        for view in views:
            relation, scope = self.generators.viewed(relation, scope, view)
        if bracket is not None:
            if relation.changing:
                raise self.error("a window over a relation whose rows leave again", bracket.span,
                                 "keep the windows of the sources, or this one")
            window = self.windows.bind(bracket, relation, scope)
            if not (aggregated and window.by_id):
                relation, window = apply_window(relation, window), None
        after = [condition for condition in conditions if condition not in before]
        return self.joins.filtered(relation, scope, after), scope, window

    def _taken_over(self, only: BoundSource, views: Sequence[LateralView]) -> BoundWindow | None:
        """The window of the source where the aggregate has it: over time it does not matter who explodes first."""
        window = only.window
        if window is None or not window.by_id:
            return None
        if views and window.clause.ordinal is OrdinalKind.ROWS:
            raise self.error("a window by positions before LATERAL VIEW, of an aggregate over what the view makes",
                             window.span, "write the window behind LATERAL VIEW to count the rows it makes")
        return window


def _of_sources(condition: Condition, sources: list[BoundSource], views: Sequence[LateralView]) -> bool:
    """Whether all names of a condition are columns of the sources, none of a view, and it is no EXISTS."""
    scope = Scope(tuple(Visible.of(s.alias, s.relation, f"{s.alias}." if len(sources) > 1 else "") for s in sources))
    made = {name.lower() for view in views for name in (*view.names, view.alias)}
    written = [tuple(part.name for part in found.parts) for found in condition.tree.find_all(exp.Column)]
    return condition.exists is None and not scope.open and all(view.names for view in views) and all(
        parts[0].lower() not in made and any(scope.candidates(parts[:end]) for end in range(len(parts), 0, -1))
        for parts in written)
