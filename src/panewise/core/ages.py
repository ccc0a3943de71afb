"""What orders rows of one instant: the arrivals of the stream rows they come from, then elements, then rows of tables.

An age is a time and below it one figure for every row that a row comes from, largest first. Figures of tables are below
zero and so behind all arrivals: a row of a stream that meets several rows of a table gives results in the order of the
table. All results of an older stream row stand before those of a younger one.
"""

from __future__ import annotations

from collections.abc import Iterable

NOBODY = -(2**63)
"""The figure of a row that is not there: older than all others."""
_TABLES, _ELEMENTS = -(2**62), -(2**61)
_ROWS, _ARRIVALS = 40, 48
"""Bits for the rows of one table, or the elements of one collection, and for the rows of one stream."""


def numbered(names: Iterable[str]) -> dict[str, int]:
    """Inputs in an order that no plan changes."""
    return {name: number for number, name in enumerate(sorted(set(names)))}


def first_in_table(number: int) -> int:
    """The figure of the first row of a table; the next have the next ones, in the order of their times.

    >>> first_in_table(0) < first_in_table(1) < 0
    True
    """
    return _TABLES + (number << _ROWS)


def first_element(number: int) -> int:
    """The figure of the first element of a collection; elements of one row are older the sooner they stand in it.

    Nothing else distinguishes them, so these figures are behind arrivals, and those of two generators differ.

    >>> first_in_table(7) < first_element(0) < first_element(1) < 0
    True
    """
    return _ELEMENTS + (number << _ROWS)


def first_of_stream(number: int) -> int:
    """What is added to the arrivals of a stream whose rows all count as younger than those of the streams before it."""
    return number << _ARRIVALS


def stream_of(figure: int) -> int:
    """The number of the stream of a row, where the rows of streams follow each other.

    >>> stream_of(first_of_stream(3) + 7)
    3
    """
    return figure >> _ARRIVALS


def stream_rows(figures: Iterable[int]) -> tuple[int, ...]:
    """The figures without those of tables."""
    return tuple(figure for figure in figures if figure >= 0)
