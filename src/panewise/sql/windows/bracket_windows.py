"""From a bracket, or from the value of a ``[:signature]`` parameter, to a window."""

from __future__ import annotations

from dataclasses import replace

from panewise.core.errors import SqlError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import ROW_NUM
from panewise.plan.nodes import WindowClause
from panewise.sql.expressions import Expressions
from panewise.sql.functions import aggregate_names
from panewise.sql.parameters import Parameters
from panewise.sql.parser import parse_bracket
from panewise.sql.relations import BoundWindow, Relation, Scope, Visible
from panewise.sql.syntax import Bracket, Parameter
from panewise.sql.windows.window_kinds import BracketWindow
from panewise.sql.windows.window_parts import WindowContext
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.rows import RowWindow


class WindowBinder(WindowContext):
    """Binds the brackets of one query text."""

    def bind(self, bracket: Bracket, over: Relation, scope: Scope | None = None) -> BoundWindow:
        """The window of a bracket over a relation; ``scope`` resolves names when the relation is a join."""
        if scope is None:
            scope = Scope((Visible(None, over.columns, open=over.open),))
        found = BracketWindow(self, bracket, over, scope).bind() if bracket.signature is None else \
            self._signature(bracket.signature, over, scope)
        if found.clause.spec.clock is not None:
            return found
        return replace(found, no_relation=self.error(
            f"{found.clause.spec.kind} windows are no relation: rows do not come and go with them", found.span,
            "aggregate them: SELECT count(*) FROM s [...]"))

    # -- [:signature] --------------------------------------------------------------------------------------------

    def _signature(self, parameter: Parameter, over: Relation, scope: Scope) -> BoundWindow:
        value = self.parameters.value(parameter)
        if isinstance(value, WindowClause):
            by_id = not isinstance(value.spec, CountWindow | BandWindow)
            return BoundWindow(value, by_id, parameter.span, has_slide=True)
        if isinstance(value, WindowSpec):
            return self._of_spec(value, parameter, over)
        if not isinstance(value, str):
            raise self.parameters.error(
                parameter, f"the value of :{parameter.name} is a {type(value).__name__}, not a window",
                "give window text such as 'RANGE 10 minutes SLIDE 1 minute', or a window object")
        own = WindowBinder(Expressions(value, Parameters(value, None, self.parameters.days)))
        try:
            bound = own.bind(parse_bracket(value, aggregate_names()), over, scope)
        except SqlError as error:  # the place is inside the value, so that is the text shown
            raise SqlError(f"in the window given as :{parameter.name}: {error.problem}", text=error.text,
                           start=error.start, end=error.end, hint=error.hint) from None
        return replace(bound, span=parameter.span)

    def _of_spec(self, spec: WindowSpec, parameter: Parameter, over: Relation) -> BoundWindow:
        if isinstance(spec, CountWindow | RowWindow):
            clause = WindowClause(spec, ROW_NUM, OrdinalKind.ROWS)
            return BoundWindow(clause, isinstance(spec, RowWindow), parameter.span, has_slide=True)
        attribute, kind = self.time_of(over, parameter.span)
        always_by_id = spec.clock is None or spec.kind in {"session", "calendar"}
        return BoundWindow(WindowClause(spec, attribute, kind or OrdinalKind.TIMESTAMP), always_by_id, parameter.span,
                           has_slide=True)
