"""Functions of dates and timestamps."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal as Number
from typing import Any

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import calendars, time_patterns
from panewise.engines.oracle.scalar import types as T
from panewise.engines.oracle.scalar.arithmetic import held
from panewise.engines.oracle.scalar.calendars import DAY, HOUR, MINUTE, SECOND, civil, day_number
from panewise.engines.oracle.scalar.casts import cast
from panewise.engines.oracle.scalar.coercion import argument
from panewise.engines.oracle.scalar.session import zone
from panewise.engines.oracle.scalar.signatures import function, simple
from panewise.engines.oracle.scalar.typed import Failure, MismatchError, Typed, strict


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
    simple(_name, [T.DATE], T.INT, _compute)


def wall_clock(item: Typed, sql: str) -> Typed:
    """A time as the clock on the wall shows it; text is read as a timestamp."""
    if item.type == T.NTZ:
        return item
    return cast(argument(item, T.TIMESTAMP, sql), T.NTZ)


for _name, _compute in OF_CLOCK.items():
    @function(_name, least=1, most=1)
    def _clock(arguments: list[Typed], sql: str, compute: Callable[[int], int] = _compute) -> Typed:
        return strict(T.INT, compute, [wall_clock(arguments[0], sql)], sql)


_FIELDS = {alias: name for name, aliases in {
    "year": "year y years yr yrs", "quarter": "quarter qtr", "month": "month mon mons months",
    "weekofyear": "week w weeks", "day": "day d days", "dayofweek": "dayofweek dow", "iso": "dayofweek_iso dow_iso",
    "dayofyear": "doy", "hour": "hour h hours hr hrs", "minute": "minute m min mins minutes",
    "second": "second s sec secs seconds", "isoyear": "yearofweek"}.items() for alias in aliases.split()}


def extracted(field: str, item: Typed, sql: str) -> Typed:
    """EXTRACT: a part of a date or time; seconds with their fraction."""
    name = _FIELDS.get(field.lower())
    if name is None:
        raise MismatchError(f"{sql}: {field!r} is no part of a time", "INVALID_EXTRACT_FIELD")
    if T.is_interval(item.type):
        raise UnsupportedError(f"the oracle takes no parts of intervals: {sql}")
    if item.type == T.STRING:
        item = cast(item, T.TIMESTAMP)
    of_date = {**OF_DATE, "iso": lambda d: (d + 3) % 7 + 1, "isoyear": lambda d: _week(d)[0]}.get(name)
    if of_date is not None:
        return strict(T.INT, of_date, [argument(item, T.DATE, sql)], sql)
    clock = wall_clock(item, sql)
    if name == "second":
        return strict(T.Decimal(8, 6), lambda t: Number(t % MINUTE).scaleb(-6), [clock], sql)
    return strict(T.INT, OF_CLOCK[name], [clock], sql)


# -- moving ----------------------------------------------------------------------------------------------------------


for _name, _sign in (("date_add", 1), ("dateadd", 1), ("date_sub", -1)):
    @function(_name, least=2, most=2)
    def _days_later(arguments: list[Typed], sql: str, sign: int = _sign) -> Typed:
        if arguments[1].type not in (T.BYTE, T.SHORT, T.INT, T.STRING, T.NULL):
            raise MismatchError(f"{sql}: {arguments[1].sql} is {arguments[1].type}, expected int; cast it")
        return strict(T.DATE, lambda days, n: T.low_bits(days + sign * n, 32),
                      [argument(arguments[0], T.DATE, sql), argument(arguments[1], T.INT, sql)], sql)


simple("datediff date_diff", [T.DATE, T.DATE], T.INT, lambda end, start: T.low_bits(end - start, 32))
simple("add_months", [T.DATE, T.INT], T.DATE, lambda days, n: held(calendars.plus_months(days, n), T.INT, "the day"))
simple("last_day", [T.DATE], T.DATE, lambda d: d + calendars.month_length(*civil(d)[:2]) - civil(d)[2])


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


simple("trunc", [T.DATE, T.STRING], T.DATE, _truncated_day)


@function("date_trunc", least=2, most=2)
def _date_trunc(arguments: list[Typed], sql: str) -> Typed:
    level, item = argument(arguments[0], T.STRING, sql), argument(arguments[1], T.TIMESTAMP, sql)

    def run(name: str, at: int) -> int | None:
        unit = _CLOCK_LEVELS.get(name.lower())
        if unit in (1, 1_000, SECOND):
            return at - at % unit
        local = calendars.to_local(at, zone())
        if unit in (MINUTE, HOUR):  # the instant goes back, so that an hour the clock shows twice stays the same
            return at - local % unit
        days = local // DAY if unit == DAY else _truncated_day(local // DAY, name)
        return None if days is None else calendars.to_instant(days * DAY, zone())

    return strict(T.TIMESTAMP, run, [level, item], sql)


@function("date_format", least=2, most=2)
def _date_format(arguments: list[Typed], sql: str) -> Typed:
    return strict(T.STRING, time_patterns.written,
                  [cast(argument(arguments[0], T.TIMESTAMP, sql), T.NTZ), argument(arguments[1], T.STRING, sql)], sql)


def _zoned(text: str) -> Any:
    try:
        return calendars.zone_of(text)
    except ValueError as error:
        raise Failure("INVALID_TIMEZONE", str(error)) from error


for _name, _move in (("from_utc_timestamp", calendars.to_local), ("to_utc_timestamp", calendars.to_instant)):
    simple(_name, [T.TIMESTAMP, T.STRING], T.TIMESTAMP, lambda at, name, move=_move: move(at, _zoned(name)))
