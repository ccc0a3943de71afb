"""Arrow lists taken apart and put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.by_value import ValueFailure
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.sizes import Size, size_checked
from panewise.functions.types import VOID, tightest, type_name


def sizes_of(lists: pa.Array) -> np.ndarray[Any, Any]:
    """How many elements every list or map has; none where it is null."""
    offsets = lists.offsets.to_numpy()
    sizes: np.ndarray[Any, Any] = np.diff(offsets).astype(np.int64)
    if lists.null_count:
        sizes[lists.is_null().to_numpy(zero_copy_only=False)] = 0
    return sizes


def starts_of(lists: pa.Array) -> np.ndarray[Any, Any]:
    """Where every list begins among the elements of ``elements_of``."""
    starts: np.ndarray[Any, Any] = lists.offsets.to_numpy()[:-1].astype(np.int64)
    return starts


def elements_of(lists: pa.Array) -> pa.Array:
    """The elements of all lists as they are stored, those of null lists too."""
    return lists.values


def flat(lists: pa.Array) -> tuple[pa.Array, np.ndarray[Any, Any]]:
    """The elements of all lists one behind the other, and the row of each."""
    sizes = sizes_of(lists)
    rows = np.repeat(np.arange(len(lists)), sizes)
    first = np.repeat(starts_of(lists), sizes)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return elements_of(lists).take(pa.array(first + within)), rows


def rebuilt(elements: pa.Array, sizes: np.ndarray[Any, Any], missing: pa.Array, of: pa.DataType) -> pa.Array:
    """Lists of so many elements each, null where a mask says so."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), elements, type=of, mask=missing)


def computed_rows(plain: Callable[..., Any], data: Sequence[Datum], here: Here, *, nulls: bool = False,
                  size: tuple[str, Size] | None = None) -> pa.Array:
    """A function of Python values on every row: nested values have no columnar kernel for it."""
    columns = [here.array(d).to_pylist() for d in data]
    found: list[Any] = []
    check = None if size is None else size_checked(*size, here)
    for row, values in enumerate(zip(*columns, strict=True)):
        if not nulls and any(v is None for v in values):
            found.append(None)
            continue
        if check is not None:
            check(values, 1, lambda row=row: row)  # type: ignore[misc]
        try:
            found.append(plain(*values))
        except ValueFailure as failure:
            here.fail(row, failure.condition, failure.message.replace("{", "{{").replace("}", "}}"))
    return pa.array(found, here.type)


def identity(value: Any) -> Hashable:
    """What is equal for equal values: NaN is itself, both zeros are one, nested values compare by their parts."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (float, value + 0.0)
    if isinstance(value, list | tuple):
        return tuple(identity(v) for v in value)
    if isinstance(value, dict):
        return tuple(identity(v) for v in value.values())
    found: Hashable = value
    return found


def same_elements(binder: Binding, name: str, pair: Sequence[Bound], tree: Any) -> tuple[Bound, Bound]:
    """An array and a value of one type."""
    array, value = pair
    if array.type == VOID:
        array = binder.cast(array, pa.list_(value.type))
    if not t.is_list(array.type):
        raise binder.error(f"{name} takes an array, not {type_name(array.type)}", tree)
    common = tightest(array.type.value_type, value.type)  # text is not read as a number here
    if common is None:
        raise binder.error(f"{name}: {type_name(value.type)} is no element of {type_name(array.type)}", tree)
    return binder.cast(array, pa.list_(common)), binder.cast(value, common)


def same_arrays(binder: Binding, name: str, arguments: Sequence[Bound], tree: Any) -> tuple[Bound, ...]:
    """Arrays of one type."""
    for argument in arguments:
        if not (t.is_list(argument.type) or argument.type == VOID):
            raise binder.error(f"{name} takes arrays, not {type_name(argument.type)}", tree)
    return binder.together(arguments, tree)


def counted(binder: Binding, name: str, arguments: Sequence[Any], tree: Any, *allowed: int) -> None:
    """Refuse a wrong number of arguments."""
    if len(arguments) not in allowed:
        raise binder.error(f"{name} takes {' or '.join(map(str, allowed))} arguments, {len(arguments)} are given", tree)
