"""Frequent items over windows by rows, as Golab printed Algorithm 6: N rows, sub-windows of b (F6, property 13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from conformance.compare import assert_same_rows
from conformance.generated import any_kind
from conformance.runners import embedded
from embedded.plans import run_timeline
from oracle.questions import Oracle
from panewise.aggregates import resolve
from panewise.aggregates.pane_lists import above
from panewise.api.stream import stream
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.kernels.contract.partials import bind
from panewise.kernels.positions.rows import RowKernel
from panewise.planner.rewrites.base import Role
from panewise.planner.rewrites.closure import closure, simplified, steps
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import Catalog, parse
from panewise.windows.rows import PartitionedRowWindow, RowWindow
from relations.running import assert_like_the_oracle, bag, run_relation

SCHEMA = SourceSchema({"ts": pa.int64(), "p": pa.string(), "g": pa.string(), "x": pa.string()}, time="ts")
F6 = "aaabbc" "aabbbd" "aaacce" "aaabbf"

places = st.frozensets(st.integers(0, 60), max_size=6)
drawn = st.lists(st.tuples(st.sampled_from("uv"), st.sampled_from("gh"),
                           st.sampled_from("aaaabbcdef") | st.none()), min_size=1, max_size=60)
windows = st.tuples(st.integers(1, 14), st.integers(1, 8), st.integers(-4, 6), st.integers(0, 3))


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_f6_the_lists_of_three_sub_windows_of_six_rows(engine: str) -> None:
    rows = [{"ts": 0, "v": item} for item in F6]  # all at one instant: only positions tell them apart
    found = stream(rows, time="ts", engine=engine).window("RANGE 18 rows, SLIDE 6 rows, WA row-num") \
        .agg(often="frequent_items(v, 2)")
    full = [row["often"] for row in found if 2 <= row["wid"] <= 3]
    assert full == [[{"item": "a", "count": 8}], [{"item": "a", "count": 8}]]


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_f6_of_every_partition_whose_rows_are_mixed(engine: str) -> None:
    rows = [{"ts": at, "p": p, "v": item} for at, item in enumerate(F6) for p in "uv"]
    found = stream(rows, time="ts", engine=engine).window("RANGE 18 rows, SLIDE 6 rows, WA row-num, PA p") \
        .group_by("p").agg(often="frequent_items(v, 2)")
    full = [(row["p"], row["often"]) for row in found if 2 <= row["wid"] <= 3]
    assert sorted(full) == [(p, [{"item": "a", "count": 8}]) for p in "uuvv"]


# -- property 13


def windows_of(rows: list[tuple[int, str, str | None]], window: tuple[int, int, int, int]) \
        -> Iterator[tuple[int, list[list[str | None]]]]:
    """Ids of windows of rows, given by position, and their values pane by pane; from the definition, row by row."""
    reach, slide, origin, lag = window
    pane = int(np.gcd(reach, slide))
    for wid in range(-10, 100):
        end = origin + (wid + 1) * slide - lag
        yield wid, [[x for at, _, x in rows if begin <= at < begin + pane] for begin in range(end - reach, end, pane)]


@settings(max_examples=120, deadline=None)
@given(drawn, windows, st.integers(1, 4), st.booleans(), st.booleans(), places, places)
def test_property_13_and_one_answer_whatever_the_batches(
        rows: list[tuple[str, str, str | None]], window: tuple[int, int, int, int], k: int, partitioned: bool,
        grouped: bool, cuts: frozenset[int], restarts: frozenset[int]) -> None:
    """No false positives, what is missing hides below the sum of the last counts, no count is too large."""
    reach, slide, origin, lag = window
    bracket = f"RANGE {reach} rows, SLIDE {slide} rows, WA row-num, ORIGIN {origin}" + f", LAG {lag} rows" * (lag > 0)
    keys = ["p"] * partitioned + ["g"] * grouped
    text = f"SELECT {', '.join([*keys, f'frequent_items(x, {k}) AS f'])} FROM s [{bracket}{', PA p' * partitioned}]"
    plan = parse(text + (f" GROUP BY {', '.join(keys)}" if keys else ""), Catalog(sources={"s": SCHEMA}))
    timeline: Timeline = [Arrival("s", {"ts": 7, "p": p, "g": g, "x": x}) for p, g, x in rows]
    expected = Oracle(plan, timeline).results()
    found, _ = run_timeline(open_plan(plan), timeline, cuts, restarts)
    assert_same_rows(found, expected)
    answers = {(row.get("p"), row.get("g"), row["wid"]): row["f"] for row in expected}
    checked = 0
    for p in "uv" if partitioned else [None]:
        inside = [(g, x) for q, g, x in rows if p in (None, q)]
        numbered = [(at, g, x) for at, (g, x) in enumerate(inside, start=1)]
        for g in "gh" if grouped else [None]:
            for wid, panes in windows_of([row for row in numbered if g in (None, row[1])], window):
                if (p, g, wid) in answers:
                    check(answers[p, g, wid], panes, k)
                    checked += 1
    assert checked == len(expected)


def check(reported: list[dict[str, Any]], panes: list[list[str | None]], k: int) -> None:
    """Property 13 of one window."""
    counts = [Counter(x for x in pane if x is not None) for pane in panes]
    truth = sum(counts, Counter[str]())
    lists = [sorted(count, key=lambda x, c=count: (-c[x], x))[:k] for count in counts]
    hidden = sum(count[listed[-1]] for count, listed in zip(counts, lists, strict=True) if len(listed) == k)
    assert all(hidden < entry["count"] <= truth[entry["item"]] for entry in reported), "no false positive"
    missing = set(truth) - {x for listed in lists for x in listed}
    assert all(truth[x] <= hidden for x in missing), "what is on no list is not frequent"
    known = {x: sum(c[x] for c, listed in zip(counts, lists, strict=True) if x in listed) for x in truth}
    assert {e["item"]: e["count"] for e in reported} == {x: n for x, n in known.items() if n > hidden}


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 10), places)
def test_disorder_and_promises_say_nothing_to_windows_by_rows(random: Random, batch_rows: int,
                                                              restarts: frozenset[int]) -> None:
    brackets = ("RANGE 9 rows, SLIDE 6 rows, WA row-num", "RANGE 12 rows, SLIDE 2 rows, WA row-num, PA k",
                "RANGE 2 rows, SLIDE 5 rows, WA row-num", "RANGE TUMBLING 4 rows, WA row-num",
                "RANGE 6 rows, SLIDE 4 rows, WA row-num WHERE v > 0", "RANGE 4 rows, SLIDE 1 row, WA row-num")
    case = any_kind(random, brackets, grammatical=None, rows=25, aggregates=("frequent_items(v, 2)",))
    assert_same_rows(embedded(case, batch_rows=batch_rows, restarts=restarts), case.expected())


def test_other_aggregates_stand_beside_it_and_conditions_behind_it() -> None:
    rows = [{"ts": at, "p": "uv"[at % 3 == 0], "g": "g", "x": x} for at, x in enumerate(F6)]
    text = "SELECT p, count(*) AS n, max(x) AS top, mode(x) AS mode, first(x) AS oldest, frequent_items(x, 2) AS f, " \
           "frequent_items(x, 2) FILTER (WHERE x <> 'a') AS others " \
           "FROM s [RANGE 6 rows, SLIDE 4 rows, WA row-num, PA p] GROUP BY p"
    plan = parse(text, Catalog(sources={"s": SCHEMA}))
    timeline: Timeline = [Arrival("s", row) for row in rows]
    found, _ = run_timeline(open_plan(plan), timeline, frozenset({3, 4, 11, 17}), frozenset({5, 14}))
    assert_same_rows(found, Oracle(plan, timeline).results())


# -- as a relation


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_f6_as_a_relation_that_changes_with_every_sub_window(engine: str) -> None:
    rows = [{"ts": at, "v": item} for at, item in enumerate(F6)]
    found = pw.sql("SELECT frequent_items(v, 2) AS often FROM s [ROWS 18 SLIDE 6]", s=rows, engine=engine)
    came = [(row["valid_from"], {e["item"]: e["count"] for e in row["often"]}) for row in found if row["change"] == 1]
    expected = [(None, {}), (5, {"a": 3}), (11, {"a": 5, "b": 5}), (17, {"a": 8})]
    assert came == expected, "the fourth sub-window changes nothing"


@settings(max_examples=80, deadline=None)
@given(st.randoms(use_true_random=False), drawn, windows, st.integers(1, 3), st.sampled_from(["", "PARTITION BY p "]),
       st.sampled_from(["", "WHERE g = 'g'", "WHERE p = 'u' AND g = 'g'"]), st.sampled_from(["upa", "negative"]),
       places, places)
def test_a_relation_of_newest_rows_is_the_oracles_whatever_the_order_and_the_batches(
        random: Random, rows: list[tuple[str, str, str | None]], window: tuple[int, int, int, int], k: int,
        partition: str, where: str, style: str, cuts: frozenset[int], restarts: frozenset[int]) -> None:
    keys = "p" if partition else "g"
    text = f"SELECT {keys}, frequent_items(x, {k}) AS f, count(*) AS n FROM s [{partition}ROWS {window[0]} SLIDE " \
           f"{window[1]}] {where} GROUP BY {keys}"
    plan = parse(text, Catalog(sources={"s": SCHEMA}))
    times = sorted(random.randint(0, 40) for _ in rows)
    late = sorted(zip(times, rows, strict=True), key=lambda row: row[0] + random.randint(0, 5))
    timeline: Timeline = []
    for place, (ts, (p, g, x)) in enumerate(late):
        timeline.append(Arrival("s", {"ts": ts, "p": p, "g": g, "x": x}))
        if random.random() < 0.4 and place + 1 < len(late):
            timeline.append(Arrival("s", Punctuation.below("ts", min(at for at, _ in late[place + 1 :]))))
    assert_like_the_oracle(plan, timeline, cuts, restarts, style=style)


def test_a_plan_with_fewer_columns_keeps_the_positions() -> None:
    text = "SELECT g, frequent_items(x, 2) AS f FROM s [PARTITION BY p ROWS 6 SLIDE 2] WHERE p = 'u' GROUP BY g, p"
    plan = parse(text, Catalog(sources={"s": SCHEMA}))
    timeline: Timeline = [Arrival("s", {"ts": at, "p": "uv"[at % 3 == 0], "g": "gh"[at % 2], "x": x})
                          for at, x in enumerate(F6)]
    expected = Oracle(plan, timeline).results()
    narrow = simplified(plan, Role.NARROW).plan
    assert narrow != plan
    others = [narrow, *(found.plan for found in closure(plan)), *(found.plan for found in steps(narrow))]
    for other in others:
        assert bag(run_relation(other, timeline)[0]) == bag(expected)


# -- windows over lists


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(0, 11), st.integers(1, 12)), max_size=25),
       st.lists(st.integers(0, 9), min_size=12, max_size=12))
def test_counts_above_a_floor_are_those_of_every_window_by_itself(entries: list[tuple[int, int, int, int]],
                                                                  floors: list[int]) -> None:
    entries = [(value, count, low, max(low + 1, high)) for value, count, low, high in entries]
    expected = []
    for window, floor in enumerate(floors):
        counts = Counter[int]()
        for value, count, low, high in entries:
            counts[value] += count * (low <= window < high)
        expected += [(window, value, counts[value]) for value in sorted(counts) if counts[value] > floor]
    columns = np.array(entries, np.int64).reshape(-1, 4).T
    found = above(*columns, np.array(floors))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.lists(st.sampled_from("aaabcd"), max_size=8), st.integers(1, 6)),
                max_size=12), st.integers(1, 3))
def test_windows_over_lists_are_the_merged_lists(pieces: list[tuple[int, list[str], int]], k: int) -> None:
    function, inputs, windows = resolve("frequent_items", (k, 4, 0, True)), [pa.string()], 8
    items = [x for _, inside, _ in pieces for x in inside]
    codes = np.repeat(np.arange(len(pieces)), [len(inside) for _, inside, _ in pieces])
    at = np.concatenate([np.zeros(0, np.int64), *(8 * number + np.arange(len(inside))
                                                  for number, (_, inside, _) in enumerate(pieces))])
    states = function.partials([pa.array(items, pa.string()), pa.array(at)], codes, len(pieces), inputs)
    settled = function.settle(states, inputs)
    low = np.array([first for first, _, _ in pieces], np.int64)
    high = np.minimum(low + np.array([length for _, _, length in pieces], np.int64), windows)
    number = np.concatenate([np.zeros(0, np.int64), *(np.full(h - f, i) for i, (f, h) in enumerate(zip(low, high,
                                                                                                      strict=True)))])
    inside = np.concatenate([np.zeros(0, np.int64), *(np.arange(f, h) for f, h in zip(low, high, strict=True))])
    merged = function.combine([column.take(pa.array(number)) for column in states], inside, windows, inputs)
    assert function.finish_windows(settled, low, high, windows, inputs) == function.finish_all(merged, inputs)


# -- state


def kernel_of(spec: RowWindow, k: int, keys: pa.Schema, partition: tuple[str, ...] = ()) -> RowKernel:
    function = resolve("frequent_items", (k, spec.pane, spec.origin - spec.lag, True))
    return RowKernel(spec, keys, bind([("f", function)], [[pa.int64()]]), partition=partition)


@pytest.mark.parametrize("batch", [1, 7, 250, 1000])
def test_full_panes_keep_their_lists_only(batch: int) -> None:
    k, pane, values = 3, 100, 400
    kernel = kernel_of(RowWindow(10 * pane, pane), k, pa.schema([]))
    items = np.random.default_rng(1).zipf(1.3, 4000) % values
    for start in range(0, len(items), batch):
        rows = items[start : start + batch]
        kernel.process(np.zeros(len(rows), np.int64), pa.table({}), [[pa.array(rows)]])
        kernel.ripe()
        heap = kernel._columns.saved().take(pa.array(kernel._log.entries()[2].heap))
        held = len(heap.column("f.counts").combine_chunks().flatten())
        assert held <= 10 * k + (start + len(rows)) % pane, "lists of full panes, and counts of the one being filled"


def test_panes_of_one_partition_are_settled_when_that_partition_has_filled_them() -> None:
    keys = pa.schema({"p": pa.string()})
    kernel = kernel_of(PartitionedRowWindow(8, 4), 1, keys, ("p",))
    rows = [("u", 1), ("u", 2), ("v", 1), ("u", 2), ("v", 3), ("u", 4)]
    kernel.process(np.zeros(6, np.int64), pa.table({"p": [p for p, _ in rows]}, schema=keys),
                   [[pa.array([x for _, x in rows])]])
    held = kernel._columns.saved().column("f.counts").to_pylist()
    assert sorted(held, key=len) == [[2], [1, 1]], "the pane of u is a list of one, that of v is not full"
    assert kernel.ripe().to_pylist() == [{"wid": 0, "p": "u", "f": []}], "two of four, and one may hide as much"


def test_a_window_says_what_it_would_give_while_its_last_pane_is_filled() -> None:
    kernel = kernel_of(RowWindow(6, 3), 2, pa.schema([]))
    kernel.process(np.zeros(5, np.int64), pa.table({}), [[pa.array([1, 1, 2, 1, 1])]])
    assert [row["wid"] for row in kernel.ripe().to_pylist()] == [0]
    expected = [{"wid": 1, "f": [{"item": 1, "count": 4}]}, {"wid": 2, "f": [{"item": 1, "count": 2}]}]
    assert kernel.peek().to_pylist() == expected
    assert kernel.advance(Punctuation.below("ts", 3)).num_rows == 0
    assert kernel.advance(END).to_pylist() == expected
