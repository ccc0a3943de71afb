"""PyFlink: SQL with window table-valued functions over CSV files, in streaming mode on the mini cluster in process.

The package brings the CSV format and no Parquet, so every contender beside it reads CSV; it does not skip a line with
names, so it is given the same file without. Windows are closed by a watermark as late as rows may be; batch mode took
longer on 200,000 rows. The process stays between jobs, and the first statement of a kind loads classes, so a small one
comes before the clock; each starts a mini cluster of its own, as local execution does, which is part of its time.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from pyflink.table import EnvironmentSettings, TableEnvironment

sys.path.insert(0, str(Path(__file__).parents[1]))
from adapter import Job, main, read, refuse

BIDS = """CREATE TABLE {name} (
  ts TIMESTAMP(3), item BIGINT, price DOUBLE, WATERMARK FOR ts AS ts - INTERVAL '{late}' SECOND(3, 3)
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
RESULTS = """CREATE TABLE {name} (item BIGINT, `end` TIMESTAMP(3), n BIGINT, hi DOUBLE, mean DOUBLE)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
QUERY = """INSERT INTO {out} SELECT item, window_end, COUNT(*), MAX(price), AVG(price)
FROM TABLE({window}) GROUP BY item, window_start, window_end"""
WINDOWS = {
    "tumble": "TUMBLE(TABLE {bids}, DESCRIPTOR(ts), {range})",
    "sliding": "HOP(TABLE {bids}, DESCRIPTOR(ts), {slide}, {range})",
    "cumulate": "CUMULATE(TABLE {bids}, DESCRIPTOR(ts), {slide}, {range})",
}
WARM: set[str] = set()
"""The kinds of windows this process has run."""


def seconds(micros: int) -> str:
    """An interval as SQL has it."""
    return f"INTERVAL '{micros / 1e6:.3f}' SECOND(6, 3)"


def prepare(job: Job) -> Callable[[], Path]:
    refuse(job, "sliding", "cumulate")
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", str(job.cores))
    tables.get_config().set("table.local-time-zone", "UTC")
    folder = Path(tempfile.mkdtemp(prefix="panewise-bench-"))
    if kind_of(job) not in WARM:
        run(tables, job.warm_up, folder, "warm")
        WARM.add(kind_of(job))
    return lambda: run(tables, job, folder, "timed")


def kind_of(job: Job) -> str:
    """The table-valued function that has these windows."""
    return "tumble" if job.kind == "sliding" and job.panes == 1 else job.kind


def run(tables: TableEnvironment, job: Job, folder: Path, name: str) -> Path:
    out = folder / name
    bare = Path(job.path).with_name("bare.csv")
    tables.execute_sql(BIDS.format(name=f"bids_{name}", path=bare, late=f"{job.late / 1e6:.3f}"))
    tables.execute_sql(RESULTS.format(name=f"results_{name}", path=out))
    window = WINDOWS[kind_of(job)].format(bids=f"bids_{name}", range=seconds(job.range), slide=seconds(job.slide))
    tables.execute_sql(QUERY.format(out=f"results_{name}", window=window)).wait()
    return out


def as_table(job: Job, out: Path) -> pa.Table:
    """``CUMULATE`` goes on to the end of the range; what comes after the last row is not asked for."""
    files = [path for path in sorted(out.rglob("*")) if path.is_file() and path.stat().st_size]
    names = pacsv.ReadOptions(column_names=["item", "end", "n", "hi", "mean"])
    table = pa.concat_tables(pacsv.read_csv(path, names) for path in files)
    shutil.rmtree(out.parent, ignore_errors=True)
    table = table.set_column(1, "end", table.column("end").cast(pa.timestamp("us")).cast(pa.int64()))
    if job.kind == "cumulate":
        last = pc.max(read(job.path).column("ts")).cast(pa.int64()).as_py()
        table = table.filter(pc.less_equal(table.column("end"), last // job.slide * job.slide + job.slide))
    return table


if __name__ == "__main__":
    main(prepare, as_table)
