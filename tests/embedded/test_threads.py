"""A running query may be used from any number of threads: rows count once, reads change nothing, order is kept."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import Barrier, Event, Thread
from typing import Any

import pytest

import panewise as pw
from panewise.dataflow import WindowEvent

WRITERS, PUSHES, ROWS = 6, 100, 5

AGGREGATE = "SELECT k, count(*) [RANGE 1000000, SLIDE 1000000, WA ts] AS n FROM s GROUP BY k"
RELATION = "SELECT DISTINCT k, v FROM s [RANGE 1000000]"
PAIRS = "SELECT s.k AS k FROM s, t [RANGE TUMBLING 1000000, WA ts] WHERE s.v = t.v"
COLUMNS = "ts bigint, k bigint, v bigint"


@pytest.fixture(autouse=True)
def _threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(*tasks: Callable[[], object]) -> None:
    """Run them all at once, and raise what one of them raises."""
    errors: list[BaseException] = []
    together = Barrier(len(tasks))

    def guarded(task: Callable[[], object]) -> None:
        together.wait()
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def batches(writer: int) -> list[list[dict[str, int]]]:
    first = writer * PUSHES * ROWS
    return [[{"ts": 7, "k": writer, "v": first + i * ROWS + j} for j in range(ROWS)] for i in range(PUSHES)]


def pushed_while_read(query: Any, reads: list[Callable[[], object]], stream: str = "s") -> list[dict[str, Any]]:
    """Six threads push, a seventh looks at the query over and over and keeps all it saw until the end."""
    out: list[dict[str, Any]] = []
    done = Event()

    def write(writer: int) -> None:
        for rows in batches(writer):
            out.extend(query.push(stream, rows).to_pylist())

    def write_all() -> None:
        try:
            in_threads(*(lambda writer=writer: write(writer) for writer in range(WRITERS)))
        finally:
            done.set()

    def read() -> None:
        seen = []
        while not done.is_set():
            seen.append([str(look()) for look in reads])  # as text: a slow reader
        assert seen

    in_threads(write_all, read)
    return out


def test_rows_of_six_threads_are_all_counted_while_a_slow_reader_looks() -> None:
    query = pw.open_query(AGGREGATE, s=COLUMNS)
    out = pushed_while_read(query, [query.status, query.peek, query.snapshot])
    assert not out
    assert query.status()["rows"] == WRITERS * PUSHES * ROWS
    counted = {row["k"]: row["n"] for row in query.finish().to_pylist()}
    assert counted == dict.fromkeys(range(WRITERS), PUSHES * ROWS)


def test_a_relation_is_whole_whenever_a_second_thread_looks_at_it() -> None:
    query = pw.open_query(RELATION, s=COLUMNS, current=True, progress="late:0")
    bound = pw.Punctuation.below("ts", 8)
    out = pushed_while_read(query, [query.current, query.status, query.snapshot, query.late_rows.to_pylist])
    out += query.push("s", bound).to_pylist()
    expected = {(writer, row["v"]) for writer in range(WRITERS) for rows in batches(writer) for row in rows}
    assert len(out) == len(expected) == WRITERS * PUSHES * ROWS
    assert {(row["k"], row["v"]) for row in out} == expected
    assert {(row["k"], row["v"]) for row in query.current().to_pylist()} == expected


def test_pairs_of_rows_that_several_threads_push_are_found_once() -> None:
    query = pw.open_query(PAIRS, s=COLUMNS, t=COLUMNS)
    query.push("t", [row for writer in range(WRITERS) for rows in batches(writer) for row in rows])
    out = pushed_while_read(query, [query.status, query.snapshot])
    assert sorted(row["k"] for row in out) == sorted(list(range(WRITERS)) * PUSHES * ROWS)


def test_a_state_saved_between_pushes_of_other_threads_holds_whole_pushes() -> None:
    query = pw.open_query(AGGREGATE, s=COLUMNS)
    states: list[bytes] = []
    pushed_while_read(query, [lambda: states.append(query.snapshot())])
    for state in states:
        again = pw.open_query(AGGREGATE, s=COLUMNS)
        again.restore(state)
        rows = again.status()["rows"]
        assert rows % ROWS == 0
        assert sum(row["n"] for row in again.finish().to_pylist()) == rows


def test_listeners_that_threads_register_meanwhile_all_hear_what_comes_after() -> None:
    query = pw.open_query(AGGREGATE, s=COLUMNS, progress="ordered")
    heard: list[list[WindowEvent]] = [[] for _ in range(WRITERS)]

    def listen_and_push(writer: int) -> None:
        query.on_window(heard[writer].append)
        for rows in batches(writer):
            query.push("s", rows)

    in_threads(*(lambda writer=writer: listen_and_push(writer) for writer in range(WRITERS)))
    query.finish()
    assert [[event.kind for event in events].count("closed") for events in heard] == [1] * WRITERS


def test_listeners_hear_windows_in_the_order_in_which_they_closed() -> None:
    query = pw.open_query("SELECT count(*) [RANGE 1, SLIDE 1, WA ts] AS n FROM s", s=COLUMNS, progress="late:2000")
    heard: list[WindowEvent] = []
    query.on_window(heard.append)

    def write(writer: int) -> None:
        for i in range(PUSHES):
            query.push("s", [{"ts": i * WRITERS + writer, "k": 0, "v": 0}])

    in_threads(*(lambda writer=writer: write(writer) for writer in range(WRITERS)))
    query.finish()
    assert [event.wid for event in heard if event.kind == "closed"] == \
        sorted(event.wid for event in heard if event.kind == "opened")
    assert len(heard) == 2 * WRITERS * PUSHES


# -- calls from a listener


def late_rows_go_round(query: Any) -> list[int]:
    """Every late row is pushed again, later: by the listener that hears of it."""
    told: list[int] = []

    @query.on_late
    def again(rows: Any) -> None:
        told.append(rows.column("ts")[0].as_py())
        assert query.status()["late"] >= len(told)
        if len(told) < 3:
            query.push("s", [{"ts": told[-1] + 1, "k": 1, "v": 1}])
    return told


def test_a_listener_may_push_and_what_that_finds_is_told_after_it() -> None:
    query = pw.open_query("SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s", s=COLUMNS, late="drop")
    query.push("s", pw.Punctuation.below("ts", 5))
    told = late_rows_go_round(query)
    query.push("s", [{"ts": 3, "k": 1, "v": 1}])
    assert told == [3, 4]
    assert query.finish().to_pylist()[-1]["n"] == 1  # 3 and 4 were late, 5 was not


def test_a_listener_may_save_the_query_and_finds_the_push_counted() -> None:
    query = pw.open_query(AGGREGATE, s=COLUMNS)
    states: list[bytes] = []
    query.on_window(lambda event: states.append(query.snapshot()))
    query.push("s", batches(0)[0])
    again = pw.open_query(AGGREGATE, s=COLUMNS)
    again.restore(states[0])
    assert again.finish().column("n").to_pylist() == [ROWS]


def test_a_listener_that_fails_silences_no_other_and_loses_no_row() -> None:
    query = pw.open_query(AGGREGATE, s=COLUMNS)
    heard: list[WindowEvent] = []

    @query.on_window
    def fail(event: WindowEvent) -> None:
        raise ValueError(event.kind)

    query.on_window(heard.append)
    with pytest.raises(ValueError, match="opened"):
        query.push("s", batches(0)[0])
    assert [event.kind for event in heard] == ["opened"]
    assert query.peek().column("n").to_pylist() == [ROWS]
    query.push("s", batches(0)[1])
    with pytest.raises(ValueError, match="closed"):
        query.finish()


def test_a_listener_of_a_relation_may_look_at_it() -> None:
    query = pw.open_query(RELATION, s=COLUMNS, current=True, progress="ordered")
    sizes: list[int] = []
    query.on_punctuation(lambda promise: sizes.append(query.current().num_rows))
    for ts in range(3):
        query.push("s", [{"ts": ts, "k": ts, "v": ts}])
    assert sizes == [0, 1, 2]
