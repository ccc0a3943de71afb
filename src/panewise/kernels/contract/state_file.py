"""Saved state: a JSON header and named Arrow tables, sealed with version and checksum, as a chunk of a store.

A checkpoint is input like any other: it is checked, versioned and never executed (no pickle). Behind the seal stand the
tables, each an Arrow stream, one after the other; the seal says how long each is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from panewise.core.errors import CheckpointError
from panewise.storage import ChunkStore
from panewise.storage.sealed import seal, unseal

KIND = "state"
Saved: TypeAlias = tuple[dict[str, Any], dict[str, pa.Table]]
"""State as data: what JSON can hold, and tables."""


def encode_state(kind: str, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> bytes:
    """The bytes of a state; ``kind`` says who can read them.

    >>> data = encode_state("example", {"rows": 2}, {"t": pa.table({"a": [1, 2]})})
    >>> header, tables = decode_state(data, "example")
    >>> header, tables["t"].to_pydict()
    ({'rows': 2}, {'a': [1, 2]})
    """
    parts = [table_bytes(table) for table in tables.values()]
    lengths = [[name, len(part)] for name, part in zip(tables, parts, strict=True)]
    about = {"kind": KIND, "of": kind, "header": dict(header), "tables": lengths}
    return b"".join(seal(about, b"".join(parts)))


def decode_state(data: bytes, kind: str) -> Saved:
    """The header and the tables; anything that is not such a state is refused."""
    about, contents = unseal(data, "the saved state")
    if about.get("kind") != KIND:
        raise CheckpointError(f"this is a {about.get('kind')!r} of panewise, not a saved state: start again without it")
    if about["of"] != kind:
        raise CheckpointError(f"the saved state is of {about['of']!r}, expected {kind!r}: it belongs to another query")
    whole, tables, at = memoryview(contents), {}, 0
    for name, length in about["tables"]:
        tables[name] = table_from_bytes(whole[at : at + length])
        at += length
    return about["header"], tables


def write_state(store: ChunkStore, name: str, kind: str, saved: Saved) -> None:
    """A state as a chunk."""
    store.put(name, encode_state(kind, *saved))


def read_state(store: ChunkStore, name: str, kind: str) -> Saved:
    """Back; a chunk that is not there is damage."""
    data = store.get(name)
    if data is None:
        raise CheckpointError(f"the saved state is damaged: its part {name!r} is missing; restore it from a copy, or "
                              "start again without it")
    return decode_state(data, kind)


def kind_of(store: ChunkStore, name: str) -> str:
    """What the state in a chunk is of."""
    data = store.get(name)
    return str(unseal(data, "the saved state")[0]["of"]) if data is not None else ""


def together(parts: Mapping[str, Saved]) -> Saved:
    """Several states as one.

    >>> saved = together({"inner": ({"rows": 2}, {"t": pa.table({"a": [1]})})})
    >>> saved[0], list(saved[1]), part_of(saved, "inner")[0], list(part_of(saved, "inner")[1])
    ({'inner': {'rows': 2}}, ['inner/t'], {'rows': 2}, ['t'])
    """
    tables = {f"{name}/{own}": table for name, (_, mine) in parts.items() for own, table in mine.items()}
    return {name: header for name, (header, _) in parts.items()}, tables


def part_of(saved: tuple[Mapping[str, Any], Mapping[str, pa.Table]], name: str) -> Saved:
    """One of them."""
    header, tables = saved
    prefix = f"{name}/"
    return header[name], {n.removeprefix(prefix): table for n, table in tables.items() if n.startswith(prefix)}


def table_bytes(table: pa.Table) -> bytes:
    """One table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def table_from_bytes(data: bytes | memoryview) -> pa.Table:
    """The table of an Arrow IPC stream."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise CheckpointError(f"the saved state cannot be read, it is damaged or not ours: {error}") from error
    return table
