"""Rows and promises of a micro-batch on their way into a running query, and as an entry of the journal."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.dataflow import Query
from panewise.dataflow.promises import as_json
from panewise.engines.spark.host.stage import TAG
from panewise.engines.spark.host.wire import CONTROL, POSITION, ROW_BOUND
from panewise.engines.spark.lower.fragment import ORDINAL
from panewise.engines.spark.queries.placing import HostedInput
from panewise.engines.spark.queries.stage import BESIDE
from panewise.kernels.contract.state_file import decode_state, encode_state
from panewise.planner.facts.result_forms import VALID_FROM
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND

KIND = "micro-batch"


def late_among(rows: pa.Table) -> pa.ChunkedArray | None:
    """Which rows came below the bound they carry; None where none did."""
    if ROW_BOUND not in rows.column_names:
        return None
    late = pc.fill_null(pc.less(rows.column(ORDINAL), pc.fill_null(rows.column(ROW_BOUND), NO_BOUND)), False)
    return late if pc.any(late).as_py() else None


def without_bounds(rows: pa.Table) -> pa.Table:
    """Rows whose bounds say nothing."""
    return rows.drop_columns([ROW_BOUND]) if ROW_BOUND in rows.column_names else rows


def by_input(tables: Iterable[pa.Table]) -> dict[str, pa.Table]:
    """The tables of messages, one for each input."""
    parts: dict[str, list[pa.Table]] = {}
    for table in tables:
        parts.setdefault(table.schema.metadata[TAG].decode(), []).append(table)
    return {tag: pa.concat_tables(found) for tag, found in sorted(parts.items())}


def take(query: Query, inputs: Mapping[str, HostedInput], rows: Mapping[str, pa.Table],
         promises: Sequence[tuple[str, Punctuation]], silent: Mapping[str, bool] | None = None, *,
         in_turn: bool = False) -> list[pa.Table]:
    """Give a query rows, then promises: those that end an input last; then which inputs fell silent."""
    silent = silent or {}
    found = [query.silence(inputs[tag].name, False) for tag, is_silent in silent.items() if not is_silent]
    for tag, part in runs(rows) if in_turn else rows.items():
        if part.num_rows:
            bounds = None
            if ROW_BOUND in part.column_names:
                bounds = pc.fill_null(part.column(ROW_BOUND), NO_BOUND).to_numpy()
            given = inputs[tag].schema.names
            plain = part.select([n for n in part.column_names if n in given or n not in BESIDE])
            found.append(query.push(inputs[tag].name, plain, bounds=bounds))
    for tag, promise in sorted(promises, key=lambda said: said[1].covers_everything):
        found.append(query.push(inputs[tag].name, promise))
    return found + [query.silence(inputs[tag].name, True) for tag, is_silent in silent.items() if is_silent]


def runs(rows: Mapping[str, pa.Table]) -> Iterator[tuple[str, pa.Table]]:
    """The rows of all inputs in the order in which they came, where they say it: always some of one input."""
    tags, parts = list(rows), list(rows.values())
    if len(parts) < 2 or any(POSITION not in p.column_names or p.column(POSITION).null_count for p in parts):
        yield from rows.items()
        return
    places = np.concatenate([part.column(POSITION).to_numpy() for part in parts])
    whose = np.repeat(np.arange(len(parts)), [part.num_rows for part in parts])[np.argsort(places, kind="stable")]
    done = [0] * len(parts)
    for begin, end in pairwise([0, *(np.flatnonzero(np.diff(whose)) + 1).tolist(), len(whose)]):
        at = int(whose[begin])
        yield tags[at], parts[at].slice(done[at], end - begin)
        done[at] += end - begin


def joined(found: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Results put together."""
    parts = [table.cast(schema) for table in found if table.num_rows]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def with_promises(results: pa.Table, query: Query, *, told: bool) -> pa.Table:
    """Results, then punctuation: how far they are; of that another part of the plan asks for instants only (``told``).

    It is said again with every micro-batch, so that a reader needs no other.
    """
    assert query.windows is None, "windows say by themselves when they are complete"
    said = [p for p in query.promises() if not told or p.attributes <= {VALID_FROM}]
    texts = [json.dumps(as_json(promise, results.schema)) for promise in said]
    results = results.append_column(CONTROL, pa.nulls(results.num_rows, pa.string()))
    blank = [pa.nulls(len(texts), f.type) for f in results.schema][:-1]
    return pa.concat_tables([results, pa.table([*blank, pa.array(texts, pa.string())], schema=results.schema)])


def write_entry(rows: Mapping[str, pa.Table], promises: Sequence[tuple[str, Punctuation]],
                silent: Mapping[str, bool], unsaved: Collection[str]) -> bytes:
    """What came in a micro-batch, as an entry of the journal."""
    header = {"promises": [[tag, promise.to_state()] for tag, promise in promises], "silent": dict(silent)}
    kept = {tag: part.drop_columns([n for n in unsaved if n in part.column_names]).combine_chunks()
            for tag, part in rows.items()}
    return encode_state(KIND, header, kept)


def read_entry(data: bytes) -> tuple[dict[str, pa.Table], list[tuple[str, Punctuation]], dict[str, bool]]:
    """Back."""
    header, tables = decode_state(data, KIND)
    promises = [(tag, Punctuation.from_state(patterns)) for tag, patterns in header["promises"]]
    return tables, promises, header["silent"]
