"""Calls of the user's own functions: as Spark's are, bound with a type, and refused at the row that has no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from panewise.core.errors import EvaluationError
from panewise.core.user_functions import Raised, UserFunction
from panewise.functions.binding.bound import Bound, Call
from panewise.functions.binding.frame import Datum, Here

CONDITION = "USER_FUNCTION"
"""The condition of errors that no function of Spark raises."""


def user_call(function: UserFunction, arguments: Sequence[Bound], tree: Any, zone: str) -> Bound:
    """A call that is never computed before there are rows: what a user's function does is its own business."""

    def run(*columns: Datum, here: Here) -> pa.Array:
        try:
            return function.apply([here.array(column) for column in columns], here.rows)
        except Raised as raised:
            raise _failure(raised, here) from raised.__cause__

    return Call(function.returns, tree, tuple(arguments), run, zone, needs_here=True, needs_arrays=True)


def _failure(raised: Raised, here: Here) -> EvaluationError:
    text = raised.message.replace("{", "{{").replace("}", "}}")
    if raised.row is None:
        last = here.frame.place(here.rows - 1)
        text += f", in rows {here.frame.place(0)} to {last} of their batch"
    try:
        here.fail(raised.row or 0, CONDITION, text)
    except EvaluationError as error:
        return error
