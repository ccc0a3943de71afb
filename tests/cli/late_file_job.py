"""A run that writes late rows to a file beside its checkpoint; as a program it is killed at durable calls."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import panewise as pw
from fuzz.forks import DONE, in_child
from fuzz.injector import Injector, failing
from panewise.cli.late_file import LateFile
from panewise.engines.embedded import EmbeddedRun
from panewise.progress.punctuation import Punctuation
from panewise.storage import disk

LATE = list(range(1, 10))
COLUMNS = "ts bigint, v bigint"
QUERY = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"


def items() -> list[object]:
    """Ten batches; after each but the first a row that misses its window."""
    found: list[object] = []
    for i in range(10):
        found += [[{"ts": 10 * i, "v": -i}], Punctuation.below("ts", 10 * i)]
        found += [[{"ts": 10 * i - 5, "v": i}]] if i else []
    return found


def run(folder: Path, *, checkpoint_rows: int = 7) -> None:
    query = pw.open_query(QUERY, s=COLUMNS)
    late = LateFile(str(folder / "late.ndjson"), [], goes_on=True)
    query.on_late(late.write)
    with late:
        EmbeddedRun(query, {"s": items()}, checkpoint=folder / "state", checkpoint_rows=checkpoint_rows,
                    beside=late.beside).run()


def late_rows(folder: Path) -> list[int]:
    return [json.loads(line)["v"] for line in (folder / "late.ndjson").read_text().splitlines()]


def calls(folder: Path) -> int:
    injector = Injector()
    with disk.injected(injector):
        run(folder)
    return len(injector.calls)


def killed_everywhere(folder: Path, step: int) -> int:
    """Killed at every so many calls and started again; how many processes died of it."""
    killed = 0
    for at in range(2, calls(folder / "whole"), step):
        one = folder / str(at)

        def dying(at: int = at, one: Path = one) -> None:
            with failing(at, "kill"):
                run(one)

        status = in_child(dying)
        assert status < 0, f"call {at}: ended with {status}"
        assert in_child(lambda one=one: run(one)) == DONE  # type: ignore[misc]
        assert late_rows(one) == LATE, f"call {at}"
        killed += 1
    return killed


if __name__ == "__main__":
    print(killed_everywhere(Path(sys.argv[1]), 9))
