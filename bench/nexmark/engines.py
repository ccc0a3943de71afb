"""The engines a query of Nexmark runs on, from the same files to the same rows.

Each has ``run(query, data, work)``, which reads the files and has all results in memory or on disk when it returns: the
part a clock is held to. Starting an engine and looking at the results are not.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from spark_tasks import LOG_SECONDS, logged, shuffled

import panewise as pw
from nexmark.files import FILES, PUNCTUATION, columns, parts, settings
from nexmark.generator import STREAMS
from nexmark.queries import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Finished:
    """What a run left behind."""

    results: Callable[[], pa.Table]
    state_rows: int | None = None
    """The most at the end of a micro-batch, where the engine says it."""
    state_bytes: int | None = None
    aside: float = 0.0
    """Seconds that went into looking at the state, and do not count."""


class Engine(Protocol):
    """Runs a query over files."""

    def run(self, query: Query, data: Path, work: Path) -> Finished:
        """To the end of the files; ``work`` is an empty folder for whatever it needs."""
        ...

    def shuffled(self, since: float) -> int | None:
        """Bytes written to be shuffled since a moment, where rows are."""
        ...

    def close(self) -> None:
        """Stop what was started."""
        ...


class Embedded:
    """In process: micro-batch by micro-batch, the rows of every stream and then what was promised."""

    def run(self, query: Query, data: Path, work: Path) -> Finished:
        del work
        site, _ = settings(data)
        running = pw.open_query(query.text, params=query.params(site),
                                **{name: columns(data, name) for name in query.streams})
        told, rows, size, aside = [], 0, 0, 0.0
        for batch in zip(*(parts(data, name) for name in query.streams), strict=True):
            for name, part in zip(query.streams, batch, strict=True):
                told.append(running.push(name, part.rows))
                if part.bound is not None:
                    told.append(running.push(name, pw.Punctuation.below(query.clock(name), part.bound)))
            looking = time.perf_counter()
            status = running.status(windows=0)
            rows, size = max(rows, status["partials"] + status["buffered"]), max(size, status["state_bytes"])
            aside += time.perf_counter() - looking
        told.append(running.finish())
        return Finished(lambda: pa.concat_tables(told), rows, size, aside)

    def shuffled(self, since: float) -> int | None:
        return None

    def close(self) -> None:
        pass


class DuckDB:
    """The reference: one query over all rows at once."""

    def __init__(self, cores: int) -> None:
        self._cores = cores

    def run(self, query: Query, data: Path, work: Path) -> Finished:
        del work
        import duckdb

        database = duckdb.connect(config={"threads": self._cores})
        for name in query.streams:
            times = ", ".join(f"epoch_us({column.name}) AS {column.name}" for column in columns(data, name)
                              if pa.types.is_timestamp(column.type))
            database.execute(f"CREATE VIEW {name} AS SELECT * EXCLUDE ({PUNCTUATION}) REPLACE ({times}) "
                             f"FROM '{data / name}/*.parquet' WHERE {PUNCTUATION} IS NULL")
        results = database.sql(query.reference).to_arrow_table()
        return Finished(lambda: results)

    def shuffled(self, since: float) -> int | None:
        return None

    def close(self) -> None:
        pass


class OnSpark:
    """What both ways on Spark share: the session, and its log of events."""

    def __init__(self, spark: SparkSession, events: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self.spark, self.events = spark, events

    def shuffled(self, since: float) -> int | None:
        if self.events is None:
            return None
        time.sleep(LOG_SECONDS)
        return shuffled(Path(self.events.name), since * 1000)

    def close(self) -> None:
        self.spark.stop()
        if self.events is not None:
            self.events.cleanup()


class SparkBatch(OnSpark):
    """Spark over all files at once, into Parquet."""

    def run(self, query: Query, data: Path, work: Path) -> Finished:
        site, _ = settings(data)
        frames: dict[str, Any] = {
            name: self.spark.read.parquet(str(data / name)).where(f"{PUNCTUATION} IS NULL").drop(PUNCTUATION)
            for name in query.streams}
        out = work / "results"
        pw.sql(query.text, params=query.params(site), **frames).write.parquet(str(out))
        return Finished(lambda: pq.read_table(out))


class SparkStreaming(OnSpark):
    """Spark over the files in micro-batches (available-now), with a checkpoint, into Parquet."""

    def run(self, query: Query, data: Path, work: Path) -> Finished:
        from spark_streaming import run

        site, _ = settings(data)
        frames: dict[str, Any] = {name: self._stream(query, data, name) for name in query.streams}
        out = work / "results"
        done = run(pw.sql(query.text, params=query.params(site), **frames), out)
        return Finished(lambda: pq.read_table(out), done.state_rows, done.checkpoint_bytes)

    def _stream(self, query: Query, data: Path, name: str) -> DataFrame:
        """The promises are about ``ts``; no auction closes before it opens, so they hold for ``expires``, too."""
        from pyspark.sql import functions as F

        folder = str(data / name)
        rows = self.spark.readStream.schema(self.spark.read.parquet(folder).schema) \
            .option("maxFilesPerTrigger", FILES).parquet(folder)
        about = F.replace(F.col(PUNCTUATION), F.lit('"ts"'), F.lit(f'"{query.clock(name)}"'))
        return pw.punctuated(rows.withColumn(PUNCTUATION, about), PUNCTUATION)


def engine(name: str, cores: int) -> Engine:
    """An engine by name, started."""
    if name == "embedded":
        return Embedded()
    if name == "duckdb":
        return DuckDB(cores)
    kinds: dict[str, type[SparkBatch | SparkStreaming]] = {"spark-batch": SparkBatch, "spark-streaming": SparkStreaming}
    if name not in kinds:
        raise ValueError(f"no engine {name!r}; there are embedded, duckdb, {', '.join(kinds)}")
    from panewise.engines.spark.session.session import session

    events = tempfile.TemporaryDirectory(prefix="nexmark-events-")
    return kinds[name](session(f"local[{cores}]", f"nexmark on {name}", **logged(Path(events.name))), events)


def rows_in(query: Query, data: Path) -> int:
    """How many rows the streams of a query have."""
    site, _ = settings(data)
    return sum(int(site.proportions.count(name, site.events)) for name in STREAMS if name in query.streams)
