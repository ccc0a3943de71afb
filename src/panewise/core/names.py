"""Names that do not exist: which known one was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like the given one, if any does.

    >>> nearest("progres", ["progress", "late"]), nearest("xyz", ["progress"])
    ('progress', None)
    """
    names = list(known)
    found = get_close_matches(name, names, n=1, cutoff=0.6)
    if found:
        return found[0]
    folded = {n.lower(): n for n in names}
    return folded.get(name.lower())


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to a message, or nothing.

    >>> did_you_mean("pric", ["price", "ts"])
    "; did you mean 'price'?"
    """
    found = nearest(str(name), known)
    return "" if found is None else f"; did you mean {found!r}?"


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """What to say of a name that does not exist.

    >>> unknown_name("column", "pric", ["price", "ts"])
    "no column 'pric'; there are price, ts; did you mean 'price'?"
    """
    names = list(known)
    return f"no {what} {name!r}; there are {', '.join(names[:50]) or 'none'}" \
           f"{', …' if len(names) > 50 else ''}{did_you_mean(name, names)}"
