"""A disordered stream with punctuation, and a plan over it, for tests of whole runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from embedded.plans import aggregate, call, source
from panewise.progress.punctuation import Punctuation
from panewise.windows.sliding import SlidingWindow

CALLS = (call("n", "count"), call("s", "sum", "v"), call("f", "first", "v"))
PLAN = aggregate(source(), SlidingWindow(20, 7), calls=CALLS)
Item = pa.RecordBatch | Punctuation


def disordered(rows: int = 200, seed: int = 5) -> pa.Table:
    rng = np.random.default_rng(seed)
    ts = np.arange(rows) + rng.integers(-6, 7, rows)
    return pa.table({"ts": ts, "k": rng.choice(["a", "b", "c"], rows), "g": np.zeros(rows, np.int64),
                     "v": rng.integers(0, 50, rows).astype(float)})


def cut(table: pa.Table, sizes: list[int]) -> Iterator[Item]:
    """Batches of these sizes in turn, with punctuation at fixed rows, wherever the batches end."""
    at, turn = 0, 0
    while at < table.num_rows:
        stop = min(at + sizes[turn % len(sizes)], (at // 20 + 1) * 20, table.num_rows)
        yield table.slice(at, stop - at).combine_chunks().to_batches()[0]
        if stop % 20 == 0:
            yield Punctuation.below("ts", stop - 6)
        at, turn = stop, turn + 1
