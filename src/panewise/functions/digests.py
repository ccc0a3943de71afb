"""Hashes, checksums and encodings of bytes."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable
from urllib.parse import quote_plus, unquote_to_bytes

from panewise.functions.binding.by_value import ValueFailure, value_function
from panewise.functions.binding.frame import Datum
from panewise.functions.binding.registry import function
from panewise.functions.types import BIGINT, BINARY, BOOLEAN, INT, STRING

CHARSETS = {"US-ASCII": "ascii", "ISO-8859-1": "latin-1", "UTF-8": "utf-8", "UTF-16BE": "utf-16-be",
            "UTF-16LE": "utf-16-le", "UTF-16": "utf-16", "UTF-32": "utf-32-be"}


@value_function("md5", takes=[BINARY], gives=STRING)
def md5(data: bytes) -> str:
    """The MD5 digest in hexadecimal digits."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


@value_function("sha", "sha1", takes=[BINARY], gives=STRING)
def sha1(data: bytes) -> str:
    """The SHA-1 digest in hexadecimal digits."""
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


@value_function("sha2", takes=[BINARY, INT], gives=STRING)
def sha2(data: bytes, bits: int) -> str | None:
    """A SHA-2 digest of 224, 256, 384 or 512 bits; 0 means 256, others give null."""
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return None if name is None else hashlib.new(name, data).hexdigest()


@value_function("crc32", takes=[BINARY], gives=BIGINT)
def crc32(data: bytes) -> int:
    """The cyclic redundancy check."""
    return zlib.crc32(data)


@value_function("base64", takes=[BINARY], gives=STRING)
def to_base64(data: bytes) -> str:
    """In base 64, in lines of 76 characters."""
    text = base64.b64encode(data).decode()
    return "\r\n".join(text[i:i + 76] for i in range(0, len(text), 76))


@value_function("unbase64", takes=[STRING], gives=BINARY)
def from_base64(text: str) -> bytes:
    """The bytes of a text in base 64; signs outside the alphabet are passed over."""
    return _from_base64(text)


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _from_base64(text: str) -> bytes:
    """As Java's MIME decoder reads it: foreign signs are passed over, padding must be whole where there is any."""
    at = text.find("=")
    letters = "".join(c for c in (text if at < 0 else text[:at]) if c in _ALPHABET)
    left = len(letters) % 4
    padded = at >= 0 and (left == 0 or (left == 2 and text[at + 1:at + 2] != "=") or
                          any(c in _ALPHABET for c in text[at:]))
    if left == 1 or padded:
        raise ValueFailure("CONVERSION_INVALID_INPUT", f"{text[:80]!r} is not in base 64")
    return base64.b64decode(letters + "=" * (-len(letters) % 4))


def _strict_base64(text: str) -> bytes:
    """Nothing but the alphabet, white space and one or two signs of padding at the end."""
    signs = "".join(text.split())
    letters = signs.rstrip("=")
    padding = len(signs) - len(letters)
    if any(c not in _ALPHABET for c in letters) or padding > 2 or (padding and len(signs) % 4):
        raise ValueFailure("CONVERSION_INVALID_INPUT", f"{text[:80]!r} is not in base 64")
    return _from_base64(signs)


def charset_of(name: str, function_name: str) -> str:
    """Python's name of a charset."""
    if name.upper() not in CHARSETS:
        raise ValueFailure("INVALID_PARAMETER_VALUE.CHARSET",
                           f"{function_name} takes the charsets {', '.join(CHARSETS)}, not {name[:40]!r}")
    return CHARSETS[name.upper()]


@value_function("encode", takes=[STRING, STRING], gives=BINARY)
def encode(text: str, charset: str) -> bytes:
    """The text in a charset."""
    codec = charset_of(charset, "encode")
    try:
        return b"\xfe\xff" + text.encode("utf-16-be") if codec == "utf-16" and text else text.encode(
            codec if codec != "utf-16" else "utf-16-be")
    except UnicodeEncodeError as error:
        raise ValueFailure("MALFORMED_CHARACTER_CODING", f"{text[:80]!r} is not in {charset}") from error


@value_function("is_valid_utf8", takes=[STRING], gives=BOOLEAN)
def is_valid_utf8(text: str) -> bool:
    """Always: text that is not UTF-8 does not enter."""
    del text
    return True


@function("make_valid_utf8", "validate_utf8", "try_validate_utf8", takes=[STRING], gives=STRING)
def valid_utf8(text: Datum) -> Datum:
    """The text itself: text that is not UTF-8 does not enter."""
    return text


@value_function("url_encode", takes=[STRING], gives=STRING)
def url_encode(text: str) -> str:
    """As a part of an address."""
    return quote_plus(text, safe="*-._").replace("~", "%7E")


def _url_decoded(text: str) -> str:
    plain = text.replace("+", " ")
    at = plain.find("%")
    while at >= 0:
        if len(plain) < at + 3 or not all(c in "0123456789abcdefABCDEF" for c in plain[at + 1:at + 3]):
            raise ValueFailure("CANNOT_DECODE_URL", f"{text[:80]!r} has an incomplete % sign")
        at = plain.find("%", at + 3)
    return unquote_to_bytes(plain).decode("utf-8", "replace")


@value_function("url_decode", takes=[STRING], gives=STRING)
def url_decode(text: str) -> str:
    """A part of an address as text."""
    return _url_decoded(text)


@value_function("try_url_decode", takes=[STRING], gives=STRING)
def try_url_decode(text: str) -> str | None:
    """A part of an address as text, or null."""
    return _tried(_url_decoded, text)


def _tried(run: Callable[[str], str], text: str) -> str | None:
    try:
        return run(text)
    except ValueFailure:
        return None


def _binary_from(text: str, form: str = "hex") -> bytes:
    if form.lower() in ("utf-8", "utf8"):
        return text.encode()
    if form.lower() == "base64":
        return _strict_base64(text)
    if form.lower() == "hex":
        digits = text if len(text) % 2 == 0 else "0" + text
        try:
            return bytes.fromhex(digits) if not any(c.isspace() for c in digits) else bytes.fromhex("x")
        except ValueError as error:
            raise ValueFailure("CONVERSION_INVALID_INPUT", f"{text[:80]!r} is not hexadecimal") from error
    raise ValueFailure("DATATYPE_MISMATCH.INVALID_ARG_VALUE", f"no format {form[:40]!r}: use hex, utf-8 or base64")


@value_function("to_binary", takes=[STRING, STRING], gives=BINARY, optional=1)
def to_binary(text: str, form: str = "hex") -> bytes:
    """The bytes a text stands for."""
    return _binary_from(text, form)


@value_function("try_to_binary", takes=[STRING, STRING], gives=BINARY, optional=1)
def try_to_binary(text: str, form: str = "hex") -> bytes | None:
    """The bytes a text stands for, or null."""
    try:
        return _binary_from(text, form)
    except ValueFailure:
        return None


