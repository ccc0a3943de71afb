"""The parts of a bracket: which clauses go together, which columns and amounts they mean."""

from __future__ import annotations

from datetime import date, datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from panewise.core.errors import QuantityError, SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import ROW_NUM, ROW_NUM_NAMES
from panewise.core.time import TIME_OF_DAY, Day, Domain, Quantity, local_instant, warn_bare_number
from panewise.sql.expressions import Expressions
from panewise.sql.hints import listed
from panewise.sql.relations import VALID_FROM, Relation, Scope
from panewise.sql.syntax import Amount, Bracket, Clause, Name, Parameter, Span
from panewise.sql.windows.brackets import EXTENTS, RANGE_KINDS
from panewise.sql.windows.window_times import window_time, windows_below

ALLOWED = {
    "RANGE": {"SLIDE", "LAG", "WA", "RATTR", "SATTR", "PA", "ORIGIN"},
    "RANGE ALL": {"SLIDE", "WA", "ORIGIN"},
    "RANGE TUMBLING": {"LAG", "WA", "ORIGIN", "GROWING", "PA"},
    "WINDOW": {"SLIDE", "LAG"},
    "ROWS": {"SLIDE", "PA"},
    "NOW": {"SLIDE", "LAG", "WA", "ORIGIN"},
    "UNBOUNDED": {"START AT", "END AT", "WA", "ZONE"},
    "SESSION": {"WA", "PA"},
    "CALENDAR": {"SLIDE", "WA", "ZONE", "ORIGIN", "PA"},
}
"""What may stand beside each extent; INTERNAL and WHERE may always."""
_UNIT = {OrdinalKind.TIMESTAMP: "1 minute", OrdinalKind.DATE: "1 day", OrdinalKind.ROWS: "10 rows",
         OrdinalKind.INTEGER: "10"}
_LITERAL = {OrdinalKind.TIMESTAMP: "'2026-01-01T07:00:00Z'", OrdinalKind.DATE: "'2026-01-01'"}
_INSTEAD = {("ROWS", "WA"): "; for windows with ids write RANGE 100 rows WA row-num",
            ("ROWS", "RATTR"): "; for windows with ids write RANGE 100 rows WA row-num",
            ("WINDOW", "WA"): "; for windows with ids write RANGE instead"}
"""Of an extent and what cannot stand beside it."""


