"""The oracle's own evaluator answers as Spark answers: type, value to the last bit and error condition of every row."""

from __future__ import annotations

import pytest

from functions.answers import load, recorded_functions
from oracle.recorded import compare
from panewise.core.errors import UnsupportedError
from panewise.engines.oracle.scalar import FUNCTIONS, Evaluator
from panewise.engines.oracle.scalar.types import INT, STRING

OPERATORS = ("operators", "casts")
CONDITIONS = {"if", "case", "nullif", "nvl2", "isnull", "isnotnull", "ifnull"}
SYNTAX = {"struct", "extract", "transform", "filter", "exists", "forall", "not", *CONDITIONS}
"""Functions that the binder itself knows."""
COMPUTED = [(family, name) for family, names in recorded_functions().items() for name in names
            if family in OPERATORS or name in FUNCTIONS or name in SYNTAX]
OTHERS = [(family, name) for family, names in recorded_functions().items() for name in names
          if (family, name) not in COMPUTED]

@pytest.mark.parametrize(("family", "name"), COMPUTED, ids=[f"{family}-{name}" for family, name in COMPUTED])
def test_the_oracle_answers_as_spark_does(family: str, name: str) -> None:
    wrong, computed = [], 0
    for signature in load(family, name):
        outcome = compare(signature)
        computed += outcome.refused is None
        wrong += [f"{signature}: {one}" for one in outcome.wrong[:3]]
    assert wrong == []
    assert computed or name in NOT_WRITTEN, f"{name} is among the functions of the oracle and all its cases are refused"


NOT_WRITTEN = {"overlay", "between", "like all", "like any"}
"""What the query language does not parse, or writes otherwise."""


@pytest.mark.parametrize(("family", "name"), OTHERS, ids=[f"{family}-{name}" for family, name in OTHERS])
def test_what_the_oracle_does_not_compute_it_refuses_by_name(family: str, name: str) -> None:
    outcomes = [(signature, compare(signature)) for signature in load(family, name)]
    assert [str(signature) for signature, outcome in outcomes if outcome.wrong] == []
    assert any(outcome.refused for _, outcome in outcomes)


def test_the_oracle_computes_most_of_what_is_recorded_for_operators_and_casts() -> None:
    operators = [(family, name) for family, name in COMPUTED if family in OPERATORS]
    counted = [compare(signature) for family, name in operators for signature in load(family, name)]
    refused = sum(outcome.refused is not None for outcome in counted)
    assert len(counted) > 1_000
    assert refused < len(counted) / 4


def test_every_function_of_the_oracle_has_recorded_answers() -> None:
    recorded = {name for names in recorded_functions().values() for name in names}
    assert sorted(set(FUNCTIONS) - recorded) == []
    assert len(FUNCTIONS) >= 60


def test_a_function_that_the_oracle_lacks_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="no function soundex"):
        Evaluator("soundex(a)", {"a": STRING})


def test_columns_are_read_by_their_types_and_not_by_their_values() -> None:
    assert Evaluator("a / 2", {"a": INT})({"a": 1}) == 0.5
    assert str(Evaluator("a * 1.5", {"a": INT}).type) == "decimal(13,1)"
