"""What is left of changes when copies that come and go at one instant cancel, with and without the quick look."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.kernels.relations.distinct.row_hashes import row_hashes
from panewise.kernels.relations.edges.changes import Changes, net

VALUES = st.tuples(st.integers(0, 2) | st.none(), st.sampled_from([0.0, -0.0, 1.5, float("nan"), None]),
                   st.sampled_from(["x", "y", None]))
EVENTS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([1, -1]), VALUES), max_size=14)
SCHEMA = pa.schema({"n": pa.int64(), "f": pa.float64(), "s": pa.string()})


def changes(events: list[Any]) -> Changes:
    rows = [dict(zip(SCHEMA.names, row, strict=True)) for _, _, row in events]
    age = np.array([[at for at, _, _ in events], list(range(len(events)))], np.int64)
    return Changes(pa.Table.from_pylist(rows, SCHEMA), age[0], np.array([sign for _, sign, _ in events], np.int64), age)


def plain(row: Any) -> str:
    return str(tuple(0.0 if value == 0 and isinstance(value, float) else value for value in row))


@settings(deadline=None)
@given(EVENTS)
@example([(0, 1, (0, -0.0, "x")), (0, -1, (0, 0.0, "x")), (0, -1, (None, None, None))])
def test_what_is_left_is_the_sum_of_every_value_at_every_instant(events: list[Any]) -> None:
    expected: Counter[tuple[int, str]] = Counter()
    for at, sign, row in events:
        expected[at, plain(row)] += sign
    found: Counter[tuple[int, str]] = Counter()
    left = net(changes(events))
    order = list(zip(left.at.tolist(), left.sign.tolist(), strict=True))
    for (at, sign), row in zip(order, left.table.to_pylist(), strict=True):
        found[at, plain(row.values())] += sign
    assert {k: n for k, n in found.items() if n} == {k: n for k, n in expected.items() if n}
    assert len(left) == sum(abs(n) for n in expected.values())
    assert order == sorted(order)


@settings(deadline=None)
@given(EVENTS)
def test_equal_rows_have_equal_numbers(events: list[Any]) -> None:
    given_changes = changes(events)
    numbers = row_hashes(given_changes.at, given_changes.table)
    assert numbers is not None
    seen: dict[tuple[int, str], int] = {}
    for (at, _, row), number in zip(events, numbers.tolist(), strict=True):
        assert seen.setdefault((at, plain(row)), number) == number


def test_rows_with_nested_values_have_no_numbers() -> None:
    assert row_hashes(np.zeros(1, np.int64), pa.table({"l": [[1, 2]]})) is None
