"""P15: a bounded table below and a roll-up above are one aggregate, and the lower level's promises hold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.aggregates.registry import resolve
from panewise.kernels.baselines.slots import MODES, Flush
from panewise.kernels.baselines.two_level import TwoLevelKernel
from panewise.kernels.contract.partials import bind
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.sliding import SlidingWindow

KEYS = pa.schema({"k": pa.int64()})
AGGREGATES = bind([("n", resolve("count")), ("s", resolve("sum"))], [[], [pa.int64()]])

windows = st.builds(SlidingWindow, st.integers(1, 20), st.integers(1, 12))
packets = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=60)
"""How far time moves, the group, and how late the packet is."""


class Watched(TwoLevelKernel):
    """Writes down what the lower level puts out."""

    def _give(self, partials: pa.Table) -> None:
        if not hasattr(self, "given"):
            self.given: list[tuple[int, int]] = []
        self.given += zip(partials["wid.first"].to_pylist(), partials["wid.end"].to_pylist(), strict=True)
        super()._give(partials)


@settings(deadline=None, max_examples=60)
@given(windows, packets, st.integers(1, 12), st.sampled_from(MODES), st.integers(0, 4), st.integers(1, 9),
       st.integers(1, 17), st.booleans())
def test_p15_both_levels_are_one_aggregate_for_any_table_size_m_and_i(
        spec: SlidingWindow, some: list[tuple[int, int, int]], slots: int, flush: Flush, m: int, i: int, batch: int,
        ordered: bool) -> None:
    times = np.cumsum([s for s, _, _ in some])
    if not ordered:
        times = times - np.array([late for _, _, late in some])
    groups = np.array([g for _, g, _ in some])
    ahead = np.minimum.accumulate(times[::-1])[::-1]
    two, one = Watched(spec, KEYS, AGGREGATES, slots=slots, flush=flush, m=m, i=i), WidKernel(spec, KEYS, AGGREGATES)
    found: list[list[str]] = [[], []]
    promised = two.promised
    done = 0
    for at in range(0, len(times), batch):
        part = slice(at, at + batch)
        for target, results in zip((two, one), found, strict=True):
            target.process(times[part], pa.table({"k": groups[part]}), [[], [pa.array(groups[part])]])
            results.extend(map(str, target.advance(Punctuation.below("ts", int(ahead[at]))).to_pylist()))
        assert all(first >= promised for first, _ in two.given[done:]), "nothing of a window it said is complete"
        promised, done = two.promised, len(two.given)
    for target, results in zip((two, one), found, strict=True):
        results.extend(map(str, target.advance(END).to_pylist()))
    assert sorted(found[0]) == sorted(found[1])
    if flush == "iop" and ordered:
        ends = [end for _, end in two.given]
        assert ends == sorted(ends), "in the order of windows"
