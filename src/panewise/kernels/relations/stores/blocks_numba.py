"""Items into blocks of their group: loops compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]



@compiled
def fill(codes: Ints, items: Ints, size: int, blocks: int, last: Ints, block_of: Ints, nexts: Ints, heads: Ints,
         filled: Ints, group: Ints) -> int:
    """Put items into the last block of their group, or a new one where that is full; how many blocks there are now."""
    for i in range(len(codes)):
        code = codes[i]
        item = items[i]
        block = last[code]
        if block < 0 or filled[block] == size:
            block = blocks
            blocks += 1
            last[code] = block
            heads[block], filled[block], group[block] = -1, 0, code
        block_of[item] = block
        nexts[item] = heads[block]
        heads[block] = item
        filled[block] += 1
    return blocks


@compiled
def chain(codes: Ints, items: Ints, heads: Ints, nexts: Ints) -> None:
    """Put items before the others of their group."""
    for i in range(len(items)):
        nexts[items[i]] = heads[codes[i]]
        heads[codes[i]] = items[i]
