"""What is asked of Spark: signatures, each one expression over columns of given types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

FAMILIES = ("operators", "casts", "math", "text", "time", "collections", "conditions", "formats", "lambdas",
            "compositions")
"""Modules of cases, the most used first: ``cases_<family>``."""


@dataclass(frozen=True)
class Case:
    """One signature: columns have a type and perhaps a pool of values of their own (``string:json``).

    Functions of time are asked in a second time zone, too.

    >>> Case("substring(a, b, c)", {"a": "string", "b": "int:position", "c": "int:position"}).function
    'substring'
    """

    expression: str
    columns: dict[str, str]
    named: str = ""
    in_zones: bool = False

    @property
    def function(self) -> str:
        """The function (or operator) it is a case of; an operator has a name given to it."""
        if self.named:
            return self.named
        found = re.match(r"(\w+)\(", self.expression)
        if found is None:
            raise ValueError(f"{self.expression}: an expression that is no call needs named=")
        return found[1].lower()


def case(expression: str, *types: str, named: str = "", in_zones: bool = False) -> Case:
    """A case whose columns are a, b, c, … of the given types."""
    return Case(expression, dict(zip("abcdefgh", types, strict=False)), named, in_zones)


def each(expressions: list[str] | str, *signatures: str | tuple[str, ...], named: str = "",
         in_zones: bool = False) -> list[Case]:
    """Every expression with every signature (one type, or a tuple of them)."""
    return [case(expression, *((types,) if isinstance(types, str) else types), named=named, in_zones=in_zones)
            for expression in ([expressions] if isinstance(expressions, str) else expressions)
            for types in signatures]


def cases() -> Iterator[tuple[str, Case]]:
    """All cases with the family each belongs to."""
    for family in FAMILIES:
        for one in import_module(f"functions.cases_{family}").CASES:
            yield family, one
