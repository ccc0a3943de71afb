"""from_json: text as values of a declared type; what does not fit is null, field by field."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyarrow import types as t
from sqlglot import exp
from sqlglot.errors import SqlglotError

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.by_value import computed
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.literals import type_from_syntax
from panewise.functions.binding.registry import operator
from panewise.functions.casts.exact import decimal_fitted
from panewise.functions.casts.outcome import NoValue
from panewise.functions.casts.text_to_numbers import decimal_from
from panewise.functions.casts.text_to_times import date_from
from panewise.functions.formats.json_reading import Json, JsonError, JsonNumber, JsonObject, read, written
from panewise.functions.types import BOOLEAN, DATE, STRING, is_decimal, is_float, is_integer

_WORDS = {"NaN": math.nan, "Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf, "+INF": math.inf,
          "INF": math.inf, "-INF": -math.inf}


class _MisfitError(Exception):
    """A value that is none of the declared type."""


@operator("from_json")
def from_json(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """A struct, array or map read from text; the schema must be a constant, options are not supported."""
    if len(arguments) != 2:
        raise binder.error("from_json takes text and a schema here", tree, "options are not supported in process")
    text, schema = arguments
    if not isinstance(schema, Constant) or schema.type != STRING or not schema.value.is_valid:
        raise binder.error("the schema of from_json must be a constant text", tree, "write 'a INT, b STRING'")
    of = _declared(schema.value.as_py())
    if of is None or not (t.is_struct(of) or t.is_list(of) or t.is_map(of)) or not _readable(of):
        raise binder.error(f"from_json does not read {schema.value.as_py()[:80]!r}", tree,
                           "fields may be integers, floats, decimals, booleans, texts, dates, structs, arrays, maps")
    return binder.made(of, tree, [binder.cast(text, STRING)], _run, strict=True)


def _declared(text: str) -> pa.DataType | None:
    for form in (text, f"STRUCT<{text}>"):
        try:
            found = type_from_syntax(exp.DataType.build(form, dialect="spark"))
        except (SqlglotError, AttributeError, KeyError):
            continue
        if found is not None:
            return found
    return None


def _readable(of: pa.DataType) -> bool:
    if t.is_struct(of) or t.is_list(of):
        return all(_readable(of.field(i).type) for i in range(of.num_fields))
    if t.is_map(of):
        return of.key_type == STRING and _readable(of.item_type)
    return is_integer(of) or is_float(of) or is_decimal(of) or of in (BOOLEAN, STRING, DATE)


def _run(text: Datum, here: Here) -> pa.Array:
    return computed(lambda one: _row(one, here.type), [text], here)


def _row(text: str, of: pa.DataType) -> Any:
    """What cannot be read is a struct of nulls, or null where the type is another; blank text is null."""
    if not text.strip():
        return None
    nothing = {field.name: None for field in of} if t.is_struct(of) else None
    try:
        found = read(text, words=True)
        if t.is_struct(of) and not isinstance(found, JsonObject):
            return nothing
        if t.is_list(of) and t.is_struct(of.value_type) and isinstance(found, JsonObject):
            found = [found]
        return nothing if found is None else _value(found, of)
    except (JsonError, RecursionError, _MisfitError):
        return nothing


def _value(value: Json, of: pa.DataType) -> Any:
    if value is None:
        return None
    if t.is_struct(of):
        if not isinstance(value, JsonObject):
            raise _MisfitError
        fields = dict(value.pairs)  # the last of equal keys
        return {field.name: _tried(fields.get(field.name), field.type) for field in of}
    if t.is_list(of):
        if not isinstance(value, list):
            raise _MisfitError
        return [_value(one, of.value_type) for one in value]
    if t.is_map(of):
        if not isinstance(value, JsonObject):
            raise _MisfitError
        return [(key, _value(one, of.item_type)) for key, one in value.pairs]
    if of == STRING:
        return value if isinstance(value, str) else written(value)
    if of == BOOLEAN and isinstance(value, bool):
        return value
    if isinstance(value, JsonNumber):
        return _number(value, of)
    if isinstance(value, str):
        return _from_text(value, of)
    raise _MisfitError


def _tried(value: Json, of: pa.DataType) -> Any:
    try:
        return _value(value, of)
    except _MisfitError:
        return None


def _number(number: JsonNumber, of: pa.DataType) -> Any:
    if is_integer(of) and number.is_whole:
        value = int(number.text)
        if -(1 << of.bit_width - 1) <= value < 1 << of.bit_width - 1:
            return value
    if is_float(of):
        return _WORDS[number.text] if number.text in _WORDS else float(number.text)
    if is_decimal(of) and number.text not in _WORDS:
        return _decimal(Decimal(number.text), of)
    raise _MisfitError


def _from_text(text: str, of: pa.DataType) -> Any:
    if is_float(of) and text in _WORDS:
        return _WORDS[text]
    try:
        if is_decimal(of):
            return _decimal(decimal_from(text), of)
        if of == DATE:
            return int(text) if text.isascii() and text.isdigit() else date_from(text)
    except (NoValue, ValueError) as error:
        raise _MisfitError from error
    raise _MisfitError


def _decimal(number: Decimal, of: pa.DataType) -> Decimal:
    try:
        return decimal_fitted(number, of)
    except NoValue as error:
        raise _MisfitError from error
