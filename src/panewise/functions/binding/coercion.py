"""Casts nobody wrote: which types a parameter takes besides its own, and what branches and operands are cast to.

The rules are Spark's in ANSI mode. A function's argument is cast where a value could be stored in a column of the
parameter's type (numbers among each other, anything atomic into text, dates and timestamps among each other), and text
into any atomic type. A cast that loses something fails on the row.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import types as t

from panewise.functions.binding.bound import Bound
from panewise.functions.binding.registry import Function, Kind, Parameter
from panewise.functions.casts import cast_bound
from panewise.functions.types import STRING, VOID, is_nested, is_number, is_time


def assignable(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a value may be cast without being asked.

    >>> from panewise.functions.types import BIGINT, DATE, INT
    >>> assignable(BIGINT, INT), assignable(STRING, DATE), assignable(DATE, INT)
    (True, True, False)
    """
    if given in (wanted, VOID):
        return True
    if is_number(given) and is_number(wanted):
        return True
    if wanted == STRING:
        return not is_nested(given)
    if given == STRING:
        return not is_nested(wanted)
    if is_time(given) and is_time(wanted):
        return True
    if t.is_list(given) and t.is_list(wanted):
        return assignable(given.value_type, wanted.value_type)
    if t.is_map(given) and t.is_map(wanted):
        return assignable(given.key_type, wanted.key_type) and assignable(given.item_type, wanted.item_type)
    return False


def target(given: pa.DataType, parameter: Parameter) -> pa.DataType | None:
    """The type an argument gets for a parameter; None where it cannot be given."""
    if isinstance(parameter, Kind):
        return given if parameter.takes(given) else parameter.cast(given)
    return parameter if assignable(given, parameter) else None


def exact(given: pa.DataType, parameter: Parameter) -> bool:
    """Whether a parameter takes a type as it is."""
    return parameter.takes(given) if isinstance(parameter, Kind) else given == parameter


def chosen(functions: Sequence[Function], types: Sequence[pa.DataType]) -> tuple[Function, list[pa.DataType]] | None:
    """The declaration for arguments of these types, and what each is cast to."""
    castable = None
    for function in functions:
        parameters = function.parameters_for(len(types))
        if parameters is None:
            continue
        if all(exact(given, p) for given, p in zip(types, parameters, strict=True)):
            return function, list(types)
        targets = [target(given, p) for given, p in zip(types, parameters, strict=True)]
        if castable is None and all(found is not None for found in targets):
            castable = function, [found for found in targets if found is not None]
    return castable


def cast_all(arguments: Sequence[Bound], wanted: Sequence[pa.DataType], zone: str) -> tuple[Bound, ...]:
    """The arguments in these types."""
    return tuple(cast_bound(a, w, zone) for a, w in zip(arguments, wanted, strict=True))
