"""Values of rows have the type their column declares, however they are written: results follow from types."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from oracle.questions import Oracle
from panewise.core.errors import AggregateError
from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import open_plan
from panewise.progress.timeline import Arrival
from panewise.sql import parse

CATALOG = Catalog({"s": SourceSchema({"ts": pa.int64(), "v": pa.decimal128(38, 10)}, time="ts")})
QUERIES = ["SELECT avg(v) AS m FROM s [RANGE 4]", "SELECT avg(v) [RANGE 4, SLIDE 4, WA ts] AS m FROM s"]


@pytest.mark.parametrize("text", QUERIES)
def test_an_average_of_decimals_has_four_digits_more_than_their_type_and_overflows_with_it(text: str) -> None:
    plan, rows = parse(text, CATALOG), [{"ts": 1, "v": Decimal(5 * 10**24)}]  # too large beside 14 digits
    with pytest.raises(AggregateError, match=r"does not fit decimal\(38, 14\)"):
        Oracle(plan, [Arrival("s", row) for row in rows]).results()
    query = open_plan(plan)
    query.push("s", rows)
    with pytest.raises(AggregateError, match=r"does not fit decimal\(38, 14\)"):
        query.finish()


@pytest.mark.parametrize("text", [*QUERIES, "SELECT sum(v) AS m FROM s [RANGE 4]", "SELECT v AS m FROM s [RANGE 4]"])
def test_short_decimals_are_shown_with_the_digits_of_their_type(text: str) -> None:
    plan, rows = parse(text, CATALOG), [{"ts": 1, "v": Decimal("1.5")}, {"ts": 2, "v": Decimal(2)}]
    query = open_plan(plan)
    found = [*query.push("s", rows).to_pylist(), *query.finish().to_pylist()]
    expected = Oracle(plan, [Arrival("s", row) for row in rows]).results()
    assert [str(row["m"]) for row in found] == [str(row["m"]) for row in expected]
