"""Random cases: every engine gives the oracle's complete answer, whatever the disorder, cuts, restarts and policies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.generated import (
    AGGREGATES,
    BY_POSITION,
    BY_VALUE,
    CONTINUOUS,
    NATIVE,
    VALUES_BY_POSITION,
    any_kind,
    random_case,
)
from conformance.runners import embedded, spark_batch, spark_streaming
from conformance.worked_examples import NUMBERS
from panewise.core.errors import UnsupportedError
from panewise.kernels.panes.pane_kernel import PanedKernel
from panewise.planner.legal.capabilities import supports
from panewise.progress.punctuation import Punctuation

randoms = st.randoms(use_true_random=False)


restarts = st.frozensets(st.integers(1, 20), max_size=4)


@settings(max_examples=75, deadline=None)
@given(randoms, st.integers(1, 10), restarts)
def test_the_embedded_engine_gives_the_oracles_answer(random: Random, batch_rows: int, at: frozenset[int]) -> None:
    case = random_case(random)
    expected = case.expected()
    assert_same_rows(embedded(case, batch_rows=batch_rows), expected)
    assert_same_rows(embedded(case, batch_rows=batch_rows, restarts=at), expected)


@settings(max_examples=50, deadline=None)
@given(randoms, st.integers(1, 10), restarts)
def test_dense_panes_give_the_oracles_answer(random: Random, batch_rows: int, at: frozenset[int]) -> None:
    case = random_case(random, aggregates=NATIVE)
    expected = case.expected()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PanedKernel, "dense_after", 3)  # not 50,000: from almost the beginning
        assert_same_rows(embedded(case, batch_rows=batch_rows, restarts=at), expected)


def test_dense_panes_saved_inside_a_window_hold_every_pane_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PanedKernel, "dense_after", 3)
    rows: list[object] = [{"ts": 0, "k": "a", "v": 1, "x": None}] * 5
    case = Case("saved inside a window", "SELECT count(*) AS n FROM s [RANGE 2, SLIDE 1, WA ts, LAG 1]",
                {"s": [*rows, Punctuation.below("ts", 1), *rows[:1]]}, {"s": NUMBERS | {"x": pa.float64()}})
    assert_same_rows(embedded(case, batch_rows=1, restarts={6}), case.expected())


@settings(max_examples=125, deadline=None)
@given(randoms, st.integers(1, 10), restarts)
def test_every_window_aggregate_gives_the_oracles_answer(random: Random, batch_rows: int, at: frozenset[int]) -> None:
    case = any_kind(random, (*BY_VALUE, *BY_POSITION), grammatical=None, rows=20, aggregates=AGGREGATES)
    assert supports(case.plan, "embedded")
    expected = case.expected()
    assert_same_rows(embedded(case), expected)
    assert_same_rows(embedded(case, batch_rows=batch_rows, restarts=at), expected)


@settings(max_examples=20, deadline=None)
@given(randoms)
def test_a_window_kind_an_engine_lacks_is_refused_and_never_answered_differently(random: Random) -> None:
    case = any_kind(random, (*VALUES_BY_POSITION, *CONTINUOUS))
    expected = case.expected()
    if supports(case.plan, "embedded"):
        assert_same_rows(embedded(case), expected)
    else:
        with pytest.raises(UnsupportedError, match="the embedded engine"):
            embedded(case)


@settings(max_examples=40, deadline=None)
@given(randoms)
def test_any_permutation_that_respects_punctuation_gives_the_same_answer(random: Random) -> None:
    case = random_case(random, aggregates=tuple(a for a in NATIVE), grammatical=True)
    shuffled = permuted(case, random)
    expected = case.expected()
    assert_same_rows(shuffled.expected(), expected)
    assert_same_rows(embedded(shuffled), expected)


def permuted(case: Case, random: Random) -> Case:
    """Move rows and punctuation about; only exchanges that break no promise are made."""
    items = list(case.streams["s"])
    for _ in range(3 * len(items)):
        i = random.randrange(len(items) - 1) if len(items) > 1 else 0
        pair = items[i:i + 2]
        if len(pair) == 2 and not (isinstance(pair[0], Punctuation) and isinstance(pair[1], Punctuation)):
            items[i:i + 2] = pair[::-1]
            if not grammatical(items):
                items[i:i + 2] = pair
    return Case(case.name, case.query, {"s": items}, case.columns)


def grammatical(items: list) -> bool:
    promises: list[Punctuation] = []
    for item in items:
        if isinstance(item, Punctuation):
            promises.append(item)
        elif any(p.matches(item) for p in promises):
            return False
    return True


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(12))
def test_spark_batch_gives_the_oracles_answer(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = non_empty(seed, NATIVE if seed % 2 else None)
    assert_same_rows(spark_batch(case, spark=spark, folder=tmp_path), case.expected())


@pytest.mark.spark
@pytest.mark.parametrize("bracket", [*BY_VALUE, *BY_POSITION, *VALUES_BY_POSITION])
def test_spark_batch_runs_every_window_kind(bracket: str, spark: SparkSession, tmp_path: Path) -> None:
    case = filled(Random(bracket), lambda random: any_kind(random, (bracket,), grammatical=None, rows=25,
                                                           aggregates=AGGREGATES))
    assert_same_rows(spark_batch(case, spark=spark, folder=tmp_path), case.expected())


@pytest.mark.spark
@pytest.mark.parametrize("bracket", ["RANGE 9, SLIDE 4, WA ts", "RANGE 14, SLIDE 2, WA ts",
                                     "RANGE 3 rows, SLIDE 2 rows, WA row-num, PA k", "SESSION 4, WA ts"])
def test_spark_batch_runs_every_aggregate(bracket: str, spark: SparkSession, tmp_path: Path) -> None:
    case = filled(Random(bracket), lambda random: any_kind(random, (bracket,), grammatical=None, rows=25))
    every = ", ".join(f"{text} AS a{i}" for i, text in enumerate(AGGREGATES))
    case = replace(case, query=f"SELECT k, {every} FROM s [{bracket}] GROUP BY k")
    assert_same_rows(spark_batch(case, spark=spark, folder=tmp_path), case.expected())


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(100, 102))
def test_spark_streaming_gives_the_oracles_answer(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = non_empty(seed, NATIVE if seed % 2 else None)
    cut = 5 + seed % 3
    found = spark_streaming(case, spark=spark, folder=tmp_path, batch_rows=cut, shards=1 + seed % 3, fail_at=1)
    assert_same_rows(found, case.expected())


def non_empty(seed: int, aggregates: tuple[str, ...] | None) -> Case:
    """A case with rows."""
    chosen = AGGREGATES if aggregates is None else aggregates
    return filled(Random(seed), lambda random: random_case(random, aggregates=chosen))


def filled(random: Random, draw: Callable[[Random], Case]) -> Case:
    """A case with rows: an empty file has no columns to learn."""
    while True:
        case = draw(random)
        rows = [i for i in case.streams["s"] if not isinstance(i, Punctuation)]
        if len(rows) > 12 and all(any(r[c] is not None for r in rows) for c in ("k", "v", "x")):
            return case
