"""parse_url and try_parse_url: parts of a URL as Java's ``URI`` takes them apart."""

from __future__ import annotations

import re

from panewise.functions.binding.by_value import ValueFailure, value_function
from panewise.functions.types import STRING

_URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(.*?)(?:#(.*))?", re.DOTALL)
_LEGAL = re.compile(r"(?:[A-Za-z0-9_\-!.~'()*,;:$&+=?/\[\]@]|%[0-9A-Fa-f]{2}|[^\x00-\x7F\s])*")
_HOST = re.compile(r"(?:([^@]*)@)?(\[[0-9A-Fa-f:.%\w]+\]|(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*"
                   r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.?|\d{1,3}(?:\.\d{1,3}){3})(?::\d*)?")
_PARTS = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO")


class _UrlError(ValueError):
    pass


def _part(url: str, part: str) -> str | None:
    found = _URI.fullmatch(url)
    if found is None or not _LEGAL.fullmatch(found[2]) or (found[3] is not None and not _LEGAL.fullmatch(found[3])) \
            or (found[1] and not found[2]) or any("\u0080" <= c <= "\u009f" for c in url):
        raise _UrlError(url)
    scheme, rest, fragment = found.groups()
    if scheme and not rest.startswith("/"):  # mailto:a@b.c has no parts but these
        return {"PROTOCOL": scheme, "REF": fragment}.get(part)
    before, question, query = rest.partition("?")
    authority, path = None, before
    if before.startswith("//"):
        authority, slash, behind = before[2:].partition("/")
        path = slash + behind
        if not authority:
            if not path and not question:
                raise _UrlError(url)
            authority = None
    host = _HOST.fullmatch(authority or "")
    parts = {"PATH": path, "QUERY": query if question else None, "REF": fragment, "PROTOCOL": scheme,
             "FILE": path + (question + query if question else ""), "AUTHORITY": authority,
             "HOST": host[2] if host else None, "USERINFO": host[1] if host else None}
    return parts.get(part)


def _parsed(url: str, part: str, key: str | None) -> str | None:
    if key is not None and part != "QUERY":
        return None
    found = _part(url, part)
    if key is None or found is None:
        return found
    named = re.search(rf"(?:&|^){re.escape(key)}=([^&]*)", found)
    return named[1] if named else None


@value_function("parse_url", takes=[STRING, STRING, STRING], gives=STRING, optional=1)
def parse_url(url: str, part: str, key: str | None = None) -> str | None:
    """A part of a URL, or one of the values of its query."""
    try:
        return _parsed(url, part, key)
    except _UrlError as error:
        raise ValueFailure("INVALID_URL", f"{url[:80]!r} is no URL") from error


@value_function("try_parse_url", takes=[STRING, STRING, STRING], gives=STRING, optional=1)
def try_parse_url(url: str, part: str, key: str | None = None) -> str | None:
    """A part of a URL, or null where there is none."""
    try:
        return _parsed(url, part, key)
    except _UrlError:
        return None
