"""What the commands share on a terminal: consoles, tables of rows, options that name streams."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from panewise.core.errors import QuantityError, SourceError
from panewise.core.time import format_timestamp, parse_timestamp

output = Console()
errors = Console(stderr=True)


def key_value(text: str) -> tuple[str, str]:
    """An option of the form NAME=VALUE.

    >>> key_value("bids=data/bids.parquet")
    ('bids', 'data/bids.parquet')
    """
    name, sign, value = text.partition("=")
    if not sign or not name or not value:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name, value


def unique(pairs: Sequence[tuple[str, str]], what: str) -> dict[str, str]:
    """Pairs as a dictionary; giving a name twice is a mistake."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise QuantityError(f"{what} {name!r} was given twice")
        found[name] = value
    return found


def query_text(argument: str) -> str:
    """A query is SQL text or the path of a file with it; ``-`` reads standard input."""
    if argument == "-":
        return sys.stdin.read()
    looks_like_a_file = "\n" not in argument and not argument.lstrip().lower().startswith("select")
    if looks_like_a_file:
        try:
            return Path(argument).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise SourceError(f"{argument}: neither SQL text (it starts with SELECT) nor a readable file") from error
    return argument


def parameter(text: str) -> str | int | float:
    """A parameter's value: a number if it reads as one, else text.

    >>> parameter("5"), parameter("2.5"), parameter("10 min")
    (5, 2.5, '10 min')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def show(value: Any) -> str:
    """One value in a table cell."""
    if value is None:
        return "·"
    if isinstance(value, dict) and set(value) == {"start", "end"}:
        return _span(value["start"], value["end"])
    if isinstance(value, dict):
        return ", ".join(show(v) for v in value.values())
    if isinstance(value, list):
        return "; ".join(show(v) for v in value)
    if isinstance(value, datetime):
        return format_timestamp(parse_timestamp(value)).removesuffix("Z").replace("T", " ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:,.6g}"
    return str(value)


def _span(start: Any, end: Any) -> str:
    """A window as short as it is clear.

    >>> _span(datetime(2026, 1, 1, 9), datetime(2026, 1, 1, 10, 30)), _span(3, 9)
    ('2026-01-01 09:00 – 10:30', '3 – 9')
    """
    first, last = show(start), show(end)
    if isinstance(start, datetime) and isinstance(end, datetime):
        if first.endswith(":00") and last.endswith(":00"):
            first, last = first[:-3], last[:-3]
        if first[:10] == last[:10]:
            last = last[11:]
    return f"{first} – {last}"


def result_table(rows: pa.Table, *, limit: int, title: str = "") -> Table:
    """The first rows as a table that fits a terminal."""
    names = [n for n in ("window", "wid") if n in rows.column_names]
    names += [n for n in rows.column_names if n not in names]
    table = Table(title=title or None, title_justify="left", header_style="bold", pad_edge=False)
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    for name in names:
        kind = rows.schema.field(name).type
        table.add_column(name, justify="right" if any(test(kind) for test in numeric) else "left", overflow="fold")
    for row in rows.select(names).slice(0, limit).to_pylist():
        table.add_row(*(show(row[n]) for n in names))
    if rows.num_rows > limit:
        table.caption = f"{limit} of {rows.num_rows} rows"
    return table
