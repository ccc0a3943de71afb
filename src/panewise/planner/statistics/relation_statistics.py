"""What is known of the inputs of a relational plan: rates, values of columns, how selective its conditions are.

Declared by a user or collected while running. One unit of time is a second where time is a timestamp, else one step of
the time column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp
from types import MappingProxyType
from typing import Any

from panewise.core.errors import PlanError
from panewise.core.names import unknown_name
from panewise.core.ordinals import OrdinalKind
from panewise.core.time import SECOND
from panewise.plan import nodes as n
from panewise.planner.statistics.declared import positive

RATE, VALUES, HORIZON = 1.0, 100.0, 3600.0
"""Taken where nothing is known: one row a unit, a hundred values a column, an hour of what never leaves."""
DRIFT = 1.5
"""A figure has drifted if it is so many times larger or smaller than before: less is within what estimates are off."""
RATES = {"rows_per_second": 1.0, "rows_per_minute": 1 / 60, "rows_per_hour": 1 / 3600, "rows_per_unit": 1.0}
UPDATES = {"updates_per_second": 1.0, "updates_per_minute": 1 / 60, "updates_per_hour": 1 / 3600,
           "updates_per_unit": 1.0}


@dataclass(frozen=True)
class InputStatistics:
    """One stream or table."""

    rate: float = RATE
    """Rows per unit of time; of a table, updates."""
    values: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Different values of a column, by the column's own name."""
    rows: float | None = None
    """Rows of a table."""
    seen: Mapping[str, float] = field(default_factory=dict, hash=False, repr=False)
    """Rows among which the values of a column were counted, where they were."""

    def values_beside(self, known: InputStatistics, *, counted: bool) -> Mapping[str, float]:
        """These values, or those known before where so many rows would not show more; ``counted`` when they were
        themselves counted in as many."""
        found = dict(known.values)
        for column, count in self.values.items():
            was, rows = found.get(column), self.seen.get(column)
            if was is None or rows is None or counted or not _alike(count, occupied(was, rows)):
                found[column] = count
        return found

    def split(self, parts: int, key: str) -> InputStatistics:
        """One of several parts, by the values of a column."""
        values = {c: max(1.0, count / parts) if c == key else count for c, count in self.values.items()}
        return InputStatistics(self.rate / parts, values, None if self.rows is None else self.rows / parts)


@dataclass(frozen=True)
class RelationStatistics:
    """All inputs of a plan, and shares that were declared or measured.

    >>> RelationStatistics({"S": InputStatistics(10.0)}).input("S").rate
    10.0
    """

    inputs: Mapping[str, InputStatistics] = field(default_factory=dict, hash=False)
    passing: Mapping[str, float] = field(default_factory=dict, hash=False)
    """By condition as SQL: the share of rows (of a join: pairs; of EXISTS: left rows) for which it holds."""
    premature: Mapping[str, float] = field(default_factory=dict, hash=False)
    """By condition of a negation: the share of its results that are taken back before their time (Golab 2.2.2)."""
    horizon: float = HORIZON
    """How long what never leaves is taken to have grown."""
    measured: bool = False

    def input(self, name: str) -> InputStatistics:
        """One input; the usual figures where it is not known."""
        return self.inputs.get(name, _USUAL)

    def beside(self, known: RelationStatistics) -> RelationStatistics:
        """These figures, and of what they do not speak of those that were known before.

        Four hundred rows have no more than four hundred values: what was declared stays if they have as many as so many
        rows would.

        >>> now = RelationStatistics({"S": InputStatistics(2.0, {"a": 5.0})}, measured=True)
        >>> both = now.beside(RelationStatistics({"S": InputStatistics(1.0, {"b": 3.0}), "T": InputStatistics(9.0)}))
        >>> both.input("S"), both.input("T").rate
        (InputStatistics(rate=2.0, values={'b': 3.0, 'a': 5.0}, rows=None), 9.0)
        """
        inputs = dict(known.inputs)
        for name, seen in self.inputs.items():
            was = inputs.get(name, InputStatistics())
            inputs[name] = InputStatistics(seen.rate, seen.values_beside(was, counted=known.measured),
                                           was.rows if seen.rows is None else seen.rows)
        return replace(self, inputs=inputs, passing={**known.passing, **self.passing},
                       premature={**known.premature, **self.premature})

    def of_a_part(self, parts: int, keys: Mapping[str, str]) -> RelationStatistics:
        """What one of several parts sees of inputs that are split by the values of a column, given by input.

        >>> known = RelationStatistics({"S": InputStatistics(100.0, {"k": 20.0, "v": 5.0})})
        >>> known.of_a_part(4, {"S": "k"}).input("S")
        InputStatistics(rate=25.0, values={'k': 5.0, 'v': 5.0}, rows=None)
        """
        return replace(self, inputs={name: given.split(parts, keys[name]) if name in keys else given
                                     for name, given in self.inputs.items()})


