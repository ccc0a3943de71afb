"""The Spark engine's front door: a plan and DataFrames in, a DataFrame out."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from panewise.engines.spark.batch import batch
from panewise.engines.spark.fragment import take_apart
from panewise.plan.nodes import Node


def run_batch(plan: Node, inputs: Mapping[str, DataFrame]) -> DataFrame:
    """The complete result of a plan over bounded DataFrames, one per stream name; nothing runs before an action."""
    return batch(take_apart(plan, inputs))
