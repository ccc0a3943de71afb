"""The jobs: a short set for five minutes and the full set for an hour, on two cores."""

from __future__ import annotations

from collections.abc import Sequence

from common import LATE, ROWS_PER_SECOND, SECOND
from nexmark.queries import QUERIES

from suite.data import TICK, Data
from suite.jobs import Job, Point

PANE = 4 * SECOND
IN_PROCESS = ("panewise", "duckdb", "polars")
STREAMING = ("bytewax", "pathway")
QUICK_MINUTES, FULL_MINUTES = 5, 60


def quick() -> list[Job]:
    """A look at everything that can be seen in five minutes."""
    return [
        peers(rows=1_000_000, seconds=2, inputs=("memory",)),
        on_spark("streaming", rows=500_000, ratios=(20,), batches=2, seconds=12),
        nexmark(events=100_000, engines=("embedded", "duckdb")),
        ratio(rows=1_000_000, ratios=(1, 300)),
        flink(rows=100_000, ratios=(20,), contenders=("panewise", "pyflink", "quix")),  # the slowest to start: last
    ]


def full() -> list[Job]:
    """Every comparison, every sweep, scaling; what matters most first, in case the time is over."""
    return [
        on_spark("batch", rows=500_000, ratios=(1, 20, 60, 300), seconds=12),
        on_spark("streaming", rows=500_000, ratios=(1, 20, 60, 300), batches=3, seconds=12),
        peers(rows=5_000_000, seconds=5, inputs=("files", "memory")),
        ratio(rows=2_000_000, ratios=(1, 5, 20, 60, 300)),
        nexmark(events=300_000, engines=("embedded", "spark-batch", "spark-streaming", "duckdb")),
        flink(rows=1_000_000, ratios=(1, 20), contenders=(*IN_PROCESS, "pyflink", "quix")),
        join(rows=60_000, batches=3),
        session(rows=1_000_000),
        cumulate(seconds=240),
        latency(seconds=5, rates=(5_000, 100_000)),
        queries(rows=500_000, counts=(1, 20, 80)),
        keys(rows=1_000_000, counts=(10, 1_000, 100_000, 1_000_000)),
        disorder(rows=1_000_000, shares=(0.0, 0.2, 0.5)),
        row_window(rows=500_000, sizes=(10, 1_000, 10_000)),
        tuple_distance(rows=300_000, distances=(10, 1_000, 100_000)),
        skew(rows=1_000_000, shares=(0.0, 0.5, 0.99)),
        lateness(rows=1_000_000, seconds=(1, 10, 60)),
        batch_size(rows=1_000_000, sizes=(100, 10_000, 100_000)),
        cores(rows=5_000_000),
        scaling(rows=(1_000_000, 6_000_000)),
        micro_batches(rows=300_000, counts=(2, 8)),
    ]


# -- peers on the same job -------------------------------------------------------------------------------------------


def sliding(label: int | float | str, data: Data, ratio: int, **more: object) -> Point:
    """Windows of ``ratio`` panes of four seconds."""
    return Point(label, data, range=ratio * PANE, slide=PANE, **more)  # type: ignore[arg-type]


def peers(rows: int, seconds: float, inputs: Sequence[str]) -> Job:
    points = tuple(sliding(f"from {way}", Data(rows), 60, input=way) for way in inputs)
    return Job("peers", "In process, one core, RANGE/SLIDE 60", "input", points, (*IN_PROCESS, *STREAMING),
               seconds=seconds, text="Count, max and avg per key over sliding windows. DuckDB and Polars run one batch "
               "query, which is the limit of what a stream can reach; the others give results as rows come.")


def ratio(rows: int, ratios: Sequence[int]) -> Job:
    return Job("ratio", "In process, one core, by RANGE/SLIDE", "RANGE/SLIDE",
               tuple(sliding(one, Data(rows), one) for one in ratios), IN_PROCESS)


