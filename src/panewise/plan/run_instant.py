"""``now()`` and its kin: the instant the run began, the same on every row, engine and restart.

A plan keeps the calls until it is run; then they become constants, so that every engine computes with one value. A
checkpoint keeps the instant, and a run that goes on from it puts the same one in.
"""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from panewise.core.errors import PanewiseWarning
from panewise.core.scalar import Scalar
from panewise.functions.times.clocks import session_zone
from panewise.plan.nodes import Node, zone_of
from panewise.plan.written import text_of, written

if TYPE_CHECKING:
    from sqlglot import exp

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INSTANTS = ("now", "current_timestamp", "current_date", "curdate", "localtimestamp")
"""Functions of the instant the run began; ``unix_timestamp()`` without an argument is another."""


def instant_now() -> datetime:
    """The present instant in UTC."""
    return datetime.now(UTC)


def reads_the_clock(plan: Node) -> bool:
    """Whether an expression of a plan asks for the instant the run began."""
    return begun_at(plan, datetime(2000, 1, 1, tzinfo=UTC)) is not plan


def begun_at(plan: Node, instant: datetime) -> Node:
    """The plan with this instant in place of ``now()`` and its kin.

    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.plan.nodes import Filter, Source
    >>> plan = Filter(Source("s", SourceSchema(zone="Asia/Tokyo")), Scalar.parse("t < now() AND d = current_date()"))
    >>> begun_at(plan, datetime(2026, 1, 1, 20, tzinfo=UTC)).predicate.sql
    "t < CAST('2026-01-01 20:00:00+00:00' AS TIMESTAMP) AND d = CAST('2026-01-02' AS DATE)"
    """
    zone = zone_of(plan)

    def visit(node: Node) -> Node:
        return node.rebuilt(visit).with_scalars(lambda scalar: _placed(scalar.sql, instant, zone))

    found = visit(plan)
    return plan if found is plan else written(found, text_of(plan))


def warn_of_the_clock(plan: Node) -> None:
    """Warn the user of a run without end that its clock stands still."""
    if reads_the_clock(plan):
        warnings.warn("now() is the instant the run began, for as long as it runs and after a restart from its "
                      "checkpoint: for the time of a row, use its time column", PanewiseWarning, stacklevel=3)


@lru_cache(maxsize=4096)
def _placed(sql: str, instant: datetime, zone: str) -> Scalar:
    if not any(name in sql.lower() for name in (*INSTANTS, "unix_timestamp")):
        return Scalar(sql)

    def visit(node: exp.Expr) -> exp.Expr:
        return _constant(node, instant, zone) or node

    return Scalar.of(Scalar(sql).tree.transform(visit))


def _constant(node: exp.Expr, instant: datetime, zone: str) -> exp.Expr | None:
    from sqlglot import exp

    if not isinstance(node, exp.Func) or node.expressions or isinstance(node, exp.Column):
        return None
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    local = _local(instant, zone)
    found = {
        "now": (instant.isoformat(" "), "TIMESTAMP"), "current_timestamp": (instant.isoformat(" "), "TIMESTAMP"),
        "current_date": (local.date().isoformat(), "DATE"), "curdate": (local.date().isoformat(), "DATE"),
        "localtimestamp": (local.isoformat(" "), "TIMESTAMP_NTZ"),
        "unix_timestamp": (str(int(instant.timestamp())), "BIGINT")}.get(name)
    if found is None:
        return None
    return exp.Cast(this=exp.Literal.string(found[0]), to=exp.DataType.build(found[1], dialect="spark"))


def _local(instant: datetime, zone: str) -> datetime:
    """What the clocks of a zone show, also of one that Java names and Python does not."""
    clocks = session_zone(zone)
    micros = (instant - EPOCH) // timedelta(microseconds=1)
    return (EPOCH + timedelta(microseconds=int(clocks.to_local(np.array([micros]))[0]))).replace(tzinfo=None)
