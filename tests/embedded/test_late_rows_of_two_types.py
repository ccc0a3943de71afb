"""Late rows of streams that have a column of one name but not of one type: shown, saved, and as they came."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from oracle.questions import Oracle
from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival

TEXTS = ("SELECT a.ts, b.ts FROM a [RANGE 5, WA ts], b [RANGE 5, WA ts] WHERE a.v = b.v",
         "SELECT a.ts, b.ts FROM a [RANGE 5], b [RANGE 5] WHERE a.v = b.v")


def arrivals(a: Any, b: Any) -> list[Arrival]:
    late = [Arrival(s, {"ts": ts, "v": ts, "k": k}) for ts in (0, 1) for s, k in (("a", a), ("b", b))]
    return [*(Arrival(s, Punctuation.below("ts", 2)) for s in "ab"), *late]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("types", "values", "shown"), [
    ((pa.int32(), pa.int64()), (1, 3_000_000_000), ("k", "k")),
    ((pa.float32(), pa.float64()), (0.5, 0.1), ("k", "k")),
    ((pa.int64(), pa.string()), (2**62 + 1, "x"), ("a.k", "b.k")),
    ((pa.int64(), pa.float64()), (2**62 + 1, 0.5), ("a.k", "b.k")),
    ((pa.list_(pa.int64()), pa.list_(pa.int32())), ([1], [2]), ("a.k", "b.k")),
])
def test_late_rows_keep_their_values(text: str, types: tuple[pa.DataType, pa.DataType], values: tuple[Any, Any],
                                     shown: tuple[str, str]) -> None:
    schemas = {s: SourceSchema({"ts": pa.int64(), "v": pa.int64(), "k": t}, time="ts")
               for s, t in zip("ab", types, strict=True)}
    plan = plan_of(text.replace("a.ts, b.ts", "a.k AS x, b.k AS y"), schemas)
    items = arrivals(*values)
    query = open_plan(plan, late="side")
    for item in items:
        query.push(item.stream, [item.item] if item.is_row else item.item)
        saved, query = query.snapshot(), open_plan(plan, late="side")
        query.restore(saved)
    expected = [{"ts": row["ts"], "v": row["v"], shown[i % 2]: row["k"]}
                for i, row in enumerate(Oracle(plan, items, late="side").late_rows())]
    found = [{name: value for name, value in row.items() if value is not None} for row in query.late_rows.to_pylist()]
    assert found == expected
    assert [why["stream"] for why in query.late_report.column("late").to_pylist()] == ["a", "b", "a", "b"]
    assert query.late_output.rows(["b"]).num_rows == 2
