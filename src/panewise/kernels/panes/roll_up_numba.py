"""Panes into windows: running totals and two stacks, compiled by numba on first use and cached on disk."""

from __future__ import annotations

from typing import Any

from panewise.core.compiling import compiled
from panewise.kernels.panes.cells_numba import Floats, Ints, clear_row

SUM, MIN, MAX = range(3)
"""How a state column merges. Sums are integers; floats are extremes, never NaN here."""


@compiled
def merge_ints(merge: int, into: Ints, other: Ints) -> None:
    """Two vectors of states, group by group."""
    if merge == SUM:
        for g in range(len(into)):
            into[g] += other[g]
    elif merge == MAX:
        for g in range(len(into)):
            into[g] = max(into[g], other[g])
    else:
        for g in range(len(into)):
            into[g] = min(into[g], other[g])


@compiled
def merge_floats(merge: int, into: Floats, other: Floats) -> None:
    """The same for floats; on vectors that lie in one piece, so that four groups are merged at a time."""
    if merge == MAX:
        for g in range(len(into)):
            into[g] = other[g] if other[g] > into[g] else into[g]
    else:
        for g in range(len(into)):
            into[g] = other[g] if other[g] < into[g] else into[g]


@compiled
def merge_row(int_merges: Ints, float_merges: Ints, int_into: Any, float_into: Any, to: int, ints: Any, floats: Any,
              row: int) -> None:
    """All columns of one row into another that cannot be taken away again; the others are kept by running totals."""
    for c in range(len(int_merges)):
        if int_merges[c] != SUM:
            merge_ints(int_merges[c], int_into[c, to], ints[c, row])
    for c in range(len(float_merges)):
        merge_floats(float_merges[c], float_into[c, to], floats[c, row])


@compiled
def merge_cell(int_merges: Ints, float_merges: Ints, int_into: Any, float_into: Any, to: int, ints: Any, floats: Any,
               row: int, group: int) -> None:
    """The same for one group."""
    for c in range(len(int_merges)):
        if int_merges[c] != SUM:
            merge_ints(int_merges[c], int_into[c, to : to + 1], ints[c, row, group : group + 1])
    for c in range(len(float_merges)):
        merge_floats(float_merges[c], float_into[c, to : to + 1], floats[c, row, group : group + 1])


