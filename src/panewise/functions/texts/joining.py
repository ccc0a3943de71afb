"""concat_ws: texts and arrays of texts with a separator between them; and decode in its two meanings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from panewise.core.sizes import LARGEST_MADE
from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.by_value import ValueFailure, value_function
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.registry import operator
from panewise.functions.binding.sizes import bytes_of, must_fit, sizes_of_array
from panewise.functions.digests import charset_of
from panewise.functions.nested.lists import flat, rebuilt
from panewise.functions.types import BINARY, STRING, is_nested, type_name

_TEXTS = pa.list_(STRING)


@operator("concat_ws")
def concat_ws(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Nulls are left out; only a null separator makes null."""
    if not arguments:
        raise binder.error("concat_ws takes a separator and texts", tree)
    parts = []
    for part in arguments:
        if is_nested(part.type) and not (t.is_list(part.type) and part is not arguments[0]):
            raise binder.error(f"concat_ws takes texts and arrays of texts, not {type_name(part.type)}", tree)
        parts.append(binder.cast(part, _TEXTS if t.is_list(part.type) else STRING))
    return binder.made(STRING, tree, parts, _joined, needs_arrays=False)


def _joined(separator: Datum, *parts: Datum, here: Here) -> Datum:
    """All texts of a row as one list, which Arrow joins; it has a kernel for columns, which loses rows of nulls."""
    columns, rows = [], []
    for part in parts:
        column = here.array(part)
        texts, numbers = flat(column) if t.is_list(column.type) else (column, np.arange(here.rows))
        if texts.null_count:
            there = texts.is_valid()
            texts, numbers = texts.filter(there), numbers[there.to_numpy(zero_copy_only=False)]
        columns.append(texts)
        rows.append(numbers)
    places = np.concatenate([*rows, np.zeros(0, np.int64)])
    texts = pa.concat_arrays([*columns, pa.array([], STRING)]).take(pa.array(np.argsort(places, kind="stable")))
    sizes = np.bincount(places, minlength=here.rows)
    between = sizes * bytes_of(separator, here)
    if between.sum() + texts.nbytes > LARGEST_MADE:
        within = np.bincount(np.sort(places, kind="stable"), sizes_of_array(texts), minlength=here.rows)
        must_fit("concat_ws", between + within.astype(np.int64), here)
    lists = rebuilt(texts, sizes, pa.array(np.zeros(here.rows, np.bool_)), _TEXTS)
    return pc.binary_join(lists, separator)


@operator("decode")
def decode(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Bytes in a charset as text; or a value looked up among pairs, null equal to null."""
    if len(arguments) < 2:
        raise binder.error("decode takes bytes and a charset, or a value and pairs", tree)
    if len(arguments) == 2:
        return binder.call("_decoded", arguments, tree)
    value, *rest = arguments
    conditions = [binder.call("<=>", [value, key], tree) for key in rest[:-1:2]]
    # without a default it is a null text, so that numbers become BIGINT or DOUBLE
    default = rest[-1] if len(rest) % 2 else Constant(STRING, tree, pa.scalar(None, STRING))
    return binder.branches(conditions, [*rest[1::2], default], tree)


@value_function("_decoded", takes=[BINARY, STRING], gives=STRING)
def decoded(data: bytes, charset: str) -> str:
    """Bytes in a charset."""
    codec = charset_of(charset, "decode")
    if codec in ("utf-16", "utf-32-be"):
        marks = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"} if codec == "utf-16" else \
            {b"\xff\xfe\x00\x00": "utf-32-le", b"\x00\x00\xfe\xff": "utf-32-be"}
        width = 2 if codec == "utf-16" else 4
        mark = marks.get(data[:width])
        data, codec = (data[width:], mark) if mark else (data, "utf-16-be" if width == 2 else "utf-32-be")
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        raise ValueFailure("MALFORMED_CHARACTER_CODING", f"the bytes are not in {charset[:40]}") from error
