"""Spark's recorded answers beside the oracle's evaluator, in the values that it computes with."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from decimal import Decimal as Number
from typing import Any

from sqlglot.errors import ParseError

from functions.answers import Signature
from functions.codec import is_error, lengthen
from functions.comparison import LAST_PLACE, names_called
from functions.spark_types import SparkType, decimal_of, parse
from panewise.core.errors import EvaluationError, PanewiseError, UnsupportedError
from panewise.core.scalar import Scalar
from panewise.engines.oracle.scalar import Evaluator, time_zone
from panewise.engines.oracle.scalar.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    MONTHS,
    NTZ,
    NULL,
    SHORT,
    STRING,
    TIMESTAMP,
    Array,
    DayTime,
    Decimal,
    Map,
    Opaque,
    Struct,
    Type,
)

_PLAIN = {str(kind): kind for kind in (BINARY, BOOLEAN, BYTE, DATE, DOUBLE, FLOAT, INT, LONG, NTZ, NULL, SHORT, STRING,
                                       TIMESTAMP)}
_UNITS = ("day", "hour", "minute", "second")
_NO_ANSWER = ("java.lang.StackOverflowError", "java.lang.OutOfMemoryError")


class UnreadableError(Exception):
    """A recorded value that no Python value of the oracle stands for, such as text that is not UTF-8."""


@dataclass
class Outcome:
    """What became of one signature."""

    refused: str | None = None
    wrong: list[str] = field(default_factory=list)
    rows: int = 0
    skipped: int = 0


def oracle_type(of: SparkType) -> Type:
    """A recorded type as the oracle's."""
    if of.name == "array":
        return Array(element=oracle_type(of.of[0]))
    if of.name == "map":
        return Map(key=oracle_type(of.of[0]), value=oracle_type(of.of[1]))
    if of.name == "struct":
        return Struct(fields=tuple(zip(of.fields, map(oracle_type, of.of), strict=True)))
    if of.name.startswith("decimal"):
        precision, scale = decimal_of(of.name)
        return Decimal(precision=precision, scale=scale)
    if of.is_months:
        return MONTHS
    if of.is_days:
        units = [_UNITS.index(word) for word in of.name.split() if word in _UNITS]
        return DayTime(start=units[0], end=units[-1])
    return _PLAIN.get(of.name, Opaque(name=of.name))


def value_in(recorded: Any, kind: Type) -> Any:
    """A recorded value as the oracle computes with it."""
    if recorded is None:
        return None
    recorded = lengthen(recorded)
    match kind:
        case Array():
            return [value_in(item, kind.element) for item in recorded]
        case Map():
            return [(value_in(key, kind.key), value_in(item, kind.value)) for key, item in recorded]
        case Struct():
            return tuple(value_in(item, part) for item, (_, part) in zip(recorded, kind.fields, strict=True))
        case Decimal():
            return Number(recorded)
    if kind in (FLOAT, DOUBLE):
        return float(recorded)
    if kind == BINARY:
        return bytes.fromhex(recorded)
    if kind == STRING and not isinstance(recorded, str):
        raise UnreadableError
    return recorded


def compare(signature: Signature) -> Outcome:
    """Type, values and error conditions of every row of one signature."""
    outcome = Outcome()
    columns = {name: oracle_type(parse(text)) for name, text in signature.columns.items()}
    with time_zone(signature.zone):
        try:
            evaluator = Evaluator(Scalar.parse(signature.expression).sql, columns)
        except ParseError as error:  # the query language has no such syntax
            outcome.refused = str(error)
            return outcome
        except UnsupportedError as error:
            outcome.refused = str(error)
            return outcome
        except PanewiseError as error:
            if signature.condition is None:
                outcome.wrong.append(f"does not bind: {error}")
            return outcome
        if signature.condition is not None:
            outcome.wrong.append(f"Spark refuses it with {signature.condition}, here it is {evaluator.type}")
            return outcome
        expected = oracle_type(parse(signature.spark_type or ""))
        if evaluator.type != expected:
            outcome.wrong.append(f"type {evaluator.type!r}, Spark's {expected!r}")
            return outcome
        near = 1 if names_called(signature.expression) & LAST_PLACE else 0
        for row in signature.rows:
            _row(outcome, evaluator, columns, row, near)
    return outcome


def _row(outcome: Outcome, evaluator: Evaluator, columns: dict[str, Type], row: list[Any], near: int) -> None:
    told = row[-1]
    if is_error(told) and told["error"] in _NO_ANSWER:
        return
    try:
        values = {name: value_in(one, kind) for (name, kind), one in zip(columns.items(), row, strict=False)}
        expected = None if is_error(told) else value_in(told, evaluator.type)
    except UnreadableError:
        outcome.skipped += 1
        return
    outcome.rows += 1
    try:
        found = evaluator.inner(values)
    except EvaluationError as error:
        condition = told["error"] if is_error(told) else None
        if condition is None or not (condition == error.condition or condition.startswith(("java.", "scala."))):
            outcome.wrong.append(f"{row[:-1]}: {error.condition}, Spark's {told}")
    except UnsupportedError:
        outcome.skipped += 1
    else:
        if is_error(told) or not same(found, expected, near, evaluator.type == FLOAT):
            outcome.wrong.append(f"{row[:-1]}: {found!r}, Spark's {told!r}")


def same(found: Any, expected: Any, near: int = 0, single: bool = False) -> bool:
    """Equal to the last bit, with a last place of grace only for functions that Java's own libraries leave open."""
    if isinstance(found, list | tuple) and isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(
            same(one, other, near, single) for one, other in zip(found, expected, strict=True))
    if isinstance(found, float) and isinstance(expected, float):
        if math.isnan(found) or math.isnan(expected):
            return math.isnan(found) and math.isnan(expected)
        if struct.pack("d", found) == struct.pack("d", expected):
            return True
        form, whole = ("f", "i") if single else ("d", "q")
        one, other = (struct.unpack(whole, struct.pack(form, value))[0] for value in (found, expected))
        return bool(near) and math.copysign(1, found) == math.copysign(1, expected) and abs(one - other) <= near
    if isinstance(found, Number) and isinstance(expected, Number):
        return found.as_tuple() == expected.as_tuple() or (found == expected == 0 and found.as_tuple().exponent
                                                           == expected.as_tuple().exponent)
    return type(found) is type(expected) and found == expected
