"""What arrives in micro-batches: rows of all inputs out of order, and after those of each batch what is promised.

A shard sees a micro-batch as its rows, input by input, then its promises. In that order the items are one timeline, for
which the oracle says what is to come out, and what of it may be out after every batch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from oracle.questions import Oracle
from panewise.core.beginning import ALWAYS
from panewise.dataflow import open_plan
from panewise.engines.spark.host.wire import CONTROL, END_TEXT, POSITION, ROW_BOUND
from panewise.plan.nodes import Named, Node, Table
from panewise.planner.facts.result_forms import VALID_FROM, Form, form_of, time_kind
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.progress.watermarks import FINISHED, NO_BOUND
from relations.running import bag
from spark.cases import aged
from sql.rows import arrivals

ROWS = 24
"""Of every input, at most."""
BATCHES = 3
REACH = 3
"""So many rows of its own input may overtake a row."""
BROKEN = 1
"""The batch whose promises the next row of every stream breaks."""


class MicroBatches:
    """The inputs of a plan: tables at once, streams a few rows at a time."""

    def __init__(self, plan: Node, seed: int = 0) -> None:
        self.plan = plan
        self.nodes = {node.name: node for node in plan.walk() if isinstance(node, Named)}
        query = open_plan(plan)
        self._names = [name for name in query.streams if not isinstance(self.nodes[name], Table)]
        self._ordering = query.ordering_columns()
        self._random = Random(seed)
        made = arrivals(plan, ROWS)
        self.tables: Timeline = [a for a in made if a.stream not in self._names]
        self.batches: list[Timeline] = []
        self.bounds: list[dict[str, int]] = []
        """What every stream has promised after each batch."""
        self._fill(self._overtaking([a for a in made if a.stream in self._names]))

    def _overtaking(self, made: Timeline) -> Timeline:
        """Rows in another order, each near the place where its time would have it."""
        reach = REACH * len(self._names)
        places = {place: place + self._random.uniform(0, reach) for place in range(len(made))}
        return [made[place] for place in sorted(places, key=lambda place: places[place])]

    def _fill(self, rows: Timeline) -> None:
        size = -(-len(rows) // BATCHES)
        for number in range(BATCHES):
            here, ahead = rows[number * size : (number + 1) * size], rows[(number + 1) * size :]
            batch = [arrival for name in self._names for arrival in here if arrival.stream == name]
            bounds = {name: self._bound(name, ahead, broken=number == BROKEN) for name in self._names}
            batch += [Arrival(name, Punctuation.below(self._ordering[name] or "", bound))
                      for name, bound in bounds.items() if NO_BOUND < bound < FINISHED]
            self.batches.append(batch)
            self.bounds.append(bounds)

    def _bound(self, name: str, ahead: Timeline, *, broken: bool) -> int:
        """No row still to come is below it, or one is; nothing can be said of a stream that is ordered by arrival."""
        column, schema = self._ordering[name], self.nodes[name].schema
        if not ahead:
            return FINISHED
        values = [arrival.item[column] for arrival in ahead if arrival.stream == name] if column else []  # type: ignore[index]
        ordinals = sorted({schema.ordinal_kind(column).parse(value) for value in values})
        return NO_BOUND if not ordinals else ordinals[1] if broken and len(ordinals) > 1 else ordinals[0]

    # -- what the definition says

    @property
    def timeline(self) -> Timeline:
        return [*self.tables, *(arrival for batch in self.batches for arrival in batch)]

    @property
    def at_once(self) -> Timeline:
        """The rows alone, one input after the other."""
        return [arrival for name in self.nodes for arrival in self.timeline
                if arrival.stream == name and arrival.is_row]

    def complete(self) -> list[Counter[str]]:
        """All that there is to tell after each batch: what happened at instants that nothing can reach any more."""
        oracle, form = Oracle(self.plan, self.timeline), form_of(self.plan)
        if form is Form.STREAM:
            ends, place = [], len(self.tables)
            for batch in self.batches:
                place += len(batch)
                ends.append(place - 1)
            return [bag(oracle.results_after(end)) for end in ends[:-1]] + [bag(oracle.results())]
        kind, rows = time_kind(self.plan), oracle.results()
        dated = [(ALWAYS if row[VALID_FROM] is None else kind.parse(row[VALID_FROM]), row) for row in rows]
        return [bag(row for at, row in dated if at < min(bounds.values())) for bounds in self.bounds]

    # -- files

    def table(self, name: str) -> pa.Table:
        """All rows of an input, with their places where all is there at once."""
        rows = [(place, arrival) for place, arrival in enumerate(self.at_once) if arrival.stream == name]
        return self._arrow(name, rows).drop_columns([CONTROL])

    def write(self, name: str, folder: Path) -> Path:
        """A stream as files, one for each micro-batch: rows with the bound in force, and the promise they end with.

        As sources stamp them: a promise has the bound that holds from then on.
        """
        home, place = folder / name, len(self.tables)
        home.mkdir()
        for number, batch in enumerate(self.batches):
            numbered = [(place + i, arrival) for i, arrival in enumerate(batch) if arrival.stream == name]
            place += len(batch)
            if number == BATCHES - 1:
                numbered.append((place, Arrival(name, Punctuation())))
            before, after = self.bounds[number - 1][name] if number else NO_BOUND, self.bounds[number][name]
            table = self._arrow(name, numbered)
            stamps = [before if arrival.is_row else after for _, arrival in numbered]
            stamped = pa.array([None if stamp == NO_BOUND else stamp for stamp in stamps], pa.int64())
            table = table.append_column(ROW_BOUND, stamped)
            pq.write_table(table, home / f"{number}.parquet")
            aged(home / f"{number}.parquet", number)
        return home

    def _arrow(self, name: str, items: list[tuple[int, Arrival]]) -> pa.Table:
        schema = pa.schema([*self.nodes[name].schema.columns.items(), (POSITION, pa.int64()), (CONTROL, pa.string())])
        return pa.Table.from_pylist([self._row(name, place, arrival.item) for place, arrival in items], schema)

    def _row(self, name: str, place: int, item: Mapping[str, Any] | Punctuation) -> dict[str, Any]:
        if not isinstance(item, Punctuation):
            return {**item, POSITION: place}
        column, schema = self._ordering[name], self.nodes[name].schema
        if item.covers_everything or column is None:
            return {CONTROL: END_TEXT}
        return {CONTROL: json.dumps(item.to_json(column, schema.ordinal_kind(column)))}
