"""Casts that change nothing but the type."""

from __future__ import annotations

import pyarrow as pa

from panewise.functions.binding.frame import Here
from panewise.functions.casts.table import cast
from panewise.functions.types import BINARY, STRING, VOID


@cast(VOID, lambda to: True)
def from_nothing(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Null is null."""
    del failing
    return pa.nulls(len(values), here.type)


@cast(STRING, BINARY)
def text_to_binary(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """The bytes of the text in UTF-8."""
    del failing
    return values.cast(here.type)
