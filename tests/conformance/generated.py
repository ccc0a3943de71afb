"""Random cases: any window kind × aggregates × disorder × punctuation × late policy.

``random_case`` draws sliding and tumbling windows, which every engine runs; ``any_kind`` draws the others, which an
engine runs or refuses.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa

from conformance.cases import Case, Item
from panewise.progress.punctuation import Punctuation

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64(), "x": pa.float64()}
AGGREGATES = (
    "count(*)", "count(v)", "sum(v)", "min(v)", "max(v)", "avg(v)", "sum(x)", "min(x)", "max(x)", "min(k)",
    "variance(v)", "stddev_pop(x)", "first(v)", "last(x)", "count(DISTINCT v)", "median(v)", "quantile(x, 0.25)",
    "mode(v)", "top_k(v, 2)", "heavy_hitters(v, 0.3)", "centre_of_mass(v, x)", "max(v) - min(v)",
    "approx_count_distinct(v)", "max_by(k, v)", "min_by(v, k, x)",
)
NATIVE = ("count(*)", "count(v)", "sum(v)", "min(v)", "max(v)", "avg(v)", "sum(x)", "min(x)", "max(x)")
"""What Spark merges itself."""
FILTERS = ("", "", "WHERE v > 0", "WHERE k = 'a' OR x IS NULL", "WHERE v BETWEEN -2 AND 2 AND upper(k) <> 'B'")


def random_case(random: Random, *, aggregates: tuple[str, ...] = AGGREGATES, rows: int = 25,
                grammatical: bool | None = None) -> Case:
    """One case; what it contains is decided by the generator alone, so Hypothesis can shrink it."""
    data = [_row(random) for _ in range(random.randint(0, rows))]
    grouped = random.random() < 0.7
    honest = random.random() < 0.5 if grammatical is None else grammatical
    progress = "source" if honest or random.random() < 0.6 else random.choice(("ordered", "late:4", "rows:2"))
    items = _punctuate(random, data, honest, grouped) if progress == "source" else list(data)
    chosen = random.sample(aggregates, random.randint(1, 3))
    selected = ", ".join(f"{text} AS a{i}" for i, text in enumerate(chosen))
    query = f"SELECT {'k, ' if grouped else ''}{selected} FROM s [{_window(random)}] {random.choice(FILTERS)}"
    late = random.choice(("generous", "drop") if honest else ("generous", "drop", "side", "consistent"))
    return Case(query, query + (" GROUP BY k" if grouped else ""), {"s": items}, {"s": COLUMNS}, late, progress)


def _row(random: Random) -> dict[str, Any]:
    return {
        "ts": random.randint(-10, 40),
        "k": random.choice(("a", "a", "b", None)),
        "v": random.choice((None, *range(-3, 4))),
        "x": random.choice((None, -1.5, 0.0, 0.1, 7.75, 19.99, 1e16, -1e16)),
    }


def _window(random: Random) -> str:
    reach, slide = random.randint(1, 15), random.randint(1, 12)
    text = f"RANGE {reach}, SLIDE {slide}, WA ts" if random.random() < 0.85 else f"RANGE TUMBLING {reach}, WA ts"
    if random.random() < 0.3:
        text += f", ORIGIN {random.randint(-4, 4)}"
    if random.random() < 0.2:
        text += f", LAG {random.randint(1, 5)}"
    return text


BY_VALUE = (
    "RANGE ALL, SLIDE 7, WA ts",
    "RANGE ALL, SLIDE 3, WA ts, ORIGIN 2",
    "SESSION 4, WA ts",
    "SESSION 3, WA ts, PA k",
    "RANGE 9, SLIDE 4, WA ts WHERE v > 0",
    "RANGE 9, SLIDE 4, WA ts, PA k",
    "RANGE 9, SLIDE 4, WA ts, INTERNAL",
    "RANGE TUMBLING 6, WA ts",
    "NOW, WA ts",
    "NOW SLIDE 3, WA ts",
    "UNBOUNDED START AT 5, WA ts",
    "UNBOUNDED END AT 20, WA ts",
    "UNBOUNDED START AT 5 END AT 20, WA ts",
    "UNBOUNDED, WA ts",
)
"""Window aggregates over values."""
BY_POSITION = (
    "RANGE 3 rows, SLIDE 2 rows, WA row-num",
    "RANGE 2 rows, SLIDE 1 rows, WA row-num, PA k",
    "RANGE TUMBLING 3 rows, WA row-num",
    "RANGE 1 rows, SLIDE 3 rows, WA row-num",
    "RANGE 5 rows, SLIDE 2 rows, WA row-num, ORIGIN 3, LAG 1",
    "RANGE 3 rows, SLIDE 2 rows, WA row-num WHERE v > 0",
    "RANGE 9, RATTR ts, SLIDE 1 row, SATTR row-num",
    "RANGE 9, RATTR ts, SLIDE 1 row, SATTR row-num, PA k",
    "RANGE 9, RATTR ts, SLIDE 2 rows, SATTR row-num, PA k",
    "RANGE 9, RATTR ts, SLIDE 2 rows, SATTR rank(ts), PA k",
    "RANGE 9, RATTR ts, SLIDE 1 row, SATTR row-num WHERE v > 0",
    "RANGE 9, RATTR ts, SLIDE 2 rows, SATTR row-num",
    "RANGE 9, RATTR ts, SLIDE 3 rows, SATTR rank(ts)",
)
"""Window aggregates that count rows."""
VALUES_BY_POSITION = (
    "RANGE ALL, SLIDE 3 rows, WA row-num",
    "SESSION 2 rows, WA row-num",
    "NOW SLIDE 2 rows, WA row-num",
    "UNBOUNDED START AT 2 END AT 4, WA row-num",
)
"""Windows over values, whose values are positions."""
CONTINUOUS = (
    "RANGE 9",
    "RANGE 9 SLIDE 4",
    "RANGE TUMBLING 6",
    "RANGE TUMBLING 6 GROWING",
    "RANGE 12 SLIDE 3 LAG 2",
    "ROWS 3",
    "ROWS 4 SLIDE 2 rows",
    "PARTITION BY k ROWS 2",
    "NOW",
    "UNBOUNDED START AT 5",
    "UNBOUNDED END AT 20",
    "UNBOUNDED START AT 5 END AT 20",
)
"""Windows that make a changing relation rather than one result per window."""


def any_kind(random: Random, brackets: tuple[str, ...], *, grammatical: bool | None = True, rows: int = 10,
             aggregates: tuple[str, ...] = ("sum(v)",)) -> Case:
    """A case with a window of these brackets, and one of the aggregates beside count and max."""
    case = random_case(random, aggregates=("count(*)", "sum(v)", "max(v)"), rows=rows, grammatical=grammatical)
    bracket = random.choice(brackets)
    grouped = "GROUP BY k" in case.query or "PA k" in bracket
    other = random.choice(aggregates)
    query = f"SELECT {'k, ' if grouped else ''}count(*) AS n, max(v) AS top, {other} AS other FROM s [{bracket}]"
    return replace(case, name=bracket, query=query + (" GROUP BY k" if grouped else ""))


def _punctuate(random: Random, rows: list[dict[str, Any]], honest: bool, grouped: bool) -> list[Item]:
    items: list[Item] = []
    for i, row in enumerate(rows):
        items.append(row)
        if random.random() < 0.25:
            key = random.choice(("a", "b")) if grouped and random.random() < 0.3 else None
            future = [r["ts"] for r in rows[i + 1:] if key is None or r["k"] == key]
            bound = min(future, default=50) if honest else random.randint(-10, 45)
            items.append(Punctuation.below("ts", bound, **({} if key is None else {"k": key})))
    return items
