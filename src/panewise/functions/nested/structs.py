"""Structs from their fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import special


def _made(binder: Binding, names: Sequence[str], values: Sequence[Bound], tree: Any) -> Bound:
    of = pa.struct([pa.field(n, v.type) for n, v in zip(names, values, strict=True)])

    def run(*fields: pa.Array, here: Here) -> pa.Array:
        return pa.StructArray.from_arrays([here.array(f) for f in fields], fields=list(here.type))

    return binder.made(of, tree, values, run, needs_arrays=True)


@special("struct")
def struct(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """Fields named as they are written, others col1, col2, …"""
    names, values = [], []
    for i, argument in enumerate(arguments, 1):
        inner = argument.this if isinstance(argument, exp.Alias) else argument
        names.append(argument.alias if isinstance(argument, exp.Alias) else
                     inner.name if isinstance(inner, exp.Column | exp.Dot | exp.Identifier) else f"col{i}")
        values.append(binder.bind(inner))
    if not values:
        raise binder.error("struct takes at least one field", tree)
    return _made(binder, names, values, tree)


@special("named_struct")
def named_struct(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """Names and values in turn; a name is a constant."""
    if not arguments or len(arguments) % 2:
        raise binder.error("named_struct takes names and values in turn", tree)
    names = []
    for argument in arguments[::2]:
        name = binder.bind(argument)
        if not isinstance(name, Constant) or not isinstance(name.value.as_py(), str):
            raise binder.error("the name of a field must be a constant text", argument)
        names.append(name.value.as_py())
    return _made(binder, names, [binder.bind(a) for a in arguments[1::2]], tree)
