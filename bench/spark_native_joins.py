"""Spark streaming: who joins two streams faster, the kernels or Spark's own join, by rows in a micro-batch.

    python bench/spark_native_joins.py                          # 100 to 30,000 rows of each stream in a micro-batch
    python bench/spark_native_joins.py --rows 100 --batches 10

Both run the same query over panewise's file source, whose rows say which bound was in force when they came, so that
both are exact; what they wrote is compared row by row. From the first size at which the kernels are faster follows
`FEW_ROWS` of `panewise.engines.spark.queries.choosing`: rows a second, taken as those of a micro-batch.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from common import LATE, SECOND, bids, load_note, median, say, table_text, write_json
from pyspark.sql import SparkSession
from spark_joins import QUERY
from spark_streaming import Run, run

import panewise as pw
from panewise.engines.spark.io.sources import read_stream
from panewise.engines.spark.session.session import session

WAYS = ("kernels", "native")


def write_files(folder: Path, rows: int, keys: int, rate: int) -> None:
    """One file of each stream."""
    folder.mkdir(parents=True)
    for name, seed in (("a", 7), ("b", 8)):
        whole = pa.concat_tables(bids(rows, keys=keys, seed=seed, rows_per_second=rate)).combine_chunks()
        pq.write_table(whole, folder / f"{name}.parquet")


def measure(spark: SparkSession, files: Path, rows: int, way: str, out: Path) -> Run:
    frames = {name: read_stream(spark, files / f"{name}.parquet", time="ts", progress=f"late:{LATE // SECOND} seconds",
                                rows_per_batch=rows) for name in ("a", "b")}
    return run(pw.sql(QUERY, **frames, joins=way, late="drop"), out)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 300, 1_000, 3_000, 10_000, 30_000],
                        help="of each stream in a micro-batch")
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--json", type=Path, help="append the figures to this file as JSON lines")
    options = parser.parse_args()
    note = load_note()
    spark = session(options.master, "panewise native join bench")
    work = Path(tempfile.mkdtemp(prefix="panewise-bench-"))
    lines, shown, wrong = [], [], 0
    try:
        for rows in options.rows:
            files = work / f"{rows}"
            # a micro-batch is a second of the streams, and a row meets about one partner
            write_files(files, rows * options.batches, keys=max(2 * rows, 1), rate=rows)
            runs: dict[str, list[Run]] = {way: [] for way in WAYS}
            for _ in range(options.repeat):
                for way in WAYS:
                    runs[way].append(measure(spark, files, rows, way, work / way))
            ours, theirs = (spark.read.parquet(str(work / way)) for way in WAYS)
            differ = ours.exceptAll(theirs).count() + theirs.exceptAll(ours).count()
            wrong += differ
            # the first micro-batches start Python workers and compile code
            seconds = {way: median([s for one in runs[way] for s in one.batch_seconds[2:]]) for way in WAYS}
            ratio = seconds["kernels"] / seconds["native"]
            say(f"{rows:,} rows: {seconds}")
            shown.append((f"{rows:,}", ours.count(), *(f"{seconds[way]:.3f}" for way in WAYS), f"{ratio:.2f}"))
            lines.append({"rows": rows, "seconds": seconds, "kernels_over_native": round(ratio, 2),
                          "differences": differ})
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    print(f"seconds of a micro-batch, median, {options.batches} of them, {options.repeat} runs{note}")
    print(table_text(("rows of each stream", "pairs", *WAYS, "kernels/native"), shown))
    print(f"rows that differ: {wrong}")
    write_json(options.json, "spark_native_joins", lines)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
