"""Nexmark as Parquet files: one folder per stream, a few files for each micro-batch, promises among the rows.

All streams are cut at the same events, so the n-th files of all of them arrived in the same time. The column
``punctuation`` is null in rows of data. Behind the rows of a micro-batch stand the promises that became true in it, as
JSON text in that column, and behind the last rows the end of the stream, ``{}``: so a streaming run, too, ends with a
complete answer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nexmark.generator import STREAMS, Nexmark, Proportions
from panewise.core.ordinals import to_ordinals
from panewise.core.time import format_timestamp, parse_timestamp
from panewise.datasets.disorder import promise_positions

FILES = 2
"""For each micro-batch and stream, so that two cores have something to read."""
PUNCTUATION = "punctuation"
SETTINGS = "nexmark.json"
END = "{}"


@dataclass(frozen=True)
class Part:
    """What arrived of a stream in one micro-batch."""

    rows: pa.Table
    bound: int | None
    """No row behind them has a smaller ``ts``; None if nothing new was promised."""


def write(directory: Path, site: Nexmark, batches: int = 1) -> None:
    """Make the files of all three streams."""
    directory.mkdir(parents=True, exist_ok=True)
    for stream in STREAMS:
        folder = directory / stream
        folder.mkdir()
        for number, table in enumerate(_file_tables(site, stream, batches)):
            path = folder / f"{number:05d}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1_000_000 + number, 1_000_000 + number))  # Spark takes files by their age
    (directory / SETTINGS).write_text(json.dumps({"batches": batches, **asdict(site)}))


def settings(directory: Path) -> tuple[Nexmark, int]:
    """What the files were made from, and the number of micro-batches."""
    found = json.loads((directory / SETTINGS).read_text())
    batches = found.pop("batches")
    return Nexmark(**{**found, "proportions": Proportions(**found["proportions"])}), batches


def columns(directory: Path, stream: str) -> pa.Schema:
    """The columns of a stream's rows."""
    schema = pq.read_schema(min((directory / stream).glob("*.parquet")))
    return schema.remove(schema.get_field_index(PUNCTUATION))


def parts(directory: Path, stream: str) -> Iterator[Part]:
    """One stream, a micro-batch at a time."""
    paths = sorted((directory / stream).glob("*.parquet"))
    for first in range(0, len(paths), FILES):
        table = pa.concat_tables([pq.read_table(path) for path in paths[first:first + FILES]])
        promises = [text for text in table[PUNCTUATION].drop_null().to_pylist() if text != END]
        rows = table.filter(pc.is_null(table[PUNCTUATION])).drop_columns([PUNCTUATION])
        yield Part(rows, parse_timestamp(json.loads(promises[-1])["ts"]) if promises else None)


def _file_tables(site: Nexmark, stream: str, batches: int) -> Iterator[pa.Table]:
    rows = site.stream(stream)
    schema = rows.schema.append(pa.field(PUNCTUATION, pa.string()))
    promises = np.stack(promise_positions(to_ordinals(rows["ts"], "ts"), site.promise_every)).T.tolist()
    cuts = site.proportions.count(stream, np.arange(batches + 1) * site.events // batches).tolist()
    for batch, (first, end) in enumerate(pairwise(cuts)):
        said = [json.dumps({"ts": format_timestamp(bound)}) for place, bound in promises if first < place <= end]
        said += [END] if batch == batches - 1 else []
        size = -(-(end - first) // FILES)
        cut = [min(first + size * number, end) for number in range(FILES + 1)]
        pieces = [rows.slice(start, stop - start) for start, stop in pairwise(cut)]
        pieces[-1] = pa.concat_tables([pieces[-1], pa.table({PUNCTUATION: pa.array(said, pa.string())})],
                                      promote_options="default")
        yield from (pa.concat_tables([schema.empty_table(), piece], promote_options="default") for piece in pieces)