class WindowContext:
    """What every bracket of one query text needs."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions, self.parameters, self.error = expressions, expressions.parameters, expressions.error

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
            shown = str(found) if isinstance(amount, Parameter) else f"{amount.number} {amount.unit}".strip()
            raise self.error(f"a quantity must be positive, not {shown}", amount.span,
                             "write a number above zero")
        return found


class BracketParts:
    """The clauses of one bracket over one relation."""

    def __init__(self, binder: WindowContext, bracket: Bracket, over: Relation, scope: Scope) -> None:
        self.binder, self.bracket, self.over, self.scope = binder, bracket, over, scope
        self.error = binder.error
        self.extent = next(c for c in bracket.clauses if c.keyword in (*EXTENTS, *RANGE_KINDS))
        self.wa, self.rattr, self.sattr = (bracket.get(k) for k in ("WA", "RATTR", "SATTR"))

    # -- which clauses go together (rules 1, 5, 13) --------------------------------------------------------------

    def check_companions(self) -> None:
        """Rules 1, 5 and 13."""
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
                             f"{keyword} takes {allowed}" + _INSTEAD.get((keyword, clause.keyword), ""))
        origin = self.bracket.get("ORIGIN")
        if origin is not None and self.wa is None and keyword != "CALENDAR":
            raise self.error("ORIGIN needs WA", origin.span, "add WA and the column whose values the origin is one of")

    # -- attributes ----------------------------------------------------------------------------------------------

    def attribute(self) -> tuple[str, OrdinalKind | None]:
        """The windowing attribute: WA, RATTR, or the time column."""
        named = self.wa or self.rattr
        if named is not None:
            return self.column(named.names[0])
        if self.extent.keyword == "ROWS":
            return ROW_NUM, OrdinalKind.ROWS
        return self.binder.time_of(self.over, self.bracket.span)

    def column(self, name: Name) -> tuple[str, OrdinalKind | None]:
        """A column that can order a window, or row-num."""
        if len(name.parts) == 1 and name.parts[0].lower() in ROW_NUM_NAMES:
            return ROW_NUM, OrdinalKind.ROWS
        below = windows_below(self.over.node) if self.over.aggregated else None
        if below is not None and (time := window_time(name.parts)) is not None:
            return time, below.window.ordinal
        flat = self._resolved(name)
        try:
            return flat, self.over.ordinal(flat)
        except SchemaError as error:
            raise self.error(str(error), name.span, "name a timestamp, date or integer column, or row-num") from error

    def _resolved(self, name: Name) -> str:
        flat = self.binder.expressions.resolve(name.parts, self.scope, name.span)
        if flat is None:
            raise self.binder.expressions.no_column(name.parts, self.scope, name.span)
        return flat

    def partition(self) -> tuple[str, ...]:
        """The columns of PA."""
        pa = self.bracket.get("PA")
        names = []
        for name in pa.names if pa is not None else ():
            flat = self._resolved(name)
            if flat in names:
                raise self.error(f"{name} is named twice", name.span, "name each column once")
            names.append(flat)
        return tuple(names)

    # -- amounts -------------------------------------------------------------------------------------------------

    def quantity(self, clause: Clause) -> Quantity:
        """The quantity of a clause."""
        assert clause.amount is not None
        return self.binder.quantity(clause.amount)

    def amount(self, keyword: str, kind: OrdinalKind, default: int) -> int:
        """The quantity of a clause in steps of the attribute."""
        clause = self.extent if keyword == self.extent.keyword else self.bracket.get(keyword)
        if clause is None:
            return default
        assert clause.amount is not None
        quantity, given = self.quantity(clause), clause.amount
        bare = isinstance(self.binder.parameters.value(given), int) if isinstance(given, Parameter) else not given.unit
        if kind is OrdinalKind.TIMESTAMP and not self.over.open and bare:
            warn_bare_number(keyword, quantity.amount)
        try:
            return kind.amount(quantity)
        except QuantityError as error:
            hint = f"write {keyword} {_UNIT[kind]}, or the like"
            if quantity.domain is Domain.MONTHS:
                hint = "months differ in length: write CALENDAR 1 MONTH"
            raise self.error(f"{keyword}: {error}", clause.amount.span, hint) from error

    def kind(self, kind: OrdinalKind | None) -> OrdinalKind:
        """The attribute's kind; a column of unknown type is what the units say it is."""
        if kind is not None:
            return kind
        amounts = [c.amount for c in self.bracket.clauses if c.amount is not None]
        if amounts and all(self.binder.quantity(a).domain is Domain.TICKS for a in amounts) and not self.over.open:
            return OrdinalKind.INTEGER
        return OrdinalKind.TIMESTAMP

    def constant(self, keyword: str) -> tuple[object, Span]:
        """The value that a clause gives, and where; None where there is no such clause."""
        clause = self.bracket.get(keyword)
        if clause is None or clause.constant is None:
            return None, self.bracket.span
        given = clause.constant
        return self.binder.parameters.value(given) if isinstance(given, Parameter) else given.value, given.span

    def literal(self, keyword: str, kind: OrdinalKind, *, every_day: bool = False) -> int | None:
        """The constant of a clause as a value of the attribute.

        A bare time of day is on the day that the run declares; ``every_day`` says that any day would do.
        """
        value, span = self.constant(keyword)
        if value is None:
            return None
        value = value.isoformat() if isinstance(value, time) else value
        try:
            if kind is OrdinalKind.TIMESTAMP and isinstance(value, str) and TIME_OF_DAY.fullmatch(value):
                return self._time_of_day(keyword, value, span, every_day=every_day)
            if kind is OrdinalKind.TIMESTAMP and (local := _local(value)) is not None:
                return local_instant(local, self.zone())
            return kind.parse(value)
        except (QuantityError, TypeError, AttributeError) as error:
            raise self.error(f"{keyword}: {value!r} is no {kind.value} of this window", span,
                             f"write {keyword} {_LITERAL.get(kind, '0')}, or the like") from error


    def _time_of_day(self, keyword: str, text: str, span: Span, *, every_day: bool) -> int:
        day = self.binder.parameters.days.get() or (Day(date(1970, 1, 1)) if every_day else None)
        if day is None:
            raise self.error(f"{keyword} '{text}' is a time of day, and no day is given", span,
                             "give day='2026-01-01' (--day 2026-01-01 on the command line), or write the whole time: "
                             f"'2026-01-01T{text.strip().zfill(5)}Z'")
        return day.at(text, self.zone())

    def zone(self) -> str:
        """The time zone in which the bracket gives times without an offset."""
        given, span = self.constant("ZONE")
        if given is None:
            return self.binder.parameters.zone
        name = str(given)
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise self.error(f"no time zone {name!r}", span,
                             "write ZONE 'Europe/Berlin' or another name of the time zone database") from error
        return name


def _local(value: object) -> datetime | None:
    """A time without an offset, which the clocks of a zone show."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    return value if isinstance(value, datetime) and value.tzinfo is None else None
