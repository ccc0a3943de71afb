"""Constants of floats in promises: one zero and one NaN, by value, by column and after a restart."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pytest

from panewise.progress.bounds import BoundTable
from panewise.progress.patterns import Constant, OneOf
from panewise.progress.punctuation import Punctuation

ZEROS, NANS = (0.0, -0.0), (math.nan, float("nan"), -float("nan"))


@pytest.mark.parametrize(("one", "two"), [(a, b) for equal in (ZEROS, NANS) for a in equal for b in equal])
def test_equal_floats_are_one_constant(one: float, two: float) -> None:
    column = pa.array([two, 1.0, None])
    for pattern, other in ((Constant(one), Constant(two)), (OneOf(frozenset([one])), OneOf(frozenset([two])))):
        assert pattern == other
        assert pattern.matches(two)
        assert pattern.subsumes(other)
        assert pattern.mask(column).tolist() == [True, False, False]
    table = BoundTable("ts")
    assert table.advance(Punctuation.below("ts", 9, k=one))
    assert not table.advance(Punctuation.below("ts", 9, k=two))
    restored = BoundTable("ts")
    restored.restore(json.loads(json.dumps(table.snapshot())))
    for known in (table, restored):
        assert known.bound_for({"k": two}) == 9
        assert known.bounds_for({"k": column})[0] == 9
        assert not known.advance(Punctuation.below("ts", 8, k=two))
