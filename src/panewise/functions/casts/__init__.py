"""CAST and TRY_CAST between every pair of types, as Spark does it in ANSI mode.

A cast is a function from a column and the call it belongs to. A value that has no counterpart fails under CAST and is
null under TRY_CAST; ``failing`` says which. Each module declares the casts into or out of its types.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from panewise.core.errors import EvaluationError
from panewise.functions.binding.bound import Bound, Call, Constant
from panewise.functions.binding.frame import Frame
from panewise.functions.binding.spans import WIDEST, Span, span_of
from panewise.functions.casts import (  # noqa: F401 -- importing declares
    calendar_intervals,
    decimals,
    intervals,
    nested,
    numbers,
    plain,
    text_to_numbers,
    text_to_times,
    times,
    to_text,
)
from panewise.functions.casts.table import find
from panewise.functions.types import VOID, type_name


def cast_bound(value: Bound, to: pa.DataType, zone: str, *, tree: Any = None, failing: bool = True,
               span: Span | None = None) -> Bound:
    """A bound expression in another type, an interval in these fields; raises TypeError where there is no such cast."""
    if value.type == to and (span is None or span_of(value) == span):
        return value
    if isinstance(value, Constant) and (value.type == VOID or not value.value.is_valid):
        return Constant(to, value.tree if tree is None else tree, pa.scalar(None, to) if not isinstance(
            to, pa.ExtensionType) else pa.nulls(1, to)[0], span=span)
    run = find(value.type, to) if value.type != to else intervals.narrowed
    if run is None or (not failing and nested.keys_may_be_lost(value.type, to)):
        raise TypeError(f"{type_name(value.type)} cannot be cast to {type_name(to)}")
    options: dict[str, Any] = {"failing": failing}
    if to in WIDEST:
        options["span"] = span or WIDEST[to]
    elif value.type in WIDEST:
        options["from_span"] = span_of(value)
    call = Call(to, value.tree if tree is None else tree, (value,), run, zone, needs_here=True, needs_arrays=True,
                options=options, span=span)
    if isinstance(value, Constant):
        try:
            found = call.compute(Frame({}, 1))
        except EvaluationError:
            return call
        return Constant(to, call.tree, found, span=span)
    return call
