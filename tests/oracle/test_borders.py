"""Times at the border: timestamps as text, integers or datetimes, dates, calendars, and streams without a schema."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from oracle.building import call, grouped, per_window
from oracle.questions import Oracle
from panewise.core.beginning import ALWAYS
from panewise.core.errors import PlanError, SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.core.time import MINUTE, SECOND
from panewise.plan.nodes import Filter, NamedScalar, Node, Project, Source, Union, Window, WindowClause
from panewise.progress.timeline import timeline
from panewise.windows.calendar import CalendarWindow
from panewise.windows.count import PartitionedCountWindow
from panewise.windows.rows import PartitionedRowWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import TumblingWindow

COUNT = call("n", "count")
TIMES = Source("s", SourceSchema({"ts": pa.timestamp("us", tz="UTC"), "v": pa.float64()}, "ts"))
MINUTES = WindowClause(TumblingWindow(MINUTE), "ts", OrdinalKind.TIMESTAMP)


@pytest.mark.parametrize("ts", ["2026-01-01T00:00:30Z", datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC),
                                datetime(2026, 1, 1, 0, 0, 30), 1767225630 * SECOND])
def test_a_timestamp_may_come_as_text_datetime_or_microseconds(ts: object):
    found = Oracle(per_window(TIMES, MINUTES, call("m", "max", "ts")), timeline(s=[{"ts": ts, "v": 1}])).results()
    start, end = (datetime(2026, 1, 1, 0, minute, tzinfo=UTC) for minute in (0, 1))
    assert found == [{"window": {"start": start, "end": end}, "m": datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)}]


def test_a_timestamp_without_time_zone_stays_without():
    naive = Source("s", SourceSchema({"ts": pa.timestamp("us")}, "ts"))
    plan = per_window(naive, MINUTES, call("m", "max", "ts"))
    found = Oracle(plan, timeline(s=[{"ts": "2026-01-01T00:00:30"}])).results()
    assert found[0]["m"] == datetime(2026, 1, 1, 0, 0, 30)


def test_relations_of_timestamps_report_instants_as_timestamps():
    plan = Window(TIMES, WindowClause(SlidingWindow.scoped(MINUTE), "ts", OrdinalKind.TIMESTAMP))
    found = Oracle(plan, timeline(s=[{"ts": "2026-01-01T00:00:30Z", "v": 1}])).results()
    assert [(row["v"], row["valid_from"], row["expires_at"]) for row in found] == [
        (1.0, datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC), datetime(2026, 1, 1, 0, 1, 30, tzinfo=UTC))]


def test_dates_count_in_days():
    days = Source("s", SourceSchema({"day": pa.date32()}, "day"))
    week = WindowClause(SlidingWindow(7, 7, origin=4), "day", OrdinalKind.DATE)
    items = timeline(s=[{"day": date(2026, 1, 5)}, {"day": "2026-01-11"}])
    found = Oracle(per_window(days, week, COUNT), items).results()
    assert found == [{"window": {"start": date(2026, 1, 5), "end": date(2026, 1, 12)}, "n": 2}]


def test_a_month_of_a_time_zone_is_a_window_and_a_relation():
    months = WindowClause(CalendarWindow("month", timezone="Europe/Berlin"), "ts", OrdinalKind.TIMESTAMP)
    items = timeline(s=[{"ts": "2026-02-28T22:59:59Z", "v": 1}, {"ts": "2026-02-28T23:00:00Z", "v": 2}])
    found = Oracle(per_window(TIMES, months, call("v", "sum", "v")), items).results()
    assert [(row["window"]["end"], row["v"]) for row in found] == [
        (datetime(2026, 2, 28, 23, tzinfo=UTC), 1.0), (datetime(2026, 3, 31, 22, tzinfo=UTC), 2.0)]
    changes = Oracle(grouped(Window(TIMES, months), call("v", "sum", "v")), items).changes()
    assert [(change.sign, change.row["v"]) for change in changes] == [
        (1, None), (-1, None), (1, 1.0), (-1, 1.0), (1, 2.0), (-1, 2.0), (1, None)]


def test_a_stream_without_schema_takes_what_comes():
    anything = Source("s", SourceSchema(time="ts", open=True))
    clause = WindowClause(SlidingWindow(10, 10), "ts", OrdinalKind.INTEGER)
    plan = per_window(Filter(Union((anything, anything)), Scalar.parse("k = 'a'")), clause, COUNT, keys=["k"])
    items = timeline(s=[{"ts": 1, "k": "a"}, {"ts": 2, "k": "b"}])
    assert Oracle(plan, items).results() == [{"k": "a", "window": {"start": 0, "end": 10}, "n": 2}]


def test_a_stream_without_time_is_ordered_by_arrival():
    bare = Source("s", SourceSchema({"v": pa.int64()}))
    plan = grouped(bare, call("total", "sum", "v"))
    changes = Oracle(plan, timeline(s=[{"v": 1}, {"v": 2}])).changes()
    assert [(c.tau, c.sign, c.row["total"]) for c in changes] == [
        (ALWAYS, 1, None), (0, -1, None), (0, 1, 1), (1, -1, 1), (1, 1, 3)]


def test_nulls_are_a_group_and_do_not_match():
    keyed = Source("s", SourceSchema({"ts": pa.int64(), "k": pa.string()}, "ts"))
    clause = WindowClause(SlidingWindow(10, 10), "ts", OrdinalKind.INTEGER)
    items = timeline(s=[{"ts": 1, "k": None}, {"ts": 2, "k": "a"}, {"ts": 3, "k": None}])
    assert [(r["k"], r["n"]) for r in Oracle(per_window(keyed, clause, COUNT, keys=["k"]), items).results()] == [
        (None, 2), ("a", 1)]
    assert len(Oracle(Filter(keyed, Scalar.parse("k <> 'b'")), items).results()) == 1


@pytest.mark.parametrize("plan", [
    per_window(Project(TIMES, (NamedScalar.column("ts"),)),
               WindowClause(PartitionedRowWindow(2, 1), "row-num", OrdinalKind.ROWS, ("v",)), COUNT),
    Window(Project(TIMES, (NamedScalar.column("ts"),)),
           WindowClause(PartitionedCountWindow(2), "row-num", OrdinalKind.ROWS, ("v",))),
], ids=["by id", "relation"])
def test_a_partition_column_that_was_projected_away_is_named(plan: Node):
    with pytest.raises(SchemaError, match="partitioned by 'v', which its input does not have; there are ts"):
        Oracle(plan, timeline(s=[{"ts": 1, "v": 1.0}])).results()


def test_a_union_of_different_widths_is_refused():
    plan = per_window(Union((TIMES, Project(TIMES, (NamedScalar.column("ts"),)))), MINUTES, COUNT)
    with pytest.raises(PlanError, match="UNION needs inputs with as many columns: one has 1"):
        Oracle(plan, timeline(s=[{"ts": 1, "v": 1.0}])).results()
