"""Which columns of its streams a plan reads."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import Node
from panewise.planner.facts.read_columns import columns_read

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.int64(), "v": pa.int64(), "text": pa.string()})


def plan(text: str) -> Node:
    return plan_of(text, {name: SourceSchema.of(SCHEMA) for name in "ab"})


@pytest.mark.parametrize(("text", "read"), [
    ("SELECT DISTINCT k FROM a [RANGE 5]", {"a": {"k"}}),
    ("SELECT k + v AS s FROM a [RANGE 5] WHERE text = 'x'", {"a": {"k", "v", "text"}}),
    ("SELECT k, max(v) AS top FROM a [RANGE 5] GROUP BY k", {"a": {"k", "v"}}),
    ("SELECT v FROM a [PARTITION BY k ROWS 3]", {"a": {"k", "v", "row-num"}}),
    ("SELECT k FROM a [RANGE 5, SLIDE 1, WA v]", {"a": {"k", "v"}}),
    ("SELECT * FROM a [RANGE 5]", {}),
    ("SELECT k FROM a [RANGE 5] UNION ALL SELECT k FROM b [RANGE 5]", {"a": {"k"}, "b": {"k"}}),
    ("SELECT k FROM a [RANGE 5] WHERE EXISTS (SELECT * FROM a AS o [RANGE 3] WHERE o.k = a.k)", {}),
])
def test_the_columns_that_a_plan_reads(text: str, read: dict[str, set[str]]) -> None:
    assert columns_read(plan(text)) == read


def test_a_count_of_rows_reads_no_column_and_still_counts() -> None:
    query = open_plan(plan("SELECT count(*) AS n FROM a [RANGE 5]"), progress="ordered")
    rows = pa.table({"ts": [1, 2, 3], "k": [1, 1, 1], "v": [0, 0, 0], "text": ["", "", ""]}, schema=SCHEMA)
    told = query.push("a", rows).to_pylist()
    assert query.status()["operators"][0]["bytes"] < 100  # the row that waits has one column, not four
    changes = told + query.finish().to_pylist()
    assert [row["n"] for row in changes if row["change"] > 0] == [0, 1, 2, 3, 2, 1, 0]
