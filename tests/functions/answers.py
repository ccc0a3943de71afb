"""Spark's recorded answers: one file per function under ``answers/<family>/``, one line per argument row.

>>> signature = load("math", "abs")[0]
>>> signature.expression, signature.spark_type, signature.arguments.column_names
('abs(a)', 'int', ['a'])
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from functions.codec import dumps, is_error, to_arrow
from functions.spark_types import arrow_type, parse

HERE = Path(__file__).parent / "answers"

_WORDS = {"+": "plus", "-": "minus", "*": "times", "/": "divide", "%": "remainder", "&": "bitand", "|": "bitor",
          "^": "bitxor", "~": "bitnot", "||": "concatenate", "<<": "leftshift", ">>": "rightshift",
          ">>>": "rightshiftunsigned", "=": "equals", "<": "less", ">": "greater", "<=": "lessorequal",
          ">=": "greaterorequal", "<=>": "nullsafeequals", "!=": "notequals", "!": "bang", "[]": "index", ".": "field",
          "::": "doublecolon"}


@dataclass(frozen=True)
class Signature:
    """One expression over typed columns with everything Spark said about it.

    ``condition`` is the error of the whole signature (a type error, for instance): then there is no type and no row.
    Otherwise ``errors`` has for every row the condition Spark fails with, or None; ``expected`` is null where it fails.
    """

    family: str
    function: str
    expression: str
    columns: dict[str, str]
    zone: str
    condition: str | None
    spark_type: str | None
    rows: list[list[Any]]

    @property
    def errors(self) -> list[str | None]:
        """Per row the error condition, or None."""
        return [row[-1]["error"] if is_error(row[-1]) else None for row in self.rows]

    @property
    def arguments(self) -> pa.Table:
        """The argument columns."""
        return self.arguments_with(None)

    @property
    def expected(self) -> pa.Array:
        """The answers; null where Spark fails."""
        return self.expected_with(None)

    def arguments_with(self, months: pa.DataType | None) -> pa.Table:
        """The argument columns, year-month intervals as the given type of 32-bit months."""
        types = {name: parse(text) for name, text in self.columns.items()}
        columns = [to_arrow([row[at] for row in self.rows], one, months) for at, one in enumerate(types.values())]
        if not columns:  # an expression without columns still has as many rows as it was asked for
            return pa.table({"none": pa.nulls(len(self.rows), pa.int32())})
        return pa.table(columns, schema=pa.schema([(name, arrow_type(one, months)) for name, one in types.items()]))

    def expected_with(self, months: pa.DataType | None) -> pa.Array:
        """The answers, year-month intervals as the given type of 32-bit months."""
        assert self.spark_type is not None, f"{self.expression} has no answers: {self.condition}"
        return to_arrow([None if is_error(row[-1]) else row[-1] for row in self.rows], parse(self.spark_type), months)

    def __str__(self) -> str:
        types = ", ".join(f"{name} {text}" for name, text in self.columns.items())
        return f"{self.expression} with ({types}) in {self.zone}"


def file_of(family: str, function: str) -> Path:
    """The file of a function's answers; operators are spelt in words."""
    name = _WORDS.get(function, function)
    assert re.fullmatch(r"\w+", name), f"{function}: say in words how its file is called"
    return HERE / family / f"{name}.json"


def write(family: str, function: str, signatures: list[dict[str, Any]]) -> None:
    """Write a function's answers, one row per line so that a change can be read."""
    out = []
    for signature in signatures:
        head = {key: value for key, value in signature.items() if key != "rows"}
        if "rows" in signature:
            rows = ",\n".join(dumps(row) for row in signature["rows"])
            out.append(f'{dumps(head)[:-1]},"rows":[\n{rows}]}}')
        else:
            out.append(dumps(head))
    path = file_of(family, function)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{{"function":{dumps(function)},"signatures":[\n' + ",\n".join(out) + "]}\n")


def load(family: str, function: str) -> list[Signature]:
    """Every signature of one function."""
    return list(_read(file_of(family, function)))


def recorded() -> Iterator[Signature]:
    """Every signature there is, in the order of the files' names."""
    for path in sorted(HERE.glob("*/*.json")):
        yield from _read(path)


def recorded_functions() -> dict[str, list[str]]:
    """The functions of every family."""
    found: dict[str, list[str]] = {}
    for path in sorted(HERE.glob("*/*.json")):
        found.setdefault(path.parent.name, []).append(json.loads(path.read_text())["function"])
    return found


def _read(path: Path) -> Iterator[Signature]:
    content = json.loads(path.read_text())
    for one in content["signatures"]:
        yield Signature(path.parent.name, content["function"], one["expression"], one["columns"], one["zone"],
                        one.get("condition"), one.get("type"), one.get("rows", []))