@compiled
def close_windows(ints: Any, floats: Any, int_merges: Ints, float_merges: Ints, int_initial: Ints,
                  float_initial: Floats, panes: Ints, rows: Ints, running: Any, back_ints: Any, back_floats: Any,
                  state: Ints, per_window: int, per_slide: int, stop: int, closed: Ints, groups: int, out_wid: Ints,
                  out_group: Ints, out_ints: Any, out_floats: Any) -> int:
    """Put windows together in order, up to ``stop`` or until the output is full; returns how many results there are.

    ``state`` is [next window, head, split, tail]: the panes at [head, tail) are in the next window's reach, those
    before ``split`` hold merges from themselves up to ``split`` (the front of two stacks), the merge of the others is
    in ``back``. What can be taken away again is in ``running`` instead: added when a pane enters, subtracted when it
    leaves. Each pane is merged a constant number of times, whatever the number of panes per window.
    """
    wid, head, split, tail = state[0], state[1], state[2], state[3]
    found, known = 0, len(panes)
    while wid < stop:
        if head == tail:  # nothing in reach: go on at the first window of the next pane
            if tail == known:
                wid = stop
                break
            wid = max(wid, panes[tail] // per_slide)
            if wid >= stop:
                wid = stop
                break
        if found + groups > len(out_wid):
            break
        end = (wid + 1) * per_slide
        start = end - per_window
        while tail < known and panes[tail] < end:
            row = rows[tail]
            for c in range(len(int_merges)):
                if int_merges[c] == SUM:
                    for g in range(groups):
                        running[c, g] += ints[c, row, g]
            merge_row(int_merges, float_merges, back_ints, back_floats, 0, ints, floats, row)
            tail += 1
        while head < tail and panes[head] < start:
            row = rows[head]
            for c in range(len(int_merges)):
                if int_merges[c] == SUM:
                    for g in range(groups):
                        running[c, g] -= ints[c, row, g]
            head += 1
        if head >= split and tail > head:  # the front is used up: the back becomes the front
            for j in range(tail - 2, head - 1, -1):
                merge_row(int_merges, float_merges, ints, floats, rows[j], ints, floats, rows[j + 1])
            split = tail
            clear_row(back_ints, back_floats, 0, int_initial, float_initial)
        elif head == tail:
            split = tail
            clear_row(back_ints, back_floats, 0, int_initial, float_initial)
        if head < tail:
            begin = found
            for g in range(groups):
                if running[0, g] > 0 and closed[g] <= wid:
                    out_wid[found] = wid
                    out_group[found] = g
                    found += 1
            emit(int_merges, float_merges, running, back_ints, back_floats, ints, floats, rows[head], out_group, begin,
                 found, out_ints, out_floats)
        wid += 1
    state[0], state[1], state[2], state[3] = wid, head, split, tail
    return found


@compiled
def emit(int_merges: Ints, float_merges: Ints, running: Any, back_ints: Any, back_floats: Any, ints: Any, floats: Any,
         front: int, groups: Ints, begin: int, end: int, out_ints: Any, out_floats: Any) -> None:
    """One window's states of the groups at [begin, end): running totals, and front merged with back."""
    if begin == end:
        return
    first = groups[begin]
    if groups[end - 1] - first == end - 1 - begin:  # one after the other, as most are: whole vectors
        last = first + end - begin
        for c in range(len(int_merges)):
            out = out_ints[c, begin:end]
            if int_merges[c] == SUM:
                out[:] = running[c, first:last]
            else:
                out[:] = ints[c, front, first:last]
                merge_ints(int_merges[c], out, back_ints[c, 0, first:last])
        for c in range(len(float_merges)):
            out, before, after = out_floats[c, begin:end], floats[c, front, first:last], back_floats[c, 0, first:last]
            out[:] = before
            merge_floats(float_merges[c], out, after)
        return
    for i in range(begin, end):
        g = groups[i]
        for c in range(len(int_merges)):
            out_ints[c, i] = running[c, g] if int_merges[c] == SUM else ints[c, front, g]
            if int_merges[c] != SUM:
                merge_ints(int_merges[c], out_ints[c, i : i + 1], back_ints[c, 0, g : g + 1])
        for c in range(len(float_merges)):
            out_floats[c, i] = floats[c, front, g]
            merge_floats(float_merges[c], out_floats[c, i : i + 1], back_floats[c, 0, g : g + 1])


@compiled
def close_groups(ints: Any, floats: Any, int_merges: Ints, float_merges: Ints, int_initial: Ints,
                 float_initial: Floats, panes: Ints, rows: Ints, state: Ints, per_window: int, per_slide: int,
                 stop: int, closed: Ints, chosen: Ints, at: Ints, out_wid: Ints, out_group: Ints, out_ints: Any,
                 out_floats: Any) -> int:
    """The windows of single groups up to ``stop``, each from its panes; returns how many results there are.

    ``at`` is [place in chosen, window] to go on from when the output was full; ``[len(chosen), …]`` when done.
    """
    head, split, known = state[1], state[2], len(panes)
    found = 0
    place_, wid = at[0], at[1]
    while place_ < len(chosen):
        g = chosen[place_]
        first = head
        wid = max(wid, state[0], closed[g])
        while wid < stop and first < known:
            end = (wid + 1) * per_slide
            start = end - per_window
            while first < known and panes[first] < start:
                first += 1
            if first == known:
                break
            if panes[first] >= end:
                wid = max(wid + 1, panes[first] // per_slide)
                continue
            if found == len(out_wid):
                at[0], at[1] = place_, wid
                return found
            for c in range(len(int_merges)):
                out_ints[c, found] = int_initial[c]
            for c in range(len(float_merges)):
                out_floats[c, found] = float_initial[c]
            j = first
            while j < known and panes[j] < end:
                row = rows[j]
                for c in range(len(int_merges)):
                    if int_merges[c] == SUM:
                        out_ints[c, found] += ints[c, row, g]
                j += 1
            j = first
            while j < known and panes[j] < end:
                row = rows[j]
                merge_cell(int_merges, float_merges, out_ints, out_floats, found, ints, floats, row, g)
                j = split if j < split else j + 1  # the first pane of the front stands for all of it
            if out_ints[0, found] > 0:
                out_wid[found] = wid
                out_group[found] = g
                found += 1
            wid += 1
        place_ += 1
        wid = state[0]
    at[0], at[1] = place_, wid
    return found
