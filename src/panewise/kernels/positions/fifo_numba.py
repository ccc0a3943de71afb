"""The loops of the log of ordered states, compiled by numba on first use and cached on disk.

Importing this module imports numba, which takes a second: only kernels that have rows do so. A group's entries lie one
after the other in an arena, ``head`` to ``end``; those before ``tail`` have entered the windows. Of these the ones
before ``mid`` hold the merge of themselves and everything up to ``mid`` (the front stack), ``back`` the merge of the
others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from panewise.core.arrays import Floats, Ints
from panewise.core.compiling import compiled

SUM, MIN, MAX = range(3)
"""How a state column merges."""

START, ROOM, HEAD, MID, TAIL, END = range(6)
"""Rows of the table of pointers; one column per group."""

LEAST_ROOM = 4



@compiled
def number_rows(partitions: Ints, counts: Ints, numbers: Ints) -> None:
    """The position of every row in its partition, 1-based; ``counts`` go on from batch to batch."""
    for i in range(len(partitions)):
        counts[partitions[i]] += 1
        numbers[i] = counts[partitions[i]]


# -- states --------------------------------------------------------------------------------------------------------


@compiled
def merge(into: Any, at: int, other: Any, place: int, operations: Ints) -> None:
    """Merge one row of states into another, integers or floats; sums of floats where an aggregate is content with
    that."""
    for c in range(len(operations)):
        value = other[place, c]
        if operations[c] == SUM:
            into[at, c] += value
        elif operations[c] == MIN:
            into[at, c] = min(into[at, c], value)
        elif value > into[at, c]:
            into[at, c] = value


@compiled
def clear(ints: Ints, floats: Floats, at: int, int_neutral: Ints, float_neutral: Floats) -> None:
    """The state of no rows."""
    for c in range(len(int_neutral)):
        ints[at, c] = int_neutral[c]
    for c in range(len(float_neutral)):
        floats[at, c] = float_neutral[c]


@compiled
def pile_up(ints: Ints, floats: Floats, low: int, high: int, int_operations: Ints, float_operations: Ints) -> None:
    """Every row of [low, high) becomes the merge of itself and all rows after it."""
    for i in range(high - 2, low - 1, -1):
        merge(ints, i, ints, i + 1, int_operations)
        merge(floats, i, floats, i + 1, float_operations)


# -- entries in ----------------------------------------------------------------------------------------------------


@compiled
def growth(groups: Ints, added: Ints, pointers: Ints) -> int:
    """How much of the arena these groups need beyond the room they have."""
    needed = 0
    for k in range(len(groups)):
        g = groups[k]
        if pointers[END, g] + added[k] > pointers[START, g] + pointers[ROOM, g]:
            needed += max(2 * (pointers[END, g] - pointers[HEAD, g] + added[k]), LEAST_ROOM)
    return needed


@compiled
def make_room(groups: Ints, added: Ints, pointers: Ints, top: int, coordinates: Ints, payload: Ints, ints: Ints,
              floats: Floats) -> int:
    """Move groups whose room is too small to the top of the arena, or down in their own; returns the new top."""
    for k in range(len(groups)):
        g = groups[k]
        low, high = pointers[HEAD, g], pointers[END, g]
        if high + added[k] <= pointers[START, g] + pointers[ROOM, g]:
            continue
        wanted = max(2 * (high - low + added[k]), LEAST_ROOM)
        if wanted > pointers[ROOM, g]:
            pointers[START, g], pointers[ROOM, g] = top, wanted
            top += wanted
        to = pointers[START, g]
        for i in range(low, high):
            coordinates[to + i - low], payload[to + i - low] = coordinates[i], payload[i]
            ints[to + i - low], floats[to + i - low] = ints[i], floats[i]
        for pointer in range(HEAD, END + 1):
            pointers[pointer, g] += to - low
    return top


@compiled
def repack(added: Ints, pointers: Ints, coordinates: Ints, payload: Ints, ints: Ints, floats: Floats,
           new_coordinates: Ints, new_payload: Ints, new_ints: Ints, new_floats: Floats) -> int:
    """Move all groups to a new arena, each with twice the room it needs (none if it is empty); returns the top."""
    top = 0
    for g in range(pointers.shape[1]):
        low, high = pointers[HEAD, g], pointers[END, g]
        for i in range(low, high):
            to = top + i - low
            new_coordinates[to], new_payload[to] = coordinates[i], payload[i]
            new_ints[to], new_floats[to] = ints[i], floats[i]
        for pointer in range(HEAD, END + 1):
            pointers[pointer, g] += top - low
        size = high - low + added[g]
        pointers[START, g], pointers[ROOM, g] = top, max(2 * size, LEAST_ROOM) if size else 0
        top += pointers[ROOM, g]
    return top


@compiled
def append(new_coordinates: Ints, places: Ints, groups: Ints, new_payload: Ints, new_ints: Ints, new_floats: Floats,
           share: bool, pointers: Ints, coordinates: Ints, payload: Ints, ints: Ints, floats: Floats,
           int_operations: Ints, float_operations: Ints) -> None:
    """Put entries behind those of their groups; equal coordinates share an entry if ``share`` says so.

    New states lie at ``places`` of larger arrays, column by column; the arena holds them row by row, so that a merge
    touches one line of memory.
    """
    row_i = np.empty((1, new_ints.shape[0]), np.int64)
    row_f = np.empty((1, new_floats.shape[0]), np.float64)
    for k in range(len(places)):
        i, g = places[k], groups[k]
        at = pointers[END, g]
        if share and at > pointers[TAIL, g] and coordinates[at - 1] == new_coordinates[k]:
            for c in range(new_ints.shape[0]):
                row_i[0, c] = new_ints[c, i]
            for c in range(new_floats.shape[0]):
                row_f[0, c] = new_floats[c, i]
            merge(ints, at - 1, row_i, 0, int_operations)
            merge(floats, at - 1, row_f, 0, float_operations)
            continue
        coordinates[at], payload[at] = new_coordinates[k], new_payload[i]
        for c in range(new_ints.shape[0]):
            ints[at, c] = new_ints[c, i]
        for c in range(new_floats.shape[0]):
            floats[at, c] = new_floats[c, i]
        pointers[END, g] = at + 1


# -- windows out ---------------------------------------------------------------------------------------------------


@compiled
def first_at_least(values: Ints, low: int, high: int, wanted: int) -> int:
    """Binary search in an ascending piece."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def count_results(groups: Ints, partition_of: Ints, ranges: Ints, above: Ints, upto: Ints, pointers: Ints,
                  coordinates: Ints, counts: Ints) -> int:
    """How many groups have entries in each window; nothing changes. Windows are as in ``sweep``."""
    total = 0
    for k in range(len(groups)):
        g = groups[k]
        j, last = ranges[0, partition_of[g]], ranges[1, partition_of[g]]
        head, tail, end = pointers[HEAD, g], pointers[TAIL, g], pointers[END, g]
        while j < last:
            while tail < end and coordinates[tail] <= upto[j]:
                tail += 1
            while head < tail and coordinates[head] <= above[j]:
                head += 1
            if head < tail:
                counts[j] += 1
                total += 1
                j += 1
            elif tail == end:
                break
            else:
                j = first_at_least(upto, j + 1, last, coordinates[tail])
    return total


