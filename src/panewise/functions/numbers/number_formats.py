"""Numbers written and read by a format: format_number as Java's DecimalFormat, to_number by Spark's own formats."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import pyarrow as pa

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound, Constant
from panewise.functions.binding.by_value import ValueFailure, computed
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import operator
from panewise.functions.numbers.java_floats import double_text
from panewise.functions.types import DOUBLE, INT, STRING, VOID, is_number, type_name

_WIDE = Context(prec=1000, Emin=-2000, Emax=2000)


@dataclass(frozen=True)
class _Pattern:
    """A pattern of DecimalFormat made of ``#``, ``0``, one point and commas."""

    least_whole: int
    group: int
    least_fraction: int
    most_fraction: int


def _pattern(text: str) -> _Pattern | None:
    found = re.fullmatch(r"([#,]*[0,]*)(?:\.(0*)(#*))?", text or "#,###,###,###,###,###,##0")
    if found is None or found[1].endswith(","):
        return None
    whole = found[1]
    group = len(whole) - whole.rfind(",") - 1 if "," in whole else 0
    zeros = found[2] or ""
    return _Pattern(whole.count("0"), group, len(zeros), len(zeros) + len(found[3] or ""))


def _written(value: Any, pattern: _Pattern) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    negative = math.copysign(1, value) < 0 if isinstance(value, float) else value < 0
    digits = abs(Decimal(double_text(value)) if isinstance(value, float) else Decimal(value))
    exponent = digits.as_tuple().exponent
    if isinstance(exponent, int) and -exponent > pattern.most_fraction:
        # What a double is exactly decides where its digits end in a five.
        exact = abs(Decimal(value))
        digits = exact.quantize(Decimal((0, (1,), -pattern.most_fraction)), ROUND_HALF_EVEN, _WIDE)
    whole, _, fraction = f"{digits:f}".partition(".")
    fraction = fraction.rstrip("0").ljust(pattern.least_fraction, "0")
    whole = whole.lstrip("0").rjust(pattern.least_whole, "0")
    if pattern.group:
        first = len(whole) % pattern.group
        parts = [whole[:first], *(whole[i:i + pattern.group] for i in range(first, len(whole), pattern.group))]
        whole = ",".join(part for part in parts if part)
    text = f"{whole}.{fraction}" if fraction else whole
    return f"-{text}" if negative else text or "0"


