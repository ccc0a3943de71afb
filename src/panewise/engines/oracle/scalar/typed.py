"""A bound expression: its Spark type and a function from one row to its value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from panewise.core.errors import SchemaError
from panewise.engines.oracle.scalar.types import NULL, Type, Value

Row = Mapping[str, Any]
"""The columns of a row, and the variables of the lambdas around an expression, as values of the evaluator."""
Run = Callable[[Row], Value]


class Failure(Exception):  # noqa: N818 - it becomes an EvaluationError when expression and row are known
    """No value for this row; the condition is the name that Spark gives the error."""

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(message)
        self.condition, self.message = condition, message


class MismatchError(SchemaError):
    """An operator or function over types that it does not take, found before any row is read."""

    def __init__(self, message: str, condition: str = "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE") -> None:
        super().__init__(message)
        self.condition = condition


@dataclass(frozen=True)
class Typed:
    """An expression of known type."""

    type: Type
    run: Run
    sql: str = ""
    literal: bool = False
    """Whether it is a number as written, whose own digits then decide its precision beside decimals."""
    constant: bool = False
    """Whether it reads no column."""

    @property
    def value(self) -> Value:
        """The value of an expression that reads no column."""
        return self.run({})


def constant(kind: Type, value: Value, sql: str = "", *, literal: bool = False) -> Typed:
    """An expression that is always the same."""
    return Typed(kind, lambda row: value, sql or repr(value), literal, constant=True)


NOTHING = constant(NULL, None, "NULL")


def strict(kind: Type, function: Callable[..., Value], arguments: Sequence[Typed], sql: str = "") -> Typed:
    """A function that is null as soon as an argument is, from left to right, and then looks no further."""
    runs = [argument.run for argument in arguments]

    def run(row: Row) -> Value:
        values = []
        for one in runs:
            value = one(row)
            if value is None:
                return None
            values.append(value)
        return function(*values)

    return Typed(kind, run, sql, constant=all(argument.constant for argument in arguments))


def eager(kind: Type, function: Callable[..., Value], arguments: Sequence[Typed], sql: str = "") -> Typed:
    """A function that sees nulls."""
    runs = [argument.run for argument in arguments]
    return Typed(kind, lambda row: function(*(one(row) for one in runs)), sql,
                 constant=all(argument.constant for argument in arguments))
