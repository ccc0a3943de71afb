"""greatest and least: nulls are left out, NaN is the greatest number."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import operator
from panewise.functions.comparison import comparison_of, must_have_order
from panewise.functions.logic import chosen_values
from panewise.functions.types import STRING, VOID, type_name


def _declare(name: str, sign: str) -> None:
    @operator(name)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        if len(arguments) < 2:
            raise binder.error(f"{name} takes at least two values", tree)
        types = {a.type for a in arguments} - {VOID}
        if STRING in types and len(types) > 1:
            names = ", ".join(sorted(map(type_name, types)))
            raise binder.error(f"{name} does not take values of several types: {names}", tree, "cast them to one")
        values = binder.together(arguments, tree)
        must_have_order(binder, name, values[0].type, tree)
        beyond = comparison_of(sign, values[0].type)

        def run(*data: pa.Array, here: Here) -> pa.Array:
            found = data[0]
            for other in data[1:]:
                better = pc.or_kleene(found.is_null(), pc.fill_null(beyond(other, found), False))
                found = chosen_values([pc.and_(other.is_valid(), better)], [other, found], here.type)
            return found

        return binder.made(values[0].type, tree, list(values), run, needs_arrays=True)


_declare("greatest", ">")
_declare("least", "<")
