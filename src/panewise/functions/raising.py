"""Types asked for, and errors raised on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.registry import function, special
from panewise.functions.binding.spans import WIDEST, span_of
from panewise.functions.types import BOOLEAN, STRING, VOID, type_name

RAISED = "USER_RAISED_EXCEPTION"


@special("typeof")
def typeof(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """The name of a type."""
    if len(arguments) != 1:
        raise binder.error("typeof takes one value", tree)
    value = binder.bind(arguments[0])
    name = f"interval {str(span_of(value)).lower()}" if value.type in WIDEST else type_name(value.type)
    return Constant(STRING, tree, pa.scalar(name, STRING))


@function("assert_true", takes=[BOOLEAN, STRING], gives=VOID, optional=1)
def assert_true(condition: Datum, message: Datum | None = None, *, here: Here) -> Datum:
    """Null, and a failure where the condition does not hold."""
    holds = pc.fill_null(here.array(condition), False)
    shown = "the condition does not hold" if message is None else "{}"
    here.fail_where(pc.invert(holds), RAISED, shown, *([] if message is None else [message]))
    return pa.nulls(here.rows)


@function("raise_error", takes=[STRING], gives=VOID)
def raise_error(message: Datum, here: Here) -> Datum:
    """A failure on every row."""
    here.fail(0, RAISED, "{}", message)
