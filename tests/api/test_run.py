"""``pw.run``: streams of every kind in; results by row, table, frame and callback, in the background, or awaited."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import panewise as pw
from panewise.core.errors import CheckpointError, PlanError, SchemaError

QUERY = "SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY k"
ROWS = [{"ts": t, "k": "ab"[t % 2]} for t in (3, 1, 8, 4, 12, 19, 15, 28)]
WITH_PROMISE = [*ROWS[:4], pw.Punctuation.below("ts", 10), *ROWS[4:]]
COUNTS = sorted((row["window"]["start"], row["k"], row["n"]) for row in pw.sql(QUERY, s=ROWS, engine="oracle"))


def counted(rows: Any) -> list[tuple[int, str, int]]:
    return sorted((row["window"]["start"], row["k"], row["n"]) for row in rows)


async def slowly(items: list[Any]) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


def written(tmp_path: Path) -> str:
    path = tmp_path / "s.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(path)


@pytest.mark.parametrize("make", [
    lambda tmp: WITH_PROMISE, lambda tmp: iter(WITH_PROMISE), lambda tmp: iter([ROWS[:3], ROWS[3:]]),
    lambda tmp: pa.Table.from_pylist(ROWS), lambda tmp: iter(pa.Table.from_pylist(ROWS).to_batches(max_chunksize=3)),
    lambda tmp: pd.DataFrame(ROWS), written])
def test_whatever_can_be_a_stream_gives_the_same_results(make: Any, tmp_path: Path) -> None:
    assert counted(pw.run(QUERY, s=make(tmp_path))) == COUNTS


def test_what_is_not_there_yet_is_declared() -> None:
    declared = {"s": "ts bigint, k string"}
    assert counted(pw.run(QUERY, s=slowly(WITH_PROMISE), columns=declared)) == COUNTS
    assert counted(pw.run(QUERY, s=lambda rows, punctuation: iter(ROWS[rows:]), columns=declared)) == COUNTS
    for value in (slowly([]), lambda rows, punctuation: []):
        with pytest.raises(SchemaError, match="columns of 's' cannot be looked up"):
            pw.run(QUERY, s=value)
    with pytest.raises(SchemaError, match="no row to learn its columns from"):
        pw.run(QUERY, s=iter([]))
    with pytest.raises(PlanError, match="no stream of this run"):
        pw.run(QUERY, s=iter(ROWS), columns={"t": "ts bigint"})


@pytest.mark.parametrize("make", [
    lambda path: ROWS, lambda path: pa.Table.from_pylist(ROWS), lambda path: pd.DataFrame(ROWS), lambda path: path,
    lambda path: pw.table(ROWS, time="ts"), pw.follow, lambda path: pw.follow(path, columns="ts bigint"),
], ids=["rows", "Arrow", "pandas", "file", "table", "followed", "followed, declared otherwise"])
def test_what_is_there_already_is_not_declared(make: Any, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"^columns= declares .*'s'"):
        pw.run(QUERY, s=make(written(tmp_path)), columns={"s": "ts bigint, k string, w string"})


def test_results_in_every_form() -> None:
    table = pw.run(QUERY, s=iter(ROWS)).to_arrow()
    assert counted(table.to_pylist()) == COUNTS
    assert counted(pw.run(QUERY, s=iter(ROWS)).to_pandas().to_dict("records")) == COUNTS
    frame = pw.run(QUERY, s=iter(ROWS)).to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert counted(frame.to_dicts()) == COUNTS
    none = pw.run(QUERY, s=iter([pa.table({"ts": pa.array([], pa.int64()), "k": pa.array([], pa.string())})]))
    assert none.to_arrow().column_names == ["k", "window", "n"]
    results = pw.run(QUERY, s=iter([ROWS[0], pw.Punctuation.below("ts", 5), ROWS[1]]), late="side").collect()
    assert results.late is not None
    assert results.late.to_pylist() == [ROWS[1]]
    assert results.late_report is not None
    assert results.late_report.column("late").to_pylist() == [{"stream": "s", "row": 2, "bound": 5, "by": 4}]
    assert "<table" in results._repr_html_()
    assert "window" in results.to_polars().columns


def test_async_for_runs_sources_on_the_programs_own_loop() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def source() -> AsyncIterator[Any]:
        for item in WITH_PROMISE:
            loops.append(asyncio.get_running_loop())
            await asyncio.sleep(0)
            yield item

    async def program() -> list[dict[str, Any]]:
        run = pw.run(QUERY, s=source(), columns={"s": "ts bigint, k string"})
        found = [row async for row in run]
        assert set(loops) == {asyncio.get_running_loop()}
        return found

    assert counted(asyncio.run(program())) == COUNTS


def test_an_async_program_may_stop_looking() -> None:
    async def endless() -> AsyncIterator[Any]:
        ts = 0
        while True:
            yield {"ts": ts, "k": "a"}
            ts += 1
            await asyncio.sleep(0)

    async def program() -> int:
        run = pw.run(QUERY, s=endless(), columns={"s": "ts bigint, k string"}, progress="ordered")
        async for row in run:
            run.stop()
            return int(row["n"])
        return 0

    assert asyncio.run(program()) == 10


def test_a_run_in_the_background_can_be_watched_and_stopped() -> None:
    seen, moved, ahead, looked = [], Event(), Event(), Event()

    def endless() -> Iterator[Any]:
        ts = 0
        while True:
            yield {"ts": ts, "k": "a"}
            ts += 1
            if not moved.wait(0.001):  # not so fast that the queue is full before the query stands still
                continue
            if not ahead.is_set():  # the query stands still from here on
                yield from ({"ts": ts + more, "k": "a"} for more in range(20))
                ts += 20
                ahead.set()

    run = pw.run(QUERY, s=endless(), progress="ordered")

    @run.on_result
    def keep(table: pa.Table) -> None:
        seen.append(table.num_rows)
        if len(seen) == 3:
            moved.set()
            assert looked.wait(60)

    events = []
    run.on_window(events.append)
    with pytest.raises(PlanError, match="not started"):
        run.wait()
    run.start()
    with pytest.raises(PlanError, match="started already"):
        run.start()
    assert ahead.wait(60)
    status = run.status()
    looked.set()
    assert status["rows"] > 30
    assert status["streams"]["s"]["queued"] >= 20
    assert "open windows" in repr(status)
    assert "<table" in run._repr_html_()
    run.stop()
    assert run.wait(60)
    assert {event.kind for event in events} == {"opened", "closed"}


def test_an_error_in_the_background_is_raised_where_it_is_waited_for() -> None:
    run = pw.run(QUERY, s=iter([ROWS[0], {"ts": "noon", "k": "a"}])).start()
    with pytest.raises(SchemaError, match="row 2"):
        run.wait(60)


def test_a_socket_tells_its_address() -> None:
    run = pw.run(QUERY, s="tcp://:0", columns={"s": "ts bigint, k string"})
    address = run.streams["s"].address
    assert address.host == "127.0.0.1"
    with socket.create_connection((address.host, address.port)) as sender:
        sender.sendall("".join(json.dumps(row) + "\n" for row in ROWS).encode())
    assert counted(run) == COUNTS


def test_a_run_with_a_checkpoint_goes_on_and_another_query_is_refused(tmp_path: Path) -> None:
    out = f"{tmp_path}/out/"
    first = pw.run(QUERY, s=iter(WITH_PROMISE[:6]), columns={"s": "ts bigint, k string"}, checkpoint=tmp_path / "c",
                   out=out)
    tables = first.tables()
    next(tables)
    first.stop()
    list(tables)
    pw.run(QUERY, s=iter(WITH_PROMISE), columns={"s": "ts bigint, k string"}, checkpoint=tmp_path / "c",
           out=out).collect()
    parts = sorted((tmp_path / "out").iterdir())
    assert counted(row for part in parts for row in pa.parquet.read_table(part).to_pylist()) == COUNTS
    with pytest.raises(CheckpointError, match="belongs to another query"):
        pw.run(QUERY + ", ts", s=iter(ROWS), checkpoint=tmp_path / "c")


def test_places_for_results() -> None:
    with pytest.raises(PlanError, match="results cannot go to a int"):
        pw.run(QUERY, s=iter(ROWS), out=5)
    first: list[int] = []
    second: list[int] = []
    rows = list(pw.run(QUERY, s=ROWS, out=[lambda t: first.append(t.num_rows), lambda t: second.append(t.num_rows)]))
    assert sum(first) == sum(second) == len(rows)


def test_early_results_from_sql_and_only_from_the_embedded_engine() -> None:
    rows = [ROWS[0], pw.Punctuation.below("ts", 1), *ROWS[1:]]
    changes = pw.sql(QUERY, s=rows, emit="change")
    left: dict[tuple[int, str, int], int] = {}
    for row in changes:
        key = (row["window"]["start"], row["k"], row["n"])
        left[key] = left.get(key, 0) + row["change"]
    assert sorted(key for key, times in left.items() if times) == COUNTS
    assert any(row["change"] == -1 for row in changes)
    with pytest.raises(PlanError, match="oracle gives final ones"):
        pw.sql(QUERY, s=ROWS, emit="change", engine="oracle")
