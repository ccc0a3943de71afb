"""Patterns such as ``yyyy-MM-dd HH:mm:ss.SSS``: writing and reading times by them.

Letters that the oracle does not know are refused by name. Reading is strict: a field of two letters has two digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import tzinfo
from functools import lru_cache

from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import calendars

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")
_NUMBERS = "yuMdHhkKmsSDQLq"


@dataclass(frozen=True)
class Piece:
    """A run of one letter, or text that stands for itself."""

    letter: str
    count: int
    text: str = ""


@lru_cache(maxsize=256)
def pieces(pattern: str) -> tuple[Piece, ...]:
    """The parts of a pattern.

    >>> [(p.letter, p.count, p.text) for p in pieces("dd 'of' MM")]
    [('d', 2, ''), ('', 0, ' of '), ('M', 2, '')]
    """
    found: list[Piece] = []
    reserved = set("[]{}#") & set(re.sub(r"'[^']*'", "", pattern))
    if reserved:
        raise UnsupportedError(f"the oracle does not know {min(reserved)!r} in the time pattern {pattern!r}")
    for run in re.finditer(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'", pattern):
        quoted, letter = run[1], run[2]
        if run[0] == "'":
            raise UnsupportedError(f"the pattern {pattern!r} has a quote that nothing closes")
        if letter:
            _known(letter, len(run[0]), pattern)
            found.append(Piece(letter, len(run[0])))
            continue
        text = ("'" if not quoted else quoted.replace("''", "'")) if quoted is not None else run[0]
        if found and not found[-1].letter:
            found[-1] = Piece("", 0, found[-1].text + text)
        else:
            found.append(Piece("", 0, text))
    return tuple(found)


def _known(letter: str, count: int, pattern: str) -> None:
    most = {"y": 6, "u": 0, "M": 4, "L": 0, "d": 2, "H": 2, "h": 2, "k": 2, "K": 2, "m": 2, "s": 2, "S": 9, "a": 1,
            "E": 4, "D": 3, "Q": 2}
    if count > most.get(letter, 0) or (letter == "D" and count == 2):
        raise UnsupportedError(f"the oracle does not know {letter * count!r} in the time pattern {pattern!r}")


def written(local: int, pattern: str) -> str:
    """A wall clock time by a pattern."""
    days, rest = divmod(local, calendars.DAY)
    year, month, day = calendars.civil(days)
    seconds, micros = divmod(rest, calendars.SECOND)
    hour = seconds // 3600
    numbers = {"M": month, "d": day, "H": hour, "h": (hour + 11) % 12 + 1, "k": hour or 24, "K": hour % 12,
               "m": seconds // 60 % 60, "s": seconds % 60, "D": days - calendars.day_number(year, 1, 1) + 1,
               "Q": (month + 2) // 3}
    parts: list[str] = []
    for piece in pieces(pattern):
        match piece.letter:
            case "":
                parts.append(piece.text)
            case "y":
                parts.append(_year(year, piece.count))
            case "S":
                parts.append(f"{micros:06d}000"[:piece.count])
            case "a":
                parts.append("AM" if hour < 12 else "PM")
            case "E":
                name = _DAYS[(days + 3) % 7]
                parts.append(name if piece.count == 4 else name[:3])
            case "M" if piece.count > 2:
                name = _MONTHS[month - 1]
                parts.append(name if piece.count == 4 else name[:3])
            case letter:
                parts.append(f"{numbers[letter]:0{piece.count}d}")
    return "".join(parts)


def _year(year: int, count: int) -> str:
    if count == 2:
        return f"{abs(year) % 100:02d}"
    sign = "-" if year < 0 else "+" if count >= 4 and year >= 10**count else ""
    return f"{sign}{abs(year):0{count}d}"


# -- reading ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _regex(pattern: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    parts: list[str] = []
    letters: list[str] = []
    parsed = pieces(pattern)
    for piece, behind in zip(parsed, (*parsed[1:], None), strict=False):
        if not piece.letter:
            parts.append(re.escape(piece.text))
            continue
        if piece.letter in letters or piece.letter in "EDQkK" or (piece.letter == "M" and piece.count == 4):
            raise UnsupportedError(f"the oracle does not read {piece.letter * piece.count!r} of {pattern!r}")
        letters.append(piece.letter)
        tight = behind is not None and behind.letter != "" and behind.letter in _NUMBERS
        match piece.letter:
            case "y":
                if piece.count == 2:
                    digits = r"\d{2}"
                elif piece.count == 1 and tight:
                    raise UnsupportedError(f"the oracle does not read {pattern!r}: where the year ends is open")
                elif tight:
                    digits = rf"-?\d{{{piece.count}}}"
                elif piece.count >= 4:
                    digits = rf"-?\d{{{piece.count}}}|[+-]\d{{{piece.count + 1},10}}"
                else:
                    digits = rf"-?\d{{{piece.count},10}}"
                parts.append(f"({digits})")
            case "S":
                parts.append(rf"(\d{{{piece.count}}})")
            case "a":
                parts.append("(AM|PM|am|pm)")
            case "M" if piece.count == 3:
                parts.append(f"({'|'.join(name[:3] for name in _MONTHS)})")
            case _:
                parts.append(rf"(\d{{{piece.count}}})" if piece.count > 1 or tight else r"(\d{1,2})")
    return re.compile("".join(parts), re.ASCII), tuple(letters)


def read(text: str, pattern: str) -> int | None:
    """The wall clock time of a text by a pattern; None if it does not fit.

    >>> calendars.local_text(read("29.02.2020 7:05", "dd.MM.yyyy H:mm"))
    '2020-02-29 07:05:00'
    """
    regex, letters = _regex(pattern)
    found = regex.fullmatch(text)
    if found is None:
        return None
    given = dict(zip(letters, found.groups(), strict=True))
    short = [name[:3] for name in _MONTHS]
    month_text = given.get("M", "1")
    year, month, day = int(given.get("y", 1970)), (short.index(month_text) + 1 if month_text in short
                                                   else int(month_text)), int(given.get("d", 1))
    if len(given.get("y", "1970")) == 2:
        year += 2000
    hour = int(given.get("H", 0))
    if "h" in given:
        if not 1 <= int(given["h"]) <= 12:
            return None
        hour = int(given["h"]) % 12 + (12 if given.get("a", "AM").upper() == "PM" else 0)
    minute, second = int(given.get("m", 0)), int(given.get("s", 0))
    if not 1 <= month <= 12 or not 1 <= day <= calendars.month_length(year, month):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    micros = int(f"{given.get('S', ''):0<6}"[:6])
    return (calendars.day_number(year, month, day) * calendars.DAY + hour * calendars.HOUR
            + minute * calendars.MINUTE + second * calendars.SECOND + micros)


def read_instant(text: str, pattern: str, zone: tzinfo) -> int | None:
    """The same as an instant of a zone."""
    local = read(text, pattern)
    return None if local is None else calendars.to_instant(local, zone)
