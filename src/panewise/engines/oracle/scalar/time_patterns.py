"""Patterns such as ``yyyy-MM-dd HH:mm:ss.SSS``, by which times are written; unknown letters are refused by name."""

from __future__ import annotations

import re

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import calendars

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")
_MOST = {"y": 6, "M": 4, "d": 2, "H": 2, "h": 2, "k": 2, "K": 2, "m": 2, "s": 2, "S": 9, "a": 1, "E": 4, "D": 3, "Q": 2}
"""How often a letter may follow itself."""
_RUN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[\[\]{}#']")


def written(local: int, pattern: str) -> str:
    """A wall clock time by a pattern.

    >>> written(0, "dd 'of' MMMM y, h:mm a")
    '01 of January 1970, 12:00 AM'
    """
    days, rest = divmod(local, calendars.DAY)
    year, month, day = calendars.civil(days)
    seconds, micros = divmod(rest, calendars.SECOND)
    hour = seconds // 3600
    numbers = {"M": month, "d": day, "H": hour, "h": (hour + 11) % 12 + 1, "k": hour or 24, "K": hour % 12,
               "m": seconds // 60 % 60, "s": seconds % 60, "D": days - calendars.day_number(year, 1, 1) + 1,
               "Q": (month + 2) // 3}

    def shown(run: re.Match[str]) -> str:
        quoted, letter, count = run[1], run[2], len(run[0])
        if quoted is not None:
            return quoted.replace("''", "'") or "'"
        if letter is None or count > _MOST.get(letter, 0) or run[0] == "DD":
            raise UnsupportedError(f"the oracle does not know {run[0]!r} in the time pattern {pattern!r}")
        match letter:
            case "y":
                return _year(year, count)
            case "S":
                return f"{micros:06d}000"[:count]
            case "a":
                return "AM" if hour < 12 else "PM"
            case "E":
                return _DAYS[(days + 3) % 7][:None if count == 4 else 3]
            case "M" if count > 2:
                return _MONTHS[month - 1][:None if count == 4 else 3]
        return f"{numbers[letter]:0{count}d}"

    return _RUN.sub(shown, pattern)


def _year(year: int, count: int) -> str:
    if count == 2:
        return f"{abs(year) % 100:02d}"
    sign = "-" if year < 0 else "+" if count >= 4 and year >= 10**count else ""
    return f"{sign}{abs(year):0{count}d}"
