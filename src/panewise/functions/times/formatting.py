"""One clock reading as text by a pattern."""

from __future__ import annotations

import numpy as np

from panewise.functions.times.calendar import DAY, HOUR, MINUTE, SECOND, civil, day_of_year
from panewise.functions.times.patterns import (
    DAYS,
    MONTHS,
    UNWRITTEN,
    Field,
    Optional,
    Part,
    Text,
    pattern_parts,
    refuse_letters,
)
from panewise.functions.zones import zone_of


def format_time(micros: int, offset: int, zone: str, pattern: str) -> str:
    """A clock reading in microseconds, with its offset from UTC in seconds, as text.

    >>> format_time(0, 0, "UTC", "EEE, d MMM yyyy HH:mm:ss.SSS XXX")
    'Thu, 1 Jan 1970 00:00:00.000 Z'
    """
    parts = pattern_parts(pattern)
    refuse_letters(pattern, UNWRITTEN, "written")
    reading = _Reading(micros, offset, zone)
    reading.era = any(isinstance(part, Field) and part.letter == "G" for part in parts)
    return reading.text(parts)


class _Reading:
    def __init__(self, micros: int, offset: int, zone: str) -> None:
        days = np.array([micros // DAY])
        year, month, day = (int(part[0]) for part in civil(days))
        self.days, self.year, self.month, self.day = int(days[0]), year, month, day
        self.of_year = int(day_of_year(days)[0])
        self.micros, self.offset, self.zone = micros % DAY, offset, zone
        self.era = False  # without an era in the pattern, years before the first are negative

    def text(self, parts: tuple[Part, ...]) -> str:
        return "".join(part.text if isinstance(part, Text) else self.text(part.parts) if isinstance(part, Optional)
                       else self.field(part) for part in parts)

    def field(self, part: Field) -> str:
        letter, count = part.letter, part.count
        hour = self.micros // HOUR
        if letter in "yu":
            return self._year(letter, count)
        if letter in "ML":
            return str(self.month).zfill(count) if count < 3 else MONTHS[self.month - 1][:3 if count == 3 else None]
        if letter in "Qq":
            quarter = (self.month - 1) // 3 + 1
            names = ["1st quarter", "2nd quarter", "3rd quarter", "4th quarter"]
            return str(quarter).zfill(count) if count < 3 else f"Q{quarter}" if count == 3 else names[quarter - 1]
        if letter == "E":
            return DAYS[(self.days + 3) % 7][:None if count == 4 else 3]
        if letter == "a":
            return "AM" if hour < 12 else "PM"
        if letter == "G":
            era = ("Before Christ", "Anno Domini") if count == 4 else ("BC", "AD")
            return era[self.year > 0]
        if letter == "S":
            return f"{self.micros % SECOND:06d}".ljust(9, "0")[:count]
        if letter in "XxZOVz":
            return self._offset(letter, count)
        numbers = {"d": self.day, "D": self.of_year, "H": hour, "k": hour or 24, "K": hour % 12, "h": hour % 12 or 12,
                   "m": self.micros // MINUTE % 60, "s": self.micros // SECOND % 60, "F": (self.day - 1) % 7 + 1}
        return str(numbers[letter]).zfill(count)

    def _year(self, letter: str, count: int) -> str:
        year = self.year if letter == "u" or self.year > 0 or not self.era else 1 - self.year
        if count == 2:
            return f"{year % 100:02d}"
        sign = "-" if year < 0 else "+" if count >= 4 and len(str(year)) > count else ""
        return sign + str(abs(year)).zfill(count)

    def _offset(self, letter: str, count: int) -> str:
        if letter == "V":
            return self.zone
        seconds = abs(self.offset)
        sign = "-" if self.offset < 0 else "+"
        hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
        if letter == "O":
            if not seconds:
                return "GMT"
            short = f"{hours}" + (f":{minutes:02d}" if minutes or rest else "") + (f":{rest:02d}" if rest else "")
            long = f"{hours:02d}:{minutes:02d}" + (f":{rest:02d}" if rest else "")
            return f"GMT{sign}{short if count == 1 else long}"
        if letter == "Z":
            if count == 4:
                return self._offset("O", 4)
            letter, count = ("x", 2) if count < 4 else ("X", 5)
        if letter == "X" and not seconds:
            return "Z"
        if count == 1:
            return f"{sign}{hours:02d}" + (f"{minutes:02d}" if minutes else "")
        between = ":" if count in (3, 5) else ""
        tail = f"{between}{rest:02d}" if count > 3 and rest else ""
        return f"{sign}{hours:02d}{between}{minutes:02d}{tail}"


def offset_of(zone: str, instant: int) -> int:
    """The offset from UTC in seconds at an instant."""
    found = zone_of(zone)
    return 0 if found is None else int(found.offsets_at(np.array([instant]))[0])
