"""The data of jobs: made once from a seed, written in the layouts that contenders read."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from common import LATE, ROWS_PER_SECOND, SECOND, START, TIMESTAMP, bids

SENTINEL = -1
"""The item of the rows that close all windows at the end of a stream of files; see ``peers/adapter.py``."""
TICK = 1_000
"""Microseconds between two rows of ``ticks``."""


@dataclass(frozen=True)
class Data:
    """Bids at a steady rate of event time, a share of them out of order."""

    rows: int
    keys: int = 1_000
    disorder: float = 0.05
    late: int = LATE
    """Rows out of order are late by less than this many microseconds."""
    skew: float = 0.0
    """The share of rows that are on one item."""
    distance: int = 0
    """Instead of lateness in time: one row in a hundred comes up to so many rows after its place, all times differ."""
    rows_per_second: int = ROWS_PER_SECOND
    lead: int = 0
    """Microseconds by which all is later, so that no row is before the start of a day."""
    slack: int = 0
    """Microseconds that queries allow beyond the lateness, where two streams are not read in step."""
    batches: int = 5
    """How many micro-batches a stream of files has."""
    seed: int = 7

    def prefix(self, rows: int) -> Data:
        """The first rows of these."""
        return self if rows >= self.rows else replace(self, rows=rows)

    @property
    def lateness(self) -> int:
        """What a query has to allow for, in microseconds."""
        return (self.distance + 1) * TICK if self.distance else self.late + self.slack

    def tables(self) -> Iterator[pa.Table]:
        """The rows in the order they come."""
        if self.distance:
            yield self._ticks()
            return
        for table in bids(self.rows, keys=self.keys, disorder=self.disorder, late=self.late, skew=self.skew,
                          rows_per_second=self.rows_per_second, seed=self.seed):
            later = pc.add(table.column("ts").cast(pa.int64()), self.lead).cast(TIMESTAMP)
            yield table.set_column(0, "ts", later)

    def _ticks(self) -> pa.Table:
        rng = np.random.default_rng(self.seed)
        place = np.arange(self.rows, dtype=np.float64)
        tardy = rng.random(self.rows) < 0.01
        place[tardy] += rng.integers(0, self.distance, int(tardy.sum())) + 0.5
        order = np.argsort(place, kind="stable")
        times = START + np.arange(self.rows, dtype=np.int64)[order] * TICK
        return pa.table({"ts": pa.array(times).cast(TIMESTAMP), "item": pa.array(rng.integers(0, self.keys, self.rows)),
                         "price": rng.integers(100, 100_000, self.rows) / 100})


class Store:
    """Data in files, each written when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, data: Data, layout: str) -> Path:
        """The file or folder with this data.

        ``file``: one Parquet file; ``csv``: one CSV file, and beside it ``bare.csv`` without the names of the columns;
        ``parts``: numbered Parquet files; ``stream``: these, with sentinels at the end; ``pair``: two of ``parts``.
        """
        name = hashlib.sha256(repr((layout, sorted(asdict(data).items()))).encode()).hexdigest()[:16]
        home = self.folder / f"{layout}-{name}"
        if not home.exists():
            making = self.folder / f"making-{name}"
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir(parents=True)
            getattr(self, f"_write_{layout}")(data, making)
            making.rename(home)  # what is there is whole
        return home / {"file": "bids.parquet", "csv": "bids.csv"}.get(layout, "")

    @staticmethod
    def _write_file(data: Data, home: Path) -> None:
        parts = data.tables()
        first = next(parts)
        with pq.ParquetWriter(home / "bids.parquet", first.schema) as out:
            out.write_table(first)
            for part in parts:
                out.write_table(part)

    @staticmethod
    def _write_csv(data: Data, home: Path) -> None:
        table = pa.concat_tables(data.tables())
        plain = table.set_column(0, "ts", table.column("ts").cast(pa.timestamp("us")))
        pacsv.write_csv(plain, home / "bids.csv")
        pacsv.write_csv(plain, home / "bare.csv", pacsv.WriteOptions(include_header=False))

    @staticmethod
    def _write_parts(data: Data, home: Path) -> None:
        table = pa.concat_tables(data.tables()).combine_chunks()
        files = data.batches * 2
        size = -(-table.num_rows // files)
        for number in range(files):
            _write_numbered(table.slice(number * size, size), home, number)

    def _write_stream(self, data: Data, home: Path) -> None:
        self._write_parts(data, home)
        schema, last = pq.read_schema(home / "0000.parquet"), START + data.rows * SECOND // data.rows_per_second
        # two micro-batches after all others: the first moves a watermark past every window, the second sees it moved
        for number, hours in enumerate((1, 1, 2, 2), data.batches * 2):
            _write_numbered(_sentinel(schema, last + hours * 3_600 * SECOND), home, number)

    def _write_pair(self, data: Data, home: Path) -> None:
        for name, seed in (("a", data.seed), ("b", data.seed + 1)):
            (home / name).mkdir()
            self._write_parts(replace(data, seed=seed), home / name)


def _write_numbered(table: pa.Table, home: Path, number: int) -> None:
    path = home / f"{number:04d}.parquet"
    pq.write_table(table, path)
    os.utime(path, (1_000_000 + number, 1_000_000 + number))  # Spark takes files by their age


def _sentinel(schema: pa.Schema, at: int) -> pa.Table:
    return pa.table({"ts": pa.array([at]).cast(TIMESTAMP), "item": [SENTINEL], "price": [0.0]}, schema=schema)
