"""Promises about single keys of joined streams, where keys are times, of two widths, or floats: what once failed."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from conformance.compare import assert_same_rows
from embedded.join_plans import run
from oracle.questions import Oracle
from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline

PAIRS = "SELECT a.ts, b.ts FROM a [RANGE 5, WA ts], b [RANGE 5, WA ts] WHERE a.k = b.k"


def below(bound: int, **key: object) -> Punctuation:
    return Punctuation.below("ts", bound, **key)


def check(text: str, left: pa.DataType, right: pa.DataType, arrivals: Timeline, *, late: int = 0) -> int:
    schemas = {name: SourceSchema({"ts": pa.int64(), "k": data_type}, time="ts")
               for name, data_type in (("a", left), ("b", right))}
    plan = plan_of(text, schemas)
    oracle = Oracle(plan, arrivals, late="drop")
    for saves in (frozenset[int](), frozenset(range(9))):
        found, query = run(plan, arrivals, saves=saves, late="drop")
        assert_same_rows(found, oracle.results())
        assert query.late_count == len(oracle.late_rows()) == late
    return len(found)


@pytest.mark.parametrize("text", [
    "SELECT count(*) [RANGE 5, SLIDE 5, WA a.ts] AS n FROM a [RANGE 3, WA ts], b [RANGE 3, WA ts] WHERE a.ts = b.k",
    "SELECT a.ts, b.ts FROM a [RANGE 3, WA ts], b [RANGE 3, WA ts] WHERE a.ts = b.k"])
def test_a_promise_about_a_time_that_is_the_key_is_not_one_about_all_rows(text: str) -> None:
    arrivals = [Arrival("a", {"ts": 4, "k": 0}), Arrival("a", below(7)), Arrival("b", below(100, k=1)),
                Arrival("b", {"ts": 4, "k": 4})]
    assert check(text, pa.int64(), pa.int64(), arrivals) == 1


@pytest.mark.parametrize(("left", "right"), [(pa.int32(), pa.int64()), (pa.int8(), pa.int64())])
def test_a_key_too_large_for_the_other_side_is_none_that_side_has_promised(left: pa.DataType,
                                                                           right: pa.DataType) -> None:
    arrivals = [Arrival("a", below(12, k=1)), Arrival("b", {"ts": 3, "k": 3_000_000_000}),
                Arrival("b", {"ts": 9, "k": 1}), Arrival("b", below(2, k=3_000_000_000)),
                Arrival("a", {"ts": 12, "k": 1})]
    assert check(PAIRS, left, right, arrivals) == 1


@pytest.mark.parametrize("data_type", [pa.float64(), pa.float32()])
@pytest.mark.parametrize(("promised", "key"), [(-0.0, 0.0), (0.0, -0.0), (math.nan, float("nan")),
                                               (float("nan"), -float("nan"))])
def test_there_is_one_zero_and_one_nan(data_type: pa.DataType, promised: float, key: float) -> None:
    arrivals = [Arrival("b", below(23, k=promised)), Arrival("b", {"ts": 18, "k": key}),
                Arrival("a", {"ts": 21, "k": key}), Arrival("b", {"ts": 24, "k": key}), Arrival("a", below(30, k=key))]
    assert check(PAIRS, data_type, pa.float64(), arrivals, late=1) == 1
