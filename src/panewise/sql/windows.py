"""From a bracket to a window specification: the static rules, units, and which kind of window is meant."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from panewise.core.errors import PanewiseError, QuantityError, SchemaError, SqlError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import ROW_NUM, ROW_NUM_NAMES
from panewise.core.time import Domain, Quantity
from panewise.plan.nodes import WindowClause
from panewise.sql.brackets import EXTENTS, RANGE_KINDS
from panewise.sql.expressions import Expressions
from panewise.sql.functions import aggregate_names
from panewise.sql.hints import did_you_mean, listed
from panewise.sql.parameters import Parameters
from panewise.sql.parser import parse_bracket
from panewise.sql.relations import VALID_FROM, BoundWindow, Relation, Scope, Visible
from panewise.sql.syntax import Amount, Bracket, Clause, Name, Parameter, Span
from panewise.windows.base import WindowSpec
from panewise.windows.calendar import UNITS as CALENDAR_UNITS
from panewise.windows.calendar import CalendarWindow
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.rows import PartitionedRowWindow, RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, NowWindow, TumblingWindow
from panewise.windows.tuple_slide import SlideOrder, TupleSlideWindow

ALLOWED = {
    "RANGE": {"SLIDE", "LAG", "WA", "RATTR", "SATTR", "PA", "ORIGIN"},
    "RANGE ALL": {"SLIDE", "WA", "ORIGIN"},
    "RANGE TUMBLING": {"LAG", "WA", "ORIGIN", "GROWING", "PA"},
    "WINDOW": {"SLIDE", "LAG"},
    "ROWS": {"SLIDE", "PA"},
    "NOW": {"SLIDE", "LAG", "WA", "ORIGIN"},
    "UNBOUNDED": {"START AT", "END AT", "WA"},
    "SESSION": {"WA", "PA"},
    "CALENDAR": {"SLIDE", "WA", "ZONE", "ORIGIN", "PA"},
}
"""What may stand beside each extent; INTERNAL and WHERE may always."""


class WindowBinder:
    """Binds the brackets of one query text."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions, self.parameters = expressions, expressions.parameters

    def error(self, problem: str, span: Span, hint: str = "") -> SqlError:
        """An error at a place of the text."""
        return self.expressions.error(problem, span, hint)

    def bind(self, bracket: Bracket, over: Relation, scope: Scope | None = None) -> BoundWindow:
        """The window of a bracket over a relation; ``scope`` resolves names when the relation is a join."""
        if scope is None:
            scope = Scope((Visible(None, over.columns, open=over.open),))
        if bracket.signature is not None:
            return self._signature(bracket.signature, over, scope)
        return _OneWindow(self, bracket, over, scope).bind()

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
        own = WindowBinder(Expressions(value, Parameters(value, None)))
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
        return BoundWindow(WindowClause(spec, attribute, kind or OrdinalKind.TIMESTAMP), False, parameter.span,
                           has_slide=True)

    def time_of(self, over: Relation, span: Span) -> tuple[str, OrdinalKind | None]:
        """The attribute a window without WA works on."""
        if over.time is not None:
            return over.time, over.ordinal(over.time)
        if over.derived:
            return VALID_FROM, over.clock
        raise self.error("there is no time column to window by", span,
                         "write WA and the column, or select the time column in the inner query")

    def quantity(self, amount: Amount | Parameter) -> Quantity:
        """A positive quantity (rule 13)."""
        if isinstance(amount, Parameter):
            found = self.parameters.quantity(amount)
        else:
            try:
                found = Quantity.of(amount.number, amount.unit)
            except QuantityError as error:
                raise self.error(str(error), amount.span, "write a whole number and a unit") from error
        if found.amount <= 0:
            raise self.error(f"a quantity must be positive, not {_shown(amount, found)}", amount.span,
                             "write a number above zero")
        return found


