"""Numbers, truth values and bytes to text, as Spark writes them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.frame import Here
from panewise.functions.casts.table import cast
from panewise.functions.numbers.java_floats import float_texts
from panewise.functions.types import BINARY, BOOLEAN, STRING, is_decimal, is_float, is_integer


@cast(is_integer, STRING)
@cast(BOOLEAN, STRING)
def plain_to_text(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Digits; true and false."""
    del here, failing
    return values.cast(STRING)


@cast(is_float, STRING)
def float_to_text(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """As Java 17 writes floats."""
    del here, failing
    return float_texts(values)


@cast(is_decimal, STRING)
def decimal_to_text(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """All digits of the scale, never an exponent."""
    del here, failing
    texts = values.cast(STRING)
    if values.type.scale <= 6:
        return texts
    small = pc.match_substring(texts, "E")
    if not pc.any(small, min_count=0).as_py():
        return texts
    plain = pa.array([f"{value:f}" for value in values.filter(small).to_pylist()], STRING)
    return pc.replace_with_mask(texts, pc.fill_null(small, False), plain)


@cast(BINARY, STRING)
def binary_to_text(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """The bytes themselves, read as UTF-8; Spark does not look whether they are."""
    del here, failing
    return pa.Array.from_buffers(STRING, len(values), values.buffers(), offset=values.offset)
