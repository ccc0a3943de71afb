"""Which rows a query takes in: the one place where that is decided.

Every query class hands what arrives to an :class:`Admission` before anything else sees it. A row is *bad* when it could
not be read, does not fit the columns, has no value of an attribute that orders a window it would be in, or is further
ahead of the newest row than ``max_jump`` allows. What becomes of bad rows is the policy of the run
(:class:`~panewise.core.bad_rows.BadRowPolicy`); whatever it is, they are counted. A row that WHERE leaves out is in no
window, so its missing time harms nobody: it is left out in silence, as on Spark.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.bad_rows import BadRow, BadRowAction, BadRowPolicy, BadRows, bad_row_table
from panewise.core.errors import PlanError
from panewise.core.ordinals import Ordinals
from panewise.core.time import AmountGiven
from panewise.plan.nodes import Node
from panewise.progress.late import LATE_KEEP, checked_keep
from panewise.progress.punctuation import Punctuation
from panewise.queries.inputs import RowsIn, StreamInput
from panewise.queries.row_fates import RowFates
from panewise.queries.times_of_rows import TimeRule, no_time, row_text
from panewise.storage.side_file import SideFile

BAD_KEEP = 10_000
"""How many bad rows are kept in memory, the newest of them."""


@dataclass(frozen=True)
class InputRules:
    """What a run says about its input rows."""

    bad_rows: BadRowPolicy = field(default_factory=BadRowPolicy)
    max_jump: AmountGiven | None = None
    """How far ahead of the newest row of its stream a row may be; None: as far as it likes."""
    late_keep: int = LATE_KEEP
    """So many late rows are kept, the newest; all are counted."""

    @classmethod
    def parse(cls, bad_rows: str | BadRowPolicy = "stop", max_jump: AmountGiven | None = None,
              late_keep: int = LATE_KEEP) -> InputRules:
        """From the options of an entry point."""
        return cls(BadRowPolicy.parse(bad_rows), max_jump, checked_keep(late_keep))


@dataclass(frozen=True)
class Admitted:
    """What an arrival comes to."""

    stream: str
    table: pa.Table
    """The rows that are taken in."""
    seen: int
    """How many rows arrived."""
    places: Ordinals | None = None
    """Which of them are taken in; None: all."""
    bad: tuple[BadRow, ...] = ()
    newest: Mapping[tuple[str, str], int] = field(default_factory=dict)


class Admission:
    """The rows of one query at its border; it asks the streams' columns and the plan's conditions, nobody else."""

    def __init__(self, plan: Node, sources: Iterable[StreamInput], rules: InputRules | None = None) -> None:
        self.rules = rules or InputRules()
        self.sources: dict[str, list[StreamInput]] = {}
        for source in sources:
            self.sources.setdefault(source.name, []).append(source)
        self.counts = dict.fromkeys(self.sources, 0)
        self._fates = RowFates(plan)
        self._closed: set[str] = set()
        self._newest: dict[tuple[str, str], int] = {}
        self._times = {(s.name, s.attribute): TimeRule.of(s.name, s.attribute, s.schema, self.rules.max_jump)
                       for s in self._all() if s.attribute is not None}
        self._kept: deque[tuple[str, BadRow]] = deque(maxlen=BAD_KEEP)
        self._aside = None if self.rules.bad_rows.path is None else AsideFile(self.rules.bad_rows.path)

    def _all(self) -> Iterable[StreamInput]:
        return (source for sources in self.sources.values() for source in sources)

    # -- rows

    def admit(self, stream: str, item: RowsIn | BadRows) -> Admitted:
        """The rows of an arrival that can be used; under the policy ``stop`` a bad one is an error.

        Nothing is counted yet: :meth:`note` does that when the query has taken them in.
        """
        sources = self.sources[stream]
        first = sources[0]
        if stream in self._closed:
            raise PlanError(f"stream {stream!r}: rows after finish(); what has ended takes no more: open a new query")
        if isinstance(item, BadRows):
            self.rules.bad_rows.refuse(item.rows, stream)
            return Admitted(stream, first.no_rows(), len(item), bad=item.rows)
        checked = first.checked(item)
        table, bad, places = checked.table, dict(checked.bad), checked.places
        seen = table.num_rows + len(bad)
        newest: dict[tuple[str, str], int] = {}
        for source in sources:
            if source.attribute is None or not table.num_rows:
                continue
            keep, worse = self._by_time(source, table, places, newest)
            if keep is not None:
                bad.update(worse)
                table = table.filter(pa.array(keep)).combine_chunks()
                places = np.flatnonzero(keep) if places is None else places[keep]
        found = tuple(bad[place] for place in sorted(bad))
        self.rules.bad_rows.refuse(found, stream)
        return Admitted(stream, table, seen, places, found, newest)

    def _by_time(self, source: StreamInput, table: pa.Table, places: Ordinals | None,
                 newest: dict[tuple[str, str], int]) -> tuple[npt.NDArray[np.bool_] | None, dict[int, BadRow]]:
        """Which rows have a time that can order them, None: all; and what is wrong with the others."""
        name = source.attribute or ""
        column, rule = table.column(name), self._times[source.name, name]
        bad: dict[int, BadRow] = {}
        if column.null_count:
            missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
            reaches = self._fates.reach_a_window(source.name, table.take(pa.array(missing)))
            for at in missing[reaches].tolist():
                bad[at] = self._bad(source, table, places, at, no_time(name))
        if rule.jump is None and self.rules.bad_rows.stops:  # what else is wrong is found when it is computed with
            keep = column.is_valid().to_numpy(zero_copy_only=False).astype(np.bool_) if column.null_count else None
            return keep, _placed(bad, places)
        judged = rule.judged(column, self._newest.get((source.name, name)))
        for at, reason in judged.wrong.items():
            bad[at] = self._bad(source, table, places, at, reason)
        if judged.newest is not None:
            newest[source.name, name] = judged.newest
        return (None if judged.sound.all() else judged.sound), _placed(bad, places)

    def _bad(self, source: StreamInput, table: pa.Table, places: Ordinals | None, at: int, reason: str) -> BadRow:
        number = source.rows + 1 + (at if places is None else int(places[at]))
        return BadRow(f"stream {source.name!r}, row {number}", reason, source.attribute, row_text(table, at))

    def note(self, admitted: Admitted) -> None:
        """The query has taken these rows in: bad ones are counted and go where the policy says."""
        self._newest.update(admitted.newest)
        if not admitted.bad:
            return
        self.counts[admitted.stream] += len(admitted.bad)
        if self.rules.bad_rows.action is BadRowAction.ASIDE:
            if self._aside is not None:
                self._aside.add((admitted.stream, bad) for bad in admitted.bad)
            else:
                self._kept.extend((admitted.stream, replace(bad, row=bad.shown)) for bad in admitted.bad)

    def close(self, streams: Iterable[str]) -> None:
        """These streams have ended: rows that come after are a mistake."""
        self._closed.update(streams)

    # -- punctuation

    def promise(self, stream: str, punctuation: Punctuation) -> Punctuation:
        """A promise in the terms of the stream: times as ordinals, no column that it does not have."""
        sources = self.sources[stream]
        return punctuation.arriving(sources[0].schema, stream, {s.attribute for s in sources if s.attribute})

    # -- looking and saving

    @property
    def count(self) -> int:
        """How many rows were bad."""
        return sum(self.counts.values())

    @property
    def rows(self) -> pa.Table:
        """The bad rows that were put aside: the newest of them, with their places and what is wrong."""
        return bad_row_table(self._kept)

    def snapshot(self) -> dict[str, Any]:
        """What a restarted run has to know, as JSON can hold it."""
        return {"counts": dict(self.counts), "newest": [[*key, value] for key, value in self._newest.items()],
                "kept": [[s, b.place, b.reason, b.column, b.shown] for s, b in self._kept],
                "aside": None if self._aside is None else self._aside.settle()}

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Become what ``snapshot`` saved; what was put aside since then comes again."""
        if state is None:  # of a version without
            return
        self.counts.update(state["counts"])
        self._newest = {(stream, column): value for stream, column, value in state["newest"]}
        self._kept = deque(((s, BadRow(place, reason, column, row)) for s, place, reason, column, row in state["kept"]),
                           maxlen=BAD_KEEP)
        if self._aside is not None:
            self._aside.cut(state["aside"] or 0)


