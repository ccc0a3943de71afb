"""``panewise generate``: data to try queries on."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from panewise.cli.terminal import output
from panewise.core.errors import QuantityError, telling
from panewise.core.ordinals import OrdinalKind
from panewise.core.time import parse_duration
from panewise.datasets.auction import STREAMS, AuctionSite
from panewise.datasets.disorder import Item, punctuated
from panewise.datasets.flights import flights
from panewise.files.writer import to_ndjson
from panewise.progress.punctuation import PUNCTUATION_KEY, Punctuation


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The options of ``panewise generate``."""
    parser = commands.add_parser(
        "generate", help="write an auction site's or real flights' streams to files",
        description="Write streams in arrival order. NDJSON carries exact punctuation in line; Parquet carries none.",
    )
    parser.add_argument("what", choices=("auction", "flights"))
    parser.add_argument("--out", required=True, metavar="DIR",
                        help="directory, one file or folder per stream; - streams one as NDJSON to standard output")
    parser.add_argument("--format", choices=("parquet", "ndjson"), default="parquet")
    parser.add_argument("--events", type=int, default=1_000_000, help="auction: persons, auctions and bids together")
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=["bids"], help="auction: which streams")
    parser.add_argument("--rate", type=int, default=10_000, help="auction: events per second of event time")
    parser.add_argument("--keys", type=int, default=1_000, help="auction: how many auctions the bids go to")
    parser.add_argument("--skew", type=float, default=0.0, help="auction: Zipf exponent of their popularity")
    parser.add_argument("--disorder", type=float, default=0.05, help="auction: share of delayed rows")
    parser.add_argument("--max-delay", default="10 s", help="auction: the longest delay")
    parser.add_argument("--seed", type=int, default=1, help="auction: the same seed gives the same data")
    parser.add_argument("--punctuate", default="1 s", metavar="DURATION", help="NDJSON: how often the stream promises")
    parser.add_argument("--files", type=int, default=1, help="cut each stream into this many files")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Generate and write."""
    out = Path(options.out)
    if options.what == "flights":
        tables = {"flights": flights()}
    else:
        site = AuctionSite(options.events, options.rate, options.keys, options.skew, options.disorder,
                           options.max_delay, seed=options.seed)
        tables = {name: site.stream(name) for name in options.streams}
    if options.out == "-":
        if len(tables) > 1:
            raise QuantityError("standard output takes one stream: name it with --streams")
        for table in tables.values():
            _write_lines(sys.stdout, punctuated(table, "ts", every=parse_duration(options.punctuate)))
        return 0
    for name, table in tables.items():
        path = write_stream(table, out, name, options.format, every=parse_duration(options.punctuate),
                            files=options.files)
        output.print(f"{table.num_rows:,} rows → {path}", highlight=False)
    return 0


def write_stream(table: pa.Table, out: Path, name: str, form: str, *, every: int, files: int = 1) -> Path:
    """One stream as a file, or as a directory of consecutive files; the path to give to ``--stream``."""
    suffix = "parquet" if form == "parquet" else "ndjson"
    with telling(f"{out}: cannot be written"):
        folder = out if files <= 1 else out / name
        folder.mkdir(parents=True, exist_ok=True)
        if files <= 1:
            path = out / f"{name}.{suffix}"
            _write_part(table, path, punctuated(table, "ts", every=every))
            return path
        size = -(-table.num_rows // files)
        items = list(punctuated(table, "ts", every=every)) if form == "ndjson" else []
        for i in range(files):
            part = folder / f"part-{i:04d}.{suffix}"
            _write_part(table.slice(i * size, size), part, _cut(items, i * size, (i + 1) * size))
    return folder


def _cut(items: list[Item], start: int, end: int) -> Iterable[Item]:
    """The items of one file: rows by position, punctuation with the rows before it."""
    at = 0
    for item in items:
        if isinstance(item, Punctuation):
            if start < at <= end:
                yield item
            continue
        first, last = max(start, at), min(end, at + item.num_rows)
        if first < last:
            yield item.slice(first - at, last - first)
        at += item.num_rows


def _write_part(rows: pa.Table, path: Path, items: Iterable[Item]) -> None:
    """One file: the rows as Parquet, or the items, which are the same rows with punctuation, as NDJSON."""
    if path.suffix == ".parquet":
        pq.write_table(rows, path)
        return
    with path.open("w", encoding="utf-8") as file:
        _write_lines(file, items)


def _write_lines(file: TextIO, items: Iterable[Item]) -> None:
    for item in items:
        if isinstance(item, Punctuation):
            promise = item.to_json("ts", OrdinalKind.TIMESTAMP)
            file.write(json.dumps({PUNCTUATION_KEY: promise}) + "\n")
        else:
            file.write(to_ndjson(pa.Table.from_batches([item])))
