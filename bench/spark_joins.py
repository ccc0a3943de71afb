"""Spark streaming: a join of two streams in a time band against Spark's own stream-stream join, with equal results.

    python bench/spark_joins.py                       # 2 x 2 million rows in 10 micro-batches, one pair per row
    python bench/spark_joins.py --rows 200000 --batches 4

Both read the same Parquet files, keep their state in RocksDB, checkpoint every micro-batch and write Parquet; both
forget rows three seconds behind the largest time of both streams. What they wrote is compared row by row.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import LATE, SECOND, bids, load_note, median, say, table_text, write_json
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_streaming import FILES, Run, run

import panewise as pw
from panewise.engines.spark.session.session import session

DDL = "ts timestamp, item bigint, price double"
DELAY = f"{LATE // SECOND} seconds"
REACH = "1 second"
QUERY = (f"SELECT a.ts, a.item, a.price, b.ts AS other, b.price AS offer FROM a [WA ts, RANGE {REACH}], "
         f"b [WA ts, RANGE {REACH}] WHERE a.item = b.item")


def ours(left: DataFrame, right: DataFrame) -> DataFrame:
    return pw.sql(QUERY, a=left, b=right, progress=f"late:{DELAY}")


def native(left: DataFrame, right: DataFrame) -> DataFrame:
    a, b = left.withWatermark("ts", DELAY).alias("a"), right.withWatermark("ts", DELAY).alias("b")
    near = F.expr(f"a.item = b.item AND b.ts BETWEEN a.ts - INTERVAL {REACH} AND a.ts + INTERVAL {REACH}")
    return a.join(b, near).select("a.ts", "a.item", "a.price", F.col("b.ts").alias("other"),
                                  F.col("b.price").alias("offer"))


def write_files(folder: Path, rows: int, keys: int, batches: int, seed: int) -> None:
    folder.mkdir(parents=True)
    size = -(-rows // (batches * FILES))
    whole = pa.concat_tables(bids(rows, keys=keys, seed=seed)).combine_chunks()
    for number in range(batches * FILES):
        path = folder / f"{number:04d}.parquet"
        pq.write_table(whole.slice(number * size, size), path)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))  # Spark takes files by their age


def measure(spark: SparkSession, files: Path, name: str, out: Path) -> Run:
    left, right = (spark.readStream.schema(DDL).option("maxFilesPerTrigger", FILES).parquet(str(files / side))
                   for side in ("a", "b"))
    return run((ours if name == "panewise" else native)(left, right), out)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="of each stream")
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--json", type=Path, help="append the figures to this file as JSON lines")
    options = parser.parse_args()
    note = load_note()
    spark = session(options.master, "panewise spark join bench")
    work = Path(tempfile.mkdtemp(prefix="panewise-bench-"))
    names = ("panewise", "Spark's join")
    runs: dict[str, list[Run]] = {name: [] for name in names}
    try:
        for place, rows, batches in (("files", options.rows, options.batches), ("warm", 100_000, 2)):
            for side, seed in (("a", 7), ("b", 8)):
                write_files(work / place / side, rows, options.keys, batches, seed)
        for name in names:
            measure(spark, work / "warm", name, work / "warm-out")
        for number in range(options.repeat):
            for name in names:
                one = measure(spark, work / "files", name, work / name.replace("'", "").replace(" ", "-"))
                runs[name].append(one)
                say(f"round {number + 1}: {name} {one.seconds:.1f} s, CPU {one.cpu_seconds:.1f} s, "
                    f"micro-batches {np.round(one.batch_seconds, 1).tolist()}")
        found, expected = (spark.read.parquet(str(work / name)) for name in ("panewise", "Sparks-join"))
        pairs = expected.count()
        wrong = found.exceptAll(expected).count() + expected.exceptAll(found).count()
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    lines = [(name, f"{median([r.seconds for r in done]):.1f}", f"{median([r.cpu_seconds for r in done]):.1f}",
              f"{max(r.state_rows for r in done):,}", f"{max(r.checkpoint_bytes for r in done) / 1e6:.1f}")
             for name, done in runs.items()]
    ratio = median([theirs.seconds / mine.seconds for mine, theirs in zip(*runs.values(), strict=True)])
    print(f"2 x {options.rows:,} rows in {options.batches} micro-batches, {options.keys:,} keys, {pairs:,} pairs, "
          f"median of {options.repeat}{note}")
    print(table_text(("", "seconds", "CPU seconds", "state rows", "checkpoint MB"), lines))
    print(f"panewise is {ratio:.2f} times as fast; rows that differ: {wrong}")
    seconds = {name: [round(r.seconds, 2) for r in done] for name, done in runs.items()}
    write_json(options.json, "spark_joins", [{"rows": options.rows, "keys": options.keys, "batches": options.batches,
                                              "pairs": pairs, "times_as_fast": round(ratio, 2), "differences": wrong,
                                              "seconds": seconds}])
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
