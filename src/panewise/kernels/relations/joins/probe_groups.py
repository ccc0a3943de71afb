"""New rows of one key that probe together, and the instants between which they are gathered (Golab's J3 and J4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panewise.core.arrays import Ints
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import Lives, integers


@dataclass(frozen=True)
class Refreshes:
    """Instants at one distance: those tau with ``tau + 1 - origin`` a multiple of ``length``, as windows have them.

    >>> import numpy as np
    >>> Refreshes(4, 1).at_or_after(np.array([3, 4, 7])).tolist()
    [4, 4, 8]
    """

    length: int
    origin: int = 0

    def at_or_after(self, instants: Ordinals) -> Ordinals:
        """The refresh that is first to see each instant."""
        found: Ordinals = instants + (-(instants + 1 - self.origin)) % self.length
        return found

    def next_from(self, instant: int) -> int:
        """The first one at or after an instant."""
        return instant + (-(instant + 1 - self.origin)) % self.length


@dataclass(frozen=True)
class Groups:
    """New rows by key and refresh: what a group asks of the other windows is what any of its members could meet."""

    codes: Ordinals
    born: Ordinals
    """The first birth of each group."""
    expires: Ordinals
    """The last end of each group."""
    starts: Ordinals
    members: Ordinals

    @classmethod
    def of(cls, lives: Lives, codes: Ordinals, refreshes: Refreshes, room: Ordinals) -> Groups:
        """The groups of the new rows of one window; a row without a key is in none.

        ``room`` for every code, with -1 in it, is used and left as it was.
        """
        groups = integers(len(codes))
        count = _number_groups(codes, refreshes.at_or_after(lives.born), room, groups)
        made = cls(integers(count), integers(count), integers(count), integers(count + 1), integers(len(codes)))
        _gather_groups(groups, codes, lives.born, lives.expires, made.starts, made.members, made.codes, made.born,
                      made.expires)
        return made

    def met(self, groups: Ordinals, born: Ordinals, expires: Ordinals,
            lives: Lives) -> tuple[Ordinals, Ordinals, Ordinals, Ordinals]:
        """Of what groups found, with the life of each, every member that lived with it.

        Places of what was found, rows that lived with it, and the first instant and the end of both.
        """
        return _list_met(groups, born, expires, self.starts, self.members, lives.born, lives.expires)


@compiled
def _number_groups(codes: Ints, slices: Ints, newest: Ints, groups: Ints) -> int:
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
def _gather_groups(groups: Ints, codes: Ints, born: Ints, expires: Ints, starts: Ints, members: Ints, code: Ints,
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
def _list_met(groups: Ints, born: Ints, expires: Ints, starts: Ints, members: Ints, row_born: Ints, row_expires: Ints
              ) -> tuple[Ints, Ints, Ints, Ints]:
    """Members of the groups that lived together with what their groups found (all of them: erratum E6)."""
    room, found = len(groups) + 16, 0
    places, rows = np.empty(room, np.int64), np.empty(room, np.int64)
    since, until = np.empty(room, np.int64), np.empty(room, np.int64)
    for i in range(len(groups)):
        for at in range(starts[groups[i]], starts[groups[i] + 1]):
            row = members[at]
            first, last = max(born[i], row_born[row]), min(expires[i], row_expires[row])
            if first < last:
                if found == len(rows):
                    places, rows = np.append(places, places), np.append(rows, rows)
                    since, until = np.append(since, since), np.append(until, until)
                places[found], rows[found], since[found], until[found] = i, row, first, last
                found += 1
    return places[:found], rows[:found], since[:found], until[:found]
