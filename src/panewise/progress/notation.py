"""How patterns are written: in NDJSON lines by sources, and in saved state by us.

In a line ``{"punctuation": {"ts": "2026-01-01T00:01:00Z", "seg_id": "s1"}}`` a bare value of the ordering attribute is
its exclusive bound and any other bare value a constant. An object spells a pattern out: ``{"below": v}``,
``{"up_to": v}`` (inclusive), ``{"from": a, "to": b}``, ``{"in": [...]}``, ``{"is": v}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.errors import CheckpointError, ProgressError, QuantityError
from panewise.core.ordinals import OrdinalKind
from panewise.progress.patterns import Below, Between, Constant, OneOf, Pattern, Wildcard
from panewise.progress.watermarks import FINISHED, NO_BOUND

Reader = Callable[[Any], Any]
FORMS = '{"below": v}, {"up_to": v}, {"from": a, "to": b}, {"in": [...]} or {"is": v}'


def ordinal_reader(attribute: str, kind: OrdinalKind) -> Reader:
    """Reads a value of the ordering attribute as an ordinal; what it cannot read it names."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, str | int | date | np.integer):
            raise ProgressError(f"punctuation on {attribute!r}: {value!r} is not a {kind.value} value")
        try:
            ordinal = kind.parse(int(value) if isinstance(value, np.integer) else value)
        except QuantityError as error:
            raise ProgressError(f"punctuation on {attribute!r}: {error}") from error
        if not NO_BOUND <= ordinal <= FINISHED:
            raise ProgressError(f"punctuation on {attribute!r}: {value!r} does not fit 64 bits")
        return ordinal

    return read


def constant_reader(attribute: str, data_type: pa.DataType | None) -> Reader:
    """Reads a value of any other attribute; with the column's type it comes out as that column's Python value."""

    def read(value: Any) -> Any:
        if isinstance(value, list | dict):
            raise ProgressError(f"punctuation on {attribute!r}: {value!r} is not a single value; a pattern is {FORMS}")
        if data_type is None or value is None:
            return value
        plain = data_type.value_type if pa.types.is_dictionary(data_type) else data_type
        try:
            if pa.types.is_string(plain) or pa.types.is_large_string(plain):
                if not isinstance(value, str):
                    raise TypeError(value)
                return value
            return pa.scalar(value).cast(plain).as_py()
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise ProgressError(
                f"punctuation on {attribute!r}: {value!r} is not a value of its type {plain}"
            ) from error

    return read


def pattern_from_json(attribute: str, value: Any, read: Reader, *, bare: Callable[[Any], Pattern]) -> Pattern:
    """The pattern an attribute's JSON value stands for; ``bare`` says what a value without an object means."""
    if not isinstance(value, Mapping):
        return bare(read(value))
    match sorted(value):
        case ["below"]:
            return Below(_present(attribute, read(value["below"])))
        case ["up_to"]:
            return Below(successor(attribute, _present(attribute, read(value["up_to"]))))
        case ["from", "to"]:
            start, end = (_present(attribute, read(value[side])) for side in ("from", "to"))
            pattern = Between(start, end)
            if pattern.empty:
                raise ProgressError(
                    f"punctuation on {attribute!r}: the range from {value['from']!r} to {value['to']!r} is empty; "
                    "'from' is inclusive, 'to' exclusive and must be larger"
                )
            return pattern
        case ["in"] if isinstance(value["in"], list) and value["in"]:
            return OneOf(frozenset(read(v) for v in value["in"]))
        case ["in"]:
            raise ProgressError(f"punctuation on {attribute!r}: 'in' needs a list of values, not {value['in']!r}")
        case ["is"]:
            return Constant(read(value["is"]))
    raise ProgressError(f"punctuation on {attribute!r}: no pattern is written {dict(value)!r}; write {FORMS}")


def pattern_to_json(pattern: Pattern, write: Callable[[Any], Any], *, bare: type[Pattern]) -> Any:
    """The inverse; patterns of the ``bare`` form are written without an object."""
    match pattern:
        case Below(bound):
            return write(bound) if bare is Below else {"below": write(bound)}
        case Constant(value):
            return write(value) if bare is Constant else {"is": write(value)}
        case Between(start, end):
            return {"from": write(start), "to": write(end)}
        case OneOf(values):
            return {"in": [write(v) for v in sorted(values, key=str)]}
    raise ProgressError(f"pattern {pattern} has no JSON form")


def successor(attribute: str, value: Any) -> Any:
    """The next value of a discrete attribute: turns an inclusive end into an exclusive one (erratum E2)."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ProgressError(f"punctuation on {attribute!r}: 'up_to' needs a discrete value, not {value!r}")
    if value >= FINISHED:
        raise ProgressError(f"punctuation on {attribute!r}: nothing comes after {value}; leave the attribute out")
    return value + 1


def ordinal_to_json(ordinal: int, kind: OrdinalKind) -> str | int:
    """ISO-8601 text for times and dates, as far as the calendar reaches, else the integer."""
    if kind in (OrdinalKind.INTEGER, OrdinalKind.ROWS):
        return ordinal
    try:
        kind.present(ordinal)
    except OverflowError:
        return ordinal
    return kind.text(ordinal)


def constant_to_json(value: Any) -> Any:
    """A plain value as JSON; the column's type brings it back."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def value_to_state(value: Any) -> Any:
    """A plain value in saved state, exact without a schema: what JSON lacks is tagged with its type.

    >>> value_to_state("s1"), value_to_state(date(2026, 1, 1))
    ('s1', {'date': '2026-01-01'})
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime):
        return {"naive" if value.tzinfo is None else "timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    raise ProgressError(f"a grouping constant of type {type(value).__name__} cannot be saved: {value!r}")


def value_from_state(value: Any) -> Any:
    """The inverse of ``value_to_state``; saved state is input, so nothing else is accepted."""
    if not isinstance(value, Mapping):
        return value
    readers: dict[str, Callable[[str], Any]] = {
        "naive": datetime.fromisoformat, "timestamp": datetime.fromisoformat, "date": date.fromisoformat,
        "decimal": Decimal, "bytes": bytes.fromhex,
    }
    match list(value.items()):
        case [(str() as tag, str() as text)] if tag in readers:
            return readers[tag](text)
    raise CheckpointError(f"saved progress holds a value of unknown form: {dict(value)!r}")


def pattern_to_state(pattern: Pattern) -> Any:
    """A pattern in saved state."""
    return pattern_to_json(pattern, value_to_state, bare=Wildcard)


def pattern_from_state(attribute: str, value: Any) -> Pattern:
    """The inverse of ``pattern_to_state``."""
    return pattern_from_json(attribute, value, value_from_state, bare=Constant)


def _present(attribute: str, value: Any) -> Any:
    if value is None:
        raise ProgressError(f"punctuation on {attribute!r}: null is no end of a range")
    return value


def values_of(pattern: Pattern) -> list[Any]:
    """The values a pattern names."""
    match pattern:
        case Below(bound):
            return [bound]
        case Between(start, end):
            return [start, end]
        case Constant(value):
            return [] if value is None else [value]
        case OneOf(values):
            return [value for value in values if value is not None]
        case _:
            return []


def with_values(pattern: Pattern, read: Reader) -> Pattern:
    """The pattern with its values read anew."""
    match pattern:
        case Below(bound):
            return Below(read(bound))
        case Between(start, end):
            return Between(read(start), read(end))
        case Constant(value):
            return Constant(None if value is None else read(value))
        case OneOf(values):
            return OneOf(frozenset(None if value is None else read(value) for value in values))
        case _:
            return pattern
