"""The worked examples on every engine: the oracle's complete answer, or a refusal that says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.printed_fixtures import FIXTURES
from conformance.runners import embedded, spark_batch, spark_streaming
from conformance.worked_examples import CASES
from panewise.core.errors import UnsupportedError
from panewise.planner.legal.capabilities import supports

Engine = Callable[[Case], list[dict[str, Any]]]
STREAMED = ("PF8 group-wise punctuation", "Q8-5 union of two", "an expression over aggregates")
"""A streaming query takes seconds to set up; these cover what is particular to it, the rest runs as batch."""


@pytest.fixture(params=["embedded", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    if engine == "embedded":
        return lambda case: embedded(case, batch_rows=2)
    spark = request.getfixturevalue("spark")
    # letting rows into open windows needs to know what closed when: only a stream does
    return lambda case: (spark_streaming if case.late == "generous" else spark_batch)(
        case, spark=spark, folder=tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_engine_gives_the_oracles_answer_or_refuses(case: Case, engine: str, run: Engine) -> None:
    if not supports(case.plan, engine):
        assert case.expected(), "the oracle runs it"
        with pytest.raises(UnsupportedError, match=f"the {engine} engine"):
            run(case)
        return
    assert_same_rows(run(case), case.expected())


@pytest.mark.parametrize("case", FIXTURES, ids=str)
def test_the_oracle_gives_the_answer_of_the_text(case: Case) -> None:
    assert_same_rows(case.oracle().results(), case.expected())


@pytest.mark.spark
@pytest.mark.parametrize("case", [c for c in CASES if c.name in STREAMED], ids=str)
def test_a_spark_stream_that_dies_and_restarts_gives_the_oracles_answer(
        case: Case, spark: Any, tmp_path: Path) -> None:
    found = spark_streaming(case, spark=spark, folder=tmp_path, batch_rows=3, fail_at=1)
    assert_same_rows(found, case.expected())