def flink(rows: int, ratios: Sequence[int], contenders: Sequence[str]) -> Job:
    return Job("flink", "Beside PyFlink, from CSV files, one core", "RANGE/SLIDE",
               tuple(sliding(one, Data(rows), one, csv=True) for one in ratios), tuple(contenders), seconds=20,
               text="PyFlink's package reads CSV and no Parquet, so all read CSV here. RANGE/SLIDE 1 is TUMBLE, the "
               "others are HOP. PyFlink's time has the start of its mini cluster in it. Quix Streams stands here to "
               "say what it needs.")


def cumulate(seconds: int) -> Job:
    data = Data((seconds - LATE // SECOND) * ROWS_PER_SECOND, lead=LATE)
    return Job("cumulate", "Windows that grow from a fixed start: CUMULATE and RANGE ALL", "seconds",
               (Point(seconds, data, kind="cumulate", range=seconds * SECOND, slide=PANE, csv=True),),
               ("panewise", "duckdb", "pyflink"), seconds=20)


def session(rows: int) -> Job:
    gap = 1_000_100  # no two regular rows are exactly so far apart: systems differ in whether that ends a session
    return Job("session", "Sessions by a pause of one second", "rows",
               (Point(rows, Data(rows), kind="session", range=gap),),
               ("panewise", "duckdb", "panewise_spark/batch", "spark/batch"))


def on_spark(mode: str, rows: int, ratios: Sequence[int], seconds: float, batches: int = 5) -> Job:
    data = Data(rows, batches=batches)
    return Job(f"spark-{mode}", f"Spark {mode}, two cores, by RANGE/SLIDE", "RANGE/SLIDE",
               tuple(sliding(one, data, one, cores=2) for one in ratios), (f"panewise_spark/{mode}", f"spark/{mode}"),
               timeout=240, seconds=seconds, text="panewise beside Spark's own window() on the same files.")


def join(rows: int, batches: int) -> Job:
    data = Data(rows, keys=max(10, rows // 200), batches=batches, slack=rows * SECOND // ROWS_PER_SECOND // batches)
    return Job("join", "Two streams joined on a key, at most one second apart", "rows",
               (Point(rows, data, kind="join", range=SECOND, cores=2),),
               ("panewise", "duckdb", "panewise_spark/streaming", "spark/streaming"), timeout=240, seconds=30)


def latency(seconds: int, rates: Sequence[int]) -> Job:
    points = tuple(Point(rate, Data(seconds * rate, rows_per_second=rate, late=SECOND // 20), range=6 * SECOND,
                         slide=SECOND // 10, batch=rate // 100, input="memory", options={"pace": rate})
                   for rate in rates)
    return Job("latency", "How soon results come at a steady rate, RANGE/SLIDE 60, SLIDE 100 ms", "rows/s", points,
               ("panewise", "bytewax"), seconds=seconds, measure="latency_ms",
               text="A hundred batches a second are given as they are due, so rows/s is the rate that was asked for, "
               "as long as a contender keeps up; the latencies are the measure: from the moment a batch is due to the "
               "results it brings. Those of streams on Spark are in the job spark-streaming: how long a micro-batch "
               "takes.")


# -- sweeps ----------------------------------------------------------------------------------------------------------


def queries(rows: int, counts: Sequence[int]) -> Job:
    points = tuple(Point(count, Data(rows, keys=100), kind="queries", range=count * PANE, slide=PANE, input="memory")
                   for count in counts)
    return Job("queries", "Queries at once, RANGE of 1, 2, ... panes", "queries", points, ("panewise", "duckdb"),
               timeout=240)


def keys(rows: int, counts: Sequence[int]) -> Job:
    return Job("keys", "By number of keys, RANGE/SLIDE 5", "keys",
               tuple(sliding(count, Data(rows, keys=count), 5, options={"sparse": count >= rows // 10})
                     for count in counts), IN_PROCESS)


def skew(rows: int, shares: Sequence[float]) -> Job:
    return Job("skew", "By the share of rows with one key, 1,000,000 keys, RANGE/SLIDE 5", "share of one key",
               tuple(sliding(share, Data(rows, keys=1_000_000, skew=share), 5, options={"sparse": True})
                     for share in shares), IN_PROCESS)


def disorder(rows: int, shares: Sequence[float]) -> Job:
    return Job("disorder", "By the share of rows out of order, up to 3 s late", "share out of order",
               tuple(sliding(share, Data(rows, disorder=share), 60) for share in shares),
               IN_PROCESS)


def lateness(rows: int, seconds: Sequence[int]) -> Job:
    return Job("lateness", "By how late rows are, 20 % out of order", "seconds late",
               tuple(sliding(late, Data(rows, disorder=0.2, late=late * SECOND), 60) for late in seconds), IN_PROCESS)


def batch_size(rows: int, sizes: Sequence[int]) -> Job:
    return Job("batch", "By rows per batch, from memory", "rows per batch",
               tuple(sliding(size, Data(rows), 60, batch=size, input="memory") for size in sizes),
               ("panewise", "bytewax"), seconds=3)


def micro_batches(rows: int, counts: Sequence[int]) -> Job:
    return Job("micro-batches", "Spark streaming by number of micro-batches, RANGE/SLIDE 20", "micro-batches",
               tuple(sliding(count, Data(rows, batches=count), 20, cores=2) for count in counts),
               ("panewise_spark/streaming", "spark/streaming"), timeout=240, seconds=10)


def tuple_distance(rows: int, distances: Sequence[int]) -> Job:
    points = tuple(Point(distance, Data(rows, distance=distance), kind="tuple", range=1_000 * TICK, slide=10)
                   for distance in distances)
    return Job("tuple-distance", "Slide by tuple, by how many rows late one in a hundred is", "rows late", points,
               ("panewise", "duckdb"), text="A window of 1,000 rows ends at every tenth row by time.")


def row_window(rows: int, sizes: Sequence[int]) -> Job:
    points = tuple(Point(size, Data(rows, keys=10), kind="rows", range=size, slide=10) for size in sizes)
    return Job("row-window", "Row windows of each key, SLIDE 10 rows, by size", "rows in a window", points,
               ("panewise", "duckdb"))


# -- scaling ---------------------------------------------------------------------------------------------------------


def cores(rows: int) -> Job:
    points = tuple(sliding(count, Data(rows), 60, cores=count) for count in (1, 2))
    return Job("cores", "In process on one core and on two, RANGE/SLIDE 60", "cores", points, IN_PROCESS,
               text="A query of panewise runs in one thread; a second core only helps to decode files. More cores "
               "are for more queries, or for Spark.")


def scaling(rows: Sequence[int]) -> Job:
    """The job that ``sizing`` computes clusters from: so many rows that the start of a query weighs little."""
    points = []
    for place, cores in (("local[1]", 1), ("local[2]", 2), ("standalone", 2)):
        points += [sliding(f"{place}, {count:,} rows", Data(count, batches=3), 20, cores=cores,
                           options={"master": place})
                   for count in rows]
    return Job("scaling", "Spark streaming on one core, two cores, and a standalone cluster of two workers",
               "place and rows", tuple(points), ("panewise_spark/streaming",), timeout=240)


# -- Nexmark ---------------------------------------------------------------------------------------------------------


def nexmark(events: int, engines: Sequence[str]) -> Job:
    """The queries of ``bench/nexmark``."""
    points = tuple(Point(name, Data(events, batches=3), cores=2) for name in QUERIES)
    return Job("nexmark", "Nexmark", "query", points, tuple(engines), timeout=240, family="nexmark",
               text="The queries of docs/nexmark.md. embedded runs in one thread, duckdb in two and only once, when "
               "all rows are there; on Spark there are two cores and three micro-batches.")
