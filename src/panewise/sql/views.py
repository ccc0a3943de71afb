"""LATERAL VIEWs: what stands behind FROM and makes rows of the collections in it, with WHERE around them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from panewise.core.errors import SqlError
from panewise.core.ordinals import OrdinalKind
from panewise.sql.generators import GeneratorBinder
from panewise.sql.joins import Condition, JoinBinder
from panewise.sql.relations import BoundWindow, Relation, Scope, Visible
from panewise.sql.sources import BoundSource, apply_window
from panewise.sql.syntax import JoinClause, LateralView, Span
from panewise.sql.windows import WindowBinder


class ViewBinder:
    """Binds FROM and WHERE of a query that has views."""

    def __init__(self, generators: GeneratorBinder, joins: JoinBinder, windows: WindowBinder) -> None:
        self.generators, self.joins, self.windows = generators, joins, windows

    def error(self, problem: str, span: Span, hint: str = "") -> SqlError:
        """An error at a place of the text."""
        return self.generators.error(problem, span, hint)

    def bind(self, views: Sequence[LateralView], sources: list[BoundSource], conditions: list[Condition],
             outer: JoinClause | None, *, aggregated: bool) -> tuple[Relation, Scope, BoundWindow | None]:
        """Sources, views, WHERE; and the window, where an aggregate takes it over.

        What WHERE asks of the sources alone is asked before rows become many; not where a window stands behind the last
        view, which is over what the views make of all rows.
        """
        bracket = views[-1].bracket
        before = [] if bracket is not None else [c for c in conditions if _of_sources(c, sources, views)]
        window = None
        if len(sources) > 1:
            joined = self.joins.join(sources, before, outer)
            relation, scope = joined.relation, joined.scope
        else:
            only = sources[0]
            scope = Scope((Visible.of(only.alias, only.relation),))
            window = self._taken_over(only, bracket is not None) if aggregated else None
            if bracket is not None and only.window is not None:
                raise self.error("two windows, on a source and behind LATERAL VIEW", bracket.span, "keep one of them")
            relation = self.joins.filtered(only.relation if window is not None else only.windowed(), scope, before)
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

    def _taken_over(self, only: BoundSource, shadowed: bool) -> BoundWindow | None:
        """The window of the source where the aggregate has it: over time it does not matter who explodes first."""
        window = only.window
        if window is None or not window.by_id or shadowed:
            return None
        if window.clause.ordinal is OrdinalKind.ROWS:
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
