"""One recorded signature held against the product: value, type and error condition of every row."""

from __future__ import annotations

import json
import math
import re
import struct
from functools import cache
from typing import Any

import pyarrow as pa

from functions.answers import HERE, Signature
from functions.codec import dumps, from_arrow, is_error, lengthen
from functions.refusals import NOT_FOLLOWED, REFUSED_ROWS
from functions.spark_types import normal_name, parse, spark_name

LAST_PLACE = frozenset([
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "cot", "csc", "exp", "expm1",
    "hypot", "ln", "log", "log10", "log1p", "log2", "pow", "power", "sec", "sin", "sinh", "tan", "tanh"])
"""Functions that may differ by one unit in the last place; all others must give the same bits."""

FAILURES_TRIED = 8
"""Rows on which Spark fails, of one signature, that are tried alone."""

_NO_ANSWER = ("java.lang.StackOverflowError", "java.lang.OutOfMemoryError")
"""What depends on the size of Spark's stack or memory is no meaning; such rows are left out."""

_SHOWN = 3


def names_called(expression: str) -> set[str]:
    """The functions an expression calls, operators left out; text in quotes is not looked at.

    >>> sorted(names_called("map_from_entries(array(struct(a, 'f(x)')))"))
    ['array', 'map_from_entries', 'struct']
    """
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "''", expression)
    bare = re.sub(r"(?i)\bAS\s+\w+\(", "(", bare)
    return {name.lower() for name in re.findall(r"\b([A-Za-z_]\w*)\(", bare)}


@cache
def _spark_functions() -> frozenset[str]:
    return frozenset(json.loads((HERE / "spark_functions.json").read_text())["functions"])


def is_comparable(signature: Signature) -> bool:
    """Whether every function that the expression calls is declared; the refusal of others is tested elsewhere."""
    from panewise.functions import supported_names

    return (names_called(signature.expression) & _spark_functions()) <= supported_names() | {signature.function}


def differences(signature: Signature) -> list[str]:
    """Where the product answers otherwise than Spark; empty if nowhere."""
    try:
        return _differences(signature)
    except Exception as problem:  # an exception of Python's own is no answer and no refusal
        return [f"crashes: {_brief(problem)}"]


def _differences(signature: Signature) -> list[str]:
    from panewise.core.errors import EvaluationError, PanewiseError
    from panewise.core.scalar import Scalar
    from panewise.functions import evaluate
    from panewise.functions.types import INTERVAL_MONTHS

    def run(table: pa.Table) -> pa.Array:
        return evaluate([Scalar.parse(signature.expression)], table, zone=signature.zone)[0]

    arguments = signature.arguments_with(INTERVAL_MONTHS)
    if signature.condition is not None:
        return _refusal(signature, run, arguments, PanewiseError)
    errors = signature.errors
    listed = REFUSED_ROWS.get((signature.expression, *signature.columns.values()))
    refused = set() if listed is None else \
        {at for at, row in enumerate(signature.rows) if row[listed.column] in listed.patterns and None not in row[:-1]}
    answered = [at for at, error in enumerate(errors) if error is None and at not in refused]
    found = [problem for at in sorted(refused)
             for problem in _failure(signature, at, run, arguments, EvaluationError, "UNSUPPORTED_PATTERN")]
    try:
        result = run(arguments.take(pa.array(answered, pa.int64())))
    except EvaluationError as problem:
        found += _blamed(signature, run, arguments, answered, problem, EvaluationError)
    except PanewiseError as problem:
        return [f"refused: {_brief(problem)}"]
    else:
        found += _unequal(signature, answered, result)
    failing = [at for at, error in enumerate(errors) if error is not None and error not in _NO_ANSWER
               and at not in refused]
    for at in failing[:FAILURES_TRIED]:
        found += _failure(signature, at, run, arguments, EvaluationError)
    return found


def _refusal(signature: Signature, run: Any, arguments: pa.Table, refusal: type[Exception]) -> list[str]:
    try:
        given = run(arguments)
    except refusal:
        return []
    return [f"Spark refuses it with {signature.condition}; here it has type {spark_name(given.type)}"]


