"""Live runs: every source in its own thread behind a bounded queue, clean ends, and the wall clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.disordered import PLAN, cut, disordered
from embedded.plans import COLUMNS, aggregate, bag, call, source
from panewise.core.errors import CheckpointError, PlanError, SourceError
from panewise.core.ordinals import OrdinalKind
from panewise.dataflow import open_plan
from panewise.engines.embedded import EmbeddedRun, run_embedded
from panewise.engines.embedded.inbox import ClosedInboxError, Ended, Inbox
from panewise.engines.embedded.sinks import CallbackSink, FileSink, PartsSink
from panewise.engines.embedded.sources import AsyncSource, PositionSource, StreamSource, as_source
from panewise.plan.nodes import Union
from panewise.progress.punctuation import Punctuation
from panewise.storage import ChunkStore
from panewise.windows.sliding import SlidingWindow

TWO = aggregate(Union((source("s"), source("t"))), SlidingWindow(20, 7), calls=(call("n", "count"),))
ROW = {"ts": 1, "k": "a", "g": 0, "v": 1.0}


def rows_of(run: EmbeddedRun) -> list[dict[str, Any]]:
    return [row for table in run.tables() for row in table.to_pylist()]


def expected(plan: Any = PLAN, **inputs: Any) -> list[dict[str, Any]]:
    return [row for table in run_embedded(plan, inputs) for row in table.to_pylist()]


# -- queues


def test_rows_that_wait_together_travel_together_and_punctuation_ends_a_batch() -> None:
    inbox = Inbox(["s", "t"], batch_rows=3)
    promise = Punctuation.below("ts", 5)
    for item in [*[{"ts": i} for i in range(4)], promise, {"ts": 9}]:
        inbox.put("s", item)
    inbox.put("t", {"ts": 1})
    taken = [inbox.take(0) for _ in range(6)]
    assert taken == [("s", [{"ts": 0}, {"ts": 1}, {"ts": 2}]), ("t", [{"ts": 1}]), ("s", [{"ts": 3}]),
                     ("s", promise), ("s", [{"ts": 9}]), None]
    assert inbox.held == {"s": 0, "t": 0}


def test_a_full_queue_makes_its_own_source_wait_and_no_other() -> None:
    inbox = Inbox(["s", "t"], rows=2)
    entered: list[int] = []
    done = Event()

    def fill() -> None:
        for i in range(5):
            inbox.put("s", [{"ts": i}])
            entered.append(i)
        done.set()

    reader = Thread(target=fill)
    reader.start()
    inbox.put("t", [{"ts": 7}])
    out = []
    while len(out) < 6:
        arrival = inbox.take(10)
        assert arrival is not None
        assert len(entered) <= len([o for o in out if o[0] == "s"]) + 1 + 2, "never more than fits ahead of the query"
        out.append(arrival)
    assert done.wait(10)
    reader.join()
    assert [item for name, item in out if name == "s"] == [[{"ts": i}] for i in range(5)]


def test_a_reader_that_waits_is_sent_home_when_nobody_listens() -> None:
    inbox = Inbox(["s"], rows=1)
    inbox.put("s", [ROW])
    gone: list[BaseException] = []

    def wait() -> None:
        try:
            inbox.put("s", [ROW])
        except ClosedInboxError as error:
            gone.append(error)

    reader = Thread(target=wait)
    reader.start()
    inbox.close()
    reader.join(10)
    assert len(gone) == 1
    assert inbox.take(0) is None
    with pytest.raises(ClosedInboxError):
        inbox.put("s", Ended())


# -- whole runs


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=3), st.integers(1, 300))
def test_a_live_run_gives_the_same_results_as_one_in_turn(sizes: list[int], queue_rows: int) -> None:
    run = EmbeddedRun(open_plan(TWO), {"s": cut(disordered(), sizes), "t": cut(disordered(90, seed=7), [13])},
                      live=True, queue_rows=queue_rows)
    assert bag(rows_of(run)) == bag(expected(TWO, s=cut(disordered(), [9]), t=cut(disordered(90, seed=7), [9])))


def test_single_rows_lists_batches_and_promises_may_be_mixed() -> None:
    table = disordered(60)
    rows = table.to_pylist()
    mixed = [*rows[:5], rows[5:20], Punctuation.below("ts", 2), table.slice(20, 30), *rows[50:]]
    assert bag(rows_of(EmbeddedRun(open_plan(PLAN, late="generous"), {"s": mixed}, live=True))) == \
        bag(rows_of(EmbeddedRun(open_plan(PLAN, late="generous"), {"s": [table]})))


def test_a_silent_input_blocks_neither_the_rows_nor_the_late_rows_of_the_others() -> None:
    release, through = Event(), Event()
    promises = iter([Punctuation.below("ts", 50)])

    def silent() -> Iterator[Any]:
        release.wait(30)
        yield from promises

    def busy() -> Iterator[Any]:
        yield [ROW, ROW | {"ts": 70}]
        yield Punctuation.below("ts", 60)
        yield [ROW | {"ts": 3}]

    query = open_plan(TWO)
    query.on_late(lambda table: through.set())
    run = EmbeddedRun(query, {"s": busy(), "t": silent()}, live=True)
    out: list[Any] = []
    worker = Thread(target=lambda: out.extend(run.tables()))
    worker.start()
    assert through.wait(30), "the late row of s was seen while t was silent"
    assert out == []
    assert run.status()["rows"] == 3
    release.set()
    worker.join(30)
    assert sum(table.num_rows for table in out) > 0


class BrokenError(Exception):
    """Something a source of a user's own may raise."""


