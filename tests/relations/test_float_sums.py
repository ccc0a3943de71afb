"""Sums of floats over changing relations: rows come and go, and every answer on the way is the exact one."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

import panewise as pw
from kernels.wild_floats import wild_rows

TEXTS = {
    "time": "SELECT k, sum(f) AS total, avg(f) AS mean, variance(f) AS spread FROM s [RANGE 7] GROUP BY k",
    "rows": "SELECT k, sum(f) AS total, stddev(f) AS deviation FROM s [ROWS 9] GROUP BY k",
    "distinct": "SELECT k, sum(DISTINCT f) AS total, avg(DISTINCT f) AS mean FROM s [RANGE 7] GROUP BY k",
    "unbounded": "SELECT k, sum(f) AS total, avg(f) AS mean FROM s GROUP BY k",
}


def shown(rows: Any) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_change_is_the_oracles_to_the_last_bit(text: str) -> None:
    random = Random(text)
    for _ in range(4):
        values = [v for v in wild_rows(random, 60) if v is None or not math.isnan(v)]
        rows = [{"ts": i // 3, "k": random.choice("ab"), "f": value} for i, value in enumerate(values)]
        found, expected = (pw.sql(text, s=rows, time="ts", engine=engine) for engine in ("embedded", "oracle"))
        assert shown(found) == shown(expected)
