"""One-row functions answer as Spark answers: value, type and error condition of every recorded row."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

if find_spec("panewise.functions") is None:
    pytest.skip("there are no functions to compare yet", allow_module_level=True)

from functions.answers import HERE, load, recorded_functions
from functions.compared import compared
from functions.comparison import differences, is_comparable
from functions.refusals import REFUSED
from panewise.functions import supported_names

SPARK = frozenset(json.loads((HERE / "spark_functions.json").read_text())["functions"])
COMPARED = compared()
SHOWN = 40


@pytest.mark.parametrize(("family", "name"), COMPARED, ids=[f"{family}-{name}" for family, name in COMPARED])
def test_a_function_answers_as_spark_does(family: str, name: str) -> None:
    found, checked = [], 0
    for signature in load(family, name):
        if not is_comparable(signature):
            continue
        checked += 1
        unequal = differences(signature)
        refused = REFUSED.get((signature.expression, *signature.columns.values()))
        if refused is not None:
            if not any(one.startswith("refused:") for one in unequal):
                found.append(f"{signature}\n    is listed as refused ({refused}) and is not")
        elif unequal:
            found.append("\n    ".join([str(signature), *unequal]))
    shown = "\n".join(found[:SHOWN])
    assert not found, f"{name}: {len(found)} of {checked} signatures differ from Spark\n{shown}"


def test_every_declared_function_of_spark_has_recorded_answers() -> None:
    recorded = {name for names in recorded_functions().values() for name in names}
    assert sorted((supported_names() & SPARK) - recorded) == []


WRITTEN_BY_THE_GRAMMAR = frozenset({"timestampadd", "timestampdiff"})
"""Calls of Spark's grammar that are on no list of functions."""


def test_what_is_said_to_be_supported_is_a_function_of_spark_and_answers_somewhere() -> None:
    names = supported_names()
    assert sorted(names - SPARK - WRITTEN_BY_THE_GRAMMAR) == []
    answering = {name for family, name in COMPARED
                 if any(one.condition is None and is_comparable(one) and
                        (one.expression, *one.columns.values()) not in REFUSED for one in load(family, name))}
    assert sorted(names - answering - WRITTEN_BY_THE_GRAMMAR) == []
