"""Group codes of integers by one pass over an open hash table: a loop compiled by numba and cached on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]
GOLDEN = np.uint64(11400714819323198485)
"""2^64 over the golden ratio: its product spreads neighbours over the upper bits."""



def integer_codes(keys: Ints) -> tuple[Ints, Ints]:
    """Codes by first occurrence, and the index of the first row of each.

    >>> codes, first = integer_codes(np.array([7, -5, 7]))
    >>> codes.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    bits = max(4, (2 * len(keys)).bit_length())  # at most half of the table is taken
    codes, first = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    count = _number(keys, np.full(1 << bits, -1, np.int32), 64 - bits, first, codes)
    return codes, first[:count]


@compiled
def _number(keys: Ints, table: npt.NDArray[np.int32], shift: int, first: Ints, codes: Ints) -> int:
    """The table holds codes; a key is looked up where it was first seen."""
    mask = len(table) - 1
    count = 0
    for i in range(len(keys)):
        key = keys[i]
        slot = np.int64((np.uint64(key) * GOLDEN) >> np.uint64(shift))
        code = table[slot]
        while code >= 0 and keys[first[code]] != key:
            slot = (slot + 1) & mask
            code = table[slot]
        if code < 0:
            code = count
            table[slot] = code
            first[code] = i
            count += 1
        codes[i] = code
    return count
