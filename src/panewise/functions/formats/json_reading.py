"""JSON as Jackson reads it for Spark: single quotes are allowed, numbers keep their text, keys may repeat."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias, Union

from panewise.functions.numbers.java_floats import double_text

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?(?![\w.])", re.ASCII)
_WORD = re.compile(r"NaN\b|[+-]?(?:Infinity|INF)\b", re.ASCII)
_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = {"true": True, "false": False, "null": None}
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WRITTEN = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
DEEPEST = 1000


class JsonError(ValueError):
    """Text that is no JSON."""


@dataclass(frozen=True)
class JsonNumber:
    """A number as it was written."""

    text: str

    @property
    def is_whole(self) -> bool:
        """Whether it has neither a fraction nor an exponent."""
        return self.text.lstrip("-").isdigit()

    def written(self) -> str:
        """As Jackson writes it again: fractions are doubles."""
        if _WORD.match(self.text):
            return f'"{self.text}"'
        return str(int(self.text)) if self.is_whole else double_text(float(self.text))


@dataclass(frozen=True)
class JsonObject:
    """Keys and values in their order; a key may come twice."""

    pairs: tuple[tuple[str, Json], ...]


Json: TypeAlias = Union[bool, str, JsonNumber, JsonObject, "list[Json]", None]


def read(text: str, words: bool = False) -> Json:
    """The first value of a text; what follows is not looked at. ``words`` allows NaN and infinities.

    >>> read('{"a": [1, "x"]} rest')
    JsonObject(pairs=(('a', [JsonNumber(text='1'), 'x']),))
    """
    return _value(text, _space(text, 0), 0, words)[0]


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int, depth: int, words: bool) -> tuple[Json, int]:
    sign = text[at:at + 1]
    if depth > DEEPEST:
        raise JsonError("nested too deeply")
    if sign and sign in "\"'":
        return _text(text, at)
    if sign == "{":
        return _object(text, at, depth, words)
    if sign == "[":
        return _array(text, at, depth, words)
    number = _NUMBER.match(text, at)
    if number is not None:
        return JsonNumber(number[0]), number.end()
    for word, value in _PLAIN.items():
        if text.startswith(word, at) and not re.match(r"\w", text[at + len(word):at + len(word) + 1]):
            return value, at + len(word)
    special = _WORD.match(text, at) if words else None
    if special is not None:
        return JsonNumber(special[0]), special.end()
    raise JsonError(f"no value at {at}")


def _text(text: str, at: int) -> tuple[str, int]:
    quote, at = text[at], at + 1
    out: list[str] = []
    while at < len(text):
        sign = text[at]
        if sign == quote:
            return "".join(out), at + 1
        if sign == "\\":
            escape = text[at + 1:at + 2]
            if escape == "u":
                found = re.compile(r"[0-9a-fA-F]{4}").match(text, at + 2)
                if found is None:
                    raise JsonError(f"no character at {at}")
                code, at = int(found[0], 16), found.end()
                low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(text, at)
                if 0xD800 <= code < 0xDC00 and low is not None:
                    code, at = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00, low.end()
                out.append("?" if 0xD800 <= code < 0xE000 else chr(code))
                continue
            if escape not in _ESCAPES:
                raise JsonError(f"no escape at {at}")
            out.append(_ESCAPES[escape])
            at += 2
            continue
        if sign < " ":
            raise JsonError(f"a control character at {at}")
        out.append(sign)
        at += 1
    raise JsonError("a text does not end")


def _object(text: str, at: int, depth: int, words: bool) -> tuple[JsonObject, int]:
    pairs: list[tuple[str, Json]] = []
    at = _space(text, at + 1)
    if text.startswith("}", at):
        return JsonObject(()), at + 1
    while True:
        if text[at:at + 1] not in ('"', "'"):
            raise JsonError(f"no key at {at}")
        key, at = _text(text, at)
        at = _space(text, at)
        if not text.startswith(":", at):
            raise JsonError(f"no colon at {at}")
        value, at = _value(text, _space(text, at + 1), depth + 1, words)
        pairs.append((key, value))
        at = _space(text, at)
        if text.startswith("}", at):
            return JsonObject(tuple(pairs)), at + 1
        if not text.startswith(",", at):
            raise JsonError(f"no comma at {at}")
        at = _space(text, at + 1)


def _array(text: str, at: int, depth: int, words: bool) -> tuple[list[Json], int]:
    values: list[Json] = []
    at = _space(text, at + 1)
    if text.startswith("]", at):
        return values, at + 1
    while True:
        value, at = _value(text, at, depth + 1, words)
        values.append(value)
        at = _space(text, at)
        if text.startswith("]", at):
            return values, at + 1
        if not text.startswith(",", at):
            raise JsonError(f"no comma at {at}")
        at = _space(text, at + 1)


def quoted(text: str, *, surrogates: bool = True) -> str:
    """A text in quotes; characters beyond the first plane as two escapes, which is how Jackson writes bytes."""
    out = []
    for sign in text:
        if sign in _WRITTEN:
            out.append(_WRITTEN[sign])
        elif sign < " ":
            out.append(f"\\u{ord(sign):04X}")
        elif surrogates and ord(sign) > 0xFFFF:
            code = ord(sign) - 0x10000
            out.append(f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}")
        else:
            out.append(sign)
    return f'"{"".join(out)}"'


def written(value: Json) -> str:
    """A value as JSON without blanks."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, JsonNumber):
        return value.written()
    if isinstance(value, JsonObject):
        return "{" + ",".join(f"{quoted(key)}:{written(inner)}" for key, inner in value.pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(inner) for inner in value) + "]"
    return "null" if value is None else str(value).lower()
