"""The recorded answers are whole: nothing is left out in silence, and every value is kept exactly."""

from __future__ import annotations

import json

import pytest

from functions.answers import HERE, Signature, load, recorded_functions
from functions.catalogue import FAMILIES, cases
from functions.codec import from_arrow, is_error, lengthen
from functions.comparison import same
from functions.not_recorded import GROUPS, NAMES, SPELT_OTHERWISE
from functions.rows import FEWEST, argument_rows, spark_type
from functions.spark_types import normal_name, parse, spark_name

ALL = recorded_functions()


def signatures(family: str) -> list[Signature]:
    return [signature for name in ALL[family] for signature in load(family, name)]


def test_every_function_of_spark_is_recorded_or_has_a_reason_not_to_be() -> None:
    known = json.loads((HERE / "spark_functions.json").read_text())["functions"]
    recorded = {name for names in ALL.values() for name in names}
    unexplained = {name: group for name, group in known.items()
                   if SPELT_OTHERWISE.get(name, name) not in recorded and name not in NAMES and group not in GROUPS}
    assert unexplained == {}
    assert sorted(name for name in NAMES if name in recorded) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_the_files_hold_the_cases_of_the_catalogue_and_no_others(family: str) -> None:
    asked = {(case.function, case.expression, *(spark_type(spec) for spec in case.columns.values()))
             for of, case in cases() if of == family}
    answered = {(one.function, one.expression, *one.columns.values()) for one in signatures(family)}
    assert answered == asked


@pytest.mark.parametrize("family", FAMILIES)
def test_every_signature_has_enough_rows_and_they_are_those_of_the_generator(family: str) -> None:
    made: dict[tuple[str, ...], list[list[list[object]]]] = {}
    for of, case in cases():
        if of == family:
            key = (case.expression, *(spark_type(spec) for spec in case.columns.values()))
            made.setdefault(key, []).append(argument_rows(case))
    for one in signatures(family):
        if one.condition is None and one.columns:
            assert len(one.rows) >= FEWEST, str(one)
            rows = [[lengthen(value) for value in row[:-1]] for row in one.rows]
            assert any(same(rows, each) for each in made[one.expression, *one.columns.values()]), str(one)


@pytest.mark.parametrize("family", FAMILIES)
def test_values_survive_arrow_and_back(family: str) -> None:
    for one in signatures(family):
        if one.condition is not None:
            continue
        for at, column in enumerate(one.arguments.columns if one.columns else []):
            assert same(from_arrow(column), lengthen([row[at] for row in one.rows])), f"{one}, column {at}"
        expected = one.expected
        recorded = one.spark_type or ""
        assert spark_name(expected.type) == normal_name(parse(recorded)) or "interval" in recorded, str(one)
        answers = [None if is_error(row[-1]) else lengthen(row[-1]) for row in one.rows]
        assert same(from_arrow(expected), answers), str(one)
