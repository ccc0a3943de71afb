"""What a shard goes on with after a restart, and what it refuses to go on with; without Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from panewise.core.errors import CheckpointError
from panewise.core.schema import Catalog, SourceKind, SourceSchema
from panewise.dataflow import open_plan
from panewise.engines.spark.host import worker_memory
from panewise.engines.spark.queries.placing import hosted_input
from panewise.engines.spark.queries.shard import QueryConfig, QueryShard
from panewise.engines.spark.queries.stage import TAG
from panewise.kernels.contract.state_file import table_bytes
from panewise.plan.nodes import Named
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.sql import parse
from panewise.storage import MemoryChunks

SCHEMAS = Catalog({
    "s": SourceSchema({"ts": pa.int64(), "k": pa.string()}, time="ts"),
    "t": SourceSchema({"k": pa.string(), "name": pa.string()}, kind=SourceKind.RELATION),
})
PLAN = parse("SELECT t.name, count(*) AS n FROM s [RANGE 5], t WHERE s.k = t.k GROUP BY t.name", SCHEMAS)
QUERY = open_plan(PLAN)
NODES = {node.name: node for node in PLAN.walk() if isinstance(node, Named)}
INPUTS = {name: hosted_input(number, NODES[name], QUERY.ordering_columns().get(name))
          for number, name in enumerate(QUERY.streams)}


def config(*table: tuple[str, str]) -> QueryConfig:
    rows = pa.Table.from_pylist([{"k": k, "name": name} for k, name in table], schema=INPUTS["t"].schema)
    return QueryConfig(PLAN, tuple(INPUTS.values()), LatePolicy.DROP, 1, QUERY.nothing().schema,
                       complete=((INPUTS["t"].tag, ((None, table_bytes(rows)),)),))


class Restarted:
    """A shard that loses all but its store after every step."""

    def __init__(self) -> None:
        self.store = MemoryChunks()
        self.saved: str | None = None

    def step(self, given: QueryConfig, ts: int, bound: int) -> list[dict[str, Any]]:
        worker_memory.forget()
        shard = QueryShard(given, self.store, self.saved, 0)
        rows = pa.Table.from_pylist([{"ts": ts, "k": "x"}], schema=INPUTS["s"].schema)
        promise = [INPUTS["s"].tag, Punctuation.below("ts", bound).to_state()]
        found = shard.step([rows.replace_schema_metadata({TAG: INPUTS["s"].tag.encode()})], [{"promises": [promise]}])
        self.saved = shard.saved()
        told: list[dict[str, Any]] = found.to_pylist()
        return told


def test_a_shard_that_starts_again_still_knows_its_static_table() -> None:
    shard, given = Restarted(), config(("x", "ex"), ("y", "why"))
    assert shard.step(given, 1, 3) == [{"name": "ex", "n": 1, "valid_from": 1, "change": 1}]
    again = config(("y", "why"), ("x", "ex"))  # read in another order
    assert shard.step(again, 4, 5) == [{"name": "ex", "n": 1, "valid_from": 4, "change": -1},
                                       {"name": "ex", "n": 2, "valid_from": 4, "change": 1}]


def test_a_static_table_that_has_changed_is_refused_after_a_restart() -> None:
    shard = Restarted()
    shard.step(config(("x", "old")), 1, 3)
    with pytest.raises(CheckpointError, match=r"has static tables 't: 1 rows, digest \w+', the query has"):
        shard.step(config(("x", "new")), 4, 20)


def test_results_with_and_without_punctuation_are_of_two_checkpoints() -> None:
    shard, given = Restarted(), config(("x", "ex"))
    shard.step(given, 1, 3)
    with pytest.raises(CheckpointError, match="the checkpoint has emit 'final', the query has 'punctuated'"):
        shard.step(replace(given, punctuated=True), 4, 20)
