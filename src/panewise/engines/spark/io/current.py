"""A changing relation as a table that is always current, for readers who want what is there and not what happened.

    changes = pw.sql("SELECT …", s=stream, emit="punctuated")
    changes.writeStream.foreachBatch(current_state("out")).option("checkpointLocation", "state").start()
    read_current(spark, "out")

Rows that came with their end leave when the query's punctuation passes it, whether anything else happens or not: hence
``emit="punctuated"``. Relations that send changes say of every row when it goes, and need none.

Every micro-batch writes the table anew beside the old one, and a small file that says which one counts and what its
files must be like: a reader sees the relation before or after a batch, never between, a file that is missing or damaged
is refused by name, and a batch that Spark repeats is not taken in twice. A folder is
of one query and its checkpoint. Meant for relations that fit a table; what happened is the changelog itself.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.core.errors import CheckpointError, SchemaError, SourceError, telling
from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark.io.sinks import NO_RESULTS, read_sealed, write_sealed
from panewise.engines.spark.lower.fragment import naive_ordinal
from panewise.engines.spark.lower.stateless_steps import quoted
from panewise.planner.facts.result_forms import CHANGE, EXPIRES_AT, VALID_FROM, Form
from panewise.progress.punctuation import PUNCTUATION_KEY, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.storage import disk
from panewise.storage.listed import ListedFile

POINTER, KIND = "current", "current state"
EARLIER = "current.json"
"""The pointer of panewise 0.1."""


def current_state(folder: str | Path) -> CurrentState:
    """For ``foreachBatch`` of a plan whose results are changes or rows with their ends."""
    return CurrentState(str(folder))


def read_current(spark: SparkSession, folder: str | Path) -> DataFrame:
    """The relation after the last micro-batch."""
    found = _pointer(Path(folder))
    if found is None:
        raise SourceError(f"{folder}: no batch has been committed here")
    table = (Path(folder) / found["table"]).absolute()
    for one in found["files"]:
        ListedFile(*one).check(table, "restore the folder from a copy, or start with a new folder and a new checkpoint")
    return spark.read.parquet(str(table))


@dataclass(frozen=True)
class CurrentState:
    """Takes the changes of a micro-batch into the table of a folder."""

    folder: str

    def __call__(self, changes: DataFrame, batch: int) -> None:
        """One micro-batch."""
        home = Path(self.folder).absolute()
        before, query = _pointer(home), _query_id(changes.sparkSession)
        if before is not None:
            _refuse_other(home, before, query, batch)
            if before["batch"] == batch:  # Spark repeats the last one, where it did not hear that it was done
                return
        elif batch:
            raise CheckpointError(f"{home / POINTER} is missing, and this is batch {batch}: the changes before it "
                                  "would be lost; restore the folder from a copy, or start with a new checkpoint")
        table = _after(changes, read_current(changes.sparkSession, home) if before is not None else None)
        name = f"table-{batch:012d}"
        with telling(f"{home}: {NO_RESULTS}"):
            disk.make_directory(home)
            table.write.mode("overwrite").parquet(str(home / name))
            write_sealed(home / POINTER, KIND, {"batch": batch, "table": name, "query": query,
                                                "files": _forced(home / name)})
        kept = {name, before["table"] if before is not None else name}  # a reader may have the one before
        for old in home.glob("table-*"):
            if old.name not in kept:
                shutil.rmtree(old, ignore_errors=True)


def _refuse_other(home: Path, before: dict[str, Any], query: str | None, batch: int) -> None:
    """A folder belongs to the query that began it: another one, or one with a new checkpoint, counts from 0 again."""
    other = query is not None and before.get("query") not in (None, query)
    if other or batch < before["batch"]:
        raise CheckpointError(f"{home}: the table here is of another query, or of another checkpoint: it is as after "
                              f"batch {before['batch']}, and this is batch {batch}; start with a new folder, or remove "
                              "this one")


def _query_id(spark: SparkSession) -> str | None:
    """The streaming query that calls, the same after a restart from its checkpoint; Spark Connect does not tell."""
    context = getattr(spark, "sparkContext", None)
    return context.getLocalProperty("sql.streaming.queryId") if context is not None else None


def _after(changes: DataFrame, before: DataFrame | None) -> DataFrame:
    said = PUNCTUATION_KEY in changes.columns
    rows = changes.where(F.col(PUNCTUATION_KEY).isNull()).drop(PUNCTUATION_KEY) if said else changes
    form = _form(rows.columns)
    if form is Form.CHANGES:
        return _summed(rows, before)
    if form is Form.LIVES:
        if not said:
            raise SchemaError("rows with their ends leave when the query has passed them, so its results must say how "
                              "far it is: write emit='punctuated' where the query is made")
        return _alive(rows if before is None else before.union(rows), _bound(changes))
    raise SchemaError(f"a current state needs results with {VALID_FROM!r} and {CHANGE!r} or {EXPIRES_AT!r}, as a "
                      f"changing relation has them; there are {', '.join(changes.columns)}")


def _form(names: list[str]) -> Form | None:
    """How the results were told. A query may have a column `change` or `expires_at` of its own where the other one is
    added: what is added stands behind `valid_from`."""
    found = [form for form in (Form.CHANGES, Form.LIVES) if set(form.added) <= set(names)]
    if len(found) > 1:
        behind = names[names.index(VALID_FROM) + 1:][:1]
        found = [form for form in found if [form.added[-1]] == behind]
    return found[0] if found else None


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


def _alive(rows: DataFrame, bound: int) -> DataFrame:
    """Rows that are there at the last instant that is complete: the one before the bound."""
    if bound == NO_BOUND:
        return rows
    forever = F.col(EXPIRES_AT).isNull()
    return rows.where(forever if bound == FINISHED else forever | (_ordinal(rows) >= bound))


def _bound(changes: DataFrame) -> int:
    """How far the results of a micro-batch are: what all shards say."""
    kind = _kind(changes)
    said = changes.select(PUNCTUATION_KEY).where(F.col(PUNCTUATION_KEY).isNotNull()).distinct().collect()
    found = [Punctuation.from_json(json.loads(row[0]), VALID_FROM, kind) for row in said]
    bounds = [FINISHED if p.covers_everything else p.linear_bound(VALID_FROM) for p in found]
    return min((bound for bound in bounds if bound is not None), default=NO_BOUND)


def _kind(frame: DataFrame) -> OrdinalKind:
    data_type = frame.schema[EXPIRES_AT].dataType
    if isinstance(data_type, T.TimestampType | T.TimestampNTZType):
        return OrdinalKind.TIMESTAMP
    return OrdinalKind.DATE if isinstance(data_type, T.DateType) else OrdinalKind.INTEGER


def _ordinal(rows: DataFrame) -> Column:
    """The end as a number."""
    end, data_type = F.col(EXPIRES_AT), rows.schema[EXPIRES_AT].dataType
    if isinstance(data_type, T.TimestampNTZType):
        return naive_ordinal(end)
    if isinstance(data_type, T.TimestampType):
        return F.unix_micros(end)
    return F.unix_date(end) if isinstance(data_type, T.DateType) else end


def _forced(table: Path) -> list[list[Any]]:
    """The data files of a table, forced to disk, as a list."""
    files = sorted(path for path in table.iterdir() if path.name[0] not in "._")
    for path in files:
        disk.sync_file(path)
    disk.sync_directory(table)
    return [ListedFile.of(path.name, disk.read(path)).as_json() for path in files]


def _pointer(home: Path) -> dict[str, Any] | None:
    if (home / EARLIER).exists():
        raise CheckpointError(f"{home} was written by panewise 0.1 ({EARLIER}), which this version does not read: go "
                              "on with panewise 0.1, or start with a new folder and a new checkpoint")
    return read_sealed(home / POINTER, KIND) if (home / POINTER).exists() else None
