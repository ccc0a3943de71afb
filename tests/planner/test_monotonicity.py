"""The two-futures classifier itself, on queries whose pattern is plain to see."""

from __future__ import annotations

import pytest

from panewise.planner.facts.labels import Label, UpdatePattern
from planner import brute
from planner.monotonicity import Event, Experiment, is_monotonic, lives, observe
from planner.plans import in_time


def sliding(length: int) -> brute.Contents:
    return lambda arrived, tau: [r for r in brute.rows_of(arrived, "S") if tau - length < r.at]


def test_the_four_patterns_are_told_apart() -> None:
    queries = {
        UpdatePattern.MON: brute.unbounded(),
        UpdatePattern.WKS: sliding(4),
        UpdatePattern.WK: lambda arrived, tau: [r for r in brute.rows_of(arrived, "S") if tau - 2 * r.value - 1 < r.at],
        UpdatePattern.STR: brute.newest(3),
    }
    assert {pattern: observe(query, in_time()).pattern for pattern, query in queries.items()} == {p: p for p in queries}


def test_a_constant_life_is_measured() -> None:
    assert observe(sliding(4), in_time()).label == Label.wks(4)


def test_a_strict_verdict_names_the_result_and_both_ends() -> None:
    past = (Event(1, "a"),)
    quiet, busy = (), (Event(2, "b"),)
    seen = observe(brute.newest(1), [Experiment(past, (quiet, busy), 1, 3)])
    assert seen.pattern is UpdatePattern.STR
    assert "leaves at None in one future, at 2 in another" in seen.evidence


def test_results_that_outlive_the_observed_life_rule_out_a_constant() -> None:
    def query(arrived: object, tau: int) -> list[str]:
        return [x for x, end in (("short", 4), ("long", 99)) if tau < end]

    seen = observe(query, [Experiment((Event(1, 0),), ((),), 1, 20)])
    assert seen.label == Label.wks()


def test_equal_results_leave_oldest_first() -> None:
    window = lambda arrived, tau: [e.row for e in arrived if tau - 3 < e.at]  # noqa: E731
    found = lives(window, [Event(1, "a"), Event(2, "a")], 1, 6)
    assert [(life.copy, life.born, life.gone) for life in found] == [(0, 1, 4), (1, 2, 5)]


def test_a_result_that_comes_back_has_two_lives() -> None:
    found = lives(lambda _, tau: ["x"] if tau != 3 else [], [], 1, 4)
    assert [(life.born, life.gone) for life in found] == [(1, 3), (4, None)]


def test_definition_8_windowing_ends_monotonicity() -> None:
    run = in_time()[0]
    events = run.past + run.futures[0]
    assert is_monotonic(brute.unbounded(), events, 1, run.until)
    assert not is_monotonic(sliding(4), events, 1, run.until)
    assert is_monotonic(brute.join(brute.unbounded("S"), brute.unbounded("S")), events, 1, run.until)
    assert not is_monotonic(brute.aggregate(brute.unbounded()), events, 1, run.until)


@pytest.mark.parametrize(("promised", "sound"), [
    (Label.wks(4), True), (Label.wks(), True), (Label.wk(), True), (Label.strict(), True),
    (Label.wks(3), False), (Label.wks(5), False), (Label.mon(), False),
])
def test_a_label_is_sound_when_nothing_seen_is_harder(promised: Label, sound: bool) -> None:
    assert observe(sliding(4), in_time()).agrees_with(promised) is sound


def test_a_promised_life_is_broken_by_results_that_stay() -> None:
    assert not observe(brute.unbounded(), in_time()).agrees_with(Label.wks(4))
