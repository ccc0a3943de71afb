"""Random plans over dates instead of numbers, so that their windows can be weeks and months."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta

import pyarrow as pa
from hypothesis import strategies as st

from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import SourceSchema
from panewise.plan.nodes import Named, Node, Window
from panewise.progress.timeline import Timeline
from panewise.windows.calendar import CalendarWindow

TIMES = ("ts", "at")
FIRST = date(1970, 1, 1)

CALENDAR_WINDOWS = st.builds(
    CalendarWindow, st.sampled_from(["day", "week", "month"]), st.integers(1, 3), st.none() | st.integers(1, 2),
    origin=st.none() | st.builds(datetime, st.just(1970), st.just(1), st.integers(1, 9)),
    ordinal=st.just(OrdinalKind.DATE))
"""Weeks and months that begin among the rows."""


def in_days(plan: Node) -> Node:
    """The plan with dates where it had numbers; a tick is a day."""
    if isinstance(plan, Named):
        types = {name: pa.date32() if name in TIMES else kind for name, kind in plan.schema.columns.items()}
        return replace(plan, schema=SourceSchema(types, time=plan.schema.time, kind=plan.schema.kind))
    plan = plan.with_inputs(*(in_days(below) for below in plan.inputs))
    if isinstance(plan, Window) and plan.clause.ordinal is OrdinalKind.INTEGER:
        return replace(plan, clause=replace(plan.clause, ordinal=OrdinalKind.DATE))
    return plan


def days(timeline: Timeline) -> Timeline:
    """The rows with dates; promises are about ordinals and stay."""
    return [replace(a, item={name: FIRST + timedelta(value) if name in TIMES else value
                             for name, value in a.item.items()}) if a.is_row else a  # type: ignore[union-attr]
            for a in timeline]
