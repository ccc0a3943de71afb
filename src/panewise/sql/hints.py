"""What to write instead: the nearest known word for a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable

from panewise.core.names import nearest


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """A hint sentence.

    >>> did_you_mean("Trafic", ["Traffic", "bids"])
    "did you mean 'Traffic'?"
    """
    found = nearest(word, known)
    return f"did you mean {found!r}?" if found else otherwise


def listed(words: Iterable[str], limit: int = 12) -> str:
    """Words for a message, not too many.

    >>> listed(["b", "a"]), listed(map(str, range(20)), 3)
    ('b, a', '0, 1, 2, ...')
    """
    every = list(words)
    return ", ".join(every[:limit]) + (", ..." if len(every) > limit else "")
