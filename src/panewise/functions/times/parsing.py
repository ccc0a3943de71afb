"""Text as a clock reading, by a pattern: numbers as wide as their letters, one letter as wide as it can be."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from panewise.functions.times.calendar import DAY, HOUR, MINUTE, SECOND, days_of, month_length
from panewise.functions.times.patterns import (
    MONTHS,
    UNREAD,
    Field,
    Optional,
    Part,
    Text,
    illegal,
    pattern_parts,
    refuse_letters,
)
from panewise.functions.zones import is_full_name, zone_of

CANNOT = "CANNOT_PARSE_TIMESTAMP"
_OFFSETS = {1: r"Z|[+-]\d{2}(?:\d{2})?", 2: r"Z|[+-]\d{4}", 3: r"Z|[+-]\d{2}:\d{2}", 4: r"Z|[+-]\d{4}(?:\d{2})?",
            5: r"Z|[+-]\d{2}:\d{2}(?::\d{2})?"}
ONLY_WRITTEN = frozenset("EFqQ")
"""Letters that Spark writes but does not read."""


class UnreadableError(Exception):
    """Text that does not follow its pattern."""


@lru_cache(maxsize=256)
def reader(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression with a group for every field."""
    counter = iter(range(1000))

    def text(parts: tuple[Part, ...]) -> str:
        return "".join(_one(part) for part in parts)

    def _one(part: Part) -> str:
        if isinstance(part, Text):
            return re.escape(part.text)
        if isinstance(part, Optional):
            return f"(?:{text(part.parts)})?"
        return f"(?P<f{next(counter)}_{part.letter}{part.count}>{_digits(part)})"

    def _digits(part: Field) -> str:
        if part.letter in ONLY_WRITTEN:
            raise illegal(part.letter, pattern)
        if part.letter in "ML" and part.count > 2:
            return "|".join(name[:3] if part.count == 3 else name for name in MONTHS)
        if part.letter == "a":
            return "AM|PM|am|pm|Am|Pm|aM|pM"
        if part.letter in "Xx":
            return _OFFSETS[part.count]
        if part.letter == "Z":
            return r"[+-]\d{4}" if part.count < 4 else _OFFSETS[5]
        if part.letter == "V":
            return r"[A-Za-z0-9_/+:~-]+"
        if part.letter in "yu":
            return r"[+-]?\d{1,10}" if part.count == 1 else r"\d{2}" if part.count == 2 else \
                rf"\d{{{part.count}}}|[+-]\d{{{part.count},10}}"
        return r"\d{1,19}" if part.count == 1 and part.letter != "S" else rf"\d{{{part.count}}}"

    refuse_letters(pattern, UNREAD, "read")
    return re.compile(text(pattern_parts(pattern)), re.ASCII)


def parse_time(text: str, pattern: str) -> tuple[int, str | None]:
    """The clock reading in microseconds, and the zone or offset where the text has one.

    >>> parse_time("1970-01-02 10", "yyyy-MM-dd HH")
    (122400000000, None)
    """
    found = reader(pattern).fullmatch(text)
    if found is None:
        raise UnreadableError(text)
    fields = {name.split("_")[1]: value for name, value in found.groupdict().items() if value is not None}
    return _assembled({name[0]: value for name, value in fields.items()},
                      {name[0]: int(name[1:]) for name in fields})


def _assembled(values: dict[str, str], counts: dict[str, int]) -> tuple[int, str | None]:
    year = _year(values, counts)
    month = _month(values)
    day = int(values.get("d", 1))
    if "D" in values:
        first = int(days_of(np.array([year]), np.array([1]), np.array([1]))[0])
        of_year = int(values["D"])
        leap = int(month_length(np.array([year]), np.array([2]))[0]) == 29
        if not 1 <= of_year <= 365 + leap:
            raise UnreadableError("D")
        days = first + of_year - 1
    else:
        if not 1 <= month <= 12 or not 1 <= day <= int(month_length(np.array([year]), np.array([month]))[0]):
            raise UnreadableError("d")
        days = int(days_of(np.array([year]), np.array([month]), np.array([day]))[0])
    hour = _hour(values)
    minute, second = int(values.get("m", 0)), int(values.get("s", 0))
    if not (0 <= hour < 24 and minute < 60 and second < 60):
        raise UnreadableError("time")
    fraction = int(values.get("S", "0").ljust(9, "0")[:6])
    zone = next((values[letter] for letter in "VXxZ" if letter in values), None)
    if zone is not None and (zone_of(zone) is None or ("V" in values and not is_full_name(zone))):
        raise UnreadableError(zone)
    return days * DAY + hour * HOUR + minute * MINUTE + second * SECOND + fraction, zone


def _year(values: dict[str, str], counts: dict[str, int]) -> int:
    letter = "y" if "y" in values else "u"
    if letter not in values:
        return 1970
    year = int(values[letter])
    return 2000 + year if counts[letter] == 2 else year


def _month(values: dict[str, str]) -> int:
    written = values.get("M", values.get("L"))
    if written is None:
        return 1
    if written.isdigit():
        return int(written)
    return next(i for i, name in enumerate(MONTHS, 1) if name.startswith(written))


def _hour(values: dict[str, str]) -> int:
    half = {"am": 0, "pm": 12}.get(values.get("a", "").lower())
    if "H" in values:
        return int(values["H"])
    if "k" in values:
        return int(values["k"]) % 24
    if "h" in values or "K" in values:
        hour = int(values.get("h", values.get("K", "0")))
        return hour % 12 + (half or 0)
    return half or 0