@compiled
def sweep(groups: Ints, partition_of: Ints, ranges: Ints, above: Ints, upto: Ints, pointers: Ints, coordinates: Ints,
          ints: Ints, floats: Floats, back_ints: Ints, back_floats: Floats, int_operations: Ints,
          float_operations: Ints, int_neutral: Ints, float_neutral: Floats, place: Ints, out_window: Ints,
          out_group: Ints, out_ints: Ints, out_floats: Floats, out_first: Ints, out_end: Ints) -> None:
    """Merge the entries of every window, group by group: both ends only move forward.

    Windows of partition p are ``ranges[0, p]`` to ``ranges[1, p]``: entries with ``above < coordinate <= upto``, both
    ascending. ``place`` says where the next result of a window goes.
    """
    row_i = np.empty((1, len(int_operations)), np.int64)
    row_f = np.empty((1, len(float_operations)), np.float64)
    for k in range(len(groups)):
        g = groups[k]
        j, last = ranges[0, partition_of[g]], ranges[1, partition_of[g]]
        head, mid, tail, end = pointers[HEAD, g], pointers[MID, g], pointers[TAIL, g], pointers[END, g]
        while j < last:
            while tail < end and coordinates[tail] <= upto[j]:
                merge(back_ints, g, ints, tail, int_operations)
                merge(back_floats, g, floats, tail, float_operations)
                tail += 1
            while head < mid and coordinates[head] <= above[j]:
                head += 1
            if mid <= head < tail and coordinates[head] <= above[j]:  # the front is used up: turn the back into one
                while head < tail and coordinates[head] <= above[j]:
                    head += 1
                pile_up(ints, floats, head, tail, int_operations, float_operations)
                mid = tail
                clear(back_ints, back_floats, g, int_neutral, float_neutral)
            if head < tail:
                to = place[j]
                place[j] = to + 1
                out_window[to], out_group[to], out_first[to], out_end[to] = j, g, head, tail
                for c in range(len(int_operations)):
                    row_i[0, c] = back_ints[g, c]
                for c in range(len(float_operations)):
                    row_f[0, c] = back_floats[g, c]
                if head < mid:
                    merge(row_i, 0, ints, head, int_operations)
                    merge(row_f, 0, floats, head, float_operations)
                for c in range(len(int_operations)):
                    out_ints[c, to] = row_i[0, c]
                for c in range(len(float_operations)):
                    out_floats[c, to] = row_f[0, c]
                j += 1
            elif tail == end:
                break
            else:
                j = first_at_least(upto, j + 1, last, coordinates[tail])
        pointers[HEAD, g], pointers[MID, g], pointers[TAIL, g] = head, mid, tail


