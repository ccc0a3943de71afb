"""Rows by slot: columns that grow at one end, and shrink when most of their rows are gone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ages import NOBODY
from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.key_table import by_number
from panewise.kernels.relations.edges.delta import FOREVER, Ends, Lives, Mask, gather, integers, stacked

ROOM = 64
MANY = 32


class Growing:
    """Integers that are appended in pieces, without copying them all each time."""

    def __init__(self, values: Ordinals | None = None) -> None:
        self._room = integers(ROOM)
        self.count = 0
        if values is not None:
            self.append(values)

    @property
    def values(self) -> Ordinals:
        """All of them; writing to it changes them."""
        return self._room[: self.count]

    def append(self, values: Ordinals) -> None:
        """Some more."""
        needed = self.count + len(values)
        if needed > len(self._room):
            room = integers(max(2 * len(self._room), needed))
            room[: self.count] = self.values
            self._room = room
        self._room[self.count : needed] = values
        self.count = needed

    def extend_to(self, count: int, value: int) -> None:
        """At least so many, new ones of one value."""
        if count > self.count:
            self.append(np.full(count - self.count, value, np.int64))


class GrowingAges:
    """Ages by number, one column each: room for those that may come, and as deep as the deepest seen."""

    def __init__(self) -> None:
        self.room = np.full((1, ROOM), NOBODY, np.int64)

    def fitted(self, age: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
        """Make room for so many, of ages like these; these as deep as the room is."""
        depth, width = self.room.shape
        if count > width or len(age) > depth:
            room = np.full((max(depth, len(age)), max(2 * width, count) if count > width else width), NOBODY,
                           np.int64)
            room[:depth, :width] = self.room
            self.room = room
        return age if len(age) == len(self.room) else stacked([age, self.room[:, :0]])


class Payload:
    """The columns of rows: few pieces, each at least half as long as all after it, so that rows are found fast.

    Pieces are put together when rows are asked for, or when they have become many: results that are kept may
    not be asked for long.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._pieces: list[pa.Table] = []
        self._new: list[pa.Table] = []
        self.count = 0

    def append(self, table: pa.Table) -> None:
        """Some more rows."""
        if table.num_rows:
            self.count += table.num_rows
            self._new.append(table)
            if len(self._new) == MANY:
                self._settle()

    def _settle(self) -> None:
        """Few pieces again."""
        if not self._new:
            return
        last, self._new = self._new, []
        rows = sum(piece.num_rows for piece in last)
        while self._pieces and self._pieces[-1].num_rows < 2 * rows:
            last.insert(0, self._pieces.pop())
            rows += last[0].num_rows
        self._pieces.append(last[0] if len(last) == 1 else pa.concat_tables(last).combine_chunks())

    def take(self, slots: Ordinals) -> pa.Table:
        """Rows by slot."""
        self._settle()
        if not len(slots) or not self._pieces:
            return self.schema.empty_table()
        if len(self._pieces) == 1:
            return gather(self._pieces[0], slots)
        if 4 * len(slots) >= self.count:  # putting the pieces together costs no more than what is asked for
            return gather(self.table(), slots)
        starts = np.cumsum([0, *(p.num_rows for p in self._pieces)])
        piece = np.searchsorted(starts, slots, side="right") - 1
        places = [np.flatnonzero(piece == p) for p in range(len(self._pieces))]
        parts = [gather(self._pieces[p], slots[at] - starts[p]) for p, at in enumerate(places) if len(at)]
        if len(parts) == 1:
            return parts[0]
        back = integers(len(slots))
        back[np.concatenate(places)] = np.arange(len(slots))
        return gather(pa.concat_tables(parts).combine_chunks(), back)

    def keep(self, slots: Ordinals) -> None:
        """Forget all rows but these."""
        kept = self.take(slots)
        self._pieces, self.count = ([kept] if kept.num_rows else []), kept.num_rows

    def table(self) -> pa.Table:
        """All rows, in one piece from now on."""
        self._settle()
        if not self._pieces:
            return self.schema.empty_table()
        if len(self._pieces) > 1:
            self._pieces = [pa.concat_tables(self._pieces).combine_chunks()]
        return self._pieces[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return sum(int(piece.nbytes) for piece in (*self._pieces, *self._new))


class Arena:
    """Rows of one edge by slot, in the order they came; a row that is gone has an end that has passed."""

    def __init__(self, schema: pa.Schema) -> None:
        self.payload = Payload(schema)
        self._uid, self._born, self._expires = Growing(), Growing(), Growing()
        self._ages: list[Growing] = [Growing()]
        self._compacted = 0

    def __len__(self) -> int:
        return self._uid.count

    @property
    def uid(self) -> Ordinals:
        """Ascending."""
        return self._uid.values

    @property
    def born(self) -> Ordinals:
        """The first instant of every row."""
        return self._born.values

    @property
    def expires(self) -> Ordinals:
        """The end of every row as far as it is known; may be written to."""
        return self._expires.values

    @property
    def age(self) -> npt.NDArray[np.int64]:
        """One column per row."""
        return np.stack([part.values for part in self._ages])

    def ages_at(self, slots: Ordinals) -> npt.NDArray[np.int64]:
        """The ages of some rows."""
        return np.stack([part.values[slots] for part in self._ages])

    @property
    def depth(self) -> int:
        """How many figures an age has."""
        return len(self._ages)

    def write_ages(self, slots: Ordinals, times: Ordinals, arrivals: npt.NDArray[np.int64]) -> None:
        """The ages of some rows into room for them: their times, and below each what came when."""
        for part, out in zip(self._ages, (times, *arrivals), strict=True):
            np.take(part.values, slots, out=out, mode="clip")  # slots are in range: this one writes without a copy

    def append(self, lives: Lives) -> Ordinals:
        """Keep rows; their slots."""
        first = len(self)
        self.payload.append(lives.table)
        self._uid.append(lives.uid)
        self._born.append(lives.born)
        self._expires.append(lives.expires)
        while len(self._ages) < len(lives.age):
            self._ages.append(Growing(np.full(first, NOBODY, np.int64)))
        for i, part in enumerate(self._ages):
            part.append(lives.age[i] if i < len(lives.age) else np.full(len(lives), NOBODY, np.int64))
        return np.arange(first, len(self))

    def find(self, uids: Ordinals) -> Ordinals:
        """The slots of rows by number; -1 for those that are not here."""
        if not len(self):
            return np.full(len(uids), -1, np.int64)
        places = np.searchsorted(self.uid, uids)
        inside = np.minimum(places, len(self) - 1)
        return np.where((places < len(self)) & (self.uid[inside] == uids), inside, -1)

    def end(self, ends: Ends, more: tuple[Ordinals, Ordinals] | None = None) -> Ordinals:
        """Rows leave before they said: their slots, each once; ``more`` are slots with instants."""
        slots = self.find(ends.uid)
        here = slots >= 0
        slots, at = slots[here], ends.at[here]
        if more is not None:
            slots, at = np.concatenate([slots, more[0]]), np.concatenate([at, more[1]])
        sooner = at < self.expires[slots]
        slots, at = slots[sooner], at[sooner]
        np.minimum.at(self.expires, slots, at)  # the first of several instants counts
        return slots if more is None else np.unique(slots)

    def lives(self, slots: Ordinals) -> Lives:
        """Some rows as they came, with the ends known now."""
        return Lives(self.payload.take(slots), self.uid[slots], self.born[slots], self.expires[slots],
                     self.ages_at(slots))

    # -- forgetting

    @property
    def crowded(self) -> bool:
        """Whether it is time to look for rows that are gone: as many came as were there after the last look."""
        return len(self) >= 2 * self._compacted + 1024

    def compact(self, alive: Mask, *, always: bool = False) -> Ordinals | None:
        """Forget rows that are gone, if that is worth it: the slots that stay, or None if nothing changed."""
        kept = np.flatnonzero(alive)
        if len(kept) == len(self) or (2 * len(kept) > len(self) and not always):
            self._compacted = 3 * len(self) // 4  # look again when half as many more have come
            return None
        self.payload.keep(kept)
        self._uid, self._born, self._expires = (Growing(part.values[kept])
                                                for part in (self._uid, self._born, self._expires))
        self._ages = [Growing(part.values[kept]) for part in self._ages]
        self._compacted = len(kept)
        return kept

    # -- saving

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return self.payload.nbytes + 8 * len(self) * (3 + len(self._ages))

    def saved(self, slots: Ordinals | None = None) -> dict[str, pa.Table]:
        """Rows as two tables: their columns, and their lives."""
        slots = np.arange(len(self)) if slots is None else slots
        lives = {"uid": self.uid[slots], "born": self.born[slots], "expires": self.expires[slots]}
        ages = {f"age{i}": part.values[slots] for i, part in enumerate(self._ages)}
        return {"rows": self.payload.take(slots), "lives": pa.table({**lives, **ages})}

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        self.payload = Payload(self.payload.schema)
        self.payload.append(tables["rows"].cast(self.payload.schema).combine_chunks())
        self._uid, self._born, self._expires, *self._ages = map(Growing, int_columns(tables["lives"]))
        self._compacted = len(self)


def renumbered(values: Ordinals, numbers: Ordinals) -> Growing:
    """Something by number, when the i-th number becomes ``numbers[i]``."""
    return Growing(by_number(values, numbers))


def never(count: int) -> Ordinals:
    """Ends of rows that stay."""
    return np.full(count, FOREVER, np.int64)
