"""The aggregates of a query as kernels take them: functions bound to the types of their arguments."""

from __future__ import annotations

from collections.abc import Sequence

from panewise.aggregates.count import Count
from panewise.aggregates.registry import resolve
from panewise.engines.spark.host.wire import POSITION
from panewise.engines.spark.lower.fragment import Fragment
from panewise.kernels.contract.partials import BoundAggregate, bind

ROWS = BoundAggregate("__pw_rows", Count(), ())
"""How many rows a partial stands for; carried along where late rows can only be counted after the partials are made."""


def bound_aggregates(fragment: Fragment) -> list[BoundAggregate]:
    """Every aggregate of the fragment; wrong types and unknown names are refused here, before anything runs."""
    calls = [(c.name, resolve(c.function, c.parameters, c.distinct)) for c in fragment.aggregates]
    types = [fragment.argument_types(i) for i in range(len(calls))]
    for (_, function), inputs in zip(calls, types, strict=True):
        function.check_inputs(inputs)
    return bind(calls, types)


def argument_columns(fragment: Fragment, aggregates: Sequence[BoundAggregate]) -> tuple[tuple[str, ...], ...]:
    """The argument columns of each aggregate, with the arrival position last for functions that need it."""
    return tuple((*fragment.arguments(i), *([POSITION] if a.function.needs_order else ()))
                 for i, a in enumerate(aggregates))
