"""A relation in a dataflow: its operators in the shape of the plan, stepped together from bound to bound.

What happens at an instant is told when the instant is complete: below the bound that all inputs have promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.beginning import ALWAYS
from panewise.core.errors import EvaluationError, PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.dataflow.arrivals import Arrivals
from panewise.dataflow.batch import Batch
from panewise.dataflow.late_output import refuse_late
from panewise.dataflow.lineage import Lineage
from panewise.dataflow.operators.base import Item, Keeping
from panewise.dataflow.promises import Promises
from panewise.dataflow.relations import tree
from panewise.dataflow.relations.compiler import Compiler
from panewise.dataflow.relations.ports import MadePort, Ports, StreamPort
from panewise.dataflow.relations.results import result_form
from panewise.dataflow.relations.steps import Steps
from panewise.dataflow.relations.watched import PlanWatch
from panewise.dataflow.rows_in_words import row_in_words
from panewise.kernels.contract.state_file import Saved
from panewise.plan.dataflow import RelationStep
from panewise.planner.facts.closing import promised
from panewise.planner.facts.result_forms import VALID_FROM, time_kind
from panewise.progress.late import LatePolicy
from panewise.progress.meld import Meld
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND


class Relation(Keeping):
    """One relation over any number of inputs.

    What reads the results inside a larger plan reads the rows themselves, and gets promises about their columns;
    a user sees them in the form of the plan.
    """

    def __init__(self, step: RelationStep, ports: Ports, arrivals: Arrivals, *, watch: PlanWatch | None = None) -> None:
        physical = step.relation
        self.physical, self.watch, self.plan = physical, watch, physical.plan
        self._arrivals, self._late, self._inside = arrivals, step.late, physical.inside
        self.kind: OrdinalKind = time_kind(self.plan)
        compiler = Compiler(ports)
        self.root = compiler.stage(physical.root)
        self._uids = compiler.uids
        self._results = result_form(physical, self.root.schema, self.kind)
        self.schema = self.root.schema if self._inside else self._results.schema
        self.ports = ports.all
        self._meld = Meld([port.key for port in self.ports])
        self._tables = [port for port in self.ports if isinstance(port, StreamPort) and port.is_table]
        self._reads_streams = any(isinstance(port, StreamPort) and not port.is_table for port in self.ports)
        self.reached = NO_BOUND
        """Everything that happened at earlier instants has been told."""
        self._steps, self._told, self._put_out = Steps(), Promises(), 0
        self.tells = self._inside
        """Whether promises about results to come are asked for."""
        for port in self.ports:
            if isinstance(port, StreamPort):
                port.notes_late = self._late is LatePolicy.GENEROUS
            elif port.in_full:
                for source in port.streams:
                    source.notes_first, source.notes_late = True, self._late is LatePolicy.GENEROUS

    # -- rows and promises

    def take(self, port: int, batch: Batch) -> None:
        """Rows wait at their port."""
        entered = self.ports[port]
        if isinstance(entered, MadePort):
            entered.take(batch)
            return
        late = entered.take(batch, self.reached if self.physical.guarded else None)
        if late.any():
            assert batch.values is not None
            refuse_late(self._late, batch, late, entered.guard or "", self.kind, batch.values, self.reached)
            self.missed.append((batch, late))

    def settle(self) -> Iterable[Item]:
        """Rows of streams wait for their instants from now on; what operators put out is put in order first."""
        for port in self.ports:
            if isinstance(port, StreamPort):
                port.settle()
        return ()

    def revoke(self) -> None:
        """What was taken never came."""
        for port in self.ports:
            port.revoke()

    def advance(self, port: int, promise: Punctuation) -> Iterable[Item]:
        """The bound of one input moves; what that completes is told when the arrival is complete."""
        del promise  # the port knows
        self._meld.advance(self.ports[port].key, self.ports[port].bound)
        return ()

    def silence(self, port: int, silent: bool) -> Iterable[Item]:
        """An input that fell silent holds no other back."""
        self._meld.set_idle(self.ports[port].key, silent)
        return ()

    def flush(self, now: int | None = None) -> Iterator[Item]:
        """What happened at the instants that are complete now, and how far that is."""
        del now
        for port in self.ports:
            if isinstance(port, MadePort):
                port.settle(self.reached if self.physical.guarded else NO_BOUND)
                self._meld.advance(port.key, port.bound)
            elif port.by_place and not port.source.finished:
                self._meld.advance(port.key, self._arrivals.place)
        yield from (batch for batch in self._stepped() if batch.table.num_rows)
        if self.tells:
            yield from (promise for promise in self.promises() if self._told.note(promise))

    def _stepped(self) -> Iterator[Batch]:
        if not self.physical.waits and not self._tables:
            yield self._step(FINISHED)
            return
        bound = self._meld.bound if self.physical.waits else min(port.bound for port in self._tables)
        if bound > self.reached or not self.physical.waits:  # rows beside a complete table are never too late
            leaves = [leaf for port in self.ports for leaf in port.leaves]
            for upto in self._steps.upto(bound, leaves, self.reached):
                self.reached = upto
                results = self._step(upto)
                self._steps.learn(results.table.num_rows)
                yield results
            if self.watch is not None:
                self.watch.judge(self.root)

    def _step(self, upto: int) -> Batch:
        """What happened since the last step; late rows that pass through come with the bounds they came behind."""
        with self._failures_dated():
            delta, first = self.root.step(upto), self._put_out + 1
        if not self._inside:
            made = Batch.made(self._results.step(delta, upto), first)
        else:
            lives = delta.lives.by_birth()
            made = Batch.made(lives.table, first, lineage=Lineage(lives.born, np.empty((0, len(lives)), np.int64)))
            if lives.own_times is not None:
                made = made.stamped(np.where(lives.late, lives.born, NO_BOUND))
        self._put_out += made.table.num_rows
        return made

    @contextmanager
    def _failures_dated(self) -> Iterator[None]:
        """An expression that fails on a row says which that is, and when it came in, as times of results read."""
        try:
            yield
        except EvaluationError as error:
            if error.born is None:
                raise
            what = row_in_words(error.over, error.made_of, self._arrivals.origins)
            when = f"came in at {self.kind.text(error.born)}" if error.born > ALWAYS else ""
            place = f"{what}, {when}" if what and when else what or f"a row that {when}"
            raise error.placed(place) from error.__cause__

    # -- what is known

    def promises(self) -> list[Punctuation]:
        """What holds now of results to come."""
        bound = self.reached if self.physical.waits else self._meld.bound
        if bound == NO_BOUND:
            return []
        if bound == FINISHED:
            return [END]
        if self._inside:
            return promised(self.plan, bound)
        if self.physical.form != "StreamForm":
            return [Punctuation.below(VALID_FROM, bound), *promised(self.plan, bound)]
        may_break = not self.physical.waits and self._reads_streams  # rows without a guard may be later than promised
        return [] if may_break else promised(self.plan, bound)

    def current(self) -> pa.Table | None:
        """The relation at the last complete instant; None before the first."""
        if not self.physical.current:
            raise PlanError("the relation as it is now is kept if that is asked for: open the query with current=True")
        return None if self.reached == NO_BOUND and not self._tables else self._results.current()

    def operators(self) -> list[dict[str, Any]]:
        """What every operator of the relation keeps."""
        return [stage.counters() for stage in self.root.walk()]

    def counters(self) -> dict[str, Any]:
        """What is kept for the results alone."""
        return self._results.counters()

    # -- saving

    @property
    def fingerprint(self) -> str:
        """How it runs, as far as its state depends on that."""
        return self.physical.fingerprint

    def saved(self) -> Saved:
        """The state of all operators."""
        operators, tables = tree.snapshot(self.root)
        results, shown = self._results.snapshot()
        header = {"meld": self._meld.snapshot(), "reached": self.reached, "uid": self._uids.next,
                  "operators": operators, "results": results, "put out": self._put_out,
                  "told": self._told.snapshot()}
        return header, {**tables, **{f"results:{name}": table for name, table in shown.items()}}

    def become(self, header: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        self._meld.restore(header["meld"])
        self.reached, self._uids.next, self._put_out = header["reached"], header["uid"], header["put out"]
        tree.restore(self.root, header["operators"], tables)
        shown = {n.removeprefix("results:"): t for n, t in tables.items() if n.startswith("results:")}
        self._results.restore(header["results"], shown)
        self._told.restore(header["told"])
