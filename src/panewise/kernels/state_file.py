"""Saved state: several Arrow tables and a JSON header, sealed with version and checksum.

A checkpoint is input like any other: it is checked, versioned and never executed (no pickle). The table inside the seal
has one row per saved table; the header travels in the seal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from panewise.core.errors import CheckpointError
from panewise.storage.sealed import seal, unseal

KIND = "state"


def encode_state(kind: str, version: int, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> bytes:
    """The bytes of a state; ``kind`` and ``version`` say who can read them.

    >>> data = encode_state("example", 1, {"rows": 2}, {"t": pa.table({"a": [1, 2]})})
    >>> header, tables = decode_state(data, "example", 1)
    >>> header, tables["t"].to_pydict()
    ({'rows': 2}, {'a': [1, 2]})
    """
    schema = pa.schema([pa.field("name", pa.string()), pa.field("table", pa.large_binary())])
    outer = pa.table([list(tables), [table_bytes(t) for t in tables.values()]], schema=schema)
    about = {"kind": KIND, "of": kind, "version": version, "header": dict(header)}
    return b"".join(seal(about, table_bytes(outer)))


def decode_state(data: bytes, kind: str, version: int) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """The header and the tables; anything that is not such a state is refused."""
    about, contents = unseal(data, "the saved state")
    if about.get("kind") != KIND:
        raise CheckpointError(f"this is a {about.get('kind')!r} of panewise, not a saved state: start again without it")
    if about["of"] != kind:
        raise CheckpointError(f"the saved state is of {about['of']!r}, expected {kind!r}: it belongs to another query")
    if about["version"] != version:
        raise CheckpointError(f"the saved state has version {about['version']}, this program reads version {version}: "
                              "start again without it, or use the version that wrote it")
    outer = table_from_bytes(contents)
    names, saved = outer.column("name").to_pylist(), outer.column("table").to_pylist()
    return about["header"], {n: table_from_bytes(c) for n, c in zip(names, saved, strict=True)}


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
