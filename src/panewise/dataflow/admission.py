"""Which rows a query takes in: the one place where that is decided.

What arrives goes through an :class:`Admission` before anything else sees it. A row is *bad* when it could
not be read, does not fit the columns, has no value of an attribute that orders a window it would be in, or is further
ahead of the newest row than ``max_jump`` allows. What becomes of bad rows is the policy of the run
(:class:`~panewise.core.bad_rows.BadRowPolicy`); whatever it is, they are counted. A row that WHERE leaves out is in no
window, so its missing time does no harm: it is left out in silence, as on Spark.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.bad_rows import BadRow, BadRowAction, BadRows, bad_row_table
from panewise.core.errors import SourceError
from panewise.core.ordinals import Ordinals
from panewise.core.schema import SourceSchema
from panewise.dataflow.inputs import RowsIn, StreamInput
from panewise.dataflow.row_fates import RowFates
from panewise.dataflow.signs import column_of_signs, tells_signs
from panewise.dataflow.times_of_rows import TimeRule, no_time, row_text
from panewise.plan.nodes import Node
from panewise.planner.facts.result_forms import CHANGE
from panewise.planner.options import DEFAULTS, RunOptions
from panewise.progress.punctuation import Punctuation
from panewise.storage.side_file import AsideFile

BAD_KEEP = 10_000
"""How many bad rows are kept in memory, the newest of them."""


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
    signs: Ordinals | None = None
    """Of a table, which of them come and which go; None: all come."""


class Admission:
    """The rows of one query at its border; it looks at the streams' columns and the plan's conditions only."""

    def __init__(self, plan: Node, sources: Iterable[StreamInput], options: RunOptions | None = None) -> None:
        self.rules = options or DEFAULTS
        self.sources: dict[str, list[StreamInput]] = {}
        for source in sources:
            self.sources.setdefault(source.name, []).append(source)
        self.counts = dict.fromkeys(self.sources, 0)
        self._fates = RowFates(plan)
        self._newest: dict[tuple[str, str], int] = {}
        self._times = {(s.name, s.attribute): TimeRule.of(s.name, s.attribute, s.schema, self.rules.max_jump)
                       for s in self._all() if s.attribute is not None}
        self._trusts = self.rules.max_jump is None and self.rules.bad_rows.stops
        """Whether nothing but a missing time is looked for."""
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
        if isinstance(item, BadRows):
            self.rules.bad_rows.refuse(item.rows, stream)
            return Admitted(stream, first.no_rows(), len(item), bad=item.rows)
        checked = first.checked(item)
        table, bad, places = checked.table, dict(checked.bad), checked.places
        seen = table.num_rows + len(bad)
        newest: dict[tuple[str, str], int] = {}
        for source in sources:
            if source.attribute is None or not table.num_rows or (
                    self._trusts and not table.column(source.attribute).null_count):
                continue  # what else is wrong with times is found when they are computed with
            keep, worse = self._by_time(source, table, places, newest)
            if keep is not None:
                bad.update(worse)
                table = table.filter(pa.array(keep)).combine_chunks()
                places = np.flatnonzero(keep) if places is None else places[keep]
        found = tuple(map(bad.__getitem__, sorted(bad)))
        if found and self.rules.bad_rows.stops:
            raise self.rules.bad_rows.error(found[0].located(first.place), stream)
        signs = checked.signs if checked.signs is None or places is None else checked.signs[places]
        return Admitted(stream, table, seen, places, found, newest, signs)

    def _by_time(self, source: StreamInput, table: pa.Table, places: Ordinals | None,
                 newest: dict[tuple[str, str], int]) -> tuple[npt.NDArray[np.bool_] | None, dict[int, BadRow]]:
        """Which rows have a time that can order them, None: all; and by place what is wrong with the others."""
        name = source.attribute or ""
        rule = self._times[source.name, name]
        sound, wrong, now = wrong_times(source.name, table, rule, self._fates, self._newest.get((source.name, name)))
        if now is not None:
            newest[source.name, name] = now
        found = {at if places is None else int(places[at]): (at, reason) for at, reason in wrong.items()}
        return (None if sound.all() else sound), {
            place: bad_row(source.name, source.rows + place, name, reason, row_text(table, at))
            for place, (at, reason) in found.items()}

    def note(self, admitted: Admitted) -> None:
        """The query has taken these rows in: all are counted, and bad ones go where the policy says."""
        for source in self.sources[admitted.stream]:
            source.rows += admitted.seen
        self._newest.update(admitted.newest)
        if not admitted.bad:
            return
        self.counts[admitted.stream] += len(admitted.bad)
        if self.rules.bad_rows.action is BadRowAction.ASIDE:
            found = self._located(admitted)
            if self._aside is not None:
                self._aside.add((admitted.stream, bad) for bad in found)
            else:
                self._kept.extend((admitted.stream, replace(bad, row=bad.shown)) for bad in found)

    def _located(self, admitted: Admitted) -> list[BadRow]:
        """Bad rows with their places in files, if these can still be found."""
        source = self.sources[admitted.stream][0]
        if not source.places_aside:
            return list(admitted.bad)
        try:
            return [bad.located(source.place) for bad in admitted.bad]
        except SourceError:  # the files are others by now
            return list(admitted.bad)

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

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved; what was put aside since then comes again."""
        self.counts.update(state["counts"])
        self._newest = {(stream, column): value for stream, column, value in state["newest"]}
        self._kept = deque(((s, BadRow(place, reason, column, row)) for s, place, reason, column, row in state["kept"]),
                           maxlen=BAD_KEEP)
        if self._aside is not None:
            self._aside.cut(state["aside"] or 0)


