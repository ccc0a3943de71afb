"""What the commands share on a terminal: consoles, tables of rows, options that name streams."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from panewise.api.inputs import local_streams
from panewise.api.tables import TableInput, table
from panewise.core.errors import PanewiseError, QuantityError, SourceError
from panewise.core.tables import shown_rows
from panewise.core.time import format_timestamp, parse_timestamp
from panewise.files.reader import FileStream
from panewise.planner.options import RunOptions


class _Output(Console):
    """Standard output whose reader may go away."""

    def on_broken_pipe(self) -> None:
        """Raise, as every other way of writing does; Rich itself would end it with exit code 1."""
        raise BrokenPipeError


output = _Output()
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


TABLE_OPTION = re.compile(r"(?:(time|key)=(.+))|(retroactive)")


def table_option(text: str) -> tuple[str, TableInput]:
    """An option that says where a table is, and what is declared of it.

    >>> table_option("n=names.csv,key=id,time=at")
    ('n', TableInput(value='names.csv', kind=<SourceKind.NRR: 'nrr'>, time='at', key=('id',)))
    """
    name, value = key_value(text)
    path, *rest = value.split(",")
    said: dict[str, list[str]] = {"time": [], "key": [], "retroactive": []}
    for part in rest:
        found = TABLE_OPTION.fullmatch(part)
        if found is None:
            raise argparse.ArgumentTypeError(f"expected NAME=PATH,time=COLUMN,key=COLUMN,retroactive, got {part!r} in "
                                             f"{text!r}")
        said[found[1] or found[3]].append(found[2] or "")
    if len(said["time"]) > 1:
        raise argparse.ArgumentTypeError(f"two time columns in {text!r}: a table has one")
    try:
        return name, table(path, time=next(iter(said["time"]), None), key=said["key"],
                           retroactive=bool(said["retroactive"]))
    except PanewiseError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_inputs(parser: argparse.ArgumentParser, what: str = "where a stream comes from") -> None:
    """The options that name streams and tables."""
    parser.add_argument("--stream", type=key_value, action="append", default=[], metavar="NAME=PATH", help=what)
    parser.add_argument("--table", type=table_option, action="append", default=[], metavar="NAME=PATH,...",
                        help="a table beside the streams: its files, then time=COLUMN (when rows come and, where a "
                        "column change is -1, go; without it they are always there), key=COLUMN (once for each: no two "
                        "rows have the same) and retroactive (changes reach back), as in n=names.csv,key=id,time=at")


def inputs_of(given: argparse.Namespace) -> dict[str, str | TableInput]:
    """Where streams and tables are, by name."""
    found: dict[str, str | TableInput] = dict(unique(given.stream, "stream"))
    for name, value in given.table:
        if name in found:
            raise QuantityError(f"table {name!r} was given twice, or is a stream, too")
        found[name] = value
    return found


def open_files(given: argparse.Namespace, options: RunOptions) -> dict[str, FileStream]:
    """Streams and tables in files, with their columns."""
    opened = local_streams(inputs_of(given), options)
    return {name: stream for name, stream in opened.items() if isinstance(stream, FileStream)}


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
    for row in shown_rows(rows.select(names).slice(0, limit)):
        table.add_row(*(show(row[n]) for n in names))
    if rows.num_rows > limit:
        table.caption = f"{limit} of {rows.num_rows} rows"
    return table
