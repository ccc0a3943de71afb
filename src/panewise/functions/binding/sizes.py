"""Refuses what would fill memory before it is made: results whose size an argument gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from panewise.core.sizes import ELEMENT, LARGEST_MADE, TOO_LARGE, bytes_of_text, most_of_a_batch, too_large
from panewise.functions.binding.frame import Datum, Here

Size = Callable[..., int]
"""How many bytes a function of plain values makes of its arguments."""
Sizes = np.ndarray[Any, Any]


def must_fit(name: str, sizes: Sizes, here: Here) -> None:
    """Refuse the first row whose result would be too large, by itself or with those before it."""
    if not len(sizes):
        return
    at = int(np.argmax(sizes > LARGEST_MADE))
    problem = too_large(name, int(sizes[at]))
    if problem is not None:
        here.fail(at, TOO_LARGE, problem)
    made, most = np.cumsum(sizes), most_of_a_batch(len(sizes))
    if made[-1] > most:
        at = int(np.argmax(made > most))
        here.fail(at, TOO_LARGE, f"{name} would make {int(made[-1]):,} bytes for {len(sizes):,} rows of a batch; at "
                                 f"most {most:,} are made")


def bytes_of(datum: Datum, here: Here) -> Sizes:
    """How many bytes every value has; none where it is null."""
    if isinstance(datum, pa.Scalar):
        return np.full(here.rows, sizes_of_array(pa.repeat(datum, 1))[0])
    return sizes_of_array(datum)


def sizes_of_array(values: pa.Array) -> Sizes:
    """How many bytes every value of a column has."""
    of = values.type
    if t.is_string(of) or t.is_binary(of):
        lengths: Sizes = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return lengths
    if t.is_struct(of):
        return np.asarray(sum((sizes_of_array(part) for part in values.flatten()), np.zeros(len(values), np.int64)))
    if t.is_list(of) or t.is_map(of):
        children = [values.keys, values.items] if t.is_map(of) else [values.values]
        inner = sum((np.maximum(sizes_of_array(child), ELEMENT) for child in children),
                    np.zeros(len(children[0]), np.int64))
        upto = np.concatenate([[0], np.cumsum(inner)])
        return np.where(values.is_valid().to_numpy(zero_copy_only=False), np.diff(upto[values.offsets.to_numpy()]), 0)
    return np.full(len(values), ELEMENT)


def plain_size(value: Any) -> int:
    """How many bytes a plain value is counted with."""
    if isinstance(value, str | bytes):
        return bytes_of_text(value)
    return sum(max(plain_size(part), ELEMENT) for part in value) if isinstance(value, list | tuple) else ELEMENT


def size_checked(name: str, size: Size, here: Here) -> Callable[[Sequence[Any], int, Callable[[], int]], None]:
    """A check of plain arguments before their result is made, for so many rows; the first of them is named."""
    made, most = 0, most_of_a_batch(here.rows)

    def check(arguments: Sequence[Any], rows: int, first: Callable[[], int]) -> None:
        nonlocal made
        each = size(*arguments)
        problem = too_large(name, each)
        made += each * rows
        if problem is None and made > most:
            problem = f"{name} would make more than {most:,} bytes for the rows of a batch"
        if problem is not None:
            here.fail(first(), TOO_LARGE, problem)

    return check
