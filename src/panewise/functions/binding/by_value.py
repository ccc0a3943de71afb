"""Functions that are computed in Python, once per distinct combination of arguments.

Streams repeat their values, so this is far from once per row. It is the fall-back for functions whose meaning no
columnar kernel has; the list of functions names them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.registry import Gives, Parameter, function
from panewise.functions.binding.sizes import Size, size_checked
from panewise.functions.types import BINARY, STRING


class ValueFailure(Exception):  # noqa: N818 -- a refusal that becomes an EvaluationError
    """Raised by a function of plain values where it has no value."""

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(message)
        self.condition, self.message = condition, message


UNSUPPORTED = "UNSUPPORTED_PATTERN"
"""No condition of Spark's: it has an answer, and panewise refuses to give another."""


class PatternRefusal(ValueFailure):
    """A pattern that has a meaning in Spark and none here; a constant one is refused when it is bound."""

    def __init__(self, message: str) -> None:
        super().__init__(UNSUPPORTED, message)


def value_function(*names: str, takes: Sequence[Parameter], gives: Gives, nulls: bool = False,
                   size: Size | None = None, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function of plain Python values; null gives null unless ``nulls`` are asked for.

    ``size`` says from the arguments how many bytes it makes, where that may be more than they have.
    """
    def declare(plain: Callable[..., Any]) -> Callable[..., Any]:
        def run(*data: Datum, here: Here) -> pa.Array:
            return computed(plain, data, here, nulls=nulls, size=None if size is None else (names[0], size))

        function(*names, takes=takes, gives=gives, by_value=True, **options)(run)
        return plain
    return declare


def computed(plain: Callable[..., Any], data: Sequence[Datum], here: Here, *, nulls: bool = False,
             size: tuple[str, Size] | None = None) -> pa.Array:
    """The function on every row, computed once per distinct combination of arguments."""
    codes, values = combinations(data, here)
    found: list[Any] = []
    check = None if size is None else size_checked(*size, here)
    counts = None if size is None else np.bincount(codes)
    for number, arguments in enumerate(values):
        if not nulls and any(a is None for a in arguments):
            found.append(None)
            continue
        if check is not None and counts is not None:
            check(arguments, int(counts[number]), lambda number=number: int(np.argmax(codes == number)))  # type: ignore[misc]
        try:
            found.append(plain(*arguments))
        except ValueFailure as failure:
            row = int(np.argmax(codes == number))
            here.fail(row, failure.condition, failure.message.replace("{", "{{").replace("}", "}}"))
    distinct = from_plain(found, here.type)
    return distinct if len(values) == here.rows and (codes == np.arange(here.rows)).all() else \
        distinct.take(pa.array(codes))


def combinations(data: Sequence[Datum], here: Here) -> tuple[np.ndarray[Any, Any], list[tuple[Any, ...]]]:
    """For every row the number of its combination of arguments, and the combinations as Python values."""
    columns = []
    code = np.zeros(here.rows, np.int64)
    for datum in data:
        if isinstance(datum, pa.Scalar):
            columns.append((None, to_plain(pa.repeat(datum, 1))[0] if datum.is_valid else None))
            continue
        if pa.types.is_nested(datum.type):  # Arrow cannot number nested values
            return np.arange(here.rows), list(zip(*(_listed(d, here) for d in data), strict=True))
        encoded = datum.dictionary_encode(null_encoding="encode")
        indices = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        columns.append((indices, to_plain(encoded.dictionary)))
        _, code = np.unique(code * (len(encoded.dictionary) + 1) + indices, return_inverse=True)
    _, first, codes = np.unique(code, return_index=True, return_inverse=True)
    parts = [[values] * len(first) if indices is None else [values[i] for i in indices[first]]
             for indices, values in columns]
    return codes, list(zip(*parts, strict=True)) if parts else [()] * len(first)


def _listed(datum: Datum, here: Here) -> list[Any]:
    values: list[Any] = here.array(datum).to_pylist()
    return values


def to_plain(values: pa.Array) -> list[Any]:
    """Python values; bytes of a text that are no UTF-8 become surrogates, one each."""
    try:
        plain: list[Any] = values.to_pylist()
    except UnicodeDecodeError:
        raw = pa.Array.from_buffers(BINARY, len(values), values.buffers(), offset=values.offset).to_pylist()
        return [None if one is None else one.decode("utf-8", "surrogateescape") for one in raw]
    return plain


def from_plain(values: list[Any], of: pa.DataType) -> pa.Array:
    """Arrow values of Python values, surrogates as the bytes they were."""
    try:
        return pa.array(values, of)
    except UnicodeEncodeError:
        if of != STRING:
            raise
        raw = pa.array([None if one is None else one.encode("utf-8", "surrogateescape") for one in values], BINARY)
        return pa.Array.from_buffers(STRING, len(raw), raw.buffers(), offset=raw.offset)
