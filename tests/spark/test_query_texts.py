"""Every query of the language on real Spark, in batch and as a stream, with the oracle's answer: a long run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from panewise.engines.oracle.engine import Oracle
from panewise.engines.spark.engine import run_batch, run_streaming
from panewise.engines.spark.progress import arrival
from panewise.engines.spark.wire import CONTROL, END_TEXT, POSITION
from panewise.plan.nodes import Named, Node, Table
from panewise.progress.timeline import Arrival
from panewise.sql import parse
from relations.running import bag
from spark.cases import aged
from sql.rows import arrivals
from sql.sql_cases import catalog, options
from sql.test_queries_run import CASES

pytestmark = [pytest.mark.spark, pytest.mark.soak]

ROWS = 12
FILES = 3
every_text = pytest.mark.parametrize("text", CASES, ids=[c["id"] for c in CASES])


class Inputs:
    """Rows for all inputs of a plan, one input after the other in the order of arrival."""

    def __init__(self, plan: Node) -> None:
        self.nodes = {node.name: node for node in plan.walk() if isinstance(node, Named)}
        made = arrivals(plan, ROWS)
        self.rows = {name: [dict(a.item) for a in made if a.stream == name] for name in self.nodes}

    def timeline(self) -> list[Arrival]:
        return [Arrival(name, row) for name, rows in self.rows.items() for row in rows]

    def table(self, name: str) -> pa.Table:
        """With the place of every row in the order of arrival."""
        first = list(self.nodes).index(name) * ROWS
        numbered = [{**row, POSITION: first + place} for place, row in enumerate(self.rows[name], 1)]
        schema = pa.schema([*self.nodes[name].schema.columns.items(), (POSITION, pa.int64())])
        return pa.Table.from_pylist(numbered, schema)

    def write(self, name: str, folder: Path) -> Path:
        """Files of a few rows each, the last with the promise that ends the stream."""
        table = self.table(name)
        table = table.append_column(CONTROL, pa.nulls(ROWS, pa.string()))
        end = pa.Table.from_pylist([{CONTROL: END_TEXT}], table.schema)
        home = folder / name
        home.mkdir()
        size = -(-ROWS // FILES)
        for number in range(FILES):
            part = table.slice(number * size, size)
            pq.write_table(pa.concat_tables([part, end]) if number == FILES - 1 else part,
                           home / f"{number}.parquet")
            aged(home / f"{number}.parquet", number)
        return home


def plan_of(text: dict[str, Any]) -> Node:
    return parse(text["text"], catalog(), **options(text))


def expected(plan: Node, inputs: Inputs) -> Counter[str]:
    found = bag(Oracle(plan, inputs.timeline()).results())
    assert found, "rows for which the query has an answer"
    return found


@every_text
def test_every_query_of_the_language_in_batch(text: dict[str, Any], spark: SparkSession) -> None:
    plan = plan_of(text)
    inputs = Inputs(plan)
    frames = {name: arrival(spark.createDataFrame(inputs.table(name)), POSITION) for name in inputs.nodes}
    found = run_batch(plan, frames).toArrow().to_pylist()
    assert bag(found) == expected(plan, inputs)


@every_text
def test_every_query_of_the_language_as_a_stream(text: dict[str, Any], spark: SparkSession, tmp_path: Path) -> None:
    plan = plan_of(text)
    inputs = Inputs(plan)
    frames = {}
    for name, node in inputs.nodes.items():
        if isinstance(node, Table):
            frames[name] = spark.createDataFrame(inputs.table(name).drop_columns([POSITION]))
            continue
        home = inputs.write(name, tmp_path)
        reader = spark.readStream.schema(spark.read.parquet(str(home)).schema).option("maxFilesPerTrigger", 1)
        frames[name] = reader.parquet(str(home))
    results = run_streaming(plan, frames, shards=2)
    query = results.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint")) \
        .trigger(availableNow=True).start(str(tmp_path / "out"))
    query.awaitTermination()
    found = spark.read.schema(results.schema).parquet(str(tmp_path / "out")).toArrow().to_pylist()
    assert bag(found) == expected(plan, inputs)
