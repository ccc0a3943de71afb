"""One-row expressions in process beside DuckDB: 10, 10,000 and 1,000,000 rows, interleaved, as ratios of medians.

    python bench/expressions.py [--rows 10 10000 1000000] [--rounds 7]

A ratio below one means that panewise is quicker. DuckDB reads the same Arrow table and gives Arrow back; where its
meaning differs from Spark's (overflow, NaN, casts) the texts are chosen so that the data does not show it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa

from panewise.core.scalar import Scalar
from panewise.functions import evaluate

EXPRESSIONS: dict[str, tuple[str, str]] = {
    "arithmetic": ("a * 3 + b - 7", "a * 3 + b - 7"),
    "division": ("x / (b + 1)", "x / (b + 1)"),
    "remainder": ("a % 7", "a % 7"),
    "comparison": ("a > b", "a > b"),
    "comparison of doubles": ("x >= y", "x >= y"),
    "and, or": ("a > 10 AND b < 500 OR x > 0.5", "a > 10 AND b < 500 OR x > 0.5"),
    "between": ("a BETWEEN 100 AND 900", "a BETWEEN 100 AND 900"),
    "in": ("a IN (1, 5, 9, 700)", "a IN (1, 5, 9, 700)"),
    "case": ("CASE WHEN a > 500 THEN b WHEN x > 0.5 THEN a ELSE 0 END",
             "CASE WHEN a > 500 THEN b WHEN x > 0.5 THEN a ELSE 0 END"),
    "coalesce": ("coalesce(n, a)", "coalesce(n, a)"),
    "like %x%": ("s LIKE '%77%'", "s LIKE '%77%'"),
    "like a_c%": ("s LIKE 'k_y%1'", "s LIKE 'k_y%1'"),
    "rlike": ("s RLIKE '[0-9]+7$'", "regexp_matches(s, '[0-9]+7$')"),
    "substring": ("substring(s, 2, 4)", "substring(s, 2, 4)"),
    "upper": ("upper(s)", "upper(s)"),
    "concat": ("concat(s, '-', s)", "concat(s, '-', s)"),
    "length": ("length(s)", "length(s)"),
    "date_trunc": ("date_trunc('hour', t)", "date_trunc('hour', t)"),
    "hour": ("hour(t)", "hour(t)"),
    "year": ("year(t)", "year(t)"),
    "date_format": ("date_format(t, 'yyyy-MM-dd HH:mm')", "strftime(t, '%Y-%m-%d %H:%M')"),
    "timestamp + interval": ("t + INTERVAL '5' MINUTE", "t + INTERVAL 5 MINUTE"),
    "cast int to text": ("CAST(a AS STRING)", "CAST(a AS VARCHAR)"),
    "cast text to int": ("CAST(d AS INT)", "CAST(d AS INT)"),
    "cast double to int": ("CAST(x AS INT)", "CAST(trunc(x) AS INT)"),
    "cast to double": ("CAST(a AS DOUBLE)", "CAST(a AS DOUBLE)"),
    "round": ("round(x, 2)", "round(x, 2)"),
    "abs": ("abs(b - 500)", "abs(b - 500)"),
    "greatest": ("greatest(a, b)", "greatest(a, b)"),
    "decimal sum": ("m + m", "m + m"),
    "decimal product": ("m * 2", "m * 2"),
}


def table(rows: int) -> pa.Table:
    """Columns as streams have them: keys that repeat, doubles that do not."""
    draw = np.random.default_rng(7)
    a = draw.integers(0, 1000, rows)
    return pa.table({
        "a": pa.array(a, pa.int32()), "b": pa.array(draw.integers(0, 1000, rows), pa.int32()),
        "n": pa.array(a, pa.int32(), mask=draw.random(rows) < 0.1),
        "x": draw.random(rows), "y": draw.random(rows),
        "s": pa.array([f"key{n}" for n in draw.integers(0, 100_000, rows)]),
        "d": pa.array([str(n) for n in a]),
        "t": pa.array(1_700_000_000_000_000 + draw.integers(0, 10**13, rows), pa.timestamp("us", tz="UTC")),
        "m": pa.array(a, pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(12, 2)),
    })


def measured(functions: list[Callable[[], object]], rounds: int) -> list[float]:
    """The median time of each, one after the other in every round."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for number, function in enumerate(functions):
            begin = time.perf_counter()
            function()
            times[number].append(time.perf_counter() - begin)
    return [median(one) for one in times]


def main() -> int:
    """Print a line per expression and size, and the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[10, 10_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=list(EXPRESSIONS))
    chosen = parser.parse_args()
    database = duckdb.connect()
    database.execute("SET threads = 1; SET TimeZone = 'UTC'")
    for rows in chosen.rows:
        data = table(rows)
        database.register("data", data)
        for name in chosen.only:
            ours, theirs = EXPRESSIONS[name]
            scalar = Scalar.parse(ours)
            query = f"SELECT {theirs} FROM data"
            rounds = chosen.rounds if rows > 1000 else chosen.rounds * 20
            evaluate([scalar], data)
            one, other = measured([lambda s=scalar, d=data: evaluate([s], d),  # type: ignore[misc]
                                   lambda q=query: database.sql(q).to_arrow_table()], rounds)
            sys.stdout.write(f"{rows:>9,} {name:<22} {one * 1e6:>10.0f} µs {other * 1e6:>10.0f} µs "
                             f"ratio {one / other:5.2f}\n")
            sys.stdout.write(json.dumps({"bench": "expressions", "rows": rows, "name": name,
                                         "ratio": round(one / other, 3)}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
