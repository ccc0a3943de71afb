"""Results as a user sees them, by the form of the plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.beginning import ALWAYS, BEGINNING
from panewise.core.columns import with_one_zero
from panewise.core.ordinals import OrdinalKind, Ordinals, from_ordinals
from panewise.kernels.relations.edges.changes import Changes, NetChanges, changes_of, net
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Lives
from panewise.kernels.relations.edges.operator import Saved
from panewise.kernels.relations.stores.alive import AliveRows, KeepsAlive
from panewise.kernels.relations.stores.queues import ExpiryQueue, Unqueued
from panewise.plan.physical import RelationPlan
from panewise.planner.facts.result_forms import CHANGE, EXPIRES_AT, VALID_FROM


class ResultForm(ABC):
    """Turns the deltas of the plan's root into rows."""

    def __init__(self, schema: pa.Schema, kind: OrdinalKind) -> None:
        self.rows, self.kind = schema, kind
        self.schema = schema

    @abstractmethod
    def step(self, delta: Delta, upto: int) -> pa.Table:
        """The results of one step."""

    def snapshot(self) -> Saved:
        """What must be known to go on."""
        return {}, {}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        del header, tables

    def counters(self) -> dict[str, int]:
        """What is kept for the results alone."""
        return {}

    def current(self) -> pa.Table:
        """The relation as it is, of forms that keep it."""
        raise NotImplementedError

    def instants(self, at: Ordinals) -> pa.Array:
        """Instants as the plan's time; one that never comes, or was before everything, is null."""
        undated = (at == FOREVER) | (at == ALWAYS)
        if not undated.any():
            return from_ordinals(at.copy(), self.kind)  # who keeps results does not keep what they were cut from
        column = from_ordinals(np.where(undated, 0, at), self.kind)
        return pc.if_else(pa.array(undated), pa.scalar(None, column.type), column)


class StreamForm(ResultForm):
    """Rows and nothing else."""

    def step(self, delta: Delta, upto: int) -> pa.Table:
        """As they come."""
        return delta.lives.table


class EventsForm(ResultForm):
    """Rows dated by their instant."""

    def __init__(self, schema: pa.Schema, kind: OrdinalKind) -> None:
        super().__init__(schema, kind)
        self.schema = schema.append(pa.field(VALID_FROM, kind.arrow))

    def step(self, delta: Delta, upto: int) -> pa.Table:
        """By instant."""
        lives = delta.lives.by_birth()
        return lives.table.append_column(VALID_FROM, self.instants(lives.born))


class LivesForm(ResultForm):
    """Every result once, when it is born, with the instant at which it will leave."""

    def __init__(self, schema: pa.Schema, kind: OrdinalKind) -> None:
        super().__init__(schema, kind)
        self.schema = schema.append(pa.field(VALID_FROM, kind.arrow)).append(pa.field(EXPIRES_AT, kind.arrow))

    def step(self, delta: Delta, upto: int) -> pa.Table:
        """By birth."""
        assert not len(delta.ends), "a plan whose ends are known beforehand sent an end"
        lives = delta.lives
        if (lives.born[1:] < lives.born[:-1]).any():
            lives = lives.take(np.argsort(lives.born, kind="stable"))
        instants = self.instants(lives.born), self.instants(lives.expires)
        return pa.Table.from_arrays([*lives.table.columns, *instants], schema=self.schema)


class CurrentLivesForm(KeepsAlive, LivesForm):
    """The same, and the results that are there are kept, in a store that the pattern of the plan chooses."""

    def __init__(self, schema: pa.Schema, kind: OrdinalKind, queue: ExpiryQueue) -> None:
        super().__init__(schema, kind)
        self._rows = AliveRows(schema, queue)

    def step(self, delta: Delta, upto: int) -> pa.Table:
        """By birth."""
        self._rows.leave(delta, upto)
        self._rows.enter(delta.lives.filter(delta.lives.expires >= upto), upto)
        self._rows.forget()
        return super().step(delta, upto)

    def current(self) -> pa.Table:
        """The results that are there."""
        return self._rows.current()


class EndedLivesForm(KeepsAlive, LivesForm):
    """The same where no row says when it will leave (negative tuples): every result once, when it has left."""

    def __init__(self, schema: pa.Schema, kind: OrdinalKind) -> None:
        super().__init__(schema, kind)
        self._rows = AliveRows(schema, Unqueued())

    def current(self) -> pa.Table:
        """The results that are there."""
        return self._rows.current()

    def step(self, delta: Delta, upto: int) -> pa.Table:
        """Rows that left; at the end of all input also those that stay."""
        left = self._rows.leave(delta, upto)
        gone = self._rows.arena.lives(left.slots)
        brief = delta.lives.expires < upto
        self._rows.enter(delta.lives.filter(~brief), upto)
        told = [Lives(gone.table, gone.uid, gone.born, left.at, gone.age), delta.lives.filter(brief)]
        if upto == FOREVER:
            told.append(self._rows.arena.lives(self._rows.alive()))
        self._rows.forget()
        return super().step(Delta(Lives.concat(told)), upto)


class NamedChangesForm(ResultForm):
    """Every change of the bag of rows, copies that leave first, of plans that say who leaves: nothing is kept."""

    def __init__(self, schema: pa.Schema, kind: OrdinalKind) -> None:
        super().__init__(schema, kind)
        self.schema = schema.append(pa.field(VALID_FROM, kind.arrow)).append(pa.field(CHANGE, pa.int64()))

    def step(self, delta: Delta, upto: int) -> pa.Table:
        """By instant."""
        assert delta.gone is not None, "a plan that was to say who leaves did not"
        return self._told(changes_of(delta.gone, delta.lives, upto))

    def _told(self, changes: Changes) -> pa.Table:
        if (changes.at == BEGINNING).any():  # told together with what was always there
            changes = net(replace(changes, at=np.maximum(changes.at, ALWAYS)))
        dated = with_one_zero(changes.table).append_column(VALID_FROM, self.instants(changes.at))
        return dated.append_column(CHANGE, pa.array(changes.sign))


class ChangesForm(NamedChangesForm):
    """The same of other plans: the rows that are there are kept, because who leaves must be named."""

    def __init__(self, schema: pa.Schema, kind: OrdinalKind, queue: ExpiryQueue, *, kept: bool) -> None:
        super().__init__(schema, kind)
        self._net = NetChanges(schema, queue, lets_go=not kept)

    def step(self, delta: Delta, upto: int) -> pa.Table:
        """By instant."""
        return self._told(self._net.step(delta, upto))

    def current(self) -> pa.Table:
        """The rows that are there."""
        return self._net.current()

    def snapshot(self) -> Saved:
        """The rows that are there."""
        return self._net.snapshot()

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._net.restore(header, tables)

    def counters(self) -> dict[str, int]:
        """The rows that are there."""
        return self._net.counters()


def result_form(plan: RelationPlan, schema: pa.Schema, kind: OrdinalKind) -> ResultForm:
    """Shows the results of a plan as it says."""
    structure = None if plan.result is None else plan.result.structure
    match plan.form:
        case "ChangesForm":
            assert structure is not None
            return ChangesForm(schema, kind, structure.queue(), kept=plan.current)
        case "CurrentLivesForm":
            assert structure is not None
            return CurrentLivesForm(schema, kind, structure.queue())
    return FORMS[plan.form](schema, kind)


FORMS = {form.__name__: form for form in (NamedChangesForm, EndedLivesForm, LivesForm, EventsForm, StreamForm)}
