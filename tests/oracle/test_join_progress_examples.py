"""W12 and W13: what a join with disordered inputs can still put out decides what must be kept."""

from __future__ import annotations

from oracle.building import source
from oracle.questions import Oracle
from panewise.plan.nodes import BandJoin, Qualify
from panewise.progress.timeline import Arrival


def joined(left: list[int], right: list[int], ranges: tuple[int, int]) -> set[tuple[int, int]]:
    """The pairs of a band join over two streams of bare times."""
    plan = BandJoin(Qualify(source("l"), "l"), Qualify(source("r"), "r"), "l.ts", "r.ts", *ranges)
    timeline = [Arrival("l", {"ts": t}) for t in left] + [Arrival("r", {"ts": t}) for t in right]
    return {(row["l.ts"], row["r.ts"]) for row in Oracle(plan, timeline).results()}


def test_w13_results_ordered_on_the_left_must_wait_from_three_on() -> None:
    past, future = list(range(7)), [6, 7, 8, 9]
    still_to_come = joined(past, future, (3, 2)) | joined(future, past, (3, 2))
    assert min(left for left, _ in still_to_come) == 3  # the printed, swapped predicate gives 4
    assert min(left for left, _ in joined(past, future, (2, 3))) == 4


def test_w12_which_rows_can_still_find_a_partner() -> None:
    # times in minutes; S0 up to five minutes late, S1 in order, both windows two minutes, now = 20
    now, late, reach = 20, 5, 2

    def meet(s0: int, s1: int) -> bool:
        return bool(joined([s0], [s1], (reach, reach)))

    ordered_side = {s1 for s0 in range(now - late, now + 3) for s1 in range(now + 1) if meet(s0, s1)}
    late_side = {s0 for s1 in range(now, now + 3) for s0 in range(now + 1) if meet(s0, s1)}
    assert now - min(ordered_side) == late + reach
    assert now - min(late_side) == reach
