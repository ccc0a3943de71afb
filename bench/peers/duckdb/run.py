"""DuckDB: one batch query; group by pane, then a frame over the panes of each key.

The grid of keys and panes gives the windows in which a key's last pane is empty, the ones at the end of the data above
all, so that the result is complete. With the option ``sparse``, for many keys with few rows each, panes are repeated
for each of their windows instead, as such a grid is mostly empty. Panes are integers: ``time_bucket`` on timestamps
took twice the time. Sessions are gaps and islands, row windows and those that slide by tuple are frames over the rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))
from adapter import Job, main

GRID = """
WITH panes AS (
  SELECT item, epoch_us(ts) // {slide} AS pane, count(*) AS n, max(price) AS hi, sum(price) AS total
  FROM {source} GROUP BY ALL
), grid AS (
  SELECT item, pane
  FROM (SELECT DISTINCT item FROM panes), (SELECT unnest(range(min(pane), max(pane) + {after})) AS pane FROM panes)
), framed AS (
  SELECT item, pane, sum(n) OVER w AS n, max(hi) OVER w AS hi, sum(total) OVER w AS total
  FROM grid LEFT JOIN panes USING (item, pane)
  WINDOW w AS (PARTITION BY item ORDER BY pane ROWS {frame} PRECEDING)
)
SELECT item, (pane + 1) * {slide} AS "end", n, hi, total / n AS mean FROM framed WHERE n > 0
"""
SPARSE = """
WITH panes AS (
  SELECT item, epoch_us(ts) // {slide} AS pane, count(*) AS n, max(price) AS hi, sum(price) AS total
  FROM {source} GROUP BY ALL
)
SELECT item, (pane + later + 1) * {slide} AS "end", sum(n) AS n, max(hi) AS hi, sum(total) / sum(n) AS mean
FROM panes, (SELECT unnest(range({panes})) AS later) GROUP BY item, "end"
"""
QUERIES = {
    "sliding": GRID,
    "sparse": SPARSE,
    "cumulate": GRID,
    "session": """
WITH marked AS (
  SELECT item, price, epoch_us(ts) AS t, t - lag(t) OVER w > {range} AS fresh FROM {source}
  WINDOW w AS (PARTITION BY item ORDER BY ts)
), numbered AS (
  SELECT item, price, t, count(*) FILTER (WHERE fresh) OVER (PARTITION BY item ORDER BY t) AS session FROM marked
)
SELECT item, max(t) + {range} AS "end", count(*) AS n, max(price) AS hi, avg(price) AS mean
FROM numbered GROUP BY item, session""",
    "rows": """
WITH placed AS (
  SELECT item, row_number() OVER w AS place, count(*) OVER frame AS n, max(price) OVER frame AS hi,
    avg(price) OVER frame AS mean
  FROM (SELECT item, price, row_number() OVER () AS position FROM {source})
  WINDOW w AS (PARTITION BY item ORDER BY position), frame AS (w ROWS {range} - 1 PRECEDING)
)
SELECT item, place // {slide} - 1 AS "end", n, hi, mean FROM placed WHERE place % {slide} = 0""",
    "tuple": """
WITH placed AS (
  SELECT t, row_number() OVER w AS place, count(*) OVER frame AS n, max(price) OVER frame AS hi,
    avg(price) OVER frame AS mean
  FROM (SELECT epoch_us(ts) AS t, price FROM {source})
  WINDOW w AS (ORDER BY t), frame AS (ORDER BY t RANGE BETWEEN {range} - 1 PRECEDING AND CURRENT ROW)
)
SELECT 0 AS item, t AS "end", n, hi, mean FROM placed WHERE place % {slide} = 0""",
    "join": """
SELECT epoch_us(a.ts) AS ts, a.item, a.price, epoch_us(b.ts) AS other, b.price AS offer
FROM {a} AS a JOIN {b} AS b ON a.item = b.item
  AND b.ts BETWEEN a.ts - to_microseconds({range}) AND a.ts + to_microseconds({range})""",
}


def prepare(job: Job) -> Callable[[], pa.Table]:
    """Its best form in memory is a table of its own."""
    connection = duckdb.connect(config={"threads": job.cores})
    run(connection, job.warm_up, sources(job.warm_up))
    named = sources(job)
    if job.input == "memory":
        for name, source in named.items():
            connection.execute(f"CREATE TABLE held_{name} AS FROM {source}")
        named = {name: f"held_{name}" for name in named}
    return lambda: run(connection, job, named)


def sources(job: Job) -> dict[str, str]:
    """The streams of a job and what to write for each after FROM."""
    if job.kind == "join":
        return {name: f"'{job.path}/{name}/*.parquet'" for name in ("a", "b")}
    return {"source": f"'{job.path}'"}


def run(connection: duckdb.DuckDBPyConnection, job: Job, named: dict[str, str]) -> pa.Table:
    if job.kind == "queries":
        found = [run(connection, one, named) for one in job.each]
        return pa.concat_tables(table.append_column("query", pa.array([number] * table.num_rows))
                                for number, table in enumerate(found))
    after, frame = (1, "UNBOUNDED") if job.kind == "cumulate" else (job.panes, job.panes - 1)
    kind = "sparse" if job.options.get("sparse") else job.kind
    query = QUERIES[kind].format(**named, range=job.range, slide=job.slide, panes=job.panes, after=after, frame=frame)
    return connection.sql(query).to_arrow_table()


def as_table(_job: Job, results: pa.Table) -> pa.Table:
    return results


if __name__ == "__main__":
    main(prepare, as_table)
