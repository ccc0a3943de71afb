"""What can be heard from a running query, and asked of it, beside its results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pyarrow as pa

from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.dataflow.admission import Admission
from panewise.dataflow.aggregate import WindowAggregation
from panewise.dataflow.arrivals import Arrivals
from panewise.dataflow.events import WindowEvent
from panewise.dataflow.graph import Dataflow, Entry
from panewise.dataflow.late_output import LateOutput
from panewise.dataflow.one_at_a_time import OneAtATime
from panewise.dataflow.promises import Promises
from panewise.dataflow.relations.region import Relation
from panewise.dataflow.status import WINDOWS_LISTED, QueryStatus, build_status
from panewise.plan.dataflow import PhysicalPlan
from panewise.plan.nodes import INSTANT, Named
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND


class QueryOutputs(OneAtATime):
    """Late rows, bad rows, windows that open and close, what is promised of results, and how much state there is."""

    graph: Dataflow
    """The operators that run; none until the columns are known."""
    physical: PhysicalPlan | None
    """How it runs; None until the columns are known."""
    relation: Relation | None
    """The relation whose changes are the results."""
    windows: WindowAggregation | None
    """The window aggregate whose windows are the results."""
    _admission: Admission | None
    _late: LateOutput
    _named: dict[str, Named]
    _entries: dict[str, list[Entry]]
    _arrivals: Arrivals
    _promises: Promises
    _listeners: list[Callable[[Punctuation], object]]
    _nothing: pa.Table
    _over_nothing: pa.Table
    _kind: OrdinalKind

    # -- rows that do not count

    def on_late(self, listener: Callable[[pa.Table], object]) -> Callable[[pa.Table], object]:
        """Call a function with late rows as they come, under every policy; from then on none is kept.

        The rows have one column more, ``late``: the stream, the row's position in it, the bound that was in force, and
        by how much the row missed it.
        """
        self._late.listeners.append(self._turn.later(listener))
        return listener

    @property
    def late_output(self) -> LateOutput:
        """All of it, by stream."""
        return self._late

    @property
    def late_rows(self) -> pa.Table:
        """The newest late rows as they came; under ``drop``, and where there is a listener, none is kept."""
        return self._late.rows()

    @property
    def late_report(self) -> pa.Table:
        """The late rows with a column ``late`` that says why each is late."""
        return self._late.reports()

    @property
    def late_count(self) -> int:
        """How many rows were late."""
        return self._late.count

    @property
    def late_forgotten(self) -> int:
        """How many late rows were kept and had to make room for newer ones (``late_keep``)."""
        return self._late.forgotten

    def take_late_rows(self) -> pa.Table:
        """The late rows since the last call; they are not kept any longer."""
        taken = self.late_rows
        self._late.forget()
        return taken

    @property
    def bad_rows(self) -> pa.Table:
        """The bad rows that were put aside in memory, with their places and what is wrong with each."""
        return pa.table({}) if self._admission is None else self._admission.rows

    @property
    def bad_count(self) -> int:
        """How many rows were bad."""
        return 0 if self._admission is None else self._admission.count

    # -- windows and promises

    def on_window(self, listener: Callable[[WindowEvent], object]) -> Callable[[WindowEvent], object]:
        """Call a function when a window opens or closes."""
        if self.windows is None:
            raise PlanError(self._no_windows)
        self.windows.watch()
        self.windows.log.listeners.append(self._turn.later(listener))
        return listener

    @property
    def _no_windows(self) -> str:
        if self.relation is None:
            return ("this query has no windows that open and close: its results are pairs of rows; use on_punctuation "
                    "to see its progress")
        return ("the windows of this query are relations, which change at every instant: nothing opens or closes; its "
                "results say what comes and goes")

    @property
    def events(self) -> deque[WindowEvent]:
        """The newest openings and closings of windows, if they are watched."""
        return deque() if self.windows is None else self.windows.events

    def on_punctuation(self, listener: Callable[[Punctuation], object]) -> Callable[[Punctuation], object]:
        """Call a function with what results promise of those to come, after those that keep it.

        Where results are windows, ``(window.time < 60)`` says that all windows that end by 60 are told. Of a relation
        ``(valid_from < 9)`` says that all that happens before 9 is told. Where results show a time of the streams they
        come from, a bound on it (a slab), or on all times of a pair together (a box), says that no result below will
        come or change any more.
        """
        self._listeners.append(self._turn.later(listener))
        for told in (self.windows, self.relation):
            if told is not None:
                told.tells = True
        return listener

    def promises(self) -> list[Punctuation]:
        """What is promised now of results to come, in the names of their columns."""
        if self.relation is not None:
            return self.relation.promises()
        if self.windows is None or self.windows.tells:
            return list(self._promises)
        reached = self.windows.born
        return [] if reached == NO_BOUND else [END if reached == FINISHED else Punctuation.below(INSTANT, reached)]

    def _promised(self, promise: Punctuation) -> None:
        """The outlet heard something about results to come."""
        self._promises.note(promise)
        for listener in self._listeners:
            listener(promise)

    # -- progress and state

    @property
    def watermark(self) -> int:
        """What all inputs together have promised of the windowing attribute; everything at earlier instants is told."""
        if self.relation is not None:
            return self.relation.reached
        if self.physical is not None and all(entry.source.finished for entry in self.graph.entries):
            return FINISHED
        return NO_BOUND if self.windows is None else self.windows.watermark

    def peek(self) -> pa.Table:
        """The results that open windows would have if nothing more came; nothing changes. Pairs never wait."""
        if self.windows is None or self.windows.finished:
            return self._nothing
        return self.graph.shown(self.windows, self.windows.peek())

    def current(self) -> pa.Table:
        """The relation at the last complete instant: the rows that are there, in no particular order."""
        if self.relation is None:
            raise PlanError("this query is no relation: nothing of it is kept")
        found = self.relation.current()
        return self._over_nothing if found is None else found

    def status(self, windows: int = WINDOWS_LISTED) -> QueryStatus:
        """Rows, late rows, watermarks, how much state there is, and the oldest open windows with what closes them.

        Listing windows costs a look at the whole state; ``status(windows=0)`` only counts.
        """
        bad = {} if self._admission is None else self._admission.counts
        streams = {name: (self._entries[name][0].source if self._entries[name] else None, self._late.counts[name],
                          bad.get(name, 0)) for name in self._named}
        found = build_status([node.operator for node in self.graph.nodes], streams, self.windows, self.relation,
                             kind=self._kind, arrived=self._arrivals.rows, late=self.late_count, bad=self.bad_count,
                             watermark=self.watermark, listed=windows)
        found |= {"late_policy": self._late.policy.value, "late_forgotten": self.late_forgotten}
        if self.proposal is not None:
            found["replan"] = self.proposal
        return found

    @property
    def proposal(self) -> str | None:
        """Why another plan would be better by now; None while the one that runs is good, or it is not watched."""
        watch = None if self.relation is None else self.relation.watch
        return None if watch is None or watch.proposed is None else watch.proposed.reason