class _OneWindow:
    """One bracket over one relation."""

    def __init__(self, binder: WindowBinder, bracket: Bracket, over: Relation, scope: Scope) -> None:
        self.binder, self.bracket, self.over, self.scope = binder, bracket, over, scope
        self.error = binder.error
        self.extent = next(c for c in bracket.clauses if c.keyword in (*EXTENTS, *RANGE_KINDS))
        self.wa, self.rattr, self.sattr = (bracket.get(k) for k in ("WA", "RATTR", "SATTR"))

    def bind(self) -> BoundWindow:
        self._check_companions()
        by_id = self.wa is not None or self.rattr is not None or self.extent.keyword in {"SESSION", "CALENDAR"}
        attribute, kind = self._attribute()
        try:
            spec, attribute, kind = self._spec(attribute, kind)
        except SqlError:
            raise
        except PanewiseError as error:
            raise self.error(str(error), self.bracket.span, "change the window") from error
        partition = self._partition()
        sliced_by: tuple[str, ...] = ()
        if not spec.per_partition:
            partition, sliced_by = (), partition
        where = self.bracket.get("WHERE")
        predicate = None
        if where is not None and where.condition is not None:
            predicate = self.binder.expressions.scalar(where.condition, self.scope, where.span)
        clause = WindowClause(spec, attribute, kind, partition, predicate, self.bracket.get("INTERNAL") is not None)
        return BoundWindow(clause, by_id, self.bracket.span, self.bracket.get("SLIDE") is not None,
                           self.extent.keyword == "RANGE TUMBLING", getattr(spec, "range", None), sliced_by)

    # -- which clauses go together (rules 1, 5, 13) --------------------------------------------------------------

    def _check_companions(self) -> None:
        other = self.rattr or self.sattr
        if self.wa is not None and other is not None:
            raise self.error(f"WA and {other.keyword} in one window", other.span,
                             "WA is for range and slide together: keep WA, or write RATTR and SATTR for two attributes")
        if self.sattr is not None and self.rattr is None:
            raise self.error("SATTR needs RATTR", self.sattr.span, "add RATTR and the attribute of the range")
        if self.rattr is not None and self.sattr is None:
            raise self.error("RATTR needs SATTR", self.rattr.span,
                             "add SATTR row-num or SATTR rank(...), or write WA if both are the same")
        keyword = self.extent.keyword
        for clause in self.bracket.clauses:
            if clause is self.extent or clause.keyword in ALLOWED[keyword] | {"INTERNAL", "WHERE"}:
                continue
            allowed = listed(sorted(ALLOWED[keyword]))
            raise self.error(f"{clause.keyword} cannot stand beside {keyword}", clause.span,
                             f"{keyword} takes {allowed}" + _companion_hint(clause.keyword, keyword))
        origin = self.bracket.get("ORIGIN")
        if origin is not None and self.wa is None and keyword != "CALENDAR":
            raise self.error("ORIGIN needs WA", origin.span, "add WA and the column whose values the origin is one of")
        pa = self.bracket.get("PA")
        if pa is not None and keyword in {"RANGE", "RANGE TUMBLING"} and self.wa is None and self.rattr is None:
            raise self.error("PARTITION BY does nothing to a window of time", pa.span,
                             "write ROWS n for the newest rows of each partition, or GROUP BY")

    # -- attributes ----------------------------------------------------------------------------------------------

    def _attribute(self) -> tuple[str, OrdinalKind | None]:
        named = self.wa or self.rattr
        if named is not None:
            return self._column(named.names[0])
        if self.extent.keyword == "ROWS":
            return ROW_NUM, OrdinalKind.ROWS
        return self.binder.time_of(self.over, self.bracket.span)

    def _column(self, name: Name) -> tuple[str, OrdinalKind | None]:
        if len(name.parts) == 1 and name.parts[0].lower() in ROW_NUM_NAMES:
            return ROW_NUM, OrdinalKind.ROWS
        flat = self.binder.expressions.resolve(name.parts, self.scope, name.span)
        if flat is None:
            raise self.binder.expressions.no_column(name.parts, self.scope, name.span)
        try:
            return flat, self.over.ordinal(flat)
        except SchemaError as error:
            raise self.error(str(error), name.span, "name a timestamp, date or integer column, or row-num") from error

    def _partition(self) -> tuple[str, ...]:
        pa = self.bracket.get("PA")
        names = []
        for name in pa.names if pa is not None else ():
            flat = self.binder.expressions.resolve(name.parts, self.scope, name.span)
            if flat is None:
                raise self.binder.expressions.no_column(name.parts, self.scope, name.span)
            if flat in names:
                raise self.error(f"{name} is named twice", name.span, "name each column once")
            names.append(flat)
        return tuple(names)

    # -- amounts -------------------------------------------------------------------------------------------------

    def _quantity(self, clause: Clause) -> Quantity:
        assert clause.amount is not None
        return self.binder.quantity(clause.amount)

    def _amount(self, keyword: str, kind: OrdinalKind, default: int) -> int:
        clause = self.extent if keyword == self.extent.keyword else self.bracket.get(keyword)
        if clause is None:
            return default
        assert clause.amount is not None
        try:
            return kind.amount(self._quantity(clause))
        except QuantityError as error:
            hint = _unit_hint(keyword, kind)
            if self._quantity(clause).domain is Domain.MONTHS:
                hint = "months differ in length: write CALENDAR 1 MONTH"
            raise self.error(f"{keyword}: {error}", clause.amount.span, hint) from error

    def _kind(self, kind: OrdinalKind | None) -> OrdinalKind:
        """The attribute's kind; a column of unknown type is what the units say it is."""
        if kind is not None:
            return kind
        amounts = [c.amount for c in self.bracket.clauses if c.amount is not None]
        if amounts and all(self.binder.quantity(a).domain is Domain.TICKS for a in amounts) and not self.over.open:
            return OrdinalKind.INTEGER
        return OrdinalKind.TIMESTAMP

    def _literal(self, keyword: str, kind: OrdinalKind) -> int | None:
        clause = self.bracket.get(keyword)
        if clause is None or clause.constant is None:
            return None
        given = clause.constant
        value = self.binder.parameters.value(given) if isinstance(given, Parameter) else given.value
        try:
            return kind.parse(value)
        except (QuantityError, TypeError, AttributeError) as error:
            raise self.error(f"{keyword}: {value!r} is no {kind.value} of this window", given.span,
                             _literal_hint(keyword, kind)) from error

    # -- kinds ---------------------------------------------------------------------------------------------------

    def _spec(self, attribute: str, known: OrdinalKind | None) -> tuple[WindowSpec, str, OrdinalKind]:
        kind = self._kind(known)
        match self.extent.keyword:
            case "RANGE":
                return self._range(kind), attribute, kind
            case "WINDOW":
                return self._scoped(kind), attribute, kind
            case "RANGE TUMBLING":
                return self._tumbling(kind), attribute, kind
            case "RANGE ALL":
                return self._landmark(kind), attribute, kind
            case "ROWS":
                return self._count(), ROW_NUM, OrdinalKind.ROWS
            case "NOW":
                return self._now(kind), attribute, kind
            case "UNBOUNDED":
                return BandWindow(self._literal("START AT", kind), self._literal("END AT", kind)), attribute, kind
            case "SESSION":
                return SessionWindow(self._amount("SESSION", kind, 1)), attribute, kind
            case _:
                return self._calendar(kind), attribute, kind

    def _range(self, kind: OrdinalKind) -> WindowSpec:
        if self.rattr is not None:
            return self._by_tuple(kind)
        slide = self.bracket.get("SLIDE")
        if self.wa is None:
            return self._scoped(kind)
        if kind is OrdinalKind.ROWS:
            row_spec = PartitionedRowWindow if self.bracket.get("PA") else RowWindow
            origin = self._literal("ORIGIN", kind)
            return row_spec(self._amount("RANGE", kind, 1), self._amount("SLIDE", kind, 1),
                            1 if origin is None else origin, self._amount("LAG", kind, 0))
        if slide is not None and self._quantity(slide).domain is Domain.ROWS:
            # A time RANGE that slides by rows on one attribute: two attributes in truth (rule 3).
            return self._by_tuple(kind)
        return SlidingWindow(self._amount("RANGE", kind, 1), self._amount("SLIDE", kind, 1),
                             self._literal("ORIGIN", kind) or 0, self._amount("LAG", kind, 0))

    def _scoped(self, kind: OrdinalKind) -> WindowSpec:
        """No WA: the window whose upper bound moves with the clock; without SLIDE at every tick (rule U7)."""
        if self._quantity(self.extent).domain is Domain.ROWS:
            assert self.extent.amount is not None
            raise self.error(f"a {self.extent.keyword} in rows needs an order of rows", self.extent.amount.span,
                             "write ROWS n for the n newest rows, or add WA row-num for windows with ids")
        return SlidingWindow.scoped(self._amount(self.extent.keyword, kind, 1), self._amount("SLIDE", kind, 1),
                                    lag=self._amount("LAG", kind, 0))

    def _by_tuple(self, kind: OrdinalKind) -> WindowSpec:
        named = self.rattr or self.wa
        assert named is not None
        if kind is OrdinalKind.ROWS:
            raise self.error("a window over row-num slides on row-num too", named.span, "write WA row-num")
        for keyword in ("LAG", "ORIGIN"):
            if (clause := self.bracket.get(keyword)) is not None:
                raise self.error(f"{keyword} cannot stand in a window that slides by rows", clause.span, "remove it")
        if self.sattr is not None:
            attribute, sattr_kind = self._column(self.sattr.names[0])
            if self.sattr.rank and attribute != self._column(named.names[0])[0]:
                raise self.error("the slide must rank the attribute of the range", self.sattr.names[0].span,
                                 f"write SATTR rank({named.names[0]})")
            if not self.sattr.rank and sattr_kind is not OrdinalKind.ROWS:
                raise self.error("SATTR counts rows", self.sattr.span,
                                 f"write SATTR row-num or SATTR rank({named.names[0]})")
        by = SlideOrder.RANK if self.sattr is not None and self.sattr.rank else SlideOrder.ARRIVAL
        return TupleSlideWindow(self._amount("RANGE", kind, 1), self._amount("SLIDE", OrdinalKind.ROWS, 1), by,
                                self.bracket.get("PA") is not None)

    def _tumbling(self, kind: OrdinalKind) -> WindowSpec:
        size, lag = self._amount("RANGE TUMBLING", kind, 1), self._amount("LAG", kind, 0)
        disclosure = Disclosure.GROWING if self.bracket.get("GROWING") else Disclosure.DISCLOSED
        if self.wa is None:
            return TumblingWindow.registered(size, lag=lag, disclosure=disclosure)
        origin = self._literal("ORIGIN", kind)
        if kind is OrdinalKind.ROWS:
            row_spec = PartitionedRowWindow if self.bracket.get("PA") else RowWindow
            return row_spec(size, size, 1 if origin is None else origin, lag)
        return TumblingWindow(size, origin or 0, lag, disclosure)

    def _landmark(self, kind: OrdinalKind) -> WindowSpec:
        if self.wa is None:
            raise self.error("RANGE ALL needs WA", self.extent.span,
                             "add WA and the column, or write UNBOUNDED for a relation that only grows")
        origin = self._literal("ORIGIN", kind)
        first = 1 if kind is OrdinalKind.ROWS else 0
        return LandmarkWindow(self._amount("SLIDE", kind, 1), first if origin is None else origin)

    def _count(self) -> WindowSpec:
        assert self.extent.amount is not None
        if self._quantity(self.extent).domain not in {Domain.ROWS, Domain.TICKS}:
            raise self.error("ROWS counts rows, not time", self.extent.amount.span,
                             "write ROWS 100, or RANGE with a time unit")
        rows = OrdinalKind.ROWS
        spec = PartitionedCountWindow if self.bracket.get("PA") else CountWindow
        return spec(self._amount("ROWS", rows, 1), self._amount("SLIDE", rows, 1))

    def _now(self, kind: OrdinalKind) -> WindowSpec:
        slide, lag = self._amount("SLIDE", kind, 1), self._amount("LAG", kind, 0)
        if self.wa is None:
            return NowWindow.registered(slide, lag=lag)
        return NowWindow(slide, self._literal("ORIGIN", kind) or 0, lag)

    def _calendar(self, kind: OrdinalKind) -> WindowSpec:
        amount = self.extent.amount
        if not isinstance(amount, Amount):
            raise self.error("CALENDAR needs a number and a unit", self.extent.span, "write CALENDAR 1 MONTH")
        unit, count = self._calendar_unit(amount)
        slide = self.bracket.get("SLIDE")
        step = None
        if slide is not None:
            if not isinstance(slide.amount, Amount) or (stepping := self._calendar_unit(slide.amount))[0] != unit:
                raise self.error("SLIDE of a calendar window has the same unit", slide.span, f"write SLIDE 1 {unit}")
            step = stepping[1]
        zone = self.bracket.get("ZONE")
        given = None if zone is None else zone.constant
        name = "UTC" if given is None else str(
            self.binder.parameters.value(given) if isinstance(given, Parameter) else given.value)
        try:
            return CalendarWindow(unit, count, step, name, self._local_origin(), kind)
        except PanewiseError as error:
            raise self.error(str(error), zone.span if zone is not None else self.extent.span,
                             "write ZONE 'Europe/Berlin' or another name of the time zone database") from error

    def _calendar_unit(self, amount: Amount) -> tuple[str, int]:
        unit = amount.unit.lower().removesuffix("s")
        if unit not in CALENDAR_UNITS:
            raise self.error(f"no calendar unit {amount.unit!r}", amount.unit_span,
                             did_you_mean(unit, CALENDAR_UNITS, f"use one of {listed(CALENDAR_UNITS)}"))
        if not amount.number.isdigit() or int(amount.number) == 0:
            raise self.error(f"a quantity must be positive, not {amount.number}", amount.span, "write a whole number")
        return unit, int(amount.number)

    def _local_origin(self) -> datetime | None:
        clause = self.bracket.get("ORIGIN")
        if clause is None or clause.constant is None:
            return None
        given = clause.constant
        value = self.binder.parameters.value(given) if isinstance(given, Parameter) else given.value
        try:
            return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        except ValueError as error:
            raise self.error(f"ORIGIN: {value!r} is no local time", given.span,
                             "write '1970-04-01T00:00:00'") from error


def _shown(amount: Amount | Parameter, found: Quantity) -> str:
    return f"{amount.number} {amount.unit}".strip() if isinstance(amount, Amount) else str(found)


def _companion_hint(keyword: str, extent: str) -> str:
    if extent == "ROWS" and keyword in {"WA", "RATTR"}:
        return "; for windows with ids write RANGE 100 rows WA row-num"
    if extent == "WINDOW" and keyword == "WA":
        return "; for windows with ids write RANGE instead"
    return ""


def _unit_hint(keyword: str, kind: OrdinalKind) -> str:
    unit = {"timestamp": "1 minute", "date": "1 day", "rows": "10 rows", "integer": "10"}[kind.value]
    return f"write {keyword} {unit}, or the like"


def _literal_hint(keyword: str, kind: OrdinalKind) -> str:
    value = {"timestamp": "'2026-01-01T07:00:00Z'", "date": "'2026-01-01'"}.get(kind.value, "0")
    return f"write {keyword} {value}, or the like"