def occupied(domain: float, rows: float) -> float:
    """Different values among so many rows of a domain, spread evenly.

    >>> round(occupied(100, 1000)), round(occupied(1000, 10))
    (100, 10)
    """
    return domain * (1.0 - exp(-rows / domain)) if domain > 0 else 0.0


def _alike(one: float, other: float) -> bool:
    return max(one, other) <= DRIFT * max(min(one, other), 1e-9)


_USUAL = InputStatistics()
NOTHING_KNOWN = RelationStatistics()


def unit_of(plan: n.Node) -> float:
    """Steps of the time column per unit of time."""
    kinds = {source.schema.ordinal_kind(source.schema.time) for source in plan.walk()
             if isinstance(source, n.Source | n.Relayed) and source.schema.time is not None
             and (source.schema.open or source.schema.time in source.schema.columns)}
    return float(SECOND) if kinds == {OrdinalKind.TIMESTAMP} else 1.0


def declared_relations(values: Mapping[str, Any]) -> RelationStatistics:
    """What a user states, flat (``{"S.rows_per_second": 5, "S.a": 100}``, as the command line has it) or nested.

    A name behind the dot is a rate, ``rows`` of a table, or a column, whose number of values it gives.

    >>> found = declared_relations({"S.rows_per_second": "5", "S.a": 100, "T": {"rows": 1000, "updates_per_hour": 6}})
    >>> found.input("S").rate, found.input("S").values["a"], found.input("T").rows
    (5.0, 100.0, 1000.0)
    """
    nested: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            nested.setdefault(key, {}).update(value)
            continue
        name, dot, item = key.partition(".")
        if not dot:
            raise PlanError(f"no statistic {key!r} of a relational plan: say whose it is, such as "
                            f"S.rows_per_second=100 or S.column=50 (different values)")
        nested.setdefault(name, {})[item] = value
    passing, premature = ({k: _share(name, k, v) for k, v in nested.pop(name, {}).items()}
                          for name in ("passing", "premature"))
    inputs = {name: _input(name, items) for name, items in nested.items()}
    return RelationStatistics(MappingProxyType(inputs), passing, premature)


def _input(name: str, items: Mapping[str, Any]) -> InputStatistics:
    rate, rows, columns = RATE, None, {}
    for item, given in items.items():
        value = positive(f"{name}.{item}", given)
        if item in RATES or item in UPDATES:
            rate = value * {**RATES, **UPDATES}[item]
        elif item == "rows":
            rows = value
        else:
            columns[item] = value
    return InputStatistics(rate, MappingProxyType(columns), rows)


def _share(name: str, item: str, given: Any) -> float:
    value = positive(f"{name}.{item}", given)
    if value > 1:
        raise PlanError(f"the statistic {name} of {item!r} is {given!r}: a share is at most 1")
    return value


def check_statistics(plan: n.Node, stats: object) -> None:
    """Refuse what is declared of something that a relational plan does not have."""
    if not isinstance(stats, Mapping) or not all(isinstance(name, str) for name in stats):
        return
    if not speaks_of_inputs(stats):
        if any(isinstance(node, n.WindowAggregate) for node in plan.walk()):
            return  # of a window aggregate inside
        declared_relations(stats)
    inputs = {node.name: node for node in plan.walk() if isinstance(node, n.Named)}
    for key, value in stats.items():
        name, _, item = key.partition(".")
        if name in ("passing", "premature"):
            continue
        if name not in inputs:
            raise PlanError(f"stats= speaks of {name!r}: {unknown_name('input', name, inputs)}")
        known = [*RATES, *UPDATES, "rows", *inputs[name].columns]
        for given in value if isinstance(value, Mapping) else [item]:
            if given not in known:
                raise PlanError(f"stats= speaks of {name}.{given}: {unknown_name('statistic or column', given, known)}")


def known_inputs(stats: object) -> RelationStatistics | None:
    """What a user declared of the inputs of a relational plan; None when nothing is about them."""
    named = {str(name): value for name, value in stats.items()} if isinstance(stats, Mapping) else {}
    return declared_relations(named) if speaks_of_inputs(named) else None


def speaks_of_inputs(values: Mapping[str, Any]) -> bool:
    """Whether declared statistics speak of inputs by name, and not of one window aggregate."""
    return any("." in str(key) or isinstance(value, Mapping) for key, value in values.items())
