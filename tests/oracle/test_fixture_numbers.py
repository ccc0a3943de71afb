"""The numbers of the fixtures F6 to F15 of Golab's thesis, recomputed by brute force from their definitions.

They belong to frequent items, synopses, calendar queues, indexes, join orders, concurrency and refresh scheduling; each
check is self-contained and states what an implementation has to reproduce.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, permutations, product
from math import ceil, lcm

import pytest

# -- F6: frequent items over sub-windows (Algorithm 6) -------------------------------------------------------------


def frequent(sub_windows: Sequence[str], kept: int, k: int) -> tuple[int, dict[str, int]]:
    """The threshold and the reported types after the last sub-window, ``kept`` sub-windows in the window."""
    newest = [Counter(items).most_common(k) for items in sub_windows[-kept:]]
    threshold = sum(summary[k - 1][1] if len(summary) == k else 0 for summary in newest)
    totals: Counter[str] = Counter()
    for summary in newest:
        totals.update(dict(summary))
    return threshold, {item: n for item, n in totals.items() if n > threshold}


def test_f6_only_a_passes_the_threshold_of_six():
    stream = ["aaabbc", "aabbbd", "aaacce", "aaabbf"]
    truth = Counter("".join(stream[:3]))
    assert (truth["a"], truth["b"], truth["c"]) == (8, 5, 3)
    assert frequent(stream[:3], 3, 2) == (6, {"a": 8})
    assert frequent(stream, 3, 2) == (6, {"a": 8})


# -- F7: running, interval and basic-interval synopses -------------------------------------------------------------

SUB_WINDOWS = [3, 1, 4, 1, 5, 9, 2, 6]


def test_f7_a_running_synopsis_answers_by_subtraction():
    prefixes = list(accumulate(SUB_WINDOWS, initial=0))
    assert prefixes == [0, 3, 4, 8, 9, 14, 23, 25, 31]
    assert prefixes[8] - prefixes[1] == sum(SUB_WINDOWS[1:]) == 28


def test_f7_an_interval_synopsis_answers_from_three_disjoint_intervals():
    stored = {length: [max(SUB_WINDOWS[i:i + length]) for i in range(0, 8, length)] for length in (1, 2, 4, 8)}
    assert (stored[2], stored[4], stored[8]) == ([3, 4, 9, 6], [4, 9], [9])
    assert sum(map(len, stored.values())) == 2 * 8 - 1
    pieces = [SUB_WINDOWS[1:2], SUB_WINDOWS[2:4], SUB_WINDOWS[4:8]]
    assert max(map(max, pieces)) == max(SUB_WINDOWS[1:]) == 9


# -- F8: the calendar queue ----------------------------------------------------------------------------------------


def slot(exp: int, width: int, slots: int) -> int:
    return (ceil(exp / width) - 1) % slots


def test_f8_at_time_50_five_days_of_ten_cover_the_window_of_fifty():
    days: dict[int, list[int]] = {}
    for exp in range(51, 101):
        days.setdefault(slot(exp, 10, 6), []).append(exp)
    assert [(min(d), max(d)) for d in days.values()] == [(51, 60), (61, 70), (71, 80), (81, 90), (91, 100)]
    assert slot(101, 10, 5) == slot(51, 10, 5)  # at 60 the first of five slots is taken again


@pytest.mark.parametrize(("slots", "aliasing"), [(5, True), (6, False)])
def test_f8_between_slot_boundaries_the_live_rows_need_one_slot_more(slots: int, aliasing: bool):
    shared = False
    for now in range(50, 150):
        owners: dict[int, set[int]] = {}
        for exp in range(now + 1, now + 51):
            owners.setdefault(slot(exp, 10, slots), set()).add(ceil(exp / 10))
        shared |= any(len(days) > 1 for days in owners.values())
    assert shared is aliasing


# -- F9: the doubly partitioned index, S = 16, refresh every 2, 2 by 2 ---------------------------------------------


def round_robin(ts: int, exp: int) -> int:
    return (ceil(ts / 2) - 1) % 2 * 2 + (ceil(exp / 2) - 1) % 2 + 1


def chronological(ts: int, exp: int) -> int:
    born, gone = ((ceil(t / 2) - 1) % 8 // 4 for t in (ts, exp))
    return born * 2 + gone + 1


@pytest.mark.parametrize(("row", "rr", "ch"), [
    ((3, 17), 3, 1), ((9, 20), 2, 3), ((16, 32), 4, 4), ((17, 33), 1, 1), ((18, 30), 1, 2), ((19, 25), 3, 2)])
def test_f9_placement(row: tuple[int, int], rr: int, ch: int):
    assert (round_robin(*row), chronological(*row)) == (rr, ch)


def touched(place: Callable[[int, int], int], now: int) -> tuple[set[int], set[int]]:
    """Sub-indices that take what arrived in (now-2, now] and those that lose what expires in it."""
    lives = [(ts, exp) for ts in range(now - 17, now + 1) for exp in range(ts + 1, ts + 17)]
    inserted = {place(ts, exp) for ts, exp in lives if now - 2 < ts <= now < exp}
    deleted = {place(ts, exp) for ts, exp in lives if ts <= now - 2 and now - 2 < exp <= now}
    return inserted, deleted


def test_f9_an_update_touches_three_of_four_sub_indices():
    assert touched(round_robin, 18) == ({1, 2}, {1, 3})
    assert touched(round_robin, 20) == ({3, 4}, {2, 4})
    for now in (18, 20, 22, 24):
        assert touched(chronological, now) == ({1, 2}, {1, 3})
    for now in (26, 28, 30, 32):
        assert touched(chronological, now) == ({3, 4}, {2, 4})
    alive_at_16 = [(ts, exp) for ts, exp in product(range(1, 17), range(17, 33)) if exp - ts <= 16]
    assert 2 not in {chronological(*row) for row in alive_at_16}


# -- F10: the cost of join orders ----------------------------------------------------------------------------------

Stream = tuple[int, int, int]  # rate, window, distinct values


def arrival_costs(streams: Sequence[Stream], order: Sequence[int]) -> list[Fraction]:
    costs = []
    for k in order:
        rate, _, smallest = streams[k]
        partial, total = Fraction(1), Fraction(0)
        for r in order:
            if r != k:
                size = streams[r][0] * streams[r][1]
                total += partial * size
                partial = partial * size / max(smallest, streams[r][2])
                smallest = min(smallest, streams[r][2])
        costs.append(rate * total)
    return costs


def order_cost(streams: Sequence[Stream], order: str) -> int:
    return round(sum(arrival_costs(streams, [int(s) - 1 for s in order])))


def all_costs(streams: Sequence[Stream]) -> list[int]:
    return [order_cost(streams, "".join(p)) for p in permutations("1234")]


TABLE_5_3 = [(10, 100, 500), (1, 100, 50), (1, 200, 40), (3, 100, 5)]
TABLE_5_5 = [(10, 100, 40), (1, 100, 100), (1, 100, 8), (1, 100, 5)]
TABLE_5_6 = [(11, 100, 200), (10, 100, 100), (1, 100, 65), (1, 100, 20)]


def test_f10_sizes_of_the_intermediate_joins():
    n = [rate * window for rate, window, _ in TABLE_5_3]
    v = [distinct for *_, distinct in TABLE_5_3]
    pairs = {(i + 1, j + 1): n[i] * n[j] // max(v[i], v[j]) for i in range(4) for j in range(i + 1, 4)}
    assert pairs == {(1, 2): 200, (1, 3): 400, (1, 4): 600, (2, 3): 400, (2, 4): 600, (3, 4): 1500}
    assert [pairs[1, 2] * n[k] // max(min(v[0], v[1]), v[k]) for k in (2, 3)] == [800, 1200]


def test_f10_costs_of_the_first_table():
    assert arrival_costs(TABLE_5_3, range(4)) == [3800, 3800, 2400, 6000]
    assert (min(all_costs(TABLE_5_3)), max(all_costs(TABLE_5_3))) == (16000, 86850)


def test_f10_costs_of_the_second_table_with_the_rate_corrected():
    found = [order_cost(TABLE_5_5, order) for order in ("2134", "2341", "1234")]
    assert found == [16200, 42600, 21000]
    assert (min(all_costs(TABLE_5_5)), max(all_costs(TABLE_5_5))) == (16200, 135150)
    as_printed = [(100, 100, 40), *TABLE_5_5[1:]]
    assert order_cost(as_printed, "2134") == 160200


def test_f10_costs_of_the_third_table():
    found = [order_cost(TABLE_5_6, order) for order in ("3412", "3142", "3124", "1234", "2134")]
    assert found == [49542, 47977, 51954, 68200, 79000]
    costs = all_costs(TABLE_5_6)
    assert (min(costs), round(sum(costs) / len(costs))) == (47977, 63362)


# -- F11: histories of window updates and a query ------------------------------------------------------------------

HISTORIES = {
    "a": ("r0 w5 c5 w6 c6 r1 r2 r3 r4 c", {"Q5", "6Q"}, (False, False, False)),
    "b": ("r0 w5 c5 r1 w6 c6 r2 r3 r4 c", {"Q5", "Q6"}, (True, False, False)),
    "c": ("w5 c5 r0 r1 r2 r3 w6 c6 r4 c", {"5Q", "Q6"}, (True, False, False)),
    "d": ("w5 c5 r0 w6 c6 r1 r2 r3 r4 c", {"5Q", "6Q"}, (True, True, True)),
    "e": ("r4 w5 c5 r0 r3 r2 w6 c6 r1 c", {"5Q", "6Q"}, (True, True, True)),
    "f": ("r0 w5 c5 r1 r2 r3 w6 c6 r4 c", {"Q5", "Q6"}, (True, False, False)),
    "g": ("r0 w5 w6 c6 r1 r2 r3 r4 c c5", {"Q5", "6Q"}, (False, False, True)),
    "h": ("r0 r1 r2 r3 w9 r4 c c9", {"9Q"}, (True, True, False)),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_f11_serialization_edges_and_isolation_levels(name: str):
    text, edges, levels = HISTORIES[name]
    operations = text.split()
    reads = {int(op[1]): i for i, op in enumerate(operations) if op[0] == "r"}
    writes = {int(op[1]): i for i, op in enumerate(operations) if op[0] == "w"}
    commits = {op[1:]: i for i, op in enumerate(operations) if op[0] == "c"}
    found = {f"{j}Q" if at < reads[j % 5] else f"Q{j}" for j, at in writes.items()}
    assert found == edges
    before, after = ([int(e.strip("Q")) for e in found if e.startswith("Q") is side] for side in (False, True))
    window_serializable = all(i < j for i in before for j in after)
    latest = not after
    own = commits[""]
    commit_order = all(commits[str(i)] < own for i in before) and all(own < commits[str(j)] for j in after)
    assert (window_serializable, latest, commit_order) == levels


def test_f11_the_query_with_window_serializable_history_read_a_state_that_existed():
    for text, _, (serializable, *_) in HISTORIES.values():
        state, states, seen = {i: i for i in range(5)}, [], {}
        states.append(dict(state))
        for op in text.split():
            if op[0] == "w":
                state[int(op[1]) % 5] = int(op[1])
                states.append(dict(state))
            elif op[0] == "r":
                seen[int(op[1])] = state[int(op[1])]
        assert (seen in states) is serializable


def test_f11_youngest_first_reads_what_survives_longest():
    time_to_update = [1, 2, 3, 4, 5]
    for written, expected in ((0, [5, 1, 2, 3, 4]), (1, [4, 5, 1, 2, 3])):
        time_to_update = [t - 1 for t in time_to_update]
        time_to_update[written] = 5
        assert time_to_update == expected


# -- F12: hybrid scheduling ----------------------------------------------------------------------------------------


def schedule_cost(*blocks: tuple[int, int]) -> Fraction:
    """Cost per minute: at every instant the costliest block that is due pays for all of them."""
    period = lcm(*(p for p, _ in blocks))
    due = [max((cost for p, cost in blocks if minute % p == 0), default=0) for minute in range(1, period + 1)]
    return Fraction(sum(due), period)


def test_f12_costs_of_all_schedules():
    queries = {2: [10, 5, 6], 3: [15, 12], 5: [20, 30]}  # slide: windows
    costs = {slide: max(windows) - 1 for slide, windows in queries.items()}  # merges of one-minute intervals
    assert costs == {2: 9, 3: 14, 5: 29}
    assert (schedule_cost((2, 9), (3, 14)) * 6, schedule_cost((2, 14))) == (46, 7)
    whole = {
        "conservative": schedule_cost((2, 9), (3, 14), (5, 29)),
        "second with first": schedule_cost((2, 14), (5, 29)),
        "all together": schedule_cost((2, 29)),
        "third with second": schedule_cost((2, 9), (3, 29)),
        "third with first": schedule_cost((2, 29), (3, 14)),
    }
    assert {name: round(float(cost), 2) for name, cost in whole.items()} == {
        "conservative": 11.93, "second with first": 11.4, "all together": 14.5, "third with second": 12.67,
        "third with first": 16.83}
    assert min(whole, key=lambda name: whole[name]) == "second with first"


def test_f12_due_times_of_the_conservative_schedule():
    due = {minute: [g for g, p in ((11, 2), (12, 3), (13, 5)) if minute % p == 0] for minute in range(1, 31)}
    assert [due[m] for m in (2, 3, 5, 6, 10, 15, 30)] == [
        [11], [12], [13], [11, 12], [11, 13], [12, 13], [11, 12, 13]]
    time_left = {11: -1, 12: -1, 13: 0}
    assert [g for g, d in time_left.items() if d <= 0] == [11, 12, 13]  # late-pending runs all three together


# -- F13: predicate covers -----------------------------------------------------------------------------------------


def test_f13_covers_of_predicates():
    atoms = {1: {"TCP"}, 2: {"UDP"}, 3: {"TCP", "UDP"}, 4: {"TCP"}, 5: {"user=U"}, 6: {"TCP", "user=U"}}
    assert atoms[1] | atoms[2] == atoms[3]
    assert not atoms[1] & atoms[2]
    assert atoms[1] < atoms[3]
    assert atoms[3] - atoms[2] == atoms[1]
    assert atoms[4] | atoms[5] == atoms[6]
    rows = [(protocol, user, length) for length, (protocol, user) in enumerate(
        product(("TCP", "UDP", "ICMP"), ("U", "V")), start=1)]
    tcp, udp, of_u = ([r[2] for r in rows if test(r)] for test in (
        lambda r: r[0] == "TCP", lambda r: r[0] == "UDP", lambda r: r[1] == "U"))
    tcp_or_u = [r[2] for r in rows if r[0] == "TCP" or r[1] == "U"]
    assert sum(tcp) + sum(udp) == sum(r[2] for r in rows if r[0] in {"TCP", "UDP"})
    assert max(*tcp, *of_u) == max(tcp_or_u)  # overlap is harmless to MAX
    assert sum(tcp) + sum(of_u) != sum(tcp_or_u)      # but not to SUM


# -- F14: generalised join synopses --------------------------------------------------------------------------------


def interval_of(older_expiry: int) -> int:
    return older_expiry  # with s = 1 and t = 0, expiry interval i is (i-1, i]


def test_f14_unequal_windows_from_intervals_of_the_longer_join():
    full = 8
    births = range(1 - full, 1)
    results = [(one, other) for one, other in product(births, births)]  # every pair joins; t = 0
    expiry = {pair: min(pair) + full for pair in results}
    flagged_1 = {pair for pair in results if pair[0] + full <= 1}
    seven_eight = {pair for pair in results if pair[0] > -7}
    assert seven_eight == {p for p in results if interval_of(expiry[p]) >= 2} | {
        p for p in results if interval_of(expiry[p]) == 1 and p not in flagged_1}
    # Two apart, flags of the oldest part are not enough: the cell table by both expiries is.
    six_eight = {pair for pair in results if pair[0] > -6}
    by_flags = {p for p in results if interval_of(expiry[p]) >= 3} | {
        p for p in results if interval_of(expiry[p]) <= 2 and p not in flagged_1}
    by_table = {p for p in results if p[0] + full > full - 6 and p[1] + full > 0}
    assert by_flags != six_eight == by_table


# -- F15: what SLIDE promises --------------------------------------------------------------------------------------


def lateness(slide: int, events: str) -> list[int]:
    """Updates too many before each run: U is a synopsis update, R a run, which starts the count again even if late."""
    left, found = slide, []
    for event in events:
        left = left - 1 if event == "U" else left
        if event == "R":
            found.append(max(0, -left))
            left = slide
    return found


def test_f15_a_slide_of_two_updates_is_on_time_before_the_third():
    assert lateness(2, "R UR UUR UUUR UUR") == [0, 0, 0, 1, 0]
