"""A changing relation as a table that is always current, for readers who want what is there and not what happened.

    changes.writeStream.foreachBatch(current_state("out")).option("checkpointLocation", "state").start()
    read_current(spark, "out")

Every micro-batch writes the table anew beside the old one, and a small file that says which one counts: a reader sees
the relation before or after a batch, never between, and a batch that Spark repeats is not taken in twice. Meant for
relations that fit a table; what happened is the changelog itself.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panewise.core.errors import SchemaError, SourceError
from panewise.engines.spark.relation import quoted
from panewise.engines.spark.sinks import write_whole
from panewise.planner.forms import CHANGE, EXPIRES_AT, VALID_FROM

POINTER = "current.json"
NOW = "__pw_now"


def current_state(folder: str | Path) -> CurrentState:
    """For ``foreachBatch`` of a plan whose results are changes or rows with their ends."""
    return CurrentState(str(folder))


def read_current(spark: SparkSession, folder: str | Path) -> DataFrame:
    """The relation after the last micro-batch."""
    found = _pointer(Path(folder))
    if found is None:
        raise SourceError(f"{folder}: no batch has been committed here")
    return spark.read.parquet(str((Path(folder) / found["table"]).absolute()))


@dataclass(frozen=True)
class CurrentState:
    """Takes the changes of a micro-batch into the table of a folder."""

    folder: str

    def __call__(self, changes: DataFrame, batch: int) -> None:
        """One micro-batch."""
        home = Path(self.folder).absolute()
        before = _pointer(home)
        if before is not None and before["batch"] >= batch:
            return
        table = _after(changes, read_current(changes.sparkSession, home) if before is not None else None)
        name = f"table-{batch:012d}"
        home.mkdir(parents=True, exist_ok=True)
        table.write.mode("overwrite").parquet(str(home / name))
        write_whole(home / POINTER, {"batch": batch, "table": name})
        kept = {name, before["table"] if before is not None else name}  # somebody may be reading the one before
        for old in home.glob("table-*"):
            if old.name not in kept:
                shutil.rmtree(old, ignore_errors=True)


def _after(changes: DataFrame, before: DataFrame | None) -> DataFrame:
    if CHANGE in changes.columns and VALID_FROM in changes.columns:
        return _summed(changes, before)
    if EXPIRES_AT in changes.columns:
        return _alive(changes if before is None else before.union(changes))
    raise SchemaError(f"a current state needs results with {VALID_FROM!r} and {CHANGE!r} or {EXPIRES_AT!r}, as a "
                      f"changing relation has them; there are {', '.join(changes.columns)}")


def _summed(changes: DataFrame, before: DataFrame | None) -> DataFrame:
    """Copies that came less copies that went, of each value; since when the last of them is there."""
    names = [name for name in changes.columns if name not in (VALID_FROM, CHANGE)]
    parts = [changes.select(*map(quoted, names), VALID_FROM, CHANGE)]
    if before is not None:
        parts.append(before.select(*map(quoted, names), VALID_FROM, F.lit(1).cast("bigint").alias(CHANGE)))
    every = reduce(DataFrame.union, parts)
    since = F.max(F.when(F.col(CHANGE) > 0, F.col(VALID_FROM))).alias(VALID_FROM)
    found = every.groupBy(*map(quoted, names)).agg(F.sum(CHANGE).cast("int").alias(CHANGE), since)
    copies = F.explode(F.sequence(F.lit(1), F.col(CHANGE)))
    return found.where(F.col(CHANGE) > 0).select(*map(quoted, names), VALID_FROM, copies.alias(CHANGE)).drop(CHANGE)


def _alive(rows: DataFrame) -> DataFrame:
    """Rows whose end has not come at the latest instant at which anything is known to have happened."""
    latest = rows.agg(F.max(VALID_FROM).alias(NOW))
    alive = F.col(EXPIRES_AT).isNull() | (F.col(EXPIRES_AT) > F.col(NOW))
    return rows.crossJoin(F.broadcast(latest)).where(alive).drop(NOW)


def _pointer(home: Path) -> dict[str, Any] | None:
    path = home / POINTER
    return dict(json.loads(path.read_text())) if path.exists() else None
