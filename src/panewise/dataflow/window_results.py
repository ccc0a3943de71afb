"""What leaves a window aggregate: results in the columns of the query, with their instants, and promises about them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals, from_ordinals
from panewise.core.schema import ROW_NUM_NAMES
from panewise.dataflow.operators.bucket import WID
from panewise.kernels.contract.kernel import WINDOW_END
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.plan.nodes import INSTANT, WID_COLUMN, WINDOW_TIMES, WindowAggregate
from panewise.planner.facts.requests import hidden_keys
from panewise.progress.patterns import Below, Pattern
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.windows.extents import extents
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import TumblingWindow

ATTRIBUTE = "<window>"
"""What the kernel calls the windowing attribute: a key may have the attribute's own name."""

START, END, _ = WINDOW_TIMES


class WindowResults:
    """The border between a kernel, which knows window ids, and a plan, which knows columns."""

    def __init__(self, node: WindowAggregate, schema: pa.Schema) -> None:
        self.node = node
        self.by_position = node.window.attribute in ROW_NUM_NAMES
        self.hidden = hidden_keys(node)
        self._without_range = node.window_column == WID_COLUMN
        self._ends_differ = WINDOW_END in schema.names
        self.ahead = self._known_times()
        """How far ahead of a bound on the input each time of results to come is."""
        self.schema = self.present(schema.empty_table()).schema

    def present(self, results: pa.Table) -> pa.Table:
        """Kernel results with the columns of the query: keys, window or wid, aggregates."""
        node = self.node
        columns = [results.column(key.name) for key in node.keys]
        if self._without_range:
            columns.append(results.column(WINDOW_ID))
        else:
            start, end = (from_ordinals(side, node.window.ordinal) for side in self._sides(results))
            columns.append(pa.StructArray.from_arrays([start, end], names=["start", "end"]))
        columns += [results.column(call.name) for call in node.aggregates]
        columns += [from_ordinals(self._time(name, results), node.window.ordinal) for name in node.times]
        return pa.Table.from_arrays(columns, names=list(node.columns))

    def _sides(self, results: pa.Table) -> tuple[Ordinals, Ordinals]:
        """Where the window of each result begins and ends."""
        wids: Ordinals = results.column(WINDOW_ID).to_numpy()
        return (wids, results.column(WINDOW_END).to_numpy()) if self._ends_differ else \
            extents(self.node.window.spec, wids)

    def _time(self, name: str, results: pa.Table) -> Ordinals:
        """What a window above goes by."""
        return self.instants(results) if name == INSTANT else np.asarray(self._sides(results)[name != START])

    def instants(self, results: pa.Table) -> Ordinals:
        """The last instant of each result's window."""
        window = self.node.window
        if self.by_position:  # read as a stream, which needs no instants
            return np.zeros(results.num_rows, np.int64)
        if self._ends_differ or window.has_time_range:
            return np.asarray(self._sides(results)[1]) - 1
        distinct, inverse = np.unique(results.column(WINDOW_ID).to_numpy(), return_inverse=True)
        ends = [window.spec.extent(int(wid)).end for wid in distinct]
        return np.array([-1 if end is None else end - 1 for end in ends], np.int64)[inverse]

    # -- promises

    def translate(self, promise: Punctuation) -> Punctuation | None:
        """A promise about the input in terms of window and keys; None when it is about less than whole groups."""
        linear = promise.linear_bound(self.node.window.attribute)
        if linear is not None:
            return Punctuation.below(ATTRIBUTE, linear)
        kept = {key.scalar.column_name: key.name for key in reversed(self.node.keys)} | self.hidden
        kept |= {self.node.window.attribute: ATTRIBUTE, WID: WID}
        patterns: dict[str, Pattern] = {}
        for name, pattern in promise.patterns:
            if name not in kept:
                return None
            patterns[kept[name]] = pattern
        return Punctuation.of(patterns)

    def promised(self, translated: Punctuation) -> Iterator[Punctuation]:
        """What closed windows say of results to come: in the columns of results, the last instant for the window."""
        patterns = dict(translated.patterns)
        by_id, bound = patterns.pop(WID, None), patterns.pop(ATTRIBUTE, None)
        if not patterns.keys() <= {key.name for key in self.node.keys}:
            return
        times: dict[str, int] = {}
        if isinstance(by_id, Below):
            times = self.opening(by_id.bound)
        elif isinstance(bound, Below) and not self.by_position:
            times = {name: bound.bound + ahead for name, ahead in self.ahead.items()}
        elif bound is None:
            yield translated
        yield from (Punctuation.of({**patterns, name: Below(time)}) for name, time in times.items() if time != NO_BOUND)

    def opening(self, wid: int) -> dict[str, int]:
        """The least times that results of a window and of those behind it have; all are over where there is none."""
        if wid in {NO_BOUND, FINISHED}:
            return dict.fromkeys(self.ahead, wid)
        spec = self.node.window.spec.plain
        end = spec.extent(wid).end
        if end is None or spec.closed_below(end) <= wid:  # it is complete at the end, or there is no such window
            return dict.fromkeys(self.ahead, NO_BOUND if end is None else FINISHED)
        known = {INSTANT: end - 1, END: end, START: end - getattr(spec, "range", 0)}
        return {name: known[name] for name in self.ahead}

    def _known_times(self) -> dict[str, int]:
        """A window that is open ends behind a bound (a session may end at it), and begins its RANGE before, where all
        are of one length."""
        spec = self.node.window.spec.plain
        session = isinstance(spec, SessionWindow)
        asked = {name: ahead - session for name, ahead in ((END, 1), (INSTANT, 0))
                 if name == INSTANT or name in self.node.times}
        if START in self.node.times and isinstance(spec, SlidingWindow | TumblingWindow):
            asked[START] = 1 - spec.range
        return asked