@compiled
def drop(groups: Ints, partition_of: Ints, limits: Ints, pointers: Ints, coordinates: Ints, ints: Ints, floats: Floats,
         back_ints: Ints, back_floats: Floats, int_operations: Ints, float_operations: Ints, int_neutral: Ints,
         float_neutral: Floats) -> None:
    """Forget entries with coordinates up to the limit of their partition."""
    for k in range(len(groups)):
        g = groups[k]
        head, mid, tail, end = pointers[HEAD, g], pointers[MID, g], pointers[TAIL, g], pointers[END, g]
        limit = limits[partition_of[g]]
        if head == end or coordinates[head] > limit:
            continue
        while head < end and coordinates[head] <= limit:
            head += 1
        if head > mid:
            if head < tail:
                pile_up(ints, floats, head, tail, int_operations, float_operations)
            else:
                tail = head
            mid = tail
            clear(back_ints, back_floats, g, int_neutral, float_neutral)
        pointers[HEAD, g], pointers[MID, g], pointers[TAIL, g] = head, mid, tail


@compiled
def explode(first: Ints, end: Ints, payload: Ints, results: Ints, entries: Ints) -> None:
    """The entries of every result, one pair each: the number of the result, and the entry's payload."""
    at = 0
    for i in range(len(first)):
        for position in range(first[i], end[i]):
            results[at], entries[at] = i, payload[position]
            at += 1


@compiled
def fold_equal(order: Ints, keys: Ints, sources: Ints, ints: Ints, floats: Floats, int_operations: Ints,
               float_operations: Ints, first: Ints, out_ints: Ints, out_floats: Floats) -> int:
    """Merge states with equal keys, which follow each other in this order; returns how many keys there are.

    The state of key i is column ``sources[i]``. ``first`` gets the place of each key's first state.
    """
    row_i, row_f = np.empty((1, len(ints)), np.int64), np.empty((1, len(floats)), np.float64)
    all_i, all_f = np.empty((1, len(ints)), np.int64), np.empty((1, len(floats)), np.float64)
    found = 0
    for k in range(len(order)):
        i = order[k]
        for c in range(len(ints)):
            row_i[0, c] = ints[c, sources[i]]
        for c in range(len(floats)):
            row_f[0, c] = floats[c, sources[i]]
        if k > 0 and keys[i] == keys[order[k - 1]]:
            merge(all_i, 0, row_i, 0, int_operations)
            merge(all_f, 0, row_f, 0, float_operations)
        else:
            first[found] = i
            found += 1
            all_i[:], all_f[:] = row_i, row_f
        if k + 1 == len(order) or keys[order[k + 1]] != keys[i]:
            for c in range(len(ints)):
                out_ints[c, found - 1] = all_i[0, c]
            for c in range(len(floats)):
                out_floats[c, found - 1] = all_f[0, c]
    return found


@compiled
def gather(groups: Ints, pointers: Ints, coordinates: Ints, payload: Ints, ints: Ints, floats: Floats,
           out: Ints, out_payload: Ints, out_ints: Ints, out_floats: Floats) -> None:
    """The entries of groups, one group after the other, with their states column by column."""
    at = 0
    for k in range(len(groups)):
        for i in range(pointers[HEAD, groups[k]], pointers[END, groups[k]]):
            out[at], out_payload[at] = coordinates[i], payload[i]
            for c in range(ints.shape[1]):
                out_ints[c, at] = ints[i, c]
            for c in range(floats.shape[1]):
                out_floats[c, at] = floats[i, c]
            at += 1
