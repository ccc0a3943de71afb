"""New rows of one key that probe together, and the instants between which they are gathered (Golab's J3 and J4)."""

from __future__ import annotations

from dataclasses import dataclass

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import Lives, integers
from panewise.kernels.relations.groups_numba import count_met, gather_groups, list_met, number_groups


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
        count = number_groups(codes, refreshes.at_or_after(lives.born), room, groups)
        made = cls(integers(count), integers(count), integers(count), integers(count + 1), integers(len(codes)))
        gather_groups(groups, codes, lives.born, lives.expires, made.starts, made.members, made.codes, made.born,
                      made.expires)
        return made

    def met(self, groups: Ordinals, born: Ordinals, expires: Ordinals,
            lives: Lives) -> tuple[Ordinals, Ordinals, Ordinals, Ordinals]:
        """Of what groups found, with the life of each, every member that lived with it.

        Places of what was found, rows that lived with it, and the first instant and the end of both.
        """
        arguments = groups, born, expires, self.starts, self.members, lives.born, lives.expires
        count = count_met(*arguments)
        places, rows, since, until = (integers(count) for _ in range(4))
        if count:
            list_met(*arguments, places, rows, since, until)
        return places, rows, since, until
