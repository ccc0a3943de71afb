"""Names that do not exist: which known one was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name most like the given one, whatever the case, if any is like it.

    >>> nearest("progres", ["progress", "late"]), nearest("Minuts", ["MINUTES"]), nearest("xyz", ["progress"])
    ('progress', 'MINUTES', None)
    """
    by_lower = {k.lower(): k for k in known}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else None


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
