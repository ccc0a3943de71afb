"""A window join that trusts the global order of arrival: wrong under skew, kept to show how (Li 3.2, 5.2)."""

from __future__ import annotations

from collections.abc import Iterable

from kernels.joining import Arriving, Row
from panewise.core.join_kinds import LEFT


def held_behind_its_own_newest(arriving: Iterable[Arriving], ranges: tuple[int, int]) -> list[tuple[Row, Row]]:
    """Each side keeps the last RANGE of its own rows; a new row joins whatever the other side holds."""
    held: tuple[list[Row], list[Row]] = ([], [])
    found: list[tuple[Row, Row]] = []
    for item in arriving:
        for row in item.rows:
            own, other = held[item.side], held[1 - item.side]
            found += [(row, partner) if item.side == LEFT else (partner, row) for partner in other
                      if partner[1] == row[1]]
            own.append(row)
            newest = max(kept[0] for kept in own)
            own[:] = [kept for kept in own if kept[0] > newest - ranges[item.side]]
    return found


def purged_by_the_other(arriving: Iterable[Arriving], ranges: tuple[int, int]) -> list[tuple[Row, Row]]:
    """A new row first lets go of what it takes for too old on the other side, then joins the rest within the band."""
    held: tuple[list[Row], list[Row]] = ([], [])
    found: list[tuple[Row, Row]] = []
    for item in arriving:
        for row in item.rows:
            other = held[1 - item.side]
            other[:] = [kept for kept in other if kept[0] > row[0] - ranges[1 - item.side]]
            for partner in other:
                left, right = (row, partner) if item.side == LEFT else (partner, row)
                if left[1] == right[1] and left[0] - ranges[1] < right[0] < left[0] + ranges[0]:
                    found.append((left, right))
            held[item.side].append(row)
    return found
