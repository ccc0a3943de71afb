"""Why a contender is faster where it is: found by profiling, and said beside the figures.

In process by ``bench/where_time_goes.py``, whose table is in docs/benchmarks.md; on Spark by the durations that the
progress of a query and Spark's event log give.
"""

from __future__ import annotations

from collections.abc import Sequence

BATCH = ("duckdb", "polars")
"""Those that answer once."""
ONCE = ("answers once, when all rows are there, in one pass over whole columns, and keeps nothing for rows to come; "
        "panewise takes batch after batch, and its state is ready for more after each")
BY_JOB = {
    "nexmark": "With two threads besides. Where streams are joined (q3, q4, q6, q8, q9) rows wait until their instant "
               "is complete, every operator numbers keys and keeps rows, and results are told for every instant: no "
               "single part has most of the time. q7 reads the bids twice, because all bids of the highest price are "
               "asked for. q5 spends a third of its time on panes and windows and a fifth on reading; of q12 three "
               "fifths are reading the file",
    "flink": "Four fifths of our time is parsing CSV, which DuckDB does faster",
    "cumulate": "More than half of our time is parsing CSV; a fifth are the totals that are told every slide",
    "join": "Four fifths of our time is the join itself, both sides kept by key and time for rows to come, pairs told "
            "when their later row is there; a batch join builds one table and probes it once",
    "queries": "Every query of ours takes all batches by itself: a third of the time are its panes and windows, "
               "another third the fixed cost of so many batches; what queries have in common is not yet computed once",
    "cores": "It groups on both cores; a query of panewise runs on one, and only files are decoded on two",
    "keys": "With few keys a million rows are a tenth of a second, half of it reading the file. With a million keys a "
            "third goes into groups and more than half into cells of panes that hold one row or two and are put "
            "together into five windows; numbering the keys is a sixteenth of it",
    "skew": "With many keys most of our time goes into cells of panes that hold one row or two. Where one key has "
            "nearly all rows there is no such work: all is a tenth of a second, a third of it reading the file, a "
            "quarter panes and windows, a sixth numbering keys, and the rest the cost of a hundred batches",
    "disorder": "The order in which rows come is nothing to it; ours are placed pane by pane, and neighbours are not "
                "in the same pane any more",
    "lateness": "The order in which rows come is nothing to it; more panes are open at a time",
}
MICRO_BATCH = ("a micro-batch of panewise has a fixed cost that Spark's own operators have not: rows go to Python "
               "workers and back, and the state of each shard is written in chunks. More rows in a micro-batch or more "
               "overlap pay it back; docs/benchmarks.md has ten million rows")
SPARK = {
    "spark-batch": "at a small RANGE/SLIDE window() has little to copy, and panes need one more stage, from panes to "
                   "windows, whose start so few rows do not pay back; docs/benchmarks.md has ten million",
    "session": "rows go to Python workers and back; Spark's session_window stays in the JVM",
}


def reasons(faster: Sequence[tuple[str, str]]) -> list[str]:
    """One line for every job and contender (by their names) that was faster somewhere."""
    return [f"{job}, {contender}: {_why(job, contender)}." for job, contender in dict.fromkeys(faster)]


def _why(job: str, contender: str) -> str:
    name = contender.split("/", maxsplit=1)[0]
    if name in BATCH:
        return ". ".join(filter(None, (ONCE, BY_JOB.get(job))))
    if name == "spark":
        return SPARK.get(job, MICRO_BATCH)
    return "not yet profiled"
