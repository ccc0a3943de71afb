"""The oracle, and what only tests ask of it: the relation at an instant, what had left by an item, what closed when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from panewise.core.beginning import BEGINNING
from panewise.core.errors import PlanError
from panewise.engines.oracle import engine
from panewise.engines.oracle.tuples import sorted_rows
from panewise.plan.nodes import WindowAggregate
from panewise.planner.facts.result_forms import Form, form_of


@dataclass(frozen=True)
class Closing:
    """When one window of one group became final: the place of the item in the timeline that closed it."""

    place: int
    row: dict[str, Any]


class Oracle(engine.Oracle):
    def relation_at(self, tau: int) -> list[dict[str, Any]]:
        """The bag of rows at an instant, after everything that happens at it."""
        return sorted_rows(t.values for t in self._definition.relation(self.plan, tau))

    def instants(self) -> list[int]:
        """Every instant at which the relation can change."""
        return [tau for tau in self._definition.instants(self.plan) if tau > BEGINNING]

    def closings(self) -> list[Closing]:
        """Every window of every group with the place of the item that closed it (the timeline's length: its end)."""
        for node in self.plan.walk():
            if isinstance(node, WindowAggregate):
                d = self._definition
                return sorted((Closing(d.end if t.told is None else t.told, t.values) for t in d.stream(node)),
                              key=lambda closing: closing.place)
        raise PlanError("nothing closes in this plan: it has no windows with ids")

    def results_after(self, place: int) -> list[dict[str, Any]]:
        """What an engine may have put out after the item at this place of the timeline, in the order it would."""
        if form_of(self.plan) is not Form.STREAM:
            raise PlanError("only streams put out rows one after the other; ask a relation for relation_at(instant)")
        told = [(t.order[0] if t.told is None else t.told, t) for t in self._rows()]
        return [dict(t.values) for at, t in sorted(told, key=lambda one: one[0]) if at <= place]
