"""Q7-2 with each of the joins counts what its definition says, and joins that differ are not compared."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import counted_joins as bench
import numpy as np
import pyarrow as pa
import pytest
from common import SECOND, START

JOB = bench.Job(join=bench.OURS, range=2, rate=20, seconds=125, flows=20, promises=2)


def by_definition(job: bench.Job) -> list[tuple[int, int]]:
    """Pairs of packets in opposite directions, at most so many seconds apart, by the minute of the first link's."""
    came = [pa.Table.from_batches([item for side, _, item in bench.links(job)
                                   if side == number and isinstance(item, pa.RecordBatch)]) for number in (0, 1)]
    one, two = ({name: table.column(name).cast(pa.int64()).to_numpy() for name in bench.COLUMNS} for table in came)
    meet = np.abs(one["ts"][:, None] - two["ts"]) <= job.range * SECOND
    for mine, other in (("srcIP", "destIP"), ("destIP", "srcIP"), ("srcPort", "destPort"), ("destPort", "srcPort")):
        meet &= one[mine][:, None] == two[other]
    minutes, counts = np.unique(one["ts"][np.nonzero(meet)[0]] // bench.MINUTE * 60, return_counts=True)
    return list(zip(minutes.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("join", bench.JOINS)
def test_every_join_counts_what_the_query_says(join: str) -> None:
    found = bench.run(replace(JOB, join=join))
    expected = by_definition(JOB)
    assert [start for start, _ in expected] == [START // SECOND + minute * 60 for minute in range(3)]
    assert found.counts == expected
    assert len(found.latencies) == len(found.latencies_cpu) == 2  # the third is closed by the end of the links
    assert all(since >= last > 0 for since, last in zip(found.since_m1, found.latencies_cpu, strict=True))
    assert found.state_bytes > 0


def test_the_join_is_exchanged_and_reads_what_oa_join_reads() -> None:
    ours, *others = (bench.Counted(join, 3).operator.join for join in bench.JOINS)
    assert type(ours).__name__ == "OAJoin"
    for other, kind in zip(others, bench.IN_ORDER.values(), strict=True):
        assert isinstance(other, bench.InItsPlace)
        assert isinstance(other._join, kind)  # type: ignore[arg-type]
        assert other.spec == ours.spec
    assert ours.spec.output_schema.names == ["M1.ts"]


def test_joins_that_count_differently_are_not_compared() -> None:
    runs = {join: [bench.Run(state_bytes=1, counts=[(0, 5)])] for join in bench.JOINS}
    assert len(bench.compared(runs, 1, 1)) == len(bench.JOINS)
    runs["input buffered"].append(bench.Run(state_bytes=1, counts=[(0, 6)]))
    with pytest.raises(SystemExit, match="input buffered counts"):
        bench.compared(runs, 1, 1)


def test_it_measures_every_range_with_every_join(tmp_path: Path) -> None:
    figures = tmp_path / "figures.jsonl"
    done = subprocess.run([sys.executable, bench.__file__, "--ranges", "1", "3", "--rate", "400", "--seconds", "64",
                           "--flows", "30", "--repeat", "1", "--json", str(figures)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in figures.read_text().splitlines()]
    assert [(line["range"], line["join"]) for line in lines] == [(n, join) for n in (1, 3) for join in bench.JOINS]
    for line in lines:
        assert line["pairs"] > 0
        assert line["latency_ms"] > 0
        assert line["state_bytes_times"] > 1 or line["join"] == bench.OURS
        assert f"{line['pairs']:,}" in done.stdout