def test_an_error_of_a_source_comes_out_after_what_it_had_sent_and_ends_the_others() -> None:
    finished = Event()

    def breaks() -> Iterator[Any]:
        yield [ROW]
        raise BrokenError("no more")

    def endless() -> Iterator[Any]:
        try:
            while True:
                yield [ROW]
        finally:
            finished.set()

    query = open_plan(TWO)
    run = EmbeddedRun(query, {"s": breaks(), "t": endless()}, live=True, queue_rows=5)
    with pytest.raises(BrokenError, match="no more"):
        run.run()
    assert query.status()["streams"]["s"]["rows"] == 1
    assert finished.wait(10), "the reader of the other source went home"


def test_a_row_that_is_refused_stops_the_run_and_leaves_a_partial_file(tmp_path: Path) -> None:
    items = [[ROW], Punctuation.below("ts", 40), [{"ts": "noon"}]]
    sink = FileSink(tmp_path / "out.ndjson")
    with pytest.raises(ValueError, match="stream 's', row 2"):
        EmbeddedRun(open_plan(PLAN), {"s": items}, live=True, sinks=[sink]).run()
    assert [p.name for p in tmp_path.iterdir()] == ["out.partial.ndjson"]


def test_a_stopped_run_saves_and_goes_on_later(tmp_path: Path) -> None:
    table = disordered()
    whole = expected(s=cut(table, [11]))
    out: list[dict[str, Any]] = []
    for limit in (2, 3, 1000):
        items = cut(table, [11])
        seen = iter(range(limit))
        run = EmbeddedRun(open_plan(PLAN), {"s": items}, checkpoint=tmp_path, live=True)
        for got in run.tables():
            out += got.to_pylist()
            if next(seen, None) is None:
                run.stop()
        assert run.stopped == (limit < 1000)
    assert bag(out) == bag(whole)


def test_a_source_that_knows_positions_is_asked_for_the_rest_only(tmp_path: Path) -> None:
    table = disordered(100)
    asked: list[tuple[int, int]] = []

    def begin(rows: int, punctuation: int) -> Iterator[Any]:
        asked.append((rows, punctuation))
        return iter([table.slice(rows)])

    first = EmbeddedRun(open_plan(PLAN), {"s": [table.slice(0, 60)]}, checkpoint=tmp_path)
    iterator = first.tables()
    first.stop()
    assert list(iterator) == []
    for _ in range(2):
        EmbeddedRun(open_plan(PLAN), {"s": begin}, checkpoint=tmp_path).run()
    assert asked == [(0, 0), (100, 0)]


def test_results_can_go_to_several_places_and_parts_need_a_checkpoint(tmp_path: Path) -> None:
    heard: list[pa.Table] = []
    run = EmbeddedRun(open_plan(PLAN), {"s": cut(disordered(), [9])}, checkpoint=tmp_path / "c",
                      sinks=[CallbackSink(heard.append), FileSink(tmp_path / "all.parquet"),
                             PartsSink(tmp_path / "parts")], checkpoint_rows=50)
    yielded = rows_of(run)
    assert [row for table in heard for row in table.to_pylist()] == yielded
    assert pa.parquet.read_table(tmp_path / "all.parquet").to_pylist() == yielded
    parts = sorted((tmp_path / "parts").iterdir())
    assert len(parts) > 1
    assert [row for part in parts for row in pa.parquet.read_table(part).to_pylist()] == yielded
    with pytest.raises(CheckpointError, match="name a checkpoint"):
        EmbeddedRun(open_plan(PLAN), {"s": []}, sinks=[PartsSink(tmp_path / "parts")])
    with pytest.raises(CheckpointError, match="belong to another run"):
        EmbeddedRun(open_plan(PLAN), {"s": []}, sinks=[PartsSink(tmp_path / "parts")],
                    checkpoint=tmp_path / "other").run()
    with pytest.raises(SourceError, match="parts cannot be"):
        PartsSink(tmp_path, ".doc")


