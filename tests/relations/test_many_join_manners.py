"""Eager and lazy, with and without restore: property 9 over random plans, the fixtures F2 and F3, and what is saved."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from panewise.dataflow import Query
from panewise.plan.nodes import Node, RelationToStream
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Timeline
from panewise.windows.sliding import SlidingWindow
from relations.many_joins import MANNERS, STREAMS, any_input, decided, in_time, joins, refreshed
from relations.plans import PLACES, timelines
from relations.running import assert_like_the_oracle, bag, run_relation
from relations.test_golab_refreshes import refresh, with_slide

CONTINUOUS = joins(lambda stream: in_time(stream, st.builds(SlidingWindow.scoped, st.integers(1, 8))), 2)
ORDERS = st.permutations(range(4))
Rows = list[dict[str, Any]]


def results(plan: Node, items: Timeline, how: str, order: list[int], **options: Any) -> Rows:
    return run_relation(plan, items, decided=decided(plan, how, order), **options)[0]


def values(row: dict[str, Any]) -> str:
    return repr([value for name, value in row.items() if name not in {"valid_from", "expires_at"}])


@settings(max_examples=50, deadline=None)
@given(CONTINUOUS, timelines(STREAMS, rows=20), PLACES, PLACES, ORDERS)
def test_property_9_eager_and_lazy_with_restore_find_the_same_in_any_probing_order(
        plan: Node, items: Timeline, cuts: frozenset[int], saves: frozenset[int], order: list[int]) -> None:
    """J1 = J2 = J4 as bags of results with their lives, and the same as joins by twos, however rows come."""
    expected = bag(run_relation(plan, items)[0])
    for how in MANNERS:
        assert bag(results(plan, items, how, order, cuts=cuts, saves=saves)) == expected, how


@settings(max_examples=50, deadline=None)
@given(joins(any_input, 2), timelines(STREAMS, rows=20, times=12), PLACES, ORDERS)
def test_property_9_over_inputs_whose_rows_leave_early(plan: Node, items: Timeline, saves: frozenset[int],
                                                       order: list[int]) -> None:
    expected = bag(run_relation(plan, items)[0])
    for how in MANNERS:
        assert bag(results(plan, items, how, order, saves=saves)) == expected, how


@settings(max_examples=50, deadline=None)
@given(CONTINUOUS, st.integers(2, 5), timelines(STREAMS, rows=20), PLACES, PLACES, ORDERS,
       st.sampled_from(["at once", *MANNERS]))
def test_property_9_no_restore_finds_the_part_that_still_holds_at_the_refresh_and_restore_all_of_it(
        plan: Node, slide: int, items: Timeline, cuts: frozenset[int], saves: frozenset[int], order: list[int],
        how: str) -> None:
    numbered = [replace(a, item={**a.item, "v": place}) if a.is_row else a  # type: ignore[dict-item]
                for place, a in enumerate(items, 1)]  # each result has a value of its own
    restored: Counter[tuple[str, int]] = Counter()
    held: Counter[tuple[str, int]] = Counter()
    for row in results(plan, numbered, "at once: eager", order):
        at = refresh(row["valid_from"], slide)
        restored[values(row), at] += 1
        held[values(row), at] += row["expires_at"] > at

    def reported(*, restore: bool) -> Counter[tuple[str, int]]:
        stream = RelationToStream(with_slide(plan, slide), Kind.ISTREAM, restore=restore)
        rows = results(stream, numbered, how, order, cuts=cuts, saves=saves)
        return Counter((values(row), row["valid_from"]) for row in rows)

    assert reported(restore=True) == restored
    assert reported(restore=False) == +held


@settings(max_examples=60, deadline=None)
@given(refreshed(), timelines(STREAMS, rows=20), PLACES, PLACES, st.sampled_from(["at once", *MANNERS]))
def test_where_rows_come_and_go_at_refreshes_only(plan: Node, items: Timeline, cuts: frozenset[int],
                                                  saves: frozenset[int], how: str) -> None:
    """What will be gone at the next refresh is let go before it, and nothing is missed (J3), also of strict inputs."""
    assert_like_the_oracle(plan, items, cuts, saves, joins=how)
    assert all(found.manner.born_at_refreshes == ("eager" not in how.partition(",")[0])
               for found in decided(plan, how).at_once)


@settings(max_examples=40, deadline=None)
@given(joins(any_input, 2), st.sampled_from([Kind.ISTREAM, Kind.RSTREAM]), timelines(STREAMS, rows=16, times=10),
       PLACES, st.sampled_from(["at once", *MANNERS]))
def test_as_a_stream_too(plan: Node, kind: Kind, items: Timeline, saves: frozenset[int], how: str) -> None:
    assert_like_the_oracle(RelationToStream(plan, kind), items, frozenset(), saves, joins=how)


# -- fixtures


COLUMNS = "ts bigint, k string"


def query(select: str, window: str, count: int, how: str) -> Query:
    names = "abc"[:count]
    text = f"SELECT {select} FROM {', '.join(f'{name} [{window}]' for name in names)} WHERE " + \
        " AND ".join(f"a.k = {name}.k" for name in names[1:])
    found = pw.open_query(text, joins=how, **dict.fromkeys(names, COLUMNS))
    assert found.relation is not None
    return found


def told(running: Query, rows: list[tuple[str, int, str]], *, ordered: bool = True) -> Rows:
    found: Rows = []
    for name, ts, key in rows if ordered else Random(1).sample(rows, len(rows)):
        found += running.push(name, [{"ts": ts, "k": key}]).to_pylist()
        if ordered:
            found += [r for n in running.streams for r in running.push(n, Punctuation.below("ts", ts)).to_pylist()]
    return found + running.finish().to_pylist()


F2 = [("a", 1, "x"), ("a", 2, "y"), ("b", 8, "x"), ("b", 11, "y"), ("a", 14, "x"), ("b", 16, "x")]


@pytest.mark.parametrize("how", ["by twos", *MANNERS])
@pytest.mark.parametrize("ordered", [True, False])
def test_f2_two_windows_of_ten(how: str, *, ordered: bool) -> None:
    found = told(query("a.ts, b.ts AS other", "RANGE 10", 2, how), F2, ordered=ordered)
    assert sorted(tuple(row.values()) for row in found) == [
        (1, 8, 8, 11), (2, 11, 11, 12), (14, 8, 14, 18), (14, 16, 16, 24)]
    restored = told(query("Istream-restore(a.ts, b.ts AS other)", "RANGE 10 SLIDE 4", 2, how), F2, ordered=ordered)
    assert sorted(tuple(row.values()) for row in restored) == [(1, 8, 8), (2, 11, 12), (14, 8, 16), (14, 16, 16)]
    plain = told(query("Istream(a.ts, b.ts AS other)", "RANGE 10 SLIDE 4", 2, how), F2, ordered=ordered)
    assert sorted(tuple(row.values()) for row in plain) == [(1, 8, 8), (14, 8, 16), (14, 16, 16)]


@pytest.mark.parametrize("how", MANNERS)
def test_f3_rows_that_each_met_the_third_and_never_each_other_make_no_result(how: str) -> None:
    rows = [("a", 1, "k"), ("c", 6, "k"), ("b", 8, "k")]
    assert told(query("Istream-restore(a.ts)", "RANGE 7 SLIDE 4", 3, how), rows) == []
    assert told(query("a.ts", "RANGE 7", 3, how), rows) == []


# -- what is saved


def joined(running: Query) -> dict[str, Any]:
    (found,) = (state for state in running.status()["operators"] if "runs" in state)
    return found


def pushed(how: str, window: str, rows: dict[str, list[int]], upto: int) -> Query:
    """Rows of one key, complete up to an instant."""
    running = query("a.ts, b.ts AS other", window, 2, how)
    for name, times in rows.items():
        running.push(name, [{"ts": ts, "k": "x"} for ts in times])
    for name in rows:
        running.push(name, Punctuation.below("ts", upto))
    return running


def test_new_rows_of_one_key_probe_the_other_windows_once_when_they_wait_for_a_refresh() -> None:
    rows = {"a": [1], "b": [2] * 50}
    often, once = (pushed(f"at once: {how}", "RANGE 100", rows, 3) for how in ("eager", "lazy"))
    assert joined(often)["lives"] == joined(once)["lives"] == 50
    assert joined(often)["probes"] == 51
    assert joined(once)["probes"] == 2


def test_rows_leave_by_the_end_of_their_life() -> None:
    rows = {"a": [1, 30], "b": [1, 30]}
    skipped, left = (pushed(f"at once: {how} expiry", "RANGE 10", rows, 31) for how in ("lazy", "eager"))
    assert joined(skipped)["rows"] == 4  # two of them are gone
    assert joined(left)["rows"] == 2


def test_rows_that_will_be_gone_at_the_next_refresh_are_let_go_before_it() -> None:
    rows = {"a": [2], "b": [2]}
    early = pushed("at once: eager expiry", "RANGE 5 SLIDE 4", rows, 5)
    restoring = query("Istream-restore(a.ts, b.ts AS other)", "RANGE 5 SLIDE 4", 2, "at once: eager expiry")
    for name, times in rows.items():
        restoring.push(name, [{"ts": ts, "k": "x"} for ts in times])
    for name in rows:
        restoring.push(name, Punctuation.below("ts", 5))
    assert joined(early)["lives"] == joined(restoring)["lives"] == 1
    assert joined(early)["rows"] == 0
    assert joined(restoring)["rows"] == 2


@pytest.mark.parametrize(("select", "window", "how", "said"), [
    ("a.ts", "RANGE 40", "at once", "eager evaluation, lazy expiry (J2)"),
    ("a.ts", "RANGE 40", "at once: eager expiry", "eager evaluation, eager expiry (J1)"),
    ("a.ts", "RANGE 40", "at once: lazy", "lazy evaluation every 2, with what lived in between, lazy expiry (J4)"),
    ("a.ts", "RANGE 40 SLIDE 4", "at once", "lazy evaluation at refreshes every 4, lazy expiry (J3)"),
    ("a.ts", "RANGE 40 SLIDE 20", "at once", "lazy evaluation at refreshes every 20, eager expiry (J3)"),
    ("Istream-restore(a.ts)", "RANGE 40 SLIDE 4", "at once",
     "lazy evaluation every 4, with what lived in between, lazy expiry (J4)"),
    ("a.ts", "ROWS 5", "at once: lazy", "lazy evaluation step by step, with what lived in between, lazy expiry (J4)"),
])
def test_the_query_says_how_it_is_evaluated_and_the_plan_shows_it(select: str, window: str, how: str,
                                                                 said: str) -> None:
    running = query(select, window, 3, how)
    assert joined(running)["runs"].startswith("3 windows joined at once, probed in the order")
    assert joined(running)["runs"].endswith(f": {said}")
    text = "SELECT {} FROM a [{}], b [{}], c [{}] WHERE a.k = b.k AND b.k = c.k".format(select, *[window] * 3)
    rows = [{"ts": 1, "k": "x"}]
    assert f": {said}\n" in pw.explain(text, joins=how, a=rows, b=rows, c=rows)
    assert "3 windows joined at once" in pw.explain(text, joins=how, a=rows, b=rows, c=rows, format="svg")


def test_a_checkpoint_goes_on_in_another_manner() -> None:
    one, other = (query("a.ts, b.ts AS other", "RANGE 10", 2, how) for how in (MANNERS[0], MANNERS[-1]))
    one.push("a", [{"ts": 1, "k": "x"}])
    for name in "ab":
        one.push(name, Punctuation.below("ts", 3))
    other.restore(one.snapshot())
    found = other.push("b", [{"ts": 4, "k": "x"}]).to_pylist() + other.finish().to_pylist()
    assert [tuple(row.values()) for row in found] == [(1, 4, 4, 11)]
