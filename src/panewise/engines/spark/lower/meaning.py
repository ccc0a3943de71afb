"""What expressions mean on Spark is decided here, not by the session: ANSI, and the time zone of the run.

Spark reads `spark.sql.ansi.enabled` and `spark.sql.session.timeZone` when it analyses an expression and keeps the
answer in it. A classic session analyses a DataFrame when it is made, so both settings are put right while a query is
built and put back afterwards; whatever the session says when it runs, in batch or in a stream, changes nothing. A Spark
Connect server analyses again with every action, with what the session says then: there a session that says something
else is refused.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from panewise.core.errors import PlanError
from panewise.engines.spark.session.connect import is_connect
from panewise.plan.nodes import Node, zone_of
from panewise.planner.choose.computed_outside import scalars_of

ANSI, ZONE = "spark.sql.ansi.enabled", "spark.sql.session.timeZone"
_building = threading.RLock()
"""The settings are the session's, so that one query is built at a time."""


class SessionMeaningWarning(UserWarning):
    """The session says something else about expressions than queries mean."""


def meant(plan: Node) -> dict[str, str]:
    """The settings under which the expressions of a plan have their meaning."""
    return {ANSI: "true", ZONE: zone_of(plan)}


def differences(plan: Node, spark: SparkSession) -> dict[str, str]:
    """The settings of a session that would give expressions another meaning, as they are."""
    said = {key: spark.conf.get(key) or value for key, value in meant(plan).items()}
    return {key: said[key] for key, value in meant(plan).items() if said[key].lower() != value.lower()}


def computes(plan: Node) -> bool:
    """Whether a plan has an expression that is more than a column."""
    return any(scalar.column_name is None for node in plan.walk() for scalar in scalars_of(node))


def note(plan: Node, frames: Mapping[str, DataFrame]) -> list[str]:
    """For `explain`: what the session says otherwise."""
    found = {key: value for frame in frames.values() for key, value in differences(plan, frame.sparkSession).items()}
    return [f"session: {key}={value}, expressions are computed with {meant(plan)[key]}"
            for key, value in found.items()] if computes(plan) else []


@contextmanager
def as_meant(plan: Node, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Build DataFrames whose expressions mean what they do on every engine."""
    spark = next((frame.sparkSession for frame in frames.values()), None)
    if spark is None:
        yield
        return
    with _building:
        other, wanted = differences(plan, spark), meant(plan)
        if not other or (is_connect(spark) and not computes(plan)):
            yield
            return
        said = " and ".join(f"{key}={value}" for key, value in other.items())
        if is_connect(spark):
            remedy = "; ".join(f'spark.conf.set("{key}", "{wanted[key]}")' for key in other)
            raise PlanError(f"the session says {said}, with which expressions would mean something else, and a Spark "
                            f"Connect server reads that whenever the query runs: {remedy}")
        if computes(plan):
            put_right = " and ".join(f"{key}={wanted[key]}" for key in other)
            warnings.warn(f"the session says {said}; the expressions of this query are computed with {put_right}, as "
                          "on every engine", SessionMeaningWarning, stacklevel=5)
        for key in other:
            spark.conf.set(key, wanted[key])
        try:
            yield
        finally:
            for key, value in other.items():
                spark.conf.set(key, value)
