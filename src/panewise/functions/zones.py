"""Time zones on whole columns: instants to clock readings and back, as Java's ``ZoneRules`` do it.

A zone is its table of transitions, read from the time zone database; after the last one the zone's rule is repeated for
all years to come. A clock reading in a gap is moved forward by the length of the gap, one in an overlap is the earlier
instant.
"""

from __future__ import annotations

import re
import struct
import zoneinfo
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
SECOND = 1_000_000
DAY = 86_400
_PERIOD = 146_097 * DAY
"""400 years: the calendar, weekdays included, repeats."""
_SHORT = {"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
          "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
          "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
          "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis",
          "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan",
          "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
          "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
          "EST": "-05:00", "MST": "-07:00", "HST": "-10:00"}
"""Java's ``ZoneId.SHORT_IDS``."""
_LINKS = {"CET": "Europe/Brussels", "MET": "Europe/Brussels", "EET": "Europe/Athens", "WET": "Europe/Lisbon",
          "CST6CDT": "America/Chicago", "EST5EDT": "America/New_York", "MST7MDT": "America/Denver",
          "PST8PDT": "America/Los_Angeles"}
"""Zones that are links since the database of 2024b; an older one on this machine must not make a difference."""


@dataclass(frozen=True, eq=False)
class Zone:
    """Offsets from UTC in seconds; ``offsets[i]`` holds from ``starts[i - 1]`` to ``starts[i]`` (UTC seconds)."""

    name: str
    starts: Array
    offsets: Array

    @property
    def horizon(self) -> int:
        """From here on the offsets repeat every 400 years; there is none in a zone without a rule."""
        return int(self.starts[-1]) if len(self.starts) else 0

    def offsets_at(self, instants: Array) -> Array:
        """Offsets in seconds at instants in microseconds."""
        if not len(self.starts):
            return np.full(len(instants), self.offsets[0], np.int64)
        seconds = self._within(instants // SECOND)
        return np.asarray(self.offsets[np.searchsorted(self.starts, seconds, side="right")])

    def to_local(self, instants: Array) -> Array:
        """Clock readings at instants, both in microseconds."""
        return np.asarray(instants + self.offsets_at(instants) * SECOND)

    def to_instant(self, local: Array) -> Array:
        """Instants of clock readings, both in microseconds."""
        if not len(self.starts):
            return np.asarray(local - self.offsets[0] * SECOND)
        seconds = self._within(local // SECOND)
        later = self.starts + np.maximum(self.offsets[:-1], self.offsets[1:])
        return np.asarray(local - self.offsets[np.searchsorted(later, seconds, side="right")] * SECOND)

    def _within(self, seconds: Array) -> Array:
        """Moments beyond the table at the same place of an earlier period."""
        end = self.horizon - DAY
        if not (seconds >= end).any():
            return seconds
        return np.where(seconds >= end, seconds - ((seconds - end) // _PERIOD + 1) * _PERIOD, seconds)


@lru_cache(maxsize=256)
def zone_of(name: str) -> Zone | None:
    """The zone of a name, an abbreviation of Java's or an offset; None if there is none.

    >>> [int(zone_of(n).offsets_at(np.array([0]))[0]) for n in ("America/New_York", "+02:00", "UTC+3", "PST", "Z")]
    [-18000, 7200, 10800, -28800, 0]
    """
    name = re.sub(r"^(.*[+-])(\d):", r"\g<1>0\2:", name)
    name = re.sub(r"([+-]\d\d):(\d)$", r"\1:0\2", name)
    name = _SHORT.get(name, name)
    name = _LINKS.get(name, name)
    offset = _offset(name)
    if offset is not None:
        return Zone(name, np.zeros(0, np.int64), np.array([offset], np.int64))
    data = _database(name)
    return None if data is None else _read(name, data)


def is_full_name(name: str) -> bool:
    """Whether this is a zone as the letters VV read it: a region or a whole offset, no abbreviation.

    >>> [is_full_name(name) for name in ("Europe/Berlin", "+02:00", "PST", "+2", "UTC+3")]
    [True, True, False, False, False]
    """
    if re.search(r"[+-]\d+(:|$)", name):
        return re.fullmatch(r"(?:UTC|GMT|UT)?[+-]\d\d:\d\d(?::\d\d)?|Etc/.*", name) is not None
    return name not in _SHORT


def _offset(name: str) -> int | None:
    if name in ("Z", "UTC", "GMT", "UT"):
        return 0
    found = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d\d?)(?::(\d\d)(?::(\d\d))?)?", name) or \
        re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d\d)(\d\d)(\d\d)?", name)
    if found is None:
        return None
    hours, minutes, seconds = int(found[2]), int(found[3] or 0), int(found[4] or 0)
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > 18 * 3600:
        return None
    return -total if found[1] == "-" else total


def _database(name: str) -> bytes | None:
    """The file of a zone, where Python's own ``zoneinfo`` looks for it."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9~/._+-]+", name) or ".." in name:
        return None
    for folder in zoneinfo.TZPATH:
        path = Path(folder, *name.split("/"))
        if path.is_file():
            data = path.read_bytes()
            return data if data[:4] == b"TZif" else None
    try:
        return resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    except (ModuleNotFoundError, FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def _read(name: str, data: bytes) -> Zone:
    """A TZif file of version 2 or later (RFC 8536): the block of 64-bit times, and the rule behind it."""
    counts = struct.unpack(">6l", data[20:44])
    at = 44 + _size(counts, 4)
    counts = struct.unpack(">6l", data[at + 20:at + 44])
    at += 44
    times, types = counts[3], counts[4]
    starts = np.frombuffer(data, ">i8", times, at).astype(np.int64)
    kinds = np.frombuffer(data, np.uint8, times, at + 8 * times)
    of_kind = np.array([struct.unpack(">l", data[at + 9 * times + 6 * i:][:4])[0] for i in range(types)], np.int64)
    rule = data[at + _size(counts, 8):].strip(b"\n").decode()
    offsets = np.concatenate([of_kind[:1], of_kind[kinds]])
    return _extended(name, starts, offsets, rule)


def _size(counts: tuple[int, ...], width: int) -> int:
    utc, standard, leaps, times, types, letters = counts
    return times * (width + 1) + types * 6 + letters + leaps * (width + 4) + standard + utc


_RULE = re.compile(r"(?:<[^>]+>|[A-Za-z]+)([+-]?\d[\d:]*)(?:(?:<[^>]+>|[A-Za-z]+)([+-]?\d[\d:]*)?,"
                   r"([^,]+),([^,]+))?")


def _extended(name: str, starts: Array, offsets: Array, rule: str) -> Zone:
    """The table with the transitions of the rule for a whole period of the calendar."""
    found = _RULE.fullmatch(rule)
    if found is None or found[3] is None:
        return Zone(name, starts, offsets) if not len(starts) else _ended(name, starts, offsets)
    standard = -_seconds(found[1])
    summer = standard + 3600 if not found[2] else -_seconds(found[2])
    last = int(starts[-1]) if len(starts) else 0
    first_year = 1970 + last // (365 * DAY + DAY // 4) - 1
    more: list[tuple[int, int]] = []
    for year in range(first_year, first_year + 404):
        more.append((_moment(found[3], year) - standard, summer))
        more.append((_moment(found[4], year) - summer, standard))
    more = sorted(one for one in more if one[0] > last)
    return Zone(name, np.concatenate([starts, np.array([start for start, _ in more], np.int64)]),
                np.concatenate([offsets, np.array([offset for _, offset in more], np.int64)]))


def _ended(name: str, starts: Array, offsets: Array) -> Zone:
    """A zone without a rule: its last offset holds for ever, so that the end of the table is never reached."""
    return Zone(name, np.append(starts, np.int64(1) << 60), np.append(offsets, offsets[-1]))


def _seconds(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    return sign * sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))


def _moment(rule: str, year: int) -> int:
    """Seconds since 1970 on the local clock at which a rule takes effect: ``M3.2.0/2``, ``J60`` or ``59``."""
    day, _, time = rule.partition("/")
    seconds = _seconds(time) if time else 2 * 3600
    first = (date(year, 1, 1) - date(1970, 1, 1)).days
    if day.startswith("M"):
        month, week, weekday = map(int, day[1:].split("."))
        start = date(year, month, 1)
        ahead = (weekday - start.isoweekday()) % 7 + 7 * (week - 1)
        length = (date(year + month // 12, month % 12 + 1, 1) - start).days
        days = (start - date(1970, 1, 1)).days + (ahead if ahead < length else ahead - 7)
    elif day.startswith("J"):
        number = int(day[1:])
        leap = date(year, 12, 31).timetuple().tm_yday == 366
        days = first + number - 1 + (leap and number >= 60)
    else:
        days = first + int(day)
    return days * DAY + seconds
