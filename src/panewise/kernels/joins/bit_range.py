"""Integers that lie near each other need few bits: a range of them, chosen so that it seldom has to change."""

from __future__ import annotations

from dataclasses import dataclass

LOWEST, HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class BitRange:
    """The integers from ``base`` on that so many ``bits`` can tell apart.

    >>> BitRange.of(0, 65_000), BitRange.of(-1, 1)
    (BitRange(base=0, bits=16), BitRange(base=-3, bits=3))
    """

    base: int
    bits: int

    @classmethod
    def of(cls, low: int, high: int) -> BitRange:
        """A range with these two in it.

        A whole block of numbers where that costs at most a bit: addresses, codes and ports then have their place once
        and for all. Otherwise as much room below as above: it must double before it is left again.
        """
        least = (high - low).bit_length()
        for bits in (least, least + 1):
            base = low >> bits << bits
            if high < base + 2**bits and base >= LOWEST:
                return cls(base, bits) if bits < 64 else WHOLE
        bits = least + 1
        base = low - (2**bits - (high - low + 1)) // 2
        return cls(base, bits) if bits < 64 and base >= LOWEST else WHOLE


WHOLE = BitRange(0, 64)
NOTHING = BitRange(0, 0)
"""Of a column without values."""
