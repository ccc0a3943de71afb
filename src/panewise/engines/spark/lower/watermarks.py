"""``withWatermark`` of a DataFrame as the progress policy of its stream."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from panewise.core.errors import PlanError
from panewise.engines.spark.host.wire import CONTROL
from panewise.plan.nodes import Node
from panewise.planner.facts.ordering_columns import ordering_columns

DELAY = "spark.watermarkDelayMs"
"""Where Spark notes the delay of a watermark: with the column that has it."""


def with_watermarks(plan: Node, inputs: Mapping[str, DataFrame],
                    progress: str | Mapping[str, str]) -> str | Mapping[str, str]:
    """The policies that were given, and of streams without one, and without punctuation, that of their watermark."""
    found: dict[str, str] = {}
    ordering = ordering_columns(plan)
    for name, frame in inputs.items():
        if not frame.isStreaming or CONTROL in frame.columns or _given(progress, name) != "source":
            continue
        delays = {field.name: int(field.metadata[DELAY]) for field in frame.schema.fields if DELAY in field.metadata}
        asked = ordering.get(name, [])
        if not delays or not asked:
            continue
        if any(column not in delays for column in asked):
            raise PlanError(f"stream {name!r} has its watermark on {', '.join(delays)}, and this query orders it by "
                            f"{', '.join(asked)}: call withWatermark with that column, or say how late its rows can "
                            f"be, progress={{{name!r}: 'late:10 s'}}")
        found[name] = f"late:{max(delays[column] for column in asked)} ms"
    if not found:
        return progress
    return {name: found.get(name, _given(progress, name)) for name in inputs}


def _given(progress: str | Mapping[str, str], name: str) -> str:
    return progress if isinstance(progress, str) else progress.get(name, "source")