class ShowsBadRows:
    """What every running query tells of its bad rows."""

    _admission: Admission

    @property
    def bad_rows(self) -> pa.Table:
        """The bad rows that were put aside in memory, with their places and what is wrong with each."""
        return self._admission.rows

    @property
    def bad_count(self) -> int:
        """How many rows were bad."""
        return self._admission.count


class AsideFile(SideFile):
    """Bad rows as NDJSON."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "bad rows")

    def add(self, rows: Iterable[tuple[str, BadRow]]) -> None:
        """Some more, each with its stream."""
        text = "".join(json.dumps({"stream": s, "place": b.place, "column": b.column, "reason": b.reason, "row": b.row},
                                  ensure_ascii=False) + "\n" for s, b in rows)
        self.write(text.encode("utf-8", "backslashreplace"))


def untimely(stream: str, table: pa.Table, rules: Sequence[TimeRule], fates: RowFates, before: int,
             newest: dict[str, int | None]) -> list[BadRow]:
    """The rows of a table whose times windows cannot use, as :class:`Admission` finds them, for runs on Spark.

    ``newest`` are the newest times of the rows before, by column; those of these rows are put in.
    """
    bad: dict[int, BadRow] = {}
    places = np.arange(table.num_rows)
    for rule in rules:
        column = table.column(rule.column).take(pa.array(places))
        judged = rule.judged(column, newest.get(rule.column))
        newest[rule.column] = judged.newest
        missing = places[column.is_null().to_numpy(zero_copy_only=False).astype(np.bool_)]
        reaches = fates.reach_a_window(stream, table.take(pa.array(missing))) if len(missing) else missing
        wrong = dict.fromkeys(missing[reaches].tolist() if len(missing) else [], no_time(rule.column))
        wrong |= {int(places[at]): reason for at, reason in judged.wrong.items()}
        for at, reason in wrong.items():
            bad[at] = BadRow(f"stream {stream!r}, row {before + at + 1}", reason, rule.column, row_text(table, at))
        places = places[judged.sound]
    return [bad[at] for at in sorted(bad)]


def _placed(bad: dict[int, BadRow], places: Ordinals | None) -> dict[int, BadRow]:
    """By their places among the rows that arrived."""
    return bad if places is None else {int(places[at]): row for at, row in bad.items()}
