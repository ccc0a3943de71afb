"""to_json: every leaf is written column by column, structs, arrays and maps are put together row by row."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa
from pyarrow import types as t

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Frame, Here
from panewise.functions.binding.registry import operator
from panewise.functions.casts.nested import cast_inside
from panewise.functions.formats.json_reading import quoted
from panewise.functions.nested.lists import sizes_of, starts_of
from panewise.functions.times.formatted import written_times
from panewise.functions.types import (
    BINARY,
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    is_decimal,
    is_float,
    is_integer,
    is_nested,
    type_name,
)


@operator("to_json")
def to_json(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """A struct, array or map as JSON; null fields of structs are left out."""
    if len(arguments) != 1:
        raise binder.error("to_json takes one struct, array or map here", tree,
                           "options are not supported in process")
    value = arguments[0]
    if not is_nested(value.type) or not _writable(value.type):
        raise binder.error(f"to_json does not take {type_name(value.type)}", tree)
    return binder.made(STRING, tree, [value], lambda values, here: pa.array(_texts(values, here), STRING),
                       needs_arrays=True)


def _writable(of: pa.DataType) -> bool:
    if is_nested(of):
        return all(_writable(of.field(i).type) for i in range(of.num_fields)) if not t.is_map(of) else \
            not is_nested(of.key_type) and _writable(of.item_type)
    return is_integer(of) or is_float(of) or is_decimal(of) or \
        of in (pa.bool_(), STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, pa.null())


def _texts(values: pa.Array, here: Here) -> list[str | None]:
    of, valid = values.type, values.is_valid().to_pylist()
    if t.is_struct(of):
        names = [quoted(field.name, surrogates=False) for field in of]
        columns = [_texts(field, here) for field in values.flatten()]
        return ["{" + ",".join(f"{name}:{column[row]}" for name, column in zip(names, columns, strict=True)
                               if column[row] is not None) + "}" if there else None for row, there in enumerate(valid)]
    if t.is_map(of):
        keys = _plain(values.keys, here)
        items = _texts(values.items, here)
        pairs = [f"{quoted(key or '', surrogates=False)}:{'null' if item is None else item}"
                 for key, item in zip(keys, items, strict=True)]
        return _sliced(values, valid, pairs, "{}")
    if t.is_list(of):
        return _sliced(values, valid, ["null" if one is None else one for one in _texts(values.values, here)], "[]")
    return _leaves(values, here)


def _sliced(values: pa.Array, valid: list[bool], parts: list[str], around: str) -> list[str | None]:
    begins, sizes = starts_of(values).tolist(), sizes_of(values).tolist()
    return [around[0] + ",".join(parts[begin:begin + size]) + around[1] if there else None
            for begin, size, there in zip(begins, sizes, valid, strict=True)]


def _leaves(values: pa.Array, here: Here) -> list[str | None]:
    of, plain = values.type, _plain(values, here)
    if is_float(of):
        return [quoted(text) if text in ("NaN", "Infinity", "-Infinity") else text for text in plain]
    if of in (STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ):
        return [None if text is None else quoted(text, surrogates=False) for text in plain]
    return plain


def _plain(values: pa.Array, here: Here) -> list[str | None]:
    """The texts of a column, not in quotes."""
    of = values.type
    if of == BINARY:
        return [None if one is None else base64.b64encode(one).decode() for one in values.to_pylist()]
    inside = Here(Frame({}, len(values)), STRING, here.zone, here.expression)
    if of == TIMESTAMP:
        found = written_times(values, "yyyy-MM-dd'T'HH:mm:ss.SSSXXXXX", here.zone)
    elif of == TIMESTAMP_NTZ:
        found = written_times(values, "yyyy-MM-dd'T'HH:mm:ss.SSS", "UTC")
    else:
        found = cast_inside(values, inside, STRING, True)
    texts: list[str | None] = found.to_pylist()
    return texts
