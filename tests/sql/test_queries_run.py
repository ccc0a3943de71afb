"""Every query that is accepted also has an answer: its plan can be evaluated by definition, and has its columns."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from panewise.core.schema import SourceSchema
from panewise.engines.oracle.engine import Oracle
from panewise.plan.nodes import Source, Table
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse
from sql.sql_cases import catalog, load, options

CASES = [
    c for c in [*load("queries.yaml"), *load("examples.yaml")]
    if "parsed_only" not in c
]
WORDS = ("TCP", "ftp", "a", "SYN")


def value(data_type: pa.DataType, place: int, random: Random) -> Any:
    if pa.types.is_timestamp(data_type):
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=3 * place)
    if pa.types.is_date(data_type):
        return date(2026, 1, 1) + timedelta(days=place)
    if pa.types.is_integer(data_type):
        return random.randint(0, 3)
    return float(random.randint(20, 40)) if pa.types.is_floating(data_type) else random.choice(WORDS)


def arrivals(sources: dict[str, SourceSchema], rows: int) -> Timeline:
    random = Random(7)
    return [Arrival(name, {c: value(t, place, random) for c, t in schema.columns.items()})
            for place in range(rows) for name, schema in sources.items()]


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_the_plan_can_be_evaluated_and_has_the_columns_it_says(case: dict[str, Any]) -> None:
    plan = parse(case["text"], catalog(), **options(case))
    sources = {n.name: n.schema for n in plan.walk() if isinstance(n, Source)}
    tables = {n.name: [] for n in plan.walk() if isinstance(n, Table)}
    oracle = Oracle(plan, arrivals(sources, rows=5), tables=tables)
    for row in oracle.results():
        assert tuple(row) == oracle.columns
