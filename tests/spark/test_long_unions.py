"""A UNION of many parts on Spark: put together in pairs of pairs, refused by name beyond what Spark can plan."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from panewise.core.errors import UnsupportedError
from panewise.core.schema import Catalog, SourceSchema
from panewise.engines.spark.lower.stateless_steps import MOST_PARTS, lower, united
from panewise.sql import parse

CATALOG = Catalog.of(s=SourceSchema.of(pa.schema({"ts": pa.int64(), "a": pa.int64()}), time="ts"))


class Counted:
    """A DataFrame whose plan is as deep, and as large, as Spark's would be; what it looks through is added up."""

    looked_at = 0

    def __init__(self, names: tuple[str, ...], depth: int = 0) -> None:
        self.names, self.depth = names, depth

    def union(self, other: Counted) -> Counted:
        Counted.looked_at += len(self.names) + len(other.names)
        return Counted((*self.names, *other.names), max(self.depth, other.depth) + 1)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 256])
def test_parts_stay_in_order_and_are_not_looked_through_once_for_each(count: int) -> None:
    Counted.looked_at = 0
    frames: list[Any] = [Counted((f"p{i}",)) for i in range(count)]
    whole: Any = united(frames)
    assert whole.names == tuple(f"p{i}" for i in range(count))
    assert whole.depth <= count.bit_length()
    assert Counted.looked_at <= count * count.bit_length()


def test_more_parts_than_spark_can_plan_are_refused_before_anything_is_read() -> None:
    text = " UNION ALL ".join(["SELECT a FROM s WHERE a = 3"] * (MOST_PARTS + 1))
    with pytest.raises(UnsupportedError, match=rf"UNION of {MOST_PARTS + 1} parts, of at most {MOST_PARTS} on Spark"):
        lower(parse(text, CATALOG), {})