def _unequal(signature: Signature, rows: list[int], result: pa.Array | pa.ChunkedArray) -> list[str]:
    expected_type, given_type = normal_name(parse(signature.spark_type or "")), spark_name(result.type)
    if given_type != expected_type:
        return [f"type {given_type}, Spark's {expected_type}"]
    if len(result) != len(rows):
        return [f"{len(result)} answers for {len(rows)} rows"]
    units = 1 if names_called(signature.expression) & LAST_PLACE else 0
    single = "float" in expected_type
    found = [f"{_row(signature, at)}: {_short(given)}, Spark's {_short(signature.rows[at][-1])}"
             for at, given in zip(rows, from_arrow(result), strict=True)
             if not same(given, _expected(signature, at), units=units, single=single)]
    more = [f"and {len(found) - _SHOWN} rows more"] if len(found) > _SHOWN else []
    return found[:_SHOWN] + more


def _expected(signature: Signature, at: int) -> Any:
    listed = NOT_FOLLOWED.get((signature.expression, *signature.columns.values()))
    if listed is not None and signature.rows[at][:-1] == listed[0]:
        return listed[1]
    return lengthen(signature.rows[at][-1])


def _blamed(signature: Signature, run: Any, arguments: pa.Table, rows: list[int], problem: Exception,
            failure: type[Exception]) -> list[str]:
    """Which of the rows that Spark answers fail here."""
    guilty = []
    for at in rows:
        try:
            run(arguments.slice(at, 1))
        except failure as alone:
            guilty.append(f"{_row(signature, at)}: {_brief(alone)}, Spark's {_short(signature.rows[at][-1])}")
    found = guilty or [f"rows that do not fail alone fail together: {_brief(problem)}"]
    more = [f"and {len(found) - _SHOWN} rows more"] if len(found) > _SHOWN else []
    return found[:_SHOWN] + more


def _failure(signature: Signature, at: int, run: Any, arguments: pa.Table, failure: Any,
             condition: str = "") -> list[str]:
    condition = condition or signature.rows[at][-1]["error"]
    try:
        given = from_arrow(run(arguments.slice(at, 1)))
    except failure as problem:
        if problem.condition == condition or condition[0].islower():
            return []  # Spark has no condition of its own for an exception of Java: any failure will do
        return [f"{_row(signature, at)}: fails with {problem.condition}, Spark's with {condition}"]
    return [f"{_row(signature, at)}: {_short(given[0])}, Spark fails with {condition}"]


def same(given: Any, expected: Any, *, units: int = 0, single: bool = False) -> bool:
    """Whether two recorded values are equal, floats bit for bit or within some units in the last place.

    >>> same([0.0, "NaN"], [-0.0, "NaN"]), same([0.1 + 0.2], [0.3]), same([0.1 + 0.2], [0.3], units=1)
    (False, False, True)
    """
    if isinstance(given, list) and isinstance(expected, list):
        return len(given) == len(expected) and all(
            same(one, other, units=units, single=single) for one, other in zip(given, expected, strict=True))
    if isinstance(given, float) and isinstance(expected, int | float) and not isinstance(expected, bool):
        if struct.pack("d", given) == struct.pack("d", float(expected)):
            return True
        return bool(units) and given != expected and _near(given, float(expected), units, single)
    return type(given) is type(expected) and given == expected


def _near(given: float, expected: float, units: int, single: bool) -> bool:
    if math.copysign(1, given) != math.copysign(1, expected):
        return False
    form, whole = ("f", "i") if single else ("d", "q")
    one, other = (struct.unpack(whole, struct.pack(form, value))[0] for value in (given, expected))
    return abs(one - other) <= units


def _row(signature: Signature, at: int) -> str:
    return ", ".join(f"{name}={_short(value)}" for name, value in zip(signature.columns, signature.rows[at],
        strict=False))


def _short(value: Any) -> str:
    text = str(value["error"]) if is_error(value) else dumps(value)
    return text if len(text) < 120 else f"{text[:100]}… ({len(text)})"


def _brief(problem: Exception) -> str:
    return f"{type(problem).__name__}: {str(problem).splitlines()[0][:160]}"
