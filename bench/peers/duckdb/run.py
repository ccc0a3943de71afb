"""DuckDB: one batch query on one thread; group by pane, then a frame over the panes of each key.

The grid of keys and panes gives the windows in which a key's last pane is empty, the ones at the end of the data above
all, so that the result is complete. Panes are integers: ``time_bucket`` on timestamps took twice the time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))
from adapter import Job, main

QUERY = """
WITH panes AS (
  SELECT item, epoch_us(ts) // {slide} AS pane, count(*) AS n, max(price) AS hi, sum(price) AS total
  FROM {source} GROUP BY ALL
), grid AS (
  SELECT item, pane
  FROM (SELECT DISTINCT item FROM panes), (SELECT unnest(range(min(pane), max(pane) + {panes})) AS pane FROM panes)
), framed AS (
  SELECT item, pane, sum(n) OVER w AS n, max(hi) OVER w AS hi, sum(total) OVER w AS total
  FROM grid LEFT JOIN panes USING (item, pane)
  WINDOW w AS (PARTITION BY item ORDER BY pane ROWS {panes} - 1 PRECEDING)
)
SELECT item, (pane + 1) * {slide} AS "end", n, hi, total / n AS mean FROM framed WHERE n > 0
"""


def prepare(job: Job) -> Callable[[], pa.Table]:
    """Its best form in memory is a table of its own."""
    connection = duckdb.connect(config={"threads": 1})
    run(connection, job, f"'{job.warm_path}'")
    source = f"'{job.path}'"
    if job.input == "memory":
        connection.execute(f"CREATE TABLE bids AS FROM {source}")
        source = "bids"
    return lambda: run(connection, job, source)


def run(connection: duckdb.DuckDBPyConnection, job: Job, source: str) -> pa.Table:
    return connection.sql(QUERY.format(source=source, slide=job.slide, panes=job.panes)).to_arrow_table()


def as_table(_job: Job, results: pa.Table) -> pa.Table:
    return results


if __name__ == "__main__":
    main(prepare, as_table)