def bad_row(stream: str, before: int, column: str | None, reason: str, shown: str) -> BadRow:
    """A row of a stream that stands behind so many others."""
    return BadRow.of_stream(stream, before + 1, reason, column, shown)


def wrong_times(stream: str, table: pa.Table, rule: TimeRule, fates: RowFates,
                newest: int | None) -> tuple[npt.NDArray[np.bool_], dict[int, str], int | None]:
    """Which rows have a time that can order them, by place what is wrong with the others, and the newest time now.

    Rows without a time that no window would see are left out, and nothing is wrong with them.
    """
    column = table.column(rule.column)
    judged = rule.judged(column, newest)
    wrong = dict(judged.wrong)
    if column.null_count:
        missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
        reaches = fates.reach_a_window(stream, table.take(pa.array(missing)))
        wrong |= dict.fromkeys(missing[reaches].tolist(), no_time(rule.column))
    return judged.sound, wrong, judged.newest


def unusable(stream: str, schema: SourceSchema, table: pa.Table, rules: Sequence[TimeRule], fates: RowFates,
             before: int, newest: dict[str, int | None]) -> list[BadRow]:
    """The rows whose times or signs cannot be used, as :class:`Admission` finds them, for runs on Spark.

    ``newest`` are the newest times of the rows before, by column; those of these rows are put in.
    """
    bad: dict[int, BadRow] = {}
    if tells_signs(schema, table.column_names):
        bad = {at: bad_row(stream, before + at, CHANGE, reason, row_text(table, at))
               for at, reason in column_of_signs(stream, schema, table.column(CHANGE))[1].items()}
    places = np.setdiff1d(np.arange(table.num_rows), list(bad))
    for rule in rules:
        left = table if len(places) == table.num_rows else table.take(pa.array(places))
        sound, wrong, newest[rule.column] = wrong_times(stream, left, rule, fates, newest.get(rule.column))
        bad |= {int(places[at]): bad_row(stream, before + int(places[at]), rule.column, reason, row_text(left, at))
                for at, reason in wrong.items()}
        places = places[sound]
    return [bad[at] for at in sorted(bad)]
