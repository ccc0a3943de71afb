"""What the commands share on a terminal: consoles, tables of rows, options that name streams."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from panewise.core.bad_rows import BadRowAction
from panewise.core.errors import PlanError, QuantityError, SourceError
from panewise.core.names import did_you_mean
from panewise.core.tables import shown_rows
from panewise.core.time import format_timestamp, parse_timestamp
from panewise.files.json_units import MAX_LINE
from panewise.progress.late import LATE_KEEP
from panewise.queries.admission import InputRules

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
    for row in shown_rows(rows.select(names).slice(0, limit)):
        table.add_row(*(show(row[n]) for n in names))
    if rows.num_rows > limit:
        table.caption = f"{limit} of {rows.num_rows} rows"
    return table


def add_input_rules(parser: argparse.ArgumentParser) -> None:
    """The options about rows that cannot be used, and about what a text leaves open, the same for every command."""
    parser.add_argument("--bad-rows", default="stop", metavar="POLICY",
                        help="what becomes of rows that cannot be read or have no time: stop (default), skip (and "
                        "count them), aside:PATH (write them to an NDJSON file with place and "
                        "reason; of a live stream on Spark, to a folder of them)")
    parser.add_argument("--max-jump", metavar="DURATION",
                        help="how far a row's time may be ahead of the newest so far; further ones are bad rows")
    parser.add_argument("--max-line", type=int, default=MAX_LINE, metavar="BYTES",
                        help=f"the longest row of NDJSON (default: {MAX_LINE:,} bytes)")
    parser.add_argument("--day", metavar="DATE",
                        help="the day of bare times of day, as in START AT '07:00:00': 2026-01-01")
    parser.add_argument("--late-keep", type=int, default=LATE_KEEP, metavar="ROWS",
                        help=f"so many late rows are kept, the newest; all are counted (default: {LATE_KEEP:,})")
    parser.add_argument("--suppress-partial", action="store_true",
                        help="leave out windows that begin before their ORIGIN")
    parser.add_argument("--zone", metavar="NAME",
                        help="the time zone in which expressions and brackets read clocks, such as Europe/Berlin "
                             "(default: UTC)")
    parser.add_argument("--lenient", action="store_true", help="group by plain columns that stand beside aggregates")


def add_exact(parser: argparse.ArgumentParser) -> None:
    """The option about sums of floats."""
    parser.add_argument("--exact", action="store_true",
                        help="on Spark, add floats in kernels where Spark would add them and round every addition; "
                        "other engines always do")


def known_streams(what: str, named: Mapping[str, object], given: Mapping[str, object]) -> None:
    """Every name that an option gives is that of a stream."""
    for name in named:
        if name not in given:
            raise PlanError(f"{what} names {name!r}, but there is no such --stream; there are "
                            f"{', '.join(given) or 'none'}{did_you_mean(name, given)}")


def input_rules(options: argparse.Namespace) -> InputRules:
    """What the options say about rows that cannot be used."""
    rules = InputRules.parse(options.bad_rows, options.max_jump, options.late_keep)
    if rules.bad_rows.action is BadRowAction.ASIDE and rules.bad_rows.path is None:
        raise PlanError("--bad-rows aside needs a file for the rows: --bad-rows aside:bad.ndjson")
    if options.max_line < 1:
        raise PlanError(f"--max-line {options.max_line}: a line needs at least one byte")
    return rules
