"""How far a query goes at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.dataflow.relations.steps import FEWEST_ROWS, MANY_RESULTS, MOST_ROWS

COLUMNS = pa.schema({"ts": pa.int64(), "k": pa.int64()})


def test_steps_become_shorter_where_rows_have_many_results_and_longer_again() -> None:
    plan = plan_of("SELECT a.ts, b.ts, a.k FROM a [ROWS 400], b [ROWS 400] WHERE a.k = b.k",
                   {name: SourceSchema.of(COLUMNS) for name in "ab"})
    query, rows = open_plan(plan, progress="ordered"), 4_000
    for key in (np.zeros(rows, np.int64), np.arange(rows)):  # all meet; then nobody does
        ts = query.watermark + 1 + np.arange(rows) if key[1] else np.arange(rows)
        for name in "ab":
            query.push(name, pa.table({"ts": ts, "k": key}, schema=COLUMNS))
        if not key[1]:
            assert FEWEST_ROWS <= query.relation._steps.rows < 2 * MANY_RESULTS // 400
    assert query.relation._steps.rows > 2 * MANY_RESULTS // 400
    assert query.relation._steps.rows <= MOST_ROWS
