"""A run in a process of its own, to be killed: says a word after every item, for its parent to choose the moment."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from embedded.disordered import PLAN, cut, disordered
from panewise.dataflow import open_plan
from panewise.engines.embedded import EmbeddedRun
from panewise.engines.embedded.sinks import PartsSink

ROWS = 900


def spoken(items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        print("item", flush=True)
        yield item


def main(home: Path, batch: int) -> None:
    run = EmbeddedRun(open_plan(PLAN), {"s": spoken(cut(disordered(ROWS), [batch]))}, checkpoint=home / "state",
                      checkpoint_rows=50, sinks=[PartsSink(home / "out", ".ndjson")], live=batch % 2 == 0,
                      queue_rows=30)
    for table in run.tables():
        print("results", table.num_rows, flush=True)
    print("end", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
