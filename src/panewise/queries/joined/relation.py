"""A changing relation over joins of streams: pairs are rows of a stream, dated by the later of their two times.

The join puts pairs out as they are found; a relation tells what holds at an instant when the instant is complete. Both
meet in one bound: no future pair is born below the bound on the later time (``JoinProgress.latest``; erratum E20).
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind, from_ordinals, to_ordinals
from panewise.kernels.state_file import decode_state, encode_state
from panewise.plan.nodes import Node, Project, Source
from panewise.planner.capabilities import check
from panewise.planner.stream_joins import BORN, over_pairs
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.queries.events import WindowEvent
from panewise.queries.foreign import refuse_foreign
from panewise.queries.inputs import RowsIn, StreamInput
from panewise.queries.joined.query import JoinedQuery
from panewise.queries.relations import RelationQuery
from panewise.queries.status import WINDOWS_LISTED, QueryStatus

KIND = "embedded-relation-of-pairs"
VERSION = 1


class PairRelationQuery:
    """One plan that makes a relation of the pairs of stream joins: an aggregate by both times, distinct pairs."""

    def __init__(self, plan: Node, *, late: str | LatePolicy = "drop", progress: str | Mapping[str, str] = "source",
                 emit: str = "final", style: str = "upa", current: bool = False) -> None:
        check(plan, "embedded")
        self.plan, self.late = plan, LatePolicy.parse(late)
        self._joins: dict[str, JoinedQuery] = {}

        def columns(name: str, join: Project) -> dict[str, pa.DataType]:
            streams = {node.name for node in join.walk() if isinstance(node, Source)}
            own = progress if isinstance(progress, str) else {s: p for s, p in progress.items() if s in streams}
            self._joins[name] = query = JoinedQuery(join, late=self.late, progress=own)
            return {field.name: field.type for field in query.nothing().schema}

        above, self._nodes = over_pairs(plan, columns)
        self._relation = RelationQuery(above, emit=emit, style=style, current=current)

    # -- in and out

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams the query reads."""
        return tuple(dict.fromkeys(name for join in self._joins.values() for name in join.streams))

    @property
    def sources(self) -> list[StreamInput]:
        """The streams at the border."""
        return [source for join in self._joins.values() for source in join.sources]

    def current(self) -> pa.Table:
        """The relation at the last complete instant, if the query was opened with ``current``."""
        return self._relation.current()

    def push(self, stream: str, item: RowsIn | Punctuation) -> pa.Table:
        """Take in rows or a punctuation of one stream; what happened at the instants it completes."""
        readers = [name for name, join in self._joins.items() if stream in join.streams]
        if not readers:
            raise PlanError(f"the query does not read a stream {stream!r}; it reads {', '.join(self.streams)}")
        return self._told([self._pass_on(name, self._joins[name].push(stream, item)) for name in readers])

    def finish(self, stream: str | None = None) -> pa.Table:
        """One input has ended, or all have."""
        return self._told([self.push(name, END) for name in (self.streams if stream is None else (stream,))])

    def tick(self, now: int) -> pa.Table:
        """The wall clock shows ``now`` (microseconds since the epoch)."""
        return self._told([self._pass_on(name, join.tick(now)) for name, join in self._joins.items()])

    def _pass_on(self, name: str, pairs: pa.Table) -> pa.Table:
        """Pairs with their birth to the relation, then the bound on births to come."""
        node, parts = self._nodes[name], []
        if pairs.num_rows:
            times = [to_ordinals(pairs.column(time), time) for time in (node.left_time, node.right_time)]
            data_type = pairs.schema.field(node.left_time).type
            kind = OrdinalKind.of(data_type, node.left_time)
            born = from_ordinals(np.maximum(*times), kind).cast(data_type)
            parts.append(self._relation.push(name, pairs.append_column(BORN, born)))
        bound = self._joins[name].latest
        if bound != NO_BOUND:
            promise = END if bound == FINISHED else Punctuation.below(BORN, bound)
            parts.append(self._relation.push(name, promise))
        return self._told(parts)

    def _told(self, parts: list[pa.Table]) -> pa.Table:
        parts = [part for part in parts if part.num_rows]
        return pa.concat_tables(parts) if parts else self.nothing()

    def nothing(self) -> pa.Table:
        """No results, with their columns."""
        return self._relation.nothing()

    def peek(self) -> pa.Table:
        """Changes of instants that are not complete are not told."""
        return self.nothing()

    # -- other outputs

    def on_late(self, listener: Callable[[pa.Table], object]) -> Callable[[pa.Table], object]:
        """Call a function with late rows as they come, under every policy."""
        for join in self._joins.values():
            join.on_late(listener)
        return listener

    def on_window(self, listener: Callable[[WindowEvent], object]) -> Callable[[WindowEvent], object]:
        """A relation has no windows that open and close."""
        return self._relation.on_window(listener)

    @property
    def events(self) -> deque[WindowEvent]:
        """None."""
        return deque()

    @property
    def late_rows(self) -> pa.Table:
        """The late rows as they came; kept under every late policy but ``drop`` (which only counts them)."""
        return _together([join.late_rows for join in self._joins.values()])

    @property
    def late_report(self) -> pa.Table:
        """The late rows with a column ``late`` that says why each is late."""
        return _together([join.late_report for join in self._joins.values()])

    @property
    def late_count(self) -> int:
        """How many rows were late."""
        return sum(join.late_count for join in self._joins.values())

    def take_late_rows(self) -> pa.Table:
        """The late rows since the last call; they are not kept any longer."""
        return _together([join.take_late_rows() for join in self._joins.values()])

    @property
    def clock_step(self) -> int | None:
        """How often ``tick`` wants to be called, in microseconds; None when no policy looks at the wall clock."""
        steps = [join.clock_step for join in self._joins.values() if join.clock_step is not None]
        return min(steps) if steps else None

    def status(self, windows: int = WINDOWS_LISTED) -> QueryStatus:
        """Rows, late rows, watermarks, and how much joins and operators keep."""
        found = self._relation.status(windows)
        below = [join.status(windows=0) for join in self._joins.values()]
        found["rows"] = sum(status["rows"] for status in below)
        found["late"] = self.late_count
        found["streams"] = {name: stream for status in below for name, stream in status["streams"].items()}
        for name in ("buffered", "state_bytes"):
            found[name] += sum(status[name] for status in below)
        found["joins"] = [counters for status in below for counters in status["joins"]]
        return found

    # -- saving

    @property
    def fingerprint(self) -> str:
        """What a checkpoint must have been made with to be used here."""
        return hashlib.sha256(f"{self.plan!r} {self._relation.fingerprint}".encode()).hexdigest()[:16]

    def snapshot(self, extra: Mapping[str, Any] | None = None) -> bytes:
        """Everything needed to go on exactly here; ``extra`` is any JSON data to find again beside it."""
        states = {"relation": self._relation.snapshot(), **{n: join.snapshot() for n, join in self._joins.items()}}
        tables = {name: pa.table({"state": pa.array([state], pa.large_binary())}) for name, state in states.items()}
        header = {"query": self.fingerprint, "late": self.late.value, "extra": dict(extra or {})}
        return encode_state(KIND, VERSION, header, tables)

    def restore(self, data: bytes) -> dict[str, Any]:
        """Become what ``snapshot`` saved, and return its ``extra``; a state of another query is refused."""
        header, tables = decode_state(data, KIND, VERSION)
        refuse_foreign(header, self.fingerprint, self.late)
        self._relation.restore(tables["relation"].column("state")[0].as_py())
        for name, join in self._joins.items():
            join.restore(tables[name].column("state")[0].as_py())
        return dict(header["extra"])


def _together(tables: list[pa.Table]) -> pa.Table:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
