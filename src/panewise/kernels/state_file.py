"""Saved state: several Arrow tables and a JSON header in one Arrow IPC stream.

A checkpoint is input like any other: it is checked, versioned and never executed (no pickle). The outer table has one
row per saved table; the header travels in the metadata of its schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from panewise.core.errors import CheckpointError

FORMAT = "panewise-state"
HEADER_KEY = b"panewise"


def encode_state(kind: str, version: int, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> bytes:
    """The bytes of a state; ``kind`` and ``version`` say who can read them.

    >>> data = encode_state("example", 1, {"rows": 2}, {"t": pa.table({"a": [1, 2]})})
    >>> header, tables = decode_state(data, "example", 1)
    >>> header, tables["t"].to_pydict()
    ({'rows': 2}, {'a': [1, 2]})
    """
    text = json.dumps({"format": FORMAT, "kind": kind, "version": version, "header": dict(header)}, sort_keys=True)
    schema = pa.schema([pa.field("name", pa.string()), pa.field("table", pa.large_binary())],
                       metadata={HEADER_KEY: text.encode()})
    outer = pa.table([list(tables), [table_bytes(t) for t in tables.values()]], schema=schema)
    return table_bytes(outer)


def decode_state(data: bytes, kind: str, version: int) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """The header and the tables; anything that is not such a state is refused."""
    outer = table_from_bytes(data)
    try:
        found = json.loads((outer.schema.metadata or {})[HEADER_KEY])
        if found["format"] != FORMAT:
            raise KeyError(found["format"])
        found_kind, found_version, header = found["kind"], found["version"], found["header"]
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError("this is an Arrow stream but not a saved state of panewise") from error
    if found_kind != kind:
        raise CheckpointError(f"the saved state is of {found_kind!r}, expected {kind!r}: it belongs to another query")
    if found_version != version:
        raise CheckpointError(f"the saved state has version {found_version}, this program reads version {version}: "
                              "start again without it, or use the version that wrote it")
    names, contents = outer.column("name").to_pylist(), outer.column("table").to_pylist()
    return header, {n: table_from_bytes(c) for n, c in zip(names, contents, strict=True)}


def table_bytes(table: pa.Table) -> bytes:
    """One table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def table_from_bytes(data: bytes) -> pa.Table:
    """The table of an Arrow IPC stream."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise CheckpointError(f"the saved state cannot be read, it is damaged or not ours: {error}") from error
    return table
