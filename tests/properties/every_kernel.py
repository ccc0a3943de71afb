"""One window aggregate on every kernel that can run it: what the property tests share.

Kernels are asked from the catalog, so a new one is held to the properties as soon as it is listed there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from panewise.aggregates.registry import resolve
from panewise.kernels.catalog import Request, able, make_kernel
from panewise.kernels.contract.kernel import WINDOW_END, WindowKernel
from panewise.kernels.contract.partials import bind
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.base import WindowSpec

KEYS = pa.schema({"k": pa.string(), "g": pa.int64()})
AGGREGATES = tuple(bind([("n", resolve("count", (), False)), ("top", resolve("max", (), False)),
                         ("total", resolve("sum", (), False))], [(), (pa.int64(),), (pa.int64(),)]))

BY_VALUE = ("sliding", "tumbling", "now", "varying", "landmark", "band", "session", "linear")
"""The kinds whose windows follow from values, so that the order of arrival means nothing."""
BY_POSITION = ("row", "partitioned row", "count", "partitioned count", "slide by tuple")


@dataclass(frozen=True)
class Row:
    ts: int
    k: str | None = "a"
    g: int = 0
    v: int = 1


Item = Row | Punctuation
Result = tuple[Any, ...]

rows = st.builds(Row, st.integers(-20, 25), st.sampled_from(["a", "b", None]), st.integers(0, 1), st.integers(-4, 4))
places = st.frozensets(st.integers(0, 25), max_size=6)


@dataclass
class Run:
    """What one kernel did: results with the item that brought them, and counters after every item."""

    kernel: WindowKernel
    results: list[tuple[int, Result]] = field(default_factory=list)
    late: list[int] = field(default_factory=list)

    @property
    def bag(self) -> list[str]:
        """The results, whenever they came."""
        return sorted(repr(result) for _, result in self.results)


def kernels(spec: WindowSpec, *, partition: Sequence[str] = (), late: str = "drop",
            keys: pa.Schema = KEYS) -> Iterator[Callable[[], WindowKernel]]:
    """A maker of each kernel that can run the window."""
    request = Request(spec, keys, AGGREGATES, tuple(partition))
    found = list(able(request))
    assert found, f"no kernel runs {spec}"
    for entry in found:
        yield lambda name=entry.name: make_kernel(request, name, attribute="ts", late=late)


def partition_of(kind: str) -> tuple[str, ...]:
    """Kinds that count rows of each partition need one."""
    return ("k",) if kind.startswith("partitioned") or kind == "session" else ()


def run(make: Callable[[], WindowKernel], items: Sequence[Item], *, cuts: frozenset[int] = frozenset(),
        saves: frozenset[int] = frozenset(), after: Callable[[int, Run], None] | None = None) -> Run:
    """Feed items and then the end; batches end at punctuation and at the cuts, states are saved and restored."""
    done = Run(make())
    batch: list[Row] = []

    def flush(place: int) -> None:
        if batch:
            late = feed(done.kernel, batch)
            done.late.extend(place - len(batch) + int(i) for i in np.flatnonzero(late))
            note(done, place - 1, done.kernel.ripe())
            batch.clear()

    for place, item in enumerate([*items, END]):
        if place in cuts or isinstance(item, Punctuation):
            flush(place)
        if place in saves:
            flush(place)
            saved = done.kernel.snapshot()
            done.kernel = make()
            done.kernel.restore(saved)
        if isinstance(item, Punctuation):
            note(done, place, done.kernel.advance(item))
        else:
            batch.append(item)
        if after is not None and not batch:
            after(place, done)
    return done


def feed(kernel: WindowKernel, batch: Sequence[Row]) -> Any:
    """One batch; which of its rows are late."""
    keys = pa.table([[r.k for r in batch], [r.g for r in batch]], schema=KEYS).select(kernel.keys.names)
    values = pa.array([r.v for r in batch], pa.int64())
    return kernel.process(np.array([r.ts for r in batch], np.int64), keys, [[], [values], [values]])


def note(done: Run, place: int, table: pa.Table) -> None:
    """Write results down."""
    names = [WINDOW_ID, *([WINDOW_END] if WINDOW_END in table.column_names else []), *done.kernel.keys.names]
    for row in table.to_pylist():
        done.results.append((place, (*(row[n] for n in names), row["n"], row["top"], row["total"])))


@st.composite
def promised(draw: st.DrawFn, some: Sequence[Row], *, groups: bool = True) -> list[Item]:
    """The rows in their order with promises between them that all are kept."""
    items: list[Item] = []
    for place, row in enumerate(some):
        items.append(row)
        ahead = some[place + 1 :]
        if not draw(st.booleans()):
            continue
        group = draw(st.sampled_from(["a", "b", None])) if groups and draw(st.booleans()) else "all"
        future = [r.ts for r in ahead if group in ("all", r.k)]
        bound = min(future, default=40) - draw(st.integers(0, 3))
        items.append(Punctuation.below("ts", bound, **({} if group == "all" else {"k": group})))
    return items
