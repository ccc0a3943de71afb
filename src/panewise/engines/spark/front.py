"""The Spark engine behind the contract of all engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from panewise.engines.contract import ALONE, Around, Engine
from panewise.engines.spark.engine import run
from panewise.engines.spark.files.run import run_files
from panewise.engines.spark.observe.describe import explain_frames
from panewise.files.reader import FileStream
from panewise.plan.nodes import Node
from panewise.planner.explain.plan_text import Format
from panewise.planner.legal.capabilities import check
from panewise.planner.options import Mode, RunOptions


class SparkEngine(Engine):
    """Batch and Structured Streaming, over DataFrames or streams in files."""

    def check(self, plan: Node, inputs: Mapping[str, Any], options: RunOptions) -> None:
        """Refuse what a run over such inputs would refuse."""
        check(plan, "spark")
        if any(isinstance(stream, FileStream) for stream in inputs.values()):
            mode = Mode.SPARK_FILES
        else:
            mode = Mode.SPARK_STREAM if any(frame.isStreaming for frame in inputs.values()) else Mode.SPARK_BATCH
        options.refuse_for(plan, mode)

    def explain(self, plan: Node, inputs: Mapping[str, Any], options: RunOptions, format: Format = "text") -> str:
        """The strategy, and what every operator over these DataFrames moves and keeps."""
        del format
        return explain_frames(plan, inputs, options)

    def run(self, plan: Node, inputs: Mapping[str, Any], options: RunOptions, around: Around = ALONE) -> Any:
        """A DataFrame over DataFrames, running results over files."""
        if any(isinstance(stream, FileStream) for stream in inputs.values()):
            return run_files(plan, inputs, options, around)
        return run(plan, inputs, options)
