"""Delta* with many values: long steps look at all of them, short ones ask a calendar, and each may follow the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.dataflow import Query, open_plan
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.distinct import distinct
from panewise.kernels.relations.distinct.distinct import DistinctByEnd
from panewise.plan.nodes import Distinct, Join, Node, Qualify, Union
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.base import WindowSpec
from panewise.windows.sliding import SlidingWindow
from relations.plans import TIME_WINDOWS, columns, source, window
from relations.running import assert_like_the_oracle, run_relation

SPECS = st.builds(SlidingWindow.scoped, st.integers(3, 40)) | TIME_WINDOWS
CUTS = st.frozensets(st.integers(0, 90), max_size=12)


def rows_of(seed: int, count: int, values: int, behind: int, streams: tuple[str, ...] = ("s",)) -> Timeline:
    """Rows of which some come late by no more than is allowed, several at an instant."""
    rng = np.random.default_rng(seed)
    times = np.maximum(np.arange(count) // 2 + 10 - rng.integers(0, behind + 1, count), 0)
    return [Arrival(streams[int(rng.integers(len(streams)))],
                    {"ts": int(at), "k": f"k{rng.integers(values)}", "v": int(rng.integers(3))}) for at in times]


@settings(max_examples=40, deadline=None)
@given(SPECS, st.integers(0, 1000), st.sampled_from([3, 12, 60]), st.integers(0, 5), CUTS, CUTS)
def test_long_and_short_steps_in_any_turn(spec: WindowSpec, seed: int, values: int, behind: int,
                                          cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan = Distinct(columns(window(source(), spec), "k", "v"))
    progress = f"late:{behind}" if behind else "ordered"
    assert_like_the_oracle(plan, rows_of(seed, 90, values, behind), cuts, saves, progress=progress)


@settings(max_examples=20, deadline=None)
@given(SPECS, SPECS, st.integers(0, 1000), st.sampled_from([3, 20]), CUTS, CUTS)
def test_rows_of_a_union_some_as_old_as_each_other(left: WindowSpec, right: WindowSpec, seed: int, values: int,
                                                   cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan = Distinct(Union((columns(window(source(), left), "k"), columns(window(source(), right), "k"))))
    assert_like_the_oracle(plan, rows_of(seed, 60, values, 2), cuts, saves, progress="late:2")


@settings(max_examples=20, deadline=None)
@given(SPECS, st.integers(0, 1000), CUTS, CUTS)
def test_rows_that_become_deeper(spec: WindowSpec, seed: int, cuts: frozenset[int], saves: frozenset[int]) -> None:
    """Pairs are as old as two rows, single rows as one: what is kept of a value grows when the first pair comes."""
    s, t = (window(source(name), spec) for name in ("s", "t"))
    pairs: Node = Join(Qualify(s, "l"), Qualify(t, "r"), Scalar.parse("`l.v` = `r.v`"))
    plan = Distinct(Union((columns(s, "k"), columns(pairs, "l.k"))))
    assert_like_the_oracle(plan, rows_of(seed, 50, 8, 1, ("s", "t")), cuts, saves, progress="late:1")


def test_values_that_are_gone_are_forgotten_in_short_steps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "SPARE_CODES", 4)
    monkeypatch.setattr(KeyTable, "crowded", lambda self, used: len(self) > 2 * used + 4)
    timeline = [Arrival("s", {"ts": i, "k": f"k{i % 70 if i > 100 else i}", "v": 0}) for i in range(400)]
    plan = Distinct(columns(window(source(), SlidingWindow.scoped(9)), "k"))
    cuts = frozenset(i for i in range(400) if i % 50 < 25)  # some rows one by one, some 25 at a time
    assert_like_the_oracle(plan, timeline, cuts, frozenset({120, 300}), progress="ordered")
    _, query = run_relation(plan, timeline, cuts, progress="ordered")
    assert len(_operator(query)._codes) < 40


def test_steps_say_which_structure_they_use() -> None:
    plan = Distinct(columns(window(source(), SlidingWindow.scoped(50)), "k"))
    query = open_plan(plan, progress="ordered")
    query.push("s", [{"ts": i, "k": f"k{i}", "v": 0} for i in range(30)])
    assert _operator(query)._queue is None
    query.push("s", [{"ts": 30, "k": "k1", "v": 0}, {"ts": 31, "k": "k1", "v": 0}])
    assert _operator(query)._queue is not None
    query.push("s", [{"ts": 32 + i, "k": f"k{i}", "v": 0} for i in range(40)])
    assert _operator(query)._queue is None


def _operator(query: Query) -> DistinctByEnd:
    operator = query.relation.root.operator
    assert isinstance(operator, DistinctByEnd)
    return operator
