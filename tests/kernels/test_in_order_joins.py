"""The in-order joins give OA-Join's results, in order, later."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.joining import by_definition, random_pairing, random_streams, run, spec_of
from panewise.core.errors import PlanError
from panewise.core.join_kinds import JoinKind
from panewise.kernels.joins.in_order import InputBufferedJoin, MergedJoin, OrderedJoin, OutputBufferedJoin
from panewise.kernels.joins.pairing import Band

JOINS = [OutputBufferedJoin, InputBufferedJoin, MergedJoin]


@pytest.mark.parametrize("kind", JOINS)
@settings(max_examples=15, deadline=None)
@given(random=st.randoms(use_true_random=False), residual=st.booleans())
def test_the_same_results_in_order_and_nothing_left_behind(kind: type[OrderedJoin], random: Random,
                                                           residual: bool) -> None:
    spec = spec_of(random_pairing(random), residual=residual)
    arriving = random_streams(random, grouped=False)
    join = kind(spec)
    found = run(join, arriving)
    assert sorted(found) == sorted(by_definition(spec, arriving).elements())
    times = [max(row[0], row[3]) if kind is MergedJoin else row[0] for row in found]
    assert times == sorted(times)
    assert join.held == 0


@pytest.mark.parametrize("kind", JOINS)
def test_they_are_inner_joins(kind: type[OrderedJoin]) -> None:
    with pytest.raises(PlanError, match="use OAJoin"):
        kind(spec_of(Band(0, 1), kind=JoinKind.LEFT))