@operator("format_number")
def format_number(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """With commas between thousands and so many digits behind the point, or by a pattern; halves to even."""
    if len(arguments) != 2:
        raise binder.error("format_number takes a number, and a number of digits or a pattern", tree)
    value, given = arguments
    if value.type in (STRING, VOID):
        value = binder.cast(value, DOUBLE)
    if not is_number(value.type):
        raise binder.error(f"format_number does not take {type_name(value.type)}", tree, "cast it to a number")
    if given.type != STRING:
        return binder.made(STRING, tree, [value, binder.cast(given, INT)],
                           lambda values, digits, here: computed(_with_places, [values, digits], here,
                                                                     size=("format_number", _size_with_places)))
    if not isinstance(given, Constant) or not given.value.is_valid:
        raise binder.error("the pattern of format_number must be a constant", tree)
    pattern = _pattern(given.value.as_py())
    if pattern is None:
        raise binder.error(f"format_number takes patterns of #, 0, commas and a point here, not {given.sql}", tree)

    def run(values: Any, here: Here) -> pa.Array:
        return computed(lambda value: _written(value, pattern), [values], here)

    return binder.made(STRING, tree, [value], run)


def _size_with_places(value: Any, places: int) -> int:
    return max(places, 0)


def _with_places(value: Any, places: int) -> str | None:
    return None if places < 0 else _written(value, _Pattern(1, 3, places, places))


@dataclass(frozen=True)
class _NumberFormat:
    """A format of to_number: signs around groups of digits, the least significant group first."""

    before: tuple[str, ...]
    whole: tuple[str, ...]
    fraction: str
    behind: tuple[str, ...]

    @property
    def type(self) -> pa.DataType:
        scale = len(self.fraction)
        return pa.decimal128(max(sum(map(len, self.whole)) + scale, 1), scale)


_FORMAT = re.compile(r"(S|MI)?(\$)?([09,G]*)(?:[.D]([09]*))?(\$)?(S|MI|PR)?", re.IGNORECASE)


def _number_format(text: str) -> _NumberFormat | None:
    found = _FORMAT.fullmatch(text.upper())
    if found is None or (found[1] and found[6]) or found[5]:
        return None
    whole = found[3].replace("G", ",")
    if whole.startswith(",") or whole.endswith(",") or ",," in whole or not (whole or found[4]):
        return None
    if len(whole.replace(",", "")) + len(found[4] or "") > 38:
        return None
    before = tuple(part for part in (found[1], found[2], "PR" if found[6] == "PR" else None) if part)
    return _NumberFormat(before, tuple(reversed(whole.split(","))) if whole else (), found[4] or "",
                         (found[6],) if found[6] else ())


def _read(text: str, by: _NumberFormat) -> Decimal | None:
    """One text by a format; None where it does not match."""
    at, negative, opened = 0, False, False
    for sign in by.before:
        here = text[at:at + 1]
        if sign == "$" and here != "$":
            return None
        if (sign == "PR" and here == "<") or (sign in ("S", "MI") and here == "-"):
            negative, opened, at = True, sign == "PR", at + 1
        elif sign == "$" or (sign == "S" and here == "+"):
            at += 1
    groups = re.compile(r"[0-9,\s]*").match(text, at)
    assert groups is not None
    at = groups.end()
    sizes = [re.sub(r"\s", "", part) for part in reversed(groups[0].split(","))]
    if len(sizes) > max(len(by.whole), 1) or not _fitting(sizes, by.whole):
        return None
    fraction = ""
    if by.fraction and text[at:at + 1] == ".":
        digits = re.compile(r"[0-9]*").match(text, at + 1)
        assert digits is not None
        fraction, at = digits[0], digits.end()
    if not _fitting([fraction], (by.fraction,)):
        return None
    for sign in by.behind:
        here = text[at:at + 1]
        if sign == "PR":
            if opened and here != ">":
                return None
            at += opened
        elif here == "-" or (here == "+" and sign == "S"):
            negative, at = negative or here == "-", at + 1
    whole = "".join(reversed(sizes))
    if at < len(text) or not (whole or fraction):
        return None
    return Decimal(f"{'-' if negative else ''}{whole or '0'}.{fraction or '0'}")


def _fitting(given: list[str], expected: tuple[str, ...]) -> bool:
    """A group that begins with 0 has exactly so many digits, one that begins with 9 at most."""
    for i, group in enumerate(expected):
        count = len(given[i]) if i < len(given) else 0
        if count > len(group) or (group.startswith("0") and count != len(group)):
            return False
    return bool(expected) or not any(given)


def _declare(name: str, failing: bool) -> None:
    @operator(name)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        if len(arguments) != 2:
            raise binder.error(f"{name} takes a text and a format", tree)
        value, given = (binder.cast(a, STRING) for a in arguments)
        if not isinstance(given, Constant):
            raise binder.error(f"the format of {name} must be a constant", tree)
        by = _number_format(given.value.as_py() or "") if given.value.is_valid else None
        if by is None:
            raise binder.error(f"{given.sql} is no format of {name}", tree, "write digits as 0 and 9, as in 'S999.99'")

        def one(text: str) -> Decimal | None:
            found = _read(text, by)
            if found is None:
                if failing:
                    raise ValueFailure("INVALID_FORMAT.MISMATCH_INPUT", f"{text!r} does not match {given.sql}")
                return None
            return found.quantize(Decimal((0, (1,), -len(by.fraction))), context=_WIDE)

        return binder.made(by.type, tree, [value], lambda values, here: computed(one, [values], here))


_declare("to_number", failing=True)
_declare("try_to_number", failing=False)
