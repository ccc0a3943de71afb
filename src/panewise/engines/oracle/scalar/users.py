"""Calls of the user's own functions, one row at a time: the callable is the user's, and so is what it means."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panewise.core.user_functions import Raised, UserFunction
from panewise.engines.oracle.scalar.typed import Failure, Row, Typed
from panewise.engines.oracle.scalar.types import Value, from_arrow, reader, to_arrow, writer


def called(function: UserFunction, arguments: Sequence[Typed], sql: str) -> Typed:
    """The function on plain Python values, or on columns of one row."""
    kind = from_arrow(function.returns)
    read = reader(kind)
    given = [(argument.run, writer(argument.type), to_arrow(argument.type)) for argument in arguments]

    def run(row: Row) -> Value:
        columns = [pa.array([write(compute(row))], of) for compute, write, of in given]
        try:
            found = function.apply(columns, 1)[0].as_py()
        except Raised as raised:
            raise Failure("USER_FUNCTION", raised.message) from raised.__cause__
        return read(found)

    return Typed(kind, run, sql)
