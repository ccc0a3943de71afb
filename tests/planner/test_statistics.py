"""Statistics: what a user declares, and what a sample of the input shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.plan import nodes as n
from panewise.planner.statistics.declared import Statistics, declared, describe_statistics, measure, parse_statistics
from panewise.planner.statistics.sampling import measured
from panewise.windows.rows import RowWindow
from panewise.windows.sliding import SlidingWindow

TIME, INTEGER = OrdinalKind.TIMESTAMP, OrdinalKind.INTEGER
SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.int64(), "v": pa.float64()})


def counted(input: n.Node, spec: SlidingWindow, attribute: str = "ts") -> n.WindowAggregate:
    kind = OrdinalKind.ROWS if attribute == "row-num" else INTEGER
    return n.WindowAggregate(input, n.WindowClause(spec, attribute, kind), (n.NamedScalar.column("k"),),
                             (n.AggregateCall("n", "count"), n.AggregateCall("top", "max", (Scalar.column("v"),))))


def rows(ts: np.ndarray, k: np.ndarray) -> pa.Table:
    return pa.table({"ts": pa.array(ts, pa.int64()), "k": pa.array(k, pa.int64()), "v": np.zeros(len(ts))})


STREAM = n.Source("s", SourceSchema.of(SCHEMA))


def test_rates_are_per_step_of_the_windowing_attribute() -> None:
    assert declared({"rows_per_second": 5000}, TIME).rows_per_unit == 0.005
    assert declared({"rows_per_minute": "6_000_000"}, TIME).rows_per_unit == pytest.approx(0.1)
    assert declared({"rows_per_day": 10}, OrdinalKind.DATE).rows_per_unit == 10
    assert declared({"rows_per_unit": 3}, INTEGER).rows_per_unit == 3
    assert declared({"groups": 7}, OrdinalKind.ROWS) == Statistics(1.0, groups=7)


def test_disorder_is_a_duration_and_groups_have_a_default() -> None:
    found = declared({"rows_per_second": 1, "disorder": "2 s", "groups_per_window": 50}, TIME)
    assert (found.disorder, found.groups) == (2_000_000, 50)


@pytest.mark.parametrize(("values", "unit", "expected"), [
    ({"groups": 5}, TIME, "need one rate, such as rows_per_second=5000; given: none"),
    ({"rows_per_second": 5, "rows_per_unit": 5}, TIME, "given: rows_per_second, rows_per_unit"),
    ({"rows_per_second": 5}, INTEGER, "counts integer: use rows_per_unit"),
    ({"row_per_second": 5}, TIME, "no statistic 'row_per_second'; there are rows_per_second"),
    ({"rows_per_second": "many"}, TIME, "rows_per_second is 'many': expected a number above zero"),
    ({"rows_per_second": 5, "groups": 0}, TIME, "groups is 0: expected a number above zero"),
    ({"rows_per_second": 5, "disorder": "3 rows"}, TIME, "disorder is '3 rows'"),
    ({"rows_per_second": 5, "disorder": -3}, TIME, "disorder is -3: expected zero or more"),
])
def test_statistics_that_cannot_be_used_are_refused(values: Mapping[str, object], unit: OrdinalKind,
                                                    expected: str) -> None:
    with pytest.raises(PlanError) as error:
        declared(values, unit)
    assert expected in str(error.value)


def test_the_command_line_form_is_read_and_refused() -> None:
    assert parse_statistics("groups=3, rows_per_second=5") == {"groups": "3", "rows_per_second": "5"}
    with pytest.raises(PlanError, match="cannot read the statistics 'groups'"):
        parse_statistics("groups")


def test_rates_groups_disorder_and_sizes_are_measured() -> None:
    ts = np.arange(10_000) // 10          # ten rows a step
    k = np.arange(10_000) % 20            # twenty groups, all of them in every two steps
    late = ts.copy()
    late[5_005] -= 7
    found = measure(rows(late, k), counted(STREAM, SlidingWindow(8, 2)))
    assert found.rows_per_unit == pytest.approx(10, rel=0.01)
    assert (found.groups, found.disorder, found.measured) == (20, 7, True)
    assert found.groups_per_pane == pytest.approx(20, rel=0.01)
    assert found.groups_per_window == 20
    assert found.row_bytes == 8 + 8 + 8
    assert sum(count for _, count in found.sizes) == 20
    assert sum(share * count for share, count in found.sizes) == pytest.approx(1)


def test_skew_is_kept_as_classes_of_groups() -> None:
    k = np.concatenate([np.zeros(9_000, np.int64), 1 + np.arange(1_000)])
    found = measure(rows(np.arange(10_000), k), counted(STREAM, SlidingWindow(10, 10)))
    assert found.sizes[0] == (0.9, 1.0)
    assert found.sizes[-1] == (pytest.approx(1e-4), 1_000.0)
    assert found.groups_in(100) == pytest.approx(1 + 1_000 * (1 - np.exp(-0.01)), rel=0.01)


def test_offsets_of_several_sources_are_distances_of_high_watermarks() -> None:
    batches = [part for i in range(20) for part in (
        ("fast", rows(np.arange(i * 100, (i + 1) * 100), np.zeros(100))),
        ("slow", rows(np.arange(i * 100, (i + 1) * 100, 10) - 500, np.zeros(10))))]
    found = measure(batches, counted(STREAM, SlidingWindow(100, 10)))
    (fast, fast_rate, lead), (slow, slow_rate, lag) = found.sources
    assert (fast, slow, lead) == ("fast", "slow", 0)
    assert fast_rate == pytest.approx(1, rel=0.01)
    assert slow_rate == pytest.approx(0.1, rel=0.01)
    assert lag == pytest.approx(509, abs=60)  # the mean over turns, in half of which the fast one is a batch ahead


def test_row_windows_have_one_row_per_step() -> None:
    found = measure(rows(np.zeros(100), np.arange(100) % 4), counted(STREAM, RowWindow(10, 5), "row-num"))
    assert (found.rows_per_unit, found.disorder, found.groups_per_window) == (1.0, 0.0, 4.0)


def test_a_sample_passes_filters_projections_and_unions() -> None:
    small = n.Filter(STREAM, Scalar.parse("k < 5"))
    twice = n.Project(small, (n.NamedScalar("ts", Scalar.parse("ts * 2")), n.NamedScalar.column("k"),
                              n.NamedScalar.column("v")))
    both = n.Union((twice, n.Source("r", SourceSchema.of(SCHEMA))))
    plan = counted(both, SlidingWindow(10, 10))
    table = rows(np.arange(1_000), np.arange(1_000) % 10)
    found = measured(plan, {"s": iter([table]), "r": iter([table])})[plan]
    assert {name for name, _, _ in found.sources} == {"s", "r"}
    assert {name: rate for name, rate, _ in found.sources}["s"] == pytest.approx(0.25, rel=0.01)
    assert found.groups == 10


def test_no_rows_give_no_statistics() -> None:
    with pytest.raises(PlanError, match="no rows to measure statistics on"):
        measure(SCHEMA.empty_table(), counted(STREAM, SlidingWindow(10, 10)))


def test_statistics_read_as_one_line() -> None:
    known = Statistics(0.0001, groups=1, disorder=1_500_000, measured=True, sources=(("a", 1, 0), ("b", 1, 2_000_000)))
    assert describe_statistics(known, TIME) == "measured: 100 rows/s, 1 group, 1500ms of disorder, b 2s behind"
