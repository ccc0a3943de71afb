"""Frequent items from the lists of panes: Golab's Algorithm 6 through engines (fixture F6, property 13)."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.compare import assert_same_rows
from conformance.generated import any_kind
from embedded.plans import run_timeline
from oracle.questions import Oracle
from panewise.aggregates import resolve
from panewise.api.stream import stream
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.kernels.contract.partials import bind
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import Catalog, parse
from panewise.windows.sliding import SlidingWindow
from properties.test_window_properties import by_every_kernel

SCHEMA = SourceSchema({"ts": pa.int64(), "g": pa.string(), "x": pa.string()}, time="ts")
places = st.frozensets(st.integers(1, 60), max_size=4)


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_f6_the_lists_of_three_panes(engine: str) -> None:
    rows = [{"ts": at, "v": item} for at, item in enumerate("aaabbc" "aabbbd" "aaacce" "aaabbf")]
    found = stream(rows, time="ts", engine=engine).window(range=18, slide=6).agg(often="frequent_items(v, 2)")
    full = [row["often"] for row in found if 0 <= row["window"]["start"] <= 6]
    assert full == [[{"item": "a", "count": 8}], [{"item": "a", "count": 8}]]


def test_fewer_values_than_a_list_takes_are_all_known() -> None:
    found = resolve("frequent_items", (4, 10))
    state = found.init()
    for at, item in enumerate("aabacb"):
        state = found.add(state, item, at)
    assert [(e["item"], e["count"]) for e in found.finish(state)] == [("a", 3), ("b", 2), ("c", 1)]


def disordered(random: Random, rows: list[tuple[int, str, str]]) -> Timeline:
    """The rows with some disorder, and promises that hold, not after every row."""
    shaken = sorted(rows, key=lambda row: row[0] + random.randint(0, 9))
    made: Timeline = []
    for place, (ts, group, item) in enumerate(shaken):
        made.append(Arrival("s", {"ts": ts, "g": group, "x": item}))
        ahead = [later[0] for later in shaken[place + 1 :]]
        if ahead and random.random() < 0.5:
            made.append(Arrival("s", Punctuation.below("ts", min(ahead))))
    return made


drawn = st.lists(st.tuples(st.integers(-5, 40), st.sampled_from("pq"), st.sampled_from("aaaabbcdef")), min_size=1,
                 max_size=60)
windows = st.tuples(st.integers(1, 14), st.integers(1, 8), st.integers(-4, 4), st.integers(0, 3))


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), drawn, windows, st.integers(1, 4), st.booleans(), places, places)
def test_property_13_and_one_answer_whatever_the_order_and_the_batches(
        random: Random, rows: list[tuple[int, str, str]], window: tuple[int, int, int, int], k: int, grouped: bool,
        cuts: frozenset[int], restarts: frozenset[int]) -> None:
    """No false positives, what is missing hides below the sum of the last counts, no count is too large."""
    reach, slide, origin, lag = window
    bracket = f"RANGE {reach}, SLIDE {slide}, WA ts, ORIGIN {origin}" + f", LAG {lag}" * (lag > 0)
    text = f"frequent_items(x, {k}) AS f FROM s [{bracket}]"
    plan = parse(f"SELECT g, {text} GROUP BY g" if grouped else f"SELECT {text}", Catalog(sources={"s": SCHEMA}))
    timeline = disordered(random, rows)
    expected = Oracle(plan, timeline).results()
    found, _ = run_timeline(open_plan(plan), timeline, cuts, restarts)
    assert_same_rows(found, expected)
    pane = SlidingWindow(reach, slide).pane
    for row in expected:
        start, end = row["window"]["start"], row["window"]["end"]
        inside = [(ts, x) for ts, g, x in rows if start <= ts < end and (not grouped or g == row["g"])]
        truth, hidden = Counter(x for _, x in inside), 0
        for begin in range(start, end, pane):
            counts = sorted(Counter(x for ts, x in inside if begin <= ts < begin + pane).values(), reverse=True)
            hidden += counts[k - 1] if len(counts) >= k else 0
        reported = {entry["item"]: entry["count"] for entry in row["f"]}
        assert all(hidden < count <= truth[item] for item, count in reported.items())
        listed_nowhere = set(truth) - {x for begin in range(start, end, pane) for x in top(inside, begin, pane, k)}
        assert all(truth[item] <= hidden for item in listed_nowhere)


def top(inside: list[tuple[int, str]], begin: int, pane: int, k: int) -> list[str]:
    counts = Counter(x for ts, x in inside if begin <= ts < begin + pane)
    return sorted(counts, key=lambda x: (-counts[x], x))[:k]


def test_complete_panes_keep_their_lists_only() -> None:
    k, pane, per_pane, values = 3, 100, 1000, 400
    inputs = [pa.int64(), pa.int64()]
    kernel = WidKernel(SlidingWindow(10 * pane, pane), pa.schema([]),
                       bind([("f", resolve("frequent_items", (k, pane, 0)))], [inputs]))
    random = np.random.default_rng(1)
    held = []
    for number in range(40):
        at = random.integers(number * pane, (number + 1) * pane, per_pane)
        items = random.zipf(1.3, per_pane) % values
        kernel.process(at, pa.table({}), [[pa.array(items), pa.array(at)]])
        kernel.advance(Punctuation.below("ts", (number + 1) * pane))
        column = kernel.ranges.compact().column("f.counts").combine_chunks()
        held.append(len(column.flatten()))
    assert max(held) <= 10 * k, "as many lists as a window has panes, and no counts beside them"


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 10), places)
def test_every_kernel_that_runs_it_gives_the_oracles_answer(random: Random, batch_rows: int,
                                                            restarts: frozenset[int]) -> None:
    """Also where promises are broken, or are about single groups."""
    brackets = ("RANGE 9, SLIDE 6, WA ts", "RANGE 12, SLIDE 2, WA ts", "RANGE 2, SLIDE 5, WA ts")
    case = any_kind(random, brackets, grammatical=None, rows=25, aggregates=("frequent_items(v, 2)",))
    answers = by_every_kernel(case, batch_rows=batch_rows, restarts=restarts)
    assert {"wid", "buffering"} <= set(answers)
    expected = case.expected()
    for found in answers.values():
        assert_same_rows(found, expected)
