"""How much one call of a function may make: some are told by an argument how large their result is."""

from __future__ import annotations

LARGEST_MADE = 1 << 28
"""Bytes of one value, and of what one call makes for the rows of a batch (256 MiB)."""
SMALL, COLUMN = 1 << 12, (1 << 31) - 1
"""Bytes that a row of a batch may have in any case: a table in memory is one batch, however long. A column has at most
so many, all its rows together."""
ELEMENT = 8
"""Bytes that an element of an array counts with at least."""
TOO_LARGE = "RESULT_TOO_LARGE"
"""No condition of Spark's: its limit is the memory of the JVM."""


def most_of_a_batch(rows: int) -> int:
    """How many bytes one call may make for so many rows.

    >>> most_of_a_batch(1), most_of_a_batch(100_000), most_of_a_batch(10**9)
    (268435456, 409600000, 2147483647)
    """
    return max(LARGEST_MADE, min(SMALL * rows, COLUMN))


def bytes_of_text(value: str | bytes) -> int:
    """How many bytes a text has in UTF-8.

    >>> bytes_of_text("ab"), bytes_of_text("ä"), bytes_of_text(b"ab")
    (2, 2, 2)
    """
    return len(value) if isinstance(value, bytes) or value.isascii() else len(value.encode("utf-8", "surrogatepass"))


def too_large(name: str, size: int) -> str | None:
    """Why a value of so many bytes is not made; None if it is.

    >>> too_large("repeat", 1 << 28), too_large("repeat", 2_000_000_000)
    (None, 'repeat would make a value of 2,000,000,000 bytes; at most 268,435,456 are made')
    """
    if size <= LARGEST_MADE:
        return None
    return f"{name} would make a value of {size:,} bytes; at most {LARGEST_MADE:,} are made"
