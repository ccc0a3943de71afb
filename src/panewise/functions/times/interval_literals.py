"""Intervals as they are written: INTERVAL '3' DAY, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 day 2 hours'."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.registry import special
from panewise.functions.binding.spans import DAY_FIELDS, MONTH_FIELDS, Span, span_from_text
from panewise.functions.casts.calendar_intervals import units_in
from panewise.functions.times.calendar import DAY, HOUR, MINUTE, SECOND, times_from

UNITS = {"microsecond": 1, "millisecond": 1000, "second": SECOND, "minute": MINUTE, "hour": HOUR, "day": DAY,
         "week": 7 * DAY}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
_FIELD = {"week": "DAY", "millisecond": "SECOND", "microsecond": "SECOND", "quarter": "MONTH"}
"""The field that a unit without one of its own is counted in."""


@special("_interval")
def literal(binder: Binding, tree: Any, arguments: Sequence[Any]) -> Bound:
    """An interval of one unit, of a span of fields, or of units written in its text."""
    del arguments
    if tree.this is None or (not tree.this.is_string and not tree.this.is_number):
        raise binder.error("the amount of an interval must be a constant", tree)
    text = str(tree.this.this).strip()
    unit = tree.args.get("unit")
    words = "" if unit is None else unit.sql(dialect="spark").upper()
    try:
        amount, span = _units(text) if unit is None else _spanned(text, words) if " TO " in words else \
            _single(text, words)
    except (ValueError, ArithmeticError) as error:
        raise binder.error(f"{text[:60]!r} is no interval{' of ' if words else ''}{words}", tree,
                           "" if words else "months cannot be mixed with days and times") from error
    bits = 31 if span.is_months else 63
    if not -(1 << bits) <= amount < 1 << bits:
        raise binder.error(f"the interval {text[:60]!r} {words} is too long", tree)
    return Constant(span.type, tree, times_from(np.array([amount]), None, span.type)[0], span=span)


def _single(text: str, unit: str) -> tuple[int, Span]:
    name = unit.lower().removesuffix("s")
    field = _FIELD.get(name, name.upper())
    if name in MONTHS:
        return int(text) * MONTHS[name], Span(field, field)
    if name not in UNITS:
        raise ValueError(unit)
    micros = Decimal(text) * UNITS[name]
    if micros != micros.to_integral_value() or (name != "second" and "." in text):
        raise ValueError(text)
    return int(micros), Span(field, field)


def _spanned(text: str, words: str) -> tuple[int, Span]:
    span = span_from_text(re.sub(r"\s+", " ", words))
    if span is None:
        raise ValueError(words)
    if span.is_months:
        found = re.fullmatch(r"([+-]?)(\d+)-(\d+)", text)
        if found is None or int(found[3]) > 11:
            raise ValueError(text)
        months = int(found[2]) * 12 + int(found[3])
        return -months if found[1] == "-" else months, span
    pattern = r"(?P<sign>[+-]?)"
    for name, _ in span.fields:
        pattern += ("" if name == span.first else " " if name == "HOUR" else ":") + rf"(?P<{name}>\d+)"
    found = re.fullmatch(pattern + (r"(?:\.(?P<fraction>\d{1,9}))?" if span.last == "SECOND" else ""), text)
    if found is None:
        raise ValueError(text)
    parts = found.groupdict()
    micros = sum(int(parts[name]) * size for name, size in span.fields)
    micros += int((parts.get("fraction") or "0").ljust(9, "0")[:6])
    return -micros if parts["sign"] == "-" else micros, span


def _units(text: str) -> tuple[int, Span]:
    """INTERVAL '1 day 2 hours': units of one kind only."""
    found = units_in(text)
    if found is None:
        raise ValueError(text)
    months, days, micros, units = found
    fields = {_FIELD.get(unit, unit.upper()) for unit in units}
    for known in (MONTH_FIELDS, DAY_FIELDS):
        if fields <= set(known):
            order = [name for name in known if name in fields]
            return months if known is MONTH_FIELDS else days * DAY + micros, Span(order[0], order[-1])
    raise ValueError(text)
