"""The in-order joins give OA-Join's results, in order, later."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_order_joins import InputBufferedJoin, MergedJoin, OrderedJoin, OutputBufferedJoin

from kernels.joining import by_definition, random_pairing, random_streams, run, spec_of, table_of
from panewise.core.errors import PlanError
from panewise.core.join_kinds import LEFT, RIGHT, JoinKind
from panewise.kernels.joins.pairing import Band
from panewise.progress.punctuation import Punctuation

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


def test_input_buffered_lets_go_of_right_rows_that_no_left_row_can_meet() -> None:
    join = InputBufferedJoin(spec_of(Band.of_ranges(2, 2)))
    largest = 0
    for start in range(0, 40_000, 1_000):
        for side in (LEFT, RIGHT):
            join.process(side, *table_of(side, [(t, "a", 0) for t in range(start, start + 1_000, 5)]))
            join.advance(side, Punctuation.below(f"{'lr'[side]}.ts", start + 1_000))
        largest = max(largest, sum(store.rows for store in join.join.stores))
    assert largest < 2_000
