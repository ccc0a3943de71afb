"""Late policies and slack."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import LateRowError, ProgressError
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.progress.late import DEFAULT_LATE, Decision, LatePolicy, decide
from panewise.progress.lateness import TimeLate
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.windows.sliding import SlidingWindow

SPECS = st.builds(SlidingWindow, st.integers(1, 30), st.integers(1, 15), st.integers(-9, 9), st.integers(0, 5))
ROWS = st.lists(st.tuples(st.integers(-60, 60), st.none() | st.integers(-60, 60)), max_size=20)


def apply(policy: LatePolicy, spec: SlidingWindow, values: Ordinals, bounds: Ordinals, **where: Any) -> Decision:
    return decide(policy, *spec.wids_of(values), values, bounds, spec.closed_below, **where)


def counted_by_definition(policy: LatePolicy, spec: SlidingWindow, value: int, bound: int) -> set[int]:
    first, last = (int(a[0]) for a in spec.wids_of(np.array([value])))
    wids = set(range(first, last))
    if value >= bound:
        return wids
    still_open = {w for w in wids if w >= spec.closed_below(bound)}
    if policy is LatePolicy.GENEROUS:
        return still_open
    if policy is LatePolicy.CONSISTENT:
        return wids if still_open == wids else set()
    return set()


@given(st.sampled_from([p for p in LatePolicy if p is not LatePolicy.ERROR]), SPECS, ROWS)
def test_every_policy_keeps_its_definition(policy: LatePolicy, spec: SlidingWindow, rows: list[Any]) -> None:
    values = np.array([v for v, _ in rows], np.int64)
    bounds = np.array([NO_BOUND if b is None else b for _, b in rows], np.int64)
    decision = apply(policy, spec, values, bounds)
    for i, (value, bound) in enumerate(zip(values.tolist(), bounds.tolist(), strict=True)):
        expected = counted_by_definition(policy, spec, value, bound)
        assert set(range(decision.first[i], decision.last[i])) == expected
        assert decision.first[i] <= decision.last[i]
        missed = expected != counted_by_definition(policy, spec, value, NO_BOUND)
        slack_flavour = policy in (LatePolicy.CONSISTENT, LatePolicy.GENEROUS)
        assert decision.late[i] == (missed if slack_flavour else value < bound)
    assert decision.late_rows == int(decision.late.sum())


@pytest.mark.parametrize(("policy", "wids", "late"), [
    ("drop", [], True), ("side", [], True), ("consistent", [], True), ("generous", [2, 3, 4], True),
])
def test_a_row_one_window_too_late(policy: str, wids: list[int], late: bool) -> None:
    """Four-minute windows every minute: the row at 1:10 belongs to windows 1..4, and the bound 2:00 closed 0 and 1."""
    decision = apply(LatePolicy.parse(policy), SlidingWindow(240, 60), np.array([70]), np.array([120]))
    assert list(range(decision.first[0], decision.last[0])) == wids
    assert decision.late.tolist() == [late]


@pytest.mark.parametrize(("policy", "wids", "late"), [
    ("drop", [], True), ("side", [], True), ("consistent", [1, 2, 3, 4], False), ("generous", [1, 2, 3, 4], False),
])
def test_a_row_below_the_bound_whose_windows_are_all_open(policy: str, wids: list[int], late: bool) -> None:
    decision = apply(LatePolicy.parse(policy), SlidingWindow(240, 60), np.array([70]), np.array([119]))
    assert list(range(decision.first[0], decision.last[0])) == wids
    assert decision.late.tolist() == [late]


def test_a_row_at_the_bound_is_not_late() -> None:
    """The bound is exclusive (erratum E2); read inclusively, the row would be lost."""
    exclusive = apply(LatePolicy.DROP, SlidingWindow(60, 60), np.array([60]), np.array([60]))
    inclusive = apply(LatePolicy.DROP, SlidingWindow(60, 60), np.array([60]), np.array([60 + 1]))
    assert (exclusive.late_rows, inclusive.late_rows) == (0, 1)


def test_after_the_end_every_window_is_closed() -> None:
    generous = apply(LatePolicy.GENEROUS, SlidingWindow(60, 60), np.array([5]), np.array([FINISHED]))
    assert (generous.first.tolist(), generous.last.tolist(), generous.late_rows) == ([1], [1], 1)


def test_the_error_names_stream_row_value_and_bound() -> None:
    minute = 60_000_000
    values, bounds = np.array([2 * minute, minute]), np.array([NO_BOUND, 2 * minute])
    with pytest.raises(LateRowError) as raised:
        apply(LatePolicy.ERROR, SlidingWindow(minute, minute), values, bounds, stream="bids", attribute="ts",
              kind=OrdinalKind.TIMESTAMP, first_row=41)
    message = str(raised.value)
    assert "row 42 of bids is late: ts is 1970-01-01T00:01:00Z" in message
    assert "nothing below 1970-01-01T00:02:00Z" in message
    with pytest.raises(LateRowError, match="the end of the stream"):
        apply(LatePolicy.ERROR, SlidingWindow(5, 5), np.array([1]), np.array([FINISHED]))


def test_policies_are_read_by_name() -> None:
    assert [LatePolicy.parse(t) for t in ("drop", "Side-Output", "side_output", "GENEROUS", LatePolicy.ERROR)] == [
        LatePolicy.DROP, LatePolicy.SIDE, LatePolicy.SIDE, LatePolicy.GENEROUS, LatePolicy.ERROR]
    with pytest.raises(ProgressError, match="no late policy 'ignore': use drop, error, side, consistent, generous"):
        LatePolicy.parse("ignore")


class TestSlack:
    """Slack closes a window when the largest value seen is so much past its end (Li 3.1)."""

    @staticmethod
    def counts(values: list[int], amount: int, flavour: str, spec: SlidingWindow) -> dict[int, int]:
        generator, policy = TimeLate(amount), LatePolicy.parse(flavour)
        rows = np.array(values, np.int64)
        decision = apply(policy, spec, rows, generator.observe(rows).before)
        found: dict[int, int] = {}
        for first, last in zip(decision.first.tolist(), decision.last.tolist(), strict=True):
            for wid in range(first, last):
                found[wid] = found.get(wid, 0) + 1
        return found

    @settings(max_examples=30)
    @given(st.lists(st.integers(0, 100), max_size=40), st.integers(0, 100), st.integers(1, 40), st.integers(1, 20))
    def test_p16_enough_slack_makes_no_error_and_consistent_errs_at_least_as_much_as_generous(
            self, values: list[int], amount: int, extent: int, slide: int) -> None:
        spec = SlidingWindow(extent, slide)
        truth: dict[int, int] = {}
        for value in values:
            for wid in range(value // slide, (value + extent) // slide):
                truth[wid] = truth.get(wid, 0) + 1
        consistent, generous = (self.counts(values, amount, f, spec) for f in ("consistent", "generous"))
        for wid, right in truth.items():
            assert consistent.get(wid, 0) <= generous.get(wid, 0) <= right
        disorder = max((max(values[:i]) - v for i, v in enumerate(values) if i), default=0)
        if amount >= disorder:
            assert consistent == generous == truth

    def test_a_window_closes_exactly_when_the_largest_value_is_the_slack_past_its_end(self) -> None:
        spec, generator = SlidingWindow(10, 10), TimeLate(3)
        assert spec.closed_below(generator.observe(np.array([12])).after) == 0
        assert spec.closed_below(generator.observe(np.array([13])).after) == 1


def test_every_entry_point_has_the_same_default():
    import inspect

    import panewise as pw
    from oracle.questions import Oracle
    from panewise.engines.embedded.run import run_embedded
    from panewise.planner.options import RunOptions

    for entry in (pw.sql, pw.open_query, pw.run, pw.stream, pw.explain, run_embedded, RunOptions, Oracle):
        assert LatePolicy.parse(inspect.signature(entry).parameters["late"].default) is DEFAULT_LATE, entry
    assert DEFAULT_LATE is LatePolicy.GENEROUS
