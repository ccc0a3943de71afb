"""New rows of one key that probe together: loops compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numpy as np

from panewise.core.compiling import compiled
from panewise.kernels.relations.join_numba import Ints


@compiled
def number_groups(codes: Ints, slices: Ints, newest: Ints, groups: Ints) -> int:
    """Rows with one code that stand in one slice get one number; -1 for a code below zero.

    ``newest`` has room for every code, with -1 in it before and after. Rows come mostly in the order of their slices;
    where they do not, a slice may have two groups of a code, which costs a probe and nothing else.
    """
    slice_of = np.empty(len(codes), np.int64)
    count = 0
    for i in range(len(codes)):
        code = codes[i]
        if code < 0:
            groups[i] = -1
            continue
        group = newest[code]
        if group < 0 or slice_of[group] != slices[i]:
            group = count
            slice_of[group] = slices[i]
            newest[code] = group
            count += 1
        groups[i] = group
    for i in range(len(codes)):
        if codes[i] >= 0:
            newest[codes[i]] = -1
    return count


@compiled
def gather_groups(groups: Ints, codes: Ints, born: Ints, expires: Ints, starts: Ints, members: Ints, code: Ints,
                  first: Ints, last: Ints) -> None:
    """Members group by group, from ``starts`` on; of each group its code, the first birth and the last end."""
    count = len(code)
    starts[:] = 0
    for i in range(len(groups)):
        if groups[i] >= 0:
            starts[groups[i] + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
        code[g] = -1
    filled = starts[:count].copy()
    for i in range(len(groups)):
        g = groups[i]
        if g < 0:
            continue
        members[filled[g]] = i
        filled[g] += 1
        if code[g] < 0:
            code[g], first[g], last[g] = codes[i], born[i], expires[i]
        else:
            first[g] = min(first[g], born[i])
            last[g] = max(last[g], expires[i])


@compiled
def count_met(groups: Ints, born: Ints, expires: Ints, starts: Ints, members: Ints, row_born: Ints,
              row_expires: Ints) -> int:
    """How many members of the groups lived together with what their groups found (all of them: erratum E6)."""
    found = 0
    for i in range(len(groups)):
        for at in range(starts[groups[i]], starts[groups[i] + 1]):
            row = members[at]
            if max(born[i], row_born[row]) < min(expires[i], row_expires[row]):
                found += 1
    return found


@compiled
def list_met(groups: Ints, born: Ints, expires: Ints, starts: Ints, members: Ints, row_born: Ints, row_expires: Ints,
             places: Ints, rows: Ints, since: Ints, until: Ints) -> None:
    """What ``count_met`` counted, with the life of each."""
    found = 0
    for i in range(len(groups)):
        for at in range(starts[groups[i]], starts[groups[i] + 1]):
            row = members[at]
            first, last = max(born[i], row_born[row]), min(expires[i], row_expires[row])
            if first < last:
                places[found], rows[found], since[found], until[found] = i, row, first, last
                found += 1
