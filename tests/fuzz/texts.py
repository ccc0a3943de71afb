"""Query texts without end: the known ones with something changed, ones that the grammar makes, and garbage.

The number of a text and a seed are all it depends on, so one that broke something can be made again alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz.grammar import Grammar
from sql.sql_cases import load, options, variants

DOCS = Path(__file__).parents[2] / "docs"
FENCED = re.compile(r"```sql\n(.*?)```", re.DOTALL)
PIECE = re.compile(r"\w+|'[^']*'|\"[^\"]*\"|`[^`]*`|\s+|.", re.DOTALL)
NUMBER = re.compile(r"\b\d+(?:\.\d+)?\b")
STRING = re.compile(r"'[^']*'")

NUMBERS = (
    "0",
    "-1",
    "1",
    "007",
    "0.1",
    ".5",
    "5.",
    "1e3",
    "1e400",
    "1E-400",
    "1_000",
    "0x1F",
    "1.5e",
    "9" * 19,
    "9" * 40,
    "9" * 5000,
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "1L",
    "1S",
    "1Y",
    "1D",
    "1F",
    "1BD",
    "3.14BD",
    "1e3 s",
    "1 2",
    "-0",
    "--1",
    "+1",
    "１２",
    "٣",
    "½",
    "Infinity",
    "NaN",
    "NULL",
    ":w",
    ":nothing",
    "?",
    "$1",
)
STRINGS = (
    "''",
    "'a",
    "'\\'",
    "'\\u0000'",
    "'\\x'",
    "r'\\d'",
    "x'0G'",
    "X'1F'",
    "'''",
    "'a''b'",
    '"q"',
    "`a b`",
    "``",
    "'2026-13-45'",
    "'07:00:00'",
    "'25:00'",
    "'0001-01-01'",
    "'9999-12-31T23:59:59.999999Z'",
    "'+99999-01-01'",
    "DATE '2020-02-30'",
    "TIMESTAMP 'now'",
    "INTERVAL '1' YEAR",
    "INTERVAL 5 DAYS",
    "INTERVAL '1 day 2 hours'",
    "INTERVAL 1e9 YEAR",
    "'é'",
    "'\U0001f600'",
    "'\ud7ff'",
    "'\x00'",
    "‘x’",
    "“y”",
    "'x' 'y'",
    "b'z'",
    "N'm'",
)
SIGNS = (
    *"[](),;:'\"`*-+/=<>.%$?@#{}|&^~!\\ \n\t∪‘’“”",
    "\0",
    "--",
    "/*",
    "*/",
    "/*+ HINT */",
    "->",
    "=>",
    "::",
    "||",
    "&&",
    "<=>",
    "==",
    "<>",
    "!=",
    "<<",
    ">>",
    ">>>",
    "..",
    "...",
    "\r",
    "\ufeff",
    "\u200b",
    "\u2028",
    "\u00a0",
    "\ud7ff",
    "\U0001f600",
    "ß",
    "İ",
    "\x1b",
    "\x7f",
    "{{",
    "}}",
    "{%",
    "#",
    "@v",
    "${x}",
    ";;",
)
WORDS = tuple((Path(__file__).parent / "seeds" / "words.txt").read_text(encoding="utf-8").split())
PARAMETERS = {"w": "10 minutes", "n": 3, "s": "x"}


@dataclass(frozen=True)
class Text:
    """One text, and what is given with it."""

    sql: str
    options: dict[str, Any] = field(default_factory=dict)
    typed: bool = False
    """Whether it speaks of the grammar's streams, not of the papers'."""


@cache
def corpus() -> tuple[Text, ...]:
    """Everything that anybody has written in this language here."""
    found: list[Text] = []
    for name in ("queries.yaml", "examples.yaml", "malformed.yaml"):
        for case in load(name):
            found += [Text(one["text"], options(one)) for one in (case, *variants(case))]
    for page in sorted(DOCS.rglob("*.md")):
        found += [Text(text) for text in FENCED.findall(page.read_text(encoding="utf-8"))]
    return tuple(found)


def text_of(seed: int, number: int) -> Text:
    """The text of this number."""
    random = Random(seed * 1_000_000_007 + number)
    kind = random.random()
    if kind < 0.45:
        text = random.choice(corpus())
    elif kind < 0.92:
        made = Grammar(random).query()
        text = Text(
            made, {"params": {name: value for name, value in PARAMETERS.items() if f":{name}" in made}}, typed=True
        )
    else:
        return Text(random.choice(GARBAGE)(random))
    for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3, 5) if kind < 0.45 else (0, 0, 0, 0, 0, 1, 1, 2))):
        text = Text(random.choice(MUTATIONS)(text.sql, random), text.options, text.typed)
    return text


def texts(seed: int, first: int = 0) -> Iterator[tuple[int, Text]]:
    """All from this number on."""
    number = first
    while True:
        yield number, text_of(seed, number)
        number += 1


# -- changes ----------------------------------------------------------------------------------------------------------

Mutation = Callable[[str, Random], str]


def _span(text: str, random: Random, most: int = 12) -> tuple[int, int]:
    start = random.randrange(len(text) + 1)
    return start, min(len(text), start + random.randint(0, most))


def _pieces(text: str) -> list[str]:
    return PIECE.findall(text)


def cut_out(text: str, random: Random) -> str:
    """Some characters less."""
    start, end = _span(text, random)
    return text[:start] + text[end:]


def put_in(text: str, random: Random) -> str:
    """A sign or a word more, with or without space."""
    at = random.randrange(len(text) + 1)
    space = random.choice(("", " "))
    return f"{text[:at]}{space}{random.choice(random.choice((SIGNS, WORDS, NUMBERS, STRINGS)))}{space}{text[at:]}"


def any_character(text: str, random: Random) -> str:
    """A character of Unicode in place of another."""
    at = random.randrange(len(text) + 1)
    code = random.choice((random.randrange(128), random.randrange(0x3000), random.randrange(0x110000)))
    return text[:at] + (chr(code) if not 0xD800 <= code < 0xE000 else "�") + text[at + 1 :]


def one_bit(text: str, random: Random) -> str:
    """A bit of its bytes."""
    data = bytearray(text.encode())
    if data:
        place = random.randrange(len(data) * 8)
        data[place // 8] ^= 1 << place % 8
    return data.decode(errors="replace")


def end_here(text: str, random: Random) -> str:
    """The rest is missing."""
    return text[: random.randrange(len(text) + 1)]


def drop_piece(text: str, random: Random) -> str:
    """A token less."""
    pieces = _pieces(text)
    if pieces:
        del pieces[random.randrange(len(pieces))]
    return "".join(pieces)


def double_piece(text: str, random: Random) -> str:
    """A run of tokens twice, or very often."""
    pieces = _pieces(text)
    start, end = sorted(random.choices(range(len(pieces) + 1), k=2))
    times = random.choice((2, 2, 2, 3, 40)) if end - start < 20 else 2
    return "".join([*pieces[:start], *pieces[start:end] * times, *pieces[end:]])


def swap_pieces(text: str, random: Random) -> str:
    """Two tokens in each other's place."""
    pieces = _pieces(text)
    if pieces:
        one, other = random.choices(range(len(pieces)), k=2)
        pieces[one], pieces[other] = pieces[other], pieces[one]
    return "".join(pieces)


