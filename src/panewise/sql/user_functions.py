"""The functions that a caller gives with a query, checked before its text is read."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import sqlglot
from sqlglot import exp

from panewise.core.errors import PlanError
from panewise.core.user_functions import Declared, UserFunction, register
from panewise.functions import supported_names
from panewise.functions.binding.literals import type_from_syntax
from panewise.functions.types import spark_type
from panewise.sql.functions import aggregate_names, scalar_names
from panewise.sql.hints import listed
from panewise.sql.refused_functions import REFUSED
from panewise.sql.syntax import GENERATOR_CALLS, RELATION_TO_STREAM

Given = str | Declared | Callable[..., Any]
"""A function of the language that a name stands for, or one of the user's own."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_HINTS: dict[Any, str] = {bool: "boolean", int: "bigint", float: "double", str: "string", bytes: "binary",
                          datetime: "timestamp", date: "date"}
_NO_HINT = object()
EXAMPLE = "pw.function(f, returns='double')"


def split(functions: Mapping[str, Given] | None) -> tuple[dict[str, str], dict[str, UserFunction]]:
    """Placeholders for functions of the language, and the user's own by their names in lower case."""
    placeholders: dict[str, str] = {}
    own: dict[str, UserFunction] = {}
    for name, given in (functions or {}).items():
        if isinstance(given, str):
            placeholders[name] = given
        else:
            own[name.lower()] = _resolved(name, given)
    return placeholders, own


def _resolved(name: str, given: Declared | Callable[..., Any]) -> UserFunction:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PlanError(f"functions= has {name!r}, and a function is called by a word: letters, digits and _")
    if not callable(given):
        raise PlanError(f"functions[{name!r}] is {type(given).__name__} and cannot be called: give a function, "
                        f"{EXAMPLE}, or the name of a function of the language")
    _refuse_shadow(name)
    declared = given if isinstance(given, Declared) else Declared(given)
    returns = declared.returns if declared.returns is not None else _hinted(name, declared)
    takes = None if declared.takes is None else tuple(declared.takes)
    for written in takes or ():
        _type(name, written, "takes")
    return register(name, declared.call, _type(name, returns, "returns"), takes, declared.vectorised)


def _refuse_shadow(name: str) -> None:
    operators = GENERATOR_CALLS | {operator.lower() for operator in RELATION_TO_STREAM}
    known = {"an aggregate": aggregate_names(), "an operator": operators,
             "a function of the language": scalar_names() | supported_names() | frozenset(REFUSED)}
    for what, names in known.items():
        if name.lower() in names:
            raise PlanError(f"functions= has {name!r}, which is {what}: one name has one meaning, choose another")


def _hinted(name: str, declared: Declared) -> str:
    """The result type, from the annotation of a plain function."""
    advice = f"say which: functions={{{name!r}: {EXAMPLE}}}"
    if declared.vectorised:
        raise PlanError(f"what {name} returns must be known before a row is read, and a vectorised function does not "
                        f"say it: {advice.replace(')', ', vectorised=True)')}")
    try:
        hint = typing.get_type_hints(declared.call).get("return", _NO_HINT)
    except Exception:  # annotations are the user's, and may name what is not there
        hint = _NO_HINT
    found = _of_hint(hint)
    if found is None:
        said = "it has no annotation of its result" if hint is _NO_HINT else f"{hint!r} has no type in Spark"
        raise PlanError(f"what {name} returns must be known before a row is read, and {said}: {advice}")
    return found


def _of_hint(hint: Any) -> str | None:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        inner = [part for part in typing.get_args(hint) if part is not type(None)]
        return _of_hint(inner[0]) if len(inner) == 1 else None
    if typing.get_origin(hint) is list:
        element = _of_hint(typing.get_args(hint)[0])
        return None if element is None else f"array<{element}>"
    if typing.get_origin(hint) is dict:
        key, value = map(_of_hint, typing.get_args(hint))
        return None if key is None or value is None else f"map<{key},{value}>"
    return _HINTS.get(hint)


def _type(name: str, written: Any, option: str) -> pa.DataType:
    """A type by Spark's name for it, or an Arrow type that Spark has."""
    if isinstance(written, pa.DataType):
        found = spark_type(written)
    else:
        try:
            tree = sqlglot.parse_one(f"CAST(x AS {written})", read="spark")  # takes nothing behind the type
            found = type_from_syntax(tree.to) if isinstance(tree, exp.Cast) else None
        except (sqlglot.errors.SqlglotError, ValueError):
            found = None
    if found is None:
        raise PlanError(f"functions[{name!r}]: {option} has {written!r}, which is no type; such are "
                        f"{listed(('bigint', 'double', 'string', 'boolean', 'timestamp', 'array<double>'))}")
    return found
