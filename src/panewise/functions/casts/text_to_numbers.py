"""Text to numbers and truth values, read as Java reads them; spaces and control characters around are cut."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.frame import Here
from panewise.functions.casts.decimals import fitted
from panewise.functions.casts.exact import decimal_fitted, nearest
from panewise.functions.casts.outcome import INVALID, NoValue, by_value, missing, nulls_of, patched
from panewise.functions.casts.table import cast
from panewise.functions.numbers.unscaled import digits_of
from panewise.functions.types import BOOLEAN, DOUBLE, STRING, is_decimal, is_float, is_integer

AROUND = "".join(map(chr, range(0x21))) + "\x7f"
"""What Spark cuts off around a number, a truth value or a date."""
JAVA_SPACE = "".join(map(chr, range(0x21)))
"""What Java's ``trim`` cuts off."""
TOO_LARGE = "NUMERIC_OUT_OF_SUPPORTED_RANGE"

_WHOLE = re.compile(r"[+-]?[0-9]+")
_SPECIAL = {"inf": np.inf, "+inf": np.inf, "infinity": np.inf, "+infinity": np.inf, "-inf": -np.inf,
            "-infinity": -np.inf, "nan": np.nan}
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_PLAIN = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_FLOAT = re.compile(rf"([+-]?{_PLAIN})[dDfF]?")
_HEX = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[dDfF]?")


@cast(STRING, is_integer)
def text_to_integer(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Digits with or without a sign; no point, no exponent."""
    try:  # Arrow reads nothing else but hexadecimal digits behind 0x
        found = values.cast(here.type)
    except pa.ArrowInvalid:
        return _slower_integers(values, here, failing)
    return found if not pc.any(pc.match_substring(values, "x", ignore_case=True), min_count=0).as_py() else \
        _slower_integers(values, here, failing)


def _slower_integers(values: pa.Array, here: Here, failing: bool) -> pa.Array:
    cut = pc.ascii_trim(values, AROUND)
    quick = _matches(cut, r"^-?[0-9]{1,18}$")
    numbers = pc.if_else(quick, cut, "0").cast(pa.int64())
    slow = ~quick.fill_null(True).to_numpy(zero_copy_only=False)
    low, high = -(1 << here.type.bit_width - 1), (1 << here.type.bit_width - 1) - 1
    plain = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    none = missing(values, (plain < low) | (plain > high), here, failing, INVALID)
    found = pa.array(np.where(none, 0, plain).astype(here.type.to_pandas_dtype()), here.type, mask=none)

    def one(text: str) -> int:
        text = text.strip(AROUND)
        if not _WHOLE.fullmatch(text) or not low <= (number := _integer(text)) <= high:
            raise NoValue
        return number

    return patched(found, slow, values, here, lambda some, there: by_value(some, one, there, failing))


def _integer(text: str) -> int:
    """Digits of any number; Python itself refuses very many."""
    digits = text.lstrip("+-").lstrip("0")
    return 1 << 70 if len(digits) > 20 else int(text)


@cast(STRING, is_float)
def text_to_float(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """The nearest value, as ``Double.parseDouble`` reads it; words for infinities and NaN in any case."""
    cut = pc.ascii_trim(values, JAVA_SPACE)
    quick = _matches(cut, r"^-?[0-9]{1,17}(\.[0-9]{1,17})?$")
    numbers = pc.if_else(quick, cut, "0").cast(here.type)
    slow = ~quick.fill_null(True).to_numpy(zero_copy_only=False)

    def one(text: str) -> float:
        return float_from(text, here.type)

    return patched(numbers, slow, values, here, lambda some, there: by_value(some, one, there, failing))


def float_from(text: str, of: pa.DataType) -> float:
    """One text as FLOAT or DOUBLE."""
    text = text.strip(JAVA_SPACE)
    plain = _FLOAT.fullmatch(text)
    if plain is not None:
        return nearest(plain[1], of)
    word = _SPECIAL.get(text.lower())
    if word is not None:
        return word
    written = _HEX.fullmatch(text)
    if written is None:
        raise NoValue
    return _from_hex(written[1], of)


def _from_hex(text: str, of: pa.DataType) -> float:
    try:
        value = float.fromhex(text)
    except OverflowError:
        return -np.inf if text.startswith("-") else np.inf
    return value if of == DOUBLE else float(np.float32(value))


@cast(STRING, is_decimal)
def text_to_decimal(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Exact digits, rounded half away from zero to the scale; any script's digits, as Java takes them."""
    cut = pc.ascii_trim(values, JAVA_SPACE)
    quick = _matches(cut, r"^-?[0-9]{1,15}(\.[0-9]{1,18})?$")
    wide = pc.if_else(quick, cut, "0").cast(pa.decimal128(38, 18))
    slow = ~quick.fill_null(True).to_numpy(zero_copy_only=False)
    found = fitted(digits_of(wide), 18, nulls_of(values), values, here, failing)

    def one(text: str) -> Decimal:
        number = decimal_from(text)
        return decimal_fitted(number, here.type)

    return patched(found, slow, values, here, lambda some, there: by_value(some, one, there, failing))


def decimal_from(text: str) -> Decimal:
    """One text as an exact number."""
    text = text.strip(JAVA_SPACE)
    if not _DECIMAL.fullmatch(text):
        raise NoValue
    ascii_text = "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in text)
    try:
        number = Decimal(ascii_text)
    except InvalidOperation:
        raise NoValue from None
    if number and number.adjusted() + 1 > 38:
        raise NoValue(TOO_LARGE)
    return number


_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


@cast(STRING, BOOLEAN)
def text_to_boolean(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """t, true, y, yes, 1 and their opposites, in any case."""
    word = pc.ascii_lower(pc.ascii_trim(values, AROUND))
    true = pc.is_in(word, value_set=pa.array(_TRUE))
    known = pc.or_(true, pc.is_in(word, value_set=pa.array(_FALSE)))
    none = missing(values, ~known.to_numpy(zero_copy_only=False), here, failing, INVALID)
    return pa.array(true.to_numpy(zero_copy_only=False), BOOLEAN, mask=none)


def _matches(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.match_substring_regex(texts, pattern)
