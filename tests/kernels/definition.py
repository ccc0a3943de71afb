"""Streams of rows and punctuation, and what the definition of windows says of them: for testing any kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from kernels.tiny import CountRows, InOrder
from panewise.kernels.contract.kernel import WindowKernel
from panewise.kernels.contract.partials import bind
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.sliding import SlidingWindow

KEYS = pa.schema({"k": pa.string(), "g": pa.int64()})
AGGREGATES = bind([("n", CountRows()), ("seen", InOrder())], [(), (pa.int64(),)])
POLICIES = ["drop", "side", "generous", "consistent"]
NO_BOUND = -(10**9)


@dataclass(frozen=True)
class Row:
    ts: int
    k: str | None
    g: int


Item = Row | Punctuation
Results = dict[tuple[int, str | None, int], list[int]]
Make = Callable[[], WindowKernel]


def feed(target: WindowKernel, rows: Sequence[Row], start: int, bounds: Sequence[int] | None = None) -> list[int]:
    """Process rows as one batch; the positions of late rows."""
    keys = pa.table({"k": pa.array([r.k for r in rows], pa.string()), "g": pa.array([r.g for r in rows], pa.int64())})
    positions = pa.array(range(start, start + len(rows)), pa.int64())
    given = None if bounds is None else np.array(bounds, np.int64)
    late = target.process(np.array([r.ts for r in rows], np.int64), keys, [[], [positions]], bounds=given)
    return [start + int(i) for i in np.flatnonzero(late)]


def note(results: Results, table: pa.Table) -> None:
    assert table.column("wid").to_pylist() == sorted(table.column("wid").to_pylist())
    for row in table.to_pylist():
        at = (row["wid"], row["k"], row["g"])
        assert at not in results, "a window of a group must be output once"
        assert row["n"] == len(row["seen"])
        results[at] = sorted(row["seen"])


def run(make: Make, items: Sequence[Item], cuts: frozenset[int] = frozenset(), saves: frozenset[int] = frozenset(),
        source_bounds: Sequence[int] | None = None,
        between: Callable[[WindowKernel], object] | None = None) -> tuple[Results, list[int]]:
    """Everything a kernel puts out, and the positions of late rows; batches end at punctuation and at the cuts."""
    target = make()
    results: Results = {}
    late: list[int] = []
    batch: list[Row] = []
    for i, item in enumerate([*items, END]):
        if batch and (i in cuts or isinstance(item, Punctuation)):
            start = i - len(batch)
            late += feed(target, batch, start, None if source_bounds is None else source_bounds[start:i])
            note(results, target.ripe())
            batch = []
            if between is not None:
                between(target)
        if i in saves:
            saved = target.snapshot()
            target = make()
            target.restore(saved)
        if isinstance(item, Punctuation):
            note(results, target.advance(item))
            if between is not None:
                between(target)
        else:
            batch.append(item)
    counters = target.counters()
    assert (counters["partials"], counters["buffered"]) == (0, 0), "nothing is left when all windows are closed"
    assert target.open_windows() == []
    return results, late


def by_definition(spec: SlidingWindow, items: Sequence[Item], policy: str,
                  source_bounds: Sequence[int] | None = None) -> tuple[Results, list[int]]:
    results: Results = {}
    late: list[int] = []
    promises: list[Punctuation] = []
    for position, item in enumerate(items):
        if isinstance(item, Punctuation):
            promises.append(item)
            continue
        covering = [p for p in promises if all(pattern.matches({"k": item.k, "g": item.g}[a])
                                               for a, pattern in p.patterns if a != "ts")]
        bound = max((b for p in covering if (b := p.closes_below("ts")) is not None), default=NO_BOUND)
        if source_bounds is not None:
            bound = max(bound, source_bounds[position])
        windows = [w for w in range(-90, 90) if spec.extent(w).contains(item.ts)]
        open_windows = [w for w in windows if (spec.extent(w).end or 0) > bound]
        if item.ts < bound:
            missed = open_windows != windows
            if policy in ("drop", "side"):
                windows, missed = [], True
            elif policy == "generous":
                windows = open_windows
            elif missed:
                windows = []
            if missed:
                late.append(position)
        for wid in windows:
            results.setdefault((wid, item.k, item.g), []).append(position)
    return results, late


specs = st.builds(SlidingWindow, st.integers(1, 12), st.integers(1, 12), st.integers(-9, 9), st.integers(0, 7))
rows = st.builds(Row, st.integers(-25, 25), st.sampled_from(["a", "b", None]), st.integers(0, 1))
constants = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b", None]), "g": st.integers(0, 1)})
punctuation = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(-20, 25), constants)
endings = constants.filter(bool).map(lambda c: Punctuation.of(dict(Punctuation.below("x", 0, **c).patterns[:-1])))
streams = st.lists(st.one_of(rows, rows, rows, punctuation, endings), max_size=25)
places = st.frozensets(st.integers(0, 25), max_size=6)


def rising_bounds(items: Sequence[Item], lag: int) -> list[int]:
    """Bounds that a source makes row by row: ``lag`` behind the largest value before the row."""
    bounds, high = [], NO_BOUND
    for item in items:
        bounds.append(max(high - lag, NO_BOUND))
        if isinstance(item, Row):
            high = max(high, item.ts)
    return bounds