def other_piece(text: str, random: Random) -> str:
    """A token of another query in place of one of this."""
    pieces, others = _pieces(text), _pieces(random.choice(corpus()).sql)
    if pieces and others:
        pieces[random.randrange(len(pieces))] = random.choice(others)
    return "".join(pieces)


def graft(text: str, random: Random) -> str:
    """The beginning of this query and the end of another."""
    mine, others = _pieces(text), _pieces(random.choice(corpus()).sql)
    return "".join([*mine[: random.randrange(len(mine) + 1)], *others[random.randrange(len(others) + 1) :]])


def other_number(text: str, random: Random) -> str:
    """A number that nobody would write."""
    return _replaced(text, NUMBER, random.choice(NUMBERS), random)


def other_string(text: str, random: Random) -> str:
    """A string that nobody would write."""
    return _replaced(text, STRING, random.choice(STRINGS), random)


def nest(text: str, random: Random) -> str:
    """Brackets, calls or queries around a part, a few or very many."""
    start, end = sorted(random.choices(range(len(text) + 1), k=2))
    times = random.choice((1, 1, 2, 5, 30, 600))
    before, behind = random.choice(
        (
            ("(", ")"),
            ("abs(", ")"),
            ("NOT ", ""),
            ("- ", ""),
            ("[", "]"),
            ("CASE WHEN ", " END"),
            ("(SELECT * FROM ", ")"),
            ("cast(", " AS int)"),
            ("array(", ")"),
            ("", " + 1"),
        )
    )
    return text[:start] + before * times + text[start:end] + behind * times + text[end:]


def comment(text: str, random: Random) -> str:
    """A comment where a space was."""
    return _replaced(
        text, re.compile(r"\s+"), random.choice(("/**/", "/* ' */", "-- x\n", "/* /* */", "-- ", "/*")), random
    )


def _replaced(text: str, pattern: re.Pattern[str], by: str, random: Random) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    one = random.choice(found)
    return text[: one.start()] + by + text[one.end() :]


MUTATIONS: tuple[Mutation, ...] = (
    cut_out,
    put_in,
    put_in,
    any_character,
    one_bit,
    end_here,
    drop_piece,
    double_piece,
    swap_pieces,
    other_piece,
    other_piece,
    graft,
    other_number,
    other_number,
    other_string,
    nest,
    comment,
)


# -- garbage ----------------------------------------------------------------------------------------------------------


def _words(random: Random) -> str:
    return " ".join(
        random.choice(random.choice((SIGNS, WORDS, WORDS, NUMBERS, STRINGS, ("S", "a", "ts", "max(", "count(*)"))))
        for _ in range(random.randint(1, 25))
    )


def _noise(random: Random) -> str:
    return random.randbytes(random.randint(0, 60)).decode(
        random.choice(("utf-8", "latin-1", "utf-16-le")), errors="replace"
    )


def _framed(random: Random) -> str:
    """Garbage where an expression, a source or a window is expected."""
    return random.choice(
        (
            "SELECT {} FROM S",
            "SELECT a FROM {}",
            "SELECT a FROM S WHERE {}",
            "SELECT max(a) FROM S [{}]",
            "SELECT a FROM S [RANGE {}]",
            "SELECT max(a) [RANGE {} SLIDE 1 min WA ts] FROM S GROUP BY b",
            "SELECT a, count(*) FROM S GROUP BY {}",
        )
    ).format(_words(random))


GARBAGE = (_words, _noise, _framed, _framed, _framed)