@pytest.mark.parametrize("until", ["prepare", "save", "commit"])
def test_a_run_that_dies_within_a_checkpoint_loses_and_repeats_nothing(tmp_path: Path, until: str) -> None:
    class Dying(PartsSink):
        """The process ends in the middle of the third checkpoint."""

        def prepare(self, number: int, chunks: ChunkStore) -> None:
            super().prepare(number, chunks)
            if number == 3 and until == "prepare":
                raise KeyboardInterrupt

        def commit(self, number: int) -> None:
            if number == 3 and until == "save":
                raise KeyboardInterrupt
            super().commit(number)
            if number == 3 and until == "commit":
                raise KeyboardInterrupt

    def run(sink: PartsSink) -> None:
        EmbeddedRun(open_plan(PLAN), {"s": cut(disordered(), [9])}, checkpoint=tmp_path / "c", sinks=[sink],
                    checkpoint_rows=40).run()

    with pytest.raises(KeyboardInterrupt):
        run(Dying(tmp_path / "out", ".ndjson"))
    seen = {p.name: p.read_bytes() for p in (tmp_path / "out").glob("part-*")}
    run(PartsSink(tmp_path / "out", ".ndjson"))
    parts = sorted((tmp_path / "out").glob("part-*"))
    assert all((tmp_path / "out" / name).read_bytes() == content for name, content in seen.items())
    assert sum(len(p.read_text().splitlines()) for p in parts) == len(expected(s=cut(disordered(), [9])))
    assert len(list((tmp_path / "out").iterdir())) == len(parts), "nothing hidden is left"


# -- asynchronous sources


async def slowly(items: list[Any]) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


def test_an_async_iterable_runs_on_a_loop_of_its_own() -> None:
    items = list(cut(disordered(), [9]))
    assert bag(rows_of(EmbeddedRun(open_plan(PLAN), {"s": slowly(items)}, live=True))) == bag(expected(s=items))


def test_an_async_iterable_that_waits_for_ever_is_given_up_when_the_run_stops() -> None:
    closed = Event()

    async def waits() -> AsyncIterator[Any]:
        try:
            yield [ROW]
            await asyncio.sleep(3600)
            yield [ROW]
        finally:
            closed.set()

    query = open_plan(PLAN)
    run = EmbeddedRun(query, {"s": AsyncSource(waits())}, live=True)
    arrived = Event()
    query.on_window(lambda event: arrived.set())
    worker = Thread(target=run.run)
    worker.start()
    assert arrived.wait(30)
    run.stop()
    worker.join(30)
    assert not worker.is_alive()
    assert closed.wait(30)


# -- the clock


def test_policies_that_look_at_the_clock_are_ticked_while_sources_are_silent() -> None:
    columns = COLUMNS | {"ts": pa.timestamp("us", tz="UTC")}
    plan = aggregate(source(columns=columns), SlidingWindow(10_000_000, 10_000_000), calls=(call("n", "count"),),
                     ordinal=OrdinalKind.TIMESTAMP)
    release = Event()

    def silent() -> Iterator[Any]:
        yield [ROW | {"ts": "1970-01-01T00:00:01Z"}]
        release.wait(30)

    times = iter(range(0, 10**9, 5_000_000))
    run = EmbeddedRun(open_plan(plan, progress="ordered, lull=40ms"), {"s": silent()}, live=True,
                      clock=lambda: next(times))
    assert next(run.tables()).column("n").to_pylist() == [1], "closed by the clock, not by the end"
    release.set()


# -- mistakes


def test_what_cannot_be_a_source_is_refused() -> None:
    with pytest.raises(PlanError, match="no input for the stream 's'"):
        EmbeddedRun(open_plan(PLAN), {})
    with pytest.raises(SourceError, match="cannot be read from a int"):
        as_source(5, "s")
    assert isinstance(as_source(lambda rows, punctuation: [], "s"), PositionSource)
    assert isinstance(as_source([], "s"), StreamSource)
