"""panewise on Spark: the same text as on the embedded engine, over Spark's DataFrames."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame

sys.path.insert(0, str(Path(__file__).parents[1]))
from adapter import Job, main
from on_spark import Runner
from questions import question

import panewise as pw


def ask(job: Job, streams: dict[str, DataFrame]) -> DataFrame:
    progress = {"progress": f"late:{job.late} us"} if job.options["mode"] == "streaming" else {}
    return pw.sql(question(job), **streams, **progress)


if __name__ == "__main__":
    runner = Runner(ask, batch=("sliding", "session", "join"), streaming=("sliding", "session", "join"))
    main(runner.prepare, runner.as_table)
