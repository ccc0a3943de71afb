"""The parts of a bracket: which clauses go together, which columns and amounts they mean."""

from __future__ import annotations

from datetime import date, datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from panewise.core.errors import QuantityError, SchemaError, SqlError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import ROW_NUM, ROW_NUM_NAMES
from panewise.core.time import TIME_OF_DAY, Day, Domain, Quantity, local_instant, warn_bare_number
from panewise.sql.brackets import EXTENTS, RANGE_KINDS
from panewise.sql.expressions import Expressions
from panewise.sql.hints import listed
from panewise.sql.relations import VALID_FROM, Relation, Scope
from panewise.sql.syntax import Amount, Bracket, Clause, Name, Parameter, Span

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


class WindowContext:
    """What every bracket of one query text needs."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions, self.parameters = expressions, expressions.parameters

    def error(self, problem: str, span: Span, hint: str = "") -> SqlError:
        """An error at a place of the text."""
        return self.expressions.error(problem, span, hint)

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
                             f"{keyword} takes {allowed}" + _companion_hint(clause.keyword, keyword))
        origin = self.bracket.get("ORIGIN")
        if origin is not None and self.wa is None and keyword != "CALENDAR":
            raise self.error("ORIGIN needs WA", origin.span, "add WA and the column whose values the origin is one of")
        pa = self.bracket.get("PA")
        if pa is not None and keyword in {"RANGE", "RANGE TUMBLING"} and self.wa is None and self.rattr is None:
            raise self.error("PARTITION BY does nothing to a window of time", pa.span,
                             "write ROWS n for the newest rows of each partition, or GROUP BY")

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
        flat = self.binder.expressions.resolve(name.parts, self.scope, name.span)
        if flat is None:
            raise self.binder.expressions.no_column(name.parts, self.scope, name.span)
        try:
            return flat, self.over.ordinal(flat)
        except SchemaError as error:
            raise self.error(str(error), name.span, "name a timestamp, date or integer column, or row-num") from error

    def partition(self) -> tuple[str, ...]:
        """The columns of PA."""
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
        if kind is OrdinalKind.TIMESTAMP and not self.over.open and self._is_bare(clause.amount):
            warn_bare_number(keyword, self.quantity(clause).amount)
        try:
            return kind.amount(self.quantity(clause))
        except QuantityError as error:
            hint = _unit_hint(keyword, kind)
            if self.quantity(clause).domain is Domain.MONTHS:
                hint = "months differ in length: write CALENDAR 1 MONTH"
            raise self.error(f"{keyword}: {error}", clause.amount.span, hint) from error

    def _is_bare(self, amount: Amount | Parameter) -> bool:
        """Whether a number was given without any unit."""
        if isinstance(amount, Parameter):
            return isinstance(self.binder.parameters.value(amount), int)
        return not amount.unit

    def kind(self, kind: OrdinalKind | None) -> OrdinalKind:
        """The attribute's kind; a column of unknown type is what the units say it is."""
        if kind is not None:
            return kind
        amounts = [c.amount for c in self.bracket.clauses if c.amount is not None]
        if amounts and all(self.binder.quantity(a).domain is Domain.TICKS for a in amounts) and not self.over.open:
            return OrdinalKind.INTEGER
        return OrdinalKind.TIMESTAMP

    def literal(self, keyword: str, kind: OrdinalKind, *, every_day: bool = False) -> int | None:
        """The constant of a clause as a value of the attribute.

        A bare time of day is on the day that the run declares; ``every_day`` says that any day would do.
        """
        clause = self.bracket.get(keyword)
        if clause is None or clause.constant is None:
            return None
        given = clause.constant
        value = self.binder.parameters.value(given) if isinstance(given, Parameter) else given.value
        value = value.isoformat() if isinstance(value, time) else value
        try:
            if kind is OrdinalKind.TIMESTAMP and isinstance(value, str) and TIME_OF_DAY.fullmatch(value):
                return self._time_of_day(keyword, value, given.span, every_day=every_day)
            if kind is OrdinalKind.TIMESTAMP and (local := _local(value)) is not None:
                return local_instant(local, self.zone())
            return kind.parse(value)
        except (QuantityError, TypeError, AttributeError) as error:
            raise self.error(f"{keyword}: {value!r} is no {kind.value} of this window", given.span,
                             _literal_hint(keyword, kind)) from error


    def _time_of_day(self, keyword: str, text: str, span: Span, *, every_day: bool) -> int:
        day = self.binder.parameters.days.get() or (Day(date(1970, 1, 1)) if every_day else None)
        if day is None:
            raise self.error(f"{keyword} '{text}' is a time of day, and no day is given", span,
                             "give day='2026-01-01' (--day 2026-01-01 on the command line), or write the whole time: "
                             f"'2026-01-01T{text.strip().zfill(5)}Z'")
        return day.at(text, self.zone())

    def zone(self) -> str:
        """The time zone in which the bracket gives times without an offset."""
        clause = self.bracket.get("ZONE")
        if clause is None or clause.constant is None:
            return self.binder.parameters.zone
        given = clause.constant
        name = str(self.binder.parameters.value(given) if isinstance(given, Parameter) else given.value)
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise self.error(f"no time zone {name!r}", clause.span,
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
