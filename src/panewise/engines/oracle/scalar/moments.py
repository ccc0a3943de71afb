"""Functions of dates and timestamps."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal as Number
from typing import Any

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import calendars, time_patterns
from panewise.engines.oracle.scalar.arithmetic import checked_int, is_interval, low_bits, truncated
from panewise.engines.oracle.scalar.calendars import DAY, HOUR, MINUTE, SECOND, civil, day_number
from panewise.engines.oracle.scalar.casts import cast, in_range
from panewise.engines.oracle.scalar.coercion import argument
from panewise.engines.oracle.scalar.session import zone
from panewise.engines.oracle.scalar.signatures import attempted, function, simple
from panewise.engines.oracle.scalar.typed import Failure, MismatchError, Typed, constant, strict
from panewise.engines.oracle.scalar.types import (
    BYTE,
    DATE,
    INT,
    LONG,
    NTZ,
    NULL,
    SHORT,
    STRING,
    TIMESTAMP,
    decimal,
)


def _week(days: int) -> tuple[int, int]:
    """The ISO year and week: the week of the Thursday."""
    thursday = days - (days + 3) % 7 + 3
    year = civil(thursday)[0]
    return year, (thursday - day_number(year, 1, 1)) // 7 + 1


OF_DATE: dict[str, Callable[[int], int]] = {
    "year": lambda d: civil(d)[0], "month": lambda d: civil(d)[1], "day": lambda d: civil(d)[2],
    "dayofmonth": lambda d: civil(d)[2], "quarter": lambda d: (civil(d)[1] + 2) // 3,
    "dayofyear": lambda d: d - day_number(civil(d)[0], 1, 1) + 1,
    "dayofweek": lambda d: (d + 4) % 7 + 1, "weekday": lambda d: (d + 3) % 7, "weekofyear": lambda d: _week(d)[1],
}
OF_CLOCK: dict[str, Callable[[int], int]] = {
    "hour": lambda t: t // HOUR % 24, "minute": lambda t: t // MINUTE % 60, "second": lambda t: t // SECOND % 60}
for _name, _compute in OF_DATE.items():
    simple(_name, [DATE], INT, _compute)


def wall_clock(item: Typed, sql: str) -> Typed:
    """A time as the clock on the wall shows it; text is read as a timestamp."""
    if item.type == NTZ:
        return item
    return cast(argument(item, TIMESTAMP, sql), NTZ)


for _name, _compute in OF_CLOCK.items():
    @function(_name, least=1, most=1)
    def _clock(arguments: list[Typed], sql: str, compute: Callable[[int], int] = _compute) -> Typed:
        return strict(INT, compute, [wall_clock(arguments[0], sql)], sql)


_FIELDS = {
    "year": "year", "y": "year", "years": "year", "yr": "year", "yrs": "year", "quarter": "quarter", "qtr": "quarter",
    "month": "month", "mon": "month", "mons": "month", "months": "month", "week": "weekofyear", "w": "weekofyear",
    "weeks": "weekofyear", "day": "day", "d": "day", "days": "day", "dayofweek": "dayofweek", "dow": "dayofweek",
    "dayofweek_iso": "iso", "dow_iso": "iso", "doy": "dayofyear", "hour": "hour", "h": "hour", "hours": "hour",
    "hr": "hour", "hrs": "hour", "minute": "minute", "m": "minute", "min": "minute", "mins": "minute",
    "minutes": "minute", "second": "second", "s": "second", "sec": "second", "secs": "second", "seconds": "second",
    "yearofweek": "isoyear",
}


def extracted(field: str, item: Typed, sql: str) -> Typed:
    """EXTRACT: a part of a date or time; seconds with their fraction."""
    name = _FIELDS.get(field.lower())
    if name is None:
        raise MismatchError(f"{sql}: {field!r} is no part of a time", "INVALID_EXTRACT_FIELD")
    if is_interval(item.type):
        raise UnsupportedError(f"the oracle takes no parts of intervals: {sql}")
    if item.type == STRING:
        item = cast(item, TIMESTAMP)
    if name in OF_DATE:
        return strict(INT, OF_DATE[name], [argument(item, DATE, sql)], sql)
    if name == "iso":
        return strict(INT, lambda d: (d + 3) % 7 + 1, [argument(item, DATE, sql)], sql)
    if name == "isoyear":
        return strict(INT, lambda d: _week(d)[0], [argument(item, DATE, sql)], sql)
    clock = wall_clock(item, sql)
    if name == "second":
        return strict(decimal(8, 6), lambda t: Number(t % MINUTE).scaleb(-6), [clock], sql)
    return strict(INT, OF_CLOCK[name], [clock], sql)


@function("date_part", "datepart", least=2, most=2)
def _date_part(arguments: list[Typed], sql: str) -> Typed:
    if not arguments[0].constant:
        raise MismatchError(f"{sql}: the part must be a constant", "NON_FOLDABLE_ARGUMENT")
    return extracted(str(arguments[0].value), arguments[1], sql)


# -- moving ----------------------------------------------------------------------------------------------------------


def _wrapped(compute: Callable[..., int]) -> Callable[..., int]:
    return lambda *values: low_bits(compute(*values), 32)


def _checked(compute: Callable[..., int]) -> Callable[..., int]:
    return lambda *values: checked_int(compute(*values), "the day")


for _name, _sign in (("date_add", 1), ("dateadd", 1), ("date_sub", -1)):
    @function(_name, least=2, most=2)
    def _days_later(arguments: list[Typed], sql: str, sign: int = _sign) -> Typed:
        if arguments[1].type not in (BYTE, SHORT, INT, STRING, NULL):
            raise MismatchError(f"{sql}: {arguments[1].sql} is {arguments[1].type}, expected int; cast it")
        return strict(DATE, _wrapped(lambda days, n: days + sign * n),
                      [argument(arguments[0], DATE, sql), argument(arguments[1], INT, sql)], sql)


simple("datediff date_diff", [DATE, DATE], INT, _wrapped(lambda end, start: end - start))
simple("add_months", [DATE, INT], DATE, _checked(calendars.plus_months))
simple("last_day", [DATE], DATE, lambda d: d + calendars.month_length(*civil(d)[:2]) - civil(d)[2])
simple("unix_date", [DATE], INT, lambda d: d)
simple("date_from_unix_date", [INT], DATE, lambda d: d)


@function("make_date", least=3, most=3)
def _make_date(arguments: list[Typed], sql: str) -> Typed:
    def run(year: int, month: int, day: int) -> int:
        if not 1 <= month <= 12 or not 1 <= day <= calendars.month_length(year, month) or abs(year) > 999_999_999:
            raise Failure("DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION", f"{year}-{month}-{day} is no date")
        return day_number(year, month, day)

    return strict(DATE, run, [argument(item, INT, sql) for item in arguments], sql)


_TRUNCATED: dict[str, Callable[[int], int]] = {
    "year": lambda d: day_number(civil(d)[0], 1, 1),
    "quarter": lambda d: day_number(civil(d)[0], (civil(d)[1] - 1) // 3 * 3 + 1, 1),
    "month": lambda d: d - civil(d)[2] + 1, "week": lambda d: d - (d + 3) % 7}
_LEVELS = {"year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month",
           "mm": "month", "week": "week"}
_CLOCK_LEVELS = {"day": DAY, "dd": DAY, "hour": HOUR, "minute": MINUTE, "second": SECOND, "millisecond": 1_000,
                 "microsecond": 1}


def _truncated_day(days: int, level: str) -> int | None:
    name = _LEVELS.get(level.lower())
    return None if name is None else _TRUNCATED[name](days)


simple("trunc", [DATE, STRING], DATE, _truncated_day)


@function("date_trunc", least=2, most=2)
def _date_trunc(arguments: list[Typed], sql: str) -> Typed:
    level, item = argument(arguments[0], STRING, sql), argument(arguments[1], TIMESTAMP, sql)

    def run(name: str, at: int) -> int | None:
        unit = _CLOCK_LEVELS.get(name.lower())
        if unit in (1, 1_000, SECOND):
            return at - at % unit
        local = calendars.to_local(at, zone())
        if unit in (MINUTE, HOUR):  # the instant goes back, so that an hour the clock shows twice stays the same
            return at - local % unit
        days = local // DAY if unit == DAY else _truncated_day(local // DAY, name)
        return None if days is None else calendars.to_instant(days * DAY, zone())

    return strict(TIMESTAMP, run, [level, item], sql)


# -- text and numbers ------------------------------------------------------------------------------------------------

_DEFAULT = "yyyy-MM-dd HH:mm:ss"


@function("date_format", least=2, most=2)
def _date_format(arguments: list[Typed], sql: str) -> Typed:
    return strict(STRING, time_patterns.written,
                  [cast(argument(arguments[0], TIMESTAMP, sql), NTZ), argument(arguments[1], STRING, sql)], sql)


@function("from_unixtime", least=1, most=2)
def _from_unixtime(arguments: list[Typed], sql: str) -> Typed:
    seconds = argument(arguments[0], LONG, sql)
    pattern = argument(arguments[1], STRING, sql) if len(arguments) > 1 else constant(STRING, _DEFAULT)

    def run(number: int, form: str) -> str:
        return time_patterns.written(calendars.to_local(low_bits(number * SECOND, 64), zone()), form)

    return strict(STRING, run, [seconds, pattern], sql)


def _parsed(text: str, pattern: str) -> int:
    found = time_patterns.read_instant(text, pattern, zone())
    if found is None:
        raise Failure("CANNOT_PARSE_TIMESTAMP", f"{text!r} does not fit {pattern!r}")
    return found


def _by_pattern(item: Typed, pattern: Typed, sql: str) -> Typed:
    if item.type in (DATE, TIMESTAMP, NTZ):
        return cast(item, TIMESTAMP)
    return strict(TIMESTAMP, _parsed, [argument(item, STRING, sql), argument(pattern, STRING, sql)], sql)


@function("to_timestamp", least=1, most=2)
def _to_timestamp(arguments: list[Typed], sql: str) -> Typed:
    if len(arguments) == 1:
        return cast(arguments[0], TIMESTAMP)
    return _by_pattern(arguments[0], arguments[1], sql)


@function("to_date", least=1, most=2)
def _to_date(arguments: list[Typed], sql: str) -> Typed:
    if len(arguments) == 1:
        return cast(arguments[0], DATE)
    return cast(_by_pattern(arguments[0], arguments[1], sql), DATE)


@function("unix_timestamp", "to_unix_timestamp", least=1, most=2)
def _unix_timestamp(arguments: list[Typed], sql: str) -> Typed:
    pattern = arguments[1] if len(arguments) > 1 else constant(STRING, _DEFAULT)
    if arguments[0].type == NTZ:  # Spark counts the wall clock's seconds
        return strict(LONG, lambda at: truncated(at, SECOND), arguments[:1], sql)
    return strict(LONG, lambda at: truncated(at, SECOND), [_by_pattern(arguments[0], pattern, sql)], sql)


for _name, _unit in (("unix_seconds", SECOND), ("unix_millis", 1_000), ("unix_micros", 1)):
    @function(_name, least=1, most=1)
    def _unix(arguments: list[Typed], sql: str, unit: int = _unit) -> Typed:
        if arguments[0].type in (DATE, NTZ):
            raise MismatchError(f"{sql}: {arguments[0].sql} is {arguments[0].type}, expected timestamp; cast it")
        return strict(LONG, lambda at: at // unit, [argument(arguments[0], TIMESTAMP, sql)], sql)



def _from_number(unit: int) -> Callable[[int], int]:
    def run(value: int) -> int:
        if not in_range(value * unit, LONG):
            raise Failure("DATETIME_OVERFLOW", f"{value} is no timestamp")
        return value * unit

    return run


for _name, _unit in (("timestamp_millis", 1_000), ("timestamp_micros", 1)):
    simple(_name, [LONG], TIMESTAMP, _from_number(_unit))


def _zoned(text: str) -> Any:
    try:
        return calendars.zone_of(text)
    except ValueError as error:
        raise Failure("INVALID_TIMEZONE", str(error)) from error


simple("from_utc_timestamp", [TIMESTAMP, STRING], TIMESTAMP, lambda at, name: calendars.to_local(at, _zoned(name)))
simple("to_utc_timestamp", [TIMESTAMP, STRING], TIMESTAMP, lambda at, name: calendars.to_instant(at, _zoned(name)))


def _tried(name: str, build: Callable[[list[Typed], str], Typed]) -> None:
    @function(name, least=1, most=2)
    def _try(arguments: list[Typed], sql: str) -> Typed:
        return attempted(lambda *items: build(list(items[:-1]), items[-1]), arguments, sql)


_tried("try_to_timestamp", _to_timestamp)
_tried("try_to_date", _to_date)
