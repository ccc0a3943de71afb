"""Every query of the language on real Spark, in batch and as a stream, with the oracle's answer: a long run."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from oracle.questions import Oracle
from panewise.engines.spark.engine import run_batch, run_streaming
from panewise.engines.spark.host.wire import POSITION
from panewise.engines.spark.lower.progress import arrival
from panewise.plan.nodes import Node, Table
from panewise.planner.facts.result_forms import Form, form_of
from panewise.sql import parse
from relations.running import bag
from spark.cases import run_in_batches
from spark.micro_batches import BATCHES, MicroBatches
from sql.sql_cases import catalog, options
from sql.test_queries_run import CASES

pytestmark = [pytest.mark.spark, pytest.mark.soak]

every_text = pytest.mark.parametrize("text", CASES, ids=[c["id"] for c in CASES])


def plan_of(text: dict[str, Any]) -> Node:
    return parse(text["text"], catalog(), **options(text))


@every_text
def test_every_query_of_the_language_in_batch(text: dict[str, Any], spark: SparkSession) -> None:
    plan = plan_of(text)
    inputs = MicroBatches(plan)
    frames = {name: arrival(spark.createDataFrame(inputs.table(name)), POSITION) for name in inputs.nodes}
    found = bag(run_batch(plan, frames).toArrow().to_pylist())
    assert found, "rows for which the query has an answer"
    assert found == bag(Oracle(plan, inputs.at_once).results())


@every_text
def test_every_query_of_the_language_as_a_stream(text: dict[str, Any], spark: SparkSession, tmp_path: Path) -> None:
    """Rows out of order and some too late, inputs side by side, promises in every file; every third query fails once.

    After every micro-batch a relation has told what happened at the instants that are complete, all of it and nothing
    else: so nothing is corrected later, and the changes of each instant come together. Streams may hold back rows.
    """
    plan = plan_of(text)
    inputs = MicroBatches(plan)
    frames = {}
    for name, node in inputs.nodes.items():
        if isinstance(node, Table):
            frames[name] = spark.createDataFrame(inputs.table(name).drop_columns([POSITION]))
            continue
        home = inputs.write(name, tmp_path)
        reader = spark.readStream.schema(spark.read.parquet(str(home)).schema).option("maxFilesPerTrigger", 1)
        frames[name] = reader.parquet(str(home))
    results = run_streaming(plan, frames, shards=2)
    batches, late = run_in_batches(results, tmp_path / "checkpoint", fail_at=None if CASES.index(text) % 3 else 1)
    assert len(batches) == BATCHES
    told, complete = list(accumulate(map(bag, batches))), inputs.complete()
    if form_of(plan) is not Form.STREAM:
        assert told == complete
    assert all(so_far <= may_be for so_far, may_be in zip(told, complete, strict=True))
    assert told[-1] == complete[-1]
    assert bool(told[-2]) == bool(complete[-2])
    assert late == len(Oracle(plan, inputs.timeline).late_rows())
