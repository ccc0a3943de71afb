"""Functions by name: how a call with typed arguments becomes a typed expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter

from panewise.engines.oracle.scalar.coercion import argument
from panewise.engines.oracle.scalar.typed import Failure, MismatchError, Row, Typed, strict
from panewise.engines.oracle.scalar.types import Type, Value

Build = Callable[[list[Typed], str], Typed]
FUNCTIONS: dict[str, Build] = {}
"""Every function the oracle computes, by its lower-case name."""


def function(*names: str, least: int | None = None, most: int | None = None) -> Callable[[Build], Build]:
    """Register a function that types its arguments itself."""

    def register(build: Build) -> Build:
        def checked(arguments: list[Typed], sql: str) -> Typed:
            count = len(arguments)
            if (least is not None and count < least) or (most is not None and count > most):
                raise MismatchError(f"{sql}: {names[0]} does not take {count} arguments",
                                    "WRONG_NUM_ARGS.WITHOUT_SUGGESTION")
            return build(arguments, sql)

        FUNCTIONS.update(dict.fromkeys(names, checked))
        return build

    return register


def simple(names: str, parameters: Sequence[Type], result: Type, compute: Callable[..., Value], *,
           optional: int = 0) -> None:
    """Register functions of fixed types that are null if an argument is; the last ``optional`` may be left out."""

    def build(arguments: list[Typed], sql: str) -> Typed:
        given = [argument(item, kind, sql) for item, kind in zip(arguments, parameters, strict=False)]
        return strict(result, compute, given, sql)

    function(*names.split(), least=len(parameters) - optional, most=len(parameters))(build)


def attempted(build: Callable[..., Typed], arguments: Sequence[Typed], sql: str) -> Typed:
    """An operator whose own errors give null; those of its arguments stay errors."""
    names = [f"<{i}>" for i in range(len(arguments))]
    inner = build(*(item if item.constant else replace(item, run=itemgetter(name))
                    for item, name in zip(arguments, names, strict=True)), sql)

    def run(row: Row) -> Value:
        values = {name: item.run(row) for name, item in zip(names, arguments, strict=True)}
        try:
            return inner.run(values)
        except Failure:
            return None

    return Typed(inner.type, run, sql, constant=all(item.constant for item in arguments))
