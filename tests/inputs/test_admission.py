"""Which rows a query takes in: bad rows under every policy, rows without a time, jumps, what may be pushed."""

from __future__ import annotations

import json
import socket
from datetime import date, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import panewise as pw
from panewise.core.bad_rows import SHOWN_CHARACTERS
from panewise.core.errors import BadRowError, PlanError, ProgressError, SchemaError
from panewise.engines.embedded.sources import SocketSource
from panewise.files.reader import FileStream
from panewise.progress.patterns import Between
from panewise.progress.punctuation import Punctuation

COUNT = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
RELATION = "SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k"
JOIN = "SELECT a.ts, b.ts AS other FROM a, b WHERE a.ts BETWEEN b.ts - 2 AND b.ts + 2"
ROWS = [{"ts": 1, "k": "a"}, {"ts": None, "k": "b"}, {"ts": 7, "k": "a"}]
ENGINES = ["embedded", "oracle"]


def counts(results: Any) -> list[int]:
    return [row["n"] for row in results]


@pytest.mark.parametrize("text", [COUNT, RELATION])
def test_statistics_are_measured_on_rows_that_have_a_time(text: str) -> None:
    assert pw.explain(text, s=[*ROWS, {"ts": 9, "k": "b"}], stats="measure")
    timeless = pa.table({"ts": pa.nulls(2, pa.int64()), "k": ["a", "b"]})
    if text == COUNT:
        with pytest.raises(PlanError, match="there are no rows to measure"):
            pw.explain(text, s=timeless, stats="measure")
    else:
        assert pw.explain(text, s=timeless, stats="measure")


def test_statistics_of_a_run_may_be_text_and_cannot_be_measured_before_it() -> None:
    assert counts(pw.sql(COUNT, s=[{"ts": 1}], stats="rows_per_unit=5")) == [1]
    with pytest.raises(PlanError, match="cannot read the statistics 'measure': write NAME=VALUE"):
        pw.sql(COUNT, s=[{"ts": 1}], stats="measure")


def test_what_a_run_took_is_measured_under_its_policy_for_bad_rows() -> None:
    with pytest.raises(BadRowError, match="row 2: 'ts' is null"):
        pw.explain(COUNT, s=ROWS, analyze=True)
    assert "0 of them late, 1 bad" in pw.explain(COUNT, s=ROWS, analyze=True, bad_rows="skip")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", [COUNT, RELATION])
def test_a_row_without_a_time_stops_is_skipped_or_put_aside(engine: str, text: str) -> None:
    with pytest.raises(BadRowError, match=r"'ts' is null.*bad_rows='skip'"):
        pw.sql(text, engine=engine, s=ROWS)
    without = pw.sql(text, engine=engine, s=[row for row in ROWS if row["ts"] is not None])
    for policy in ("skip", "aside"):
        results = pw.sql(text, engine=engine, s=ROWS, bad_rows=policy)
        assert list(results) == list(without)
        assert results.status["bad"] == 1
        assert results.bad_rows.num_rows == (policy == "aside")
        assert "1 row was bad and left out" in str(results)
        assert "1 row was bad" in results._repr_html_()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", [
    f"{COUNT} WHERE ts IS NOT NULL", f"{COUNT} WHERE k = 'a'",
    "SELECT k, count(*) AS n FROM s [RANGE 5] WHERE ts IS NOT NULL GROUP BY k",
    "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM (SELECT ts, k AS name FROM s) AS d WHERE name = 'a'"])
def test_a_row_that_where_leaves_out_needs_no_time(engine: str, text: str) -> None:
    results = pw.sql(text, engine=engine, s=ROWS)
    assert list(results) == list(pw.sql(text, engine=engine, s=[ROWS[0], ROWS[2]]))
    assert not results.status["bad"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_of_a_join_without_a_time_is_bad_unless_a_condition_on_it_alone_fails(engine: str) -> None:
    b = [{"ts": 2}]
    with pytest.raises(BadRowError, match=r"'ts' is null"):
        pw.sql(JOIN, engine=engine, a=ROWS, b=b)
    assert [row["ts"] for row in pw.sql(f"{JOIN} AND a.k = 'a'", engine=engine, a=ROWS, b=b)] == [1]
    results = pw.sql(JOIN, engine=engine, a=ROWS, b=b, bad_rows="skip")
    assert [row["ts"] for row in results] == [1]
    assert results.status["bad"] == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_one_far_future_row_closes_nothing_where_jumps_are_limited(engine: str) -> None:
    rows = [{"ts": t} for t in (1, 5, 1_000, 6, 14, 8, 2_000, 12)]
    options: dict[str, Any] = {"engine": engine, "progress": "ordered", "late": "drop", "s": rows}
    assert sum(counts(pw.sql(COUNT, **options))) == 4
    with pytest.raises(BadRowError, match=r"'ts' is 1000, further ahead .* max_jump=100"):
        pw.sql(COUNT, **options, max_jump=100)
    results = pw.sql(COUNT, **options, max_jump=100, bad_rows="skip")
    assert results.status["bad"] == 2
    assert results.status["late"] == 2, "8 and 12 came after 14"
    assert counts(results) == [3, 1]


def test_jumps_do_not_depend_on_batches_and_the_first_row_is_none() -> None:
    times = [10**9, 10**9 + 5, 10**12, 10**9 + 9, 10**12 + 1, 10**9 + 19, 10**9 + 30]
    for size in (1, 2, 3, 7):
        query = pw.open_query(COUNT, s="ts bigint", max_jump="10", bad_rows="aside")
        for at in range(0, len(times), size):
            query.push("s", [{"ts": t} for t in times[at:at + size]])
        assert [json.loads(bad["row"])["ts"] for bad in query.bad_rows.to_pylist()] == [10**12, 10**12 + 1, 10**9 + 30]
    with pytest.raises(PlanError, match="max_jump='10 s'"):
        pw.open_query(COUNT, s="ts bigint", max_jump="10 s")


def test_bad_rows_are_written_as_they_come_and_a_restart_repeats_none(tmp_path: Path) -> None:
    source, aside = tmp_path / "s.ndjson", tmp_path / "bad.ndjson"
    source.write_text('{"ts": 1}\nnope\n{"ts": 2}\n{"ts": null}\n{"ts": "x"}\n{"ts": 12}\n')
    for _ in range(2):
        run = pw.run(COUNT, s=str(source), bad_rows=f"aside:{aside}", checkpoint=tmp_path / "c")
        run.collect()
        found = [json.loads(line) for line in aside.read_text().splitlines()]
        assert [bad["place"] for bad in found] == [f"{source}:2", f"{source}:4", f"{source}:5"]
        assert run.status()["bad"] == 3
        assert run.status()["streams"]["s"]["rows"] == 6


def test_of_bad_rows_that_are_kept_in_memory_little_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_text("{" + "x" * 100_000 + "\n" + '{"ts": 1}\n')
    query = pw.open_query(COUNT, s="ts bigint", bad_rows="aside")
    for item in FileStream.open(path, tolerant=True).items():
        query.push("s", item)
    [bad] = query.bad_rows.to_pylist()
    assert len(bad["row"]) <= SHOWN_CHARACTERS + 1
    held = [row.row for _, row in query._admission._kept]  # what a long run of such rows would hold on to
    assert len(held[0] or "") <= SHOWN_CHARACTERS + 1


def test_a_saved_query_goes_on_counting_bad_rows_and_measuring_jumps() -> None:
    options: dict[str, Any] = {"s": "ts bigint", "bad_rows": "aside", "max_jump": 5}
    query = pw.open_query(COUNT, **options)
    query.push("s", [{"ts": 1}, {"ts": None}, {"ts": 4}])
    again = pw.open_query(COUNT, **options)
    again.restore(query.snapshot())
    again.push("s", [{"ts": 10}, {"ts": 9}])
    assert again.bad_count == 2
    assert [bad["place"] for bad in again.bad_rows.to_pylist()] == ["stream 's', row 2", "stream 's', row 4"]


# -- what may be pushed


POLARS = pytest.importorskip("polars")


@pytest.mark.parametrize("item", [
    {"ts": 3, "k": "a"}, [{"ts": 3, "k": "a"}], pa.table({"ts": [3], "k": ["a"]}),
    pa.RecordBatch.from_pylist([{"ts": 3, "k": "a"}]), pd.DataFrame({"ts": [3], "k": ["a"]}),
    POLARS.DataFrame({"ts": [3], "k": ["a"]}), {"ts": 3}])
@pytest.mark.parametrize("text", ["SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY k", RELATION])
def test_rows_may_be_pushed_as_a_program_has_them(item: Any, text: str) -> None:
    query = pw.open_query(text, s="ts bigint, k string")
    pushed = query.push("s", item)
    rows = [*pushed.to_pylist(), *query.finish().to_pylist()]
    assert [row["k"] for row in rows if row["n"]] [:1] == ["a" if not isinstance(item, dict) or "k" in item else None]
    live = pw.run(text, s=iter([item]), columns={"s": "ts bigint, k string"})
    assert [row["k"] for row in live if row["n"]][:1] == ["a" if not isinstance(item, dict) or "k" in item else None]


@pytest.mark.parametrize(("item", "message"), [
    ({"ts": 1, "kk": "a"}, "no column 'kk'; there are ts, k, d; did you mean 'k'?"), ({"ts": 1.9}, "'ts' is 1.9"),
    ({"ts": True}, "'ts' is True"), ({"ts": 1, "d": datetime(2026, 1, 1, 5)}, "'d' is datetime"),
    (pa.table({"ts": [1], "K": ["a"]}), "a column 'K', which was not declared.*did you mean 'k'"),
    (pa.table({"ts": [1.9]}), "'ts' is 1.9"), (pd.DataFrame({"ts": [True]}), "'ts' is bool"),
    ([1, 2], "a row is a mapping"), ([{"ts": 1}, 5], "row 2: a row is a mapping")])
def test_what_would_be_ignored_or_lose_something_is_refused(item: Any, message: str) -> None:
    query = pw.open_query(COUNT, s="ts bigint, k string, d date")
    if isinstance(item, dict) and isinstance(item.get("d"), datetime):
        query.push("s", {"ts": 0, "d": date(2026, 1, 1)})
        item = {"ts": 1, "d": pa.scalar(item["d"]).as_py()}
        item = pa.table({"ts": [1], "d": [item["d"]]})
        message = "a date has no time of day"
    with pytest.raises(SchemaError, match=message):
        query.push("s", item)


@pytest.mark.parametrize(("what", "item"), [
    ("rows", {"ts": 2}), ("rows", pa.table({"ts": [2]})), ("a promise", pw.Punctuation.below("ts", 5)),
    ("a promise", pw.END)], ids=["a row", "a table", "a bound", "the end"])
def test_rows_and_promises_after_finish_are_refused(what: str, item: Any) -> None:
    query = pw.open_query("SELECT s.ts FROM s [RANGE 5], t [RANGE 5] WHERE s.ts = t.ts", s="ts bigint", t="ts bigint")
    query.push("s", {"ts": 1})
    query.finish("s")
    with pytest.raises(PlanError, match=rf"stream 's': {what} after finish\(\)"):
        query.push("s", item)
    query.tick(5)
    assert query.push("t", [{"ts": 1}, {"ts": 9}]).num_rows + query.finish().num_rows == 1
    assert query.finish().num_rows == query.finish("t").num_rows == 0
    with pytest.raises(PlanError, match=rf"stream 't': {what} after finish\(\)"):
        query.push("t", item)
    with pytest.raises(PlanError, match=r"tick\(\) after finish\(\)"):
        query.tick(5)
    with pytest.raises(PlanError, match="does not read a stream 'u'"):
        query.finish("u")


@pytest.mark.parametrize("bound", [datetime(2026, 1, 1, 0, 1), "2026-01-01T00:01:00Z", 1767225660_000000])
def test_punctuation_takes_times_as_a_program_has_them(bound: Any) -> None:
    query = pw.open_query("SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts] AS n FROM s", s="ts timestamp")
    query.push("s", {"ts": datetime(2026, 1, 1, 0, 0, 5)})
    assert counts(query.push("s", Punctuation.below("ts", bound)).to_pylist()) == [1]
    days = pw.open_query("SELECT count(*) [RANGE 1 day, SLIDE 1 day, WA d] AS n FROM s", s="d date", time="d")
    days.push("s", {"d": date(2026, 1, 1)})
    assert counts(days.push("s", Punctuation.below("d", date(2026, 1, 2))).to_pylist()) == [1]
    rows = [{"ts": datetime(2026, 1, 1, 0, 0, 5)}, Punctuation.below("ts", bound), {"ts": datetime(2026, 1, 1)}]
    for engine in ENGINES:
        found = pw.sql("SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts] AS n FROM s", s=rows, engine=engine,
                       late="drop")
        assert (counts(found), found.status["late"]) == ([1], 1)


def test_punctuation_on_a_column_that_is_not_there_is_refused() -> None:
    query = pw.open_query(COUNT, s="ts bigint")
    with pytest.raises(ProgressError, match="did you mean 'ts'"):
        query.push("s", Punctuation.below("tss", 5))


@pytest.mark.parametrize("engine", ENGINES)
def test_ranges_on_the_time_are_promises_that_rows_can_break(engine: str) -> None:
    promise = Punctuation.of({"ts": Between(10, 20)})
    rows = [{"ts": 5}, promise, {"ts": 9}, {"ts": 12}, {"ts": 20}, {"ts": 19}]
    results = pw.sql(COUNT, s=rows, engine=engine, late="drop")
    assert (counts(results), results.status["late"]) == ([2, 1], 2)
    query = pw.open_query(COUNT, s="ts bigint", late="drop")
    query.push("s", promise)
    again = pw.open_query(COUNT, s="ts bigint", late="drop")
    again.restore(query.snapshot())
    again.push("s", [{"ts": 15}])
    assert again.status()["late"] == 1


# -- names


def test_unknown_options_streams_and_statistics_name_the_nearest_known_one() -> None:
    for call in (pw.sql, pw.run, pw.open_query, pw.explain):
        with pytest.raises(PlanError, match=r"no option 'progres'.*did you mean 'progress'"):
            call(COUNT, s="ts bigint" if call is pw.open_query else ROWS, progres="ordered")
    with pytest.raises(PlanError, match="did you mean 'clicks'"):
        pw.sql("SELECT * FROM clicks", streams={"click": ROWS})
    query = pw.open_query("SELECT * FROM clicks", clicks="ts bigint")
    with pytest.raises(PlanError, match=r"does not read a stream 'click'.*did you mean 'clicks'"):
        query.push("click", {"ts": 1})
    with pytest.raises(PlanError, match="did you mean 'rows_per_second'"):
        pw.open_query(COUNT, s="ts timestamp", stats={"row_per_second": 5})
    with pytest.raises(PlanError, match="did you mean 'rows_per_second'"):
        pw.open_query(RELATION, s="ts bigint, k string", stats={"s.row_per_second": 5})
    with pytest.raises(PlanError, match=r"bad_rows='skp'.*did you mean 'skip'"):
        pw.sql(COUNT, s=ROWS, bad_rows="skp")


@pytest.mark.parametrize("name", ["time", "late", "stats", "progress", "text", "engine"])
def test_a_stream_may_have_any_name_and_each_its_own_time(name: str) -> None:
    rows = [{"ts": 1, "at": 5}, {"ts": 3, "at": 8}]
    text = f"SELECT at FROM `{name}` [RANGE 10]"
    assert [row["valid_from"] for row in pw.sql(text, streams={name: rows}, time={name: "at"})] == [5, 8]
    assert [row["valid_from"] for row in pw.run(text, streams={name: rows}, time={name: "at"})] == [5, 8]
    query = pw.open_query(text, streams={name: "ts bigint, at bigint"}, time={name: "at"})
    query.push(name, rows)
    assert [row["valid_from"] for row in query.finish().to_pylist()] == [5, 8]
    with pytest.raises(PlanError, match="time= names 'other'"):
        pw.sql(text, streams={name: rows}, time={"other": "at"})


def test_lenient_exists_where_errors_advise_it() -> None:
    text = "SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
    rows = [{"ts": 1, "k": "a"}, {"ts": 2, "k": "b"}]
    with pytest.raises(PlanError.__mro__[1]):
        pw.sql(text, s=rows)
    assert sorted(row["k"] for row in pw.sql(text, s=rows, lenient=True)) == ["a", "b"]


# -- sockets


def test_a_client_that_sends_no_rows_is_hung_up_on_and_the_next_sender_is_heard() -> None:
    source = SocketSource("tcp://127.0.0.1:0", columns=pa.schema({"ts": pa.int64()}))
    answers: list[bytes] = []

    def clients() -> None:
        with source.address.connect() as browser:
            browser.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            answers.append(browser.makefile("rb").read())
        with source.address.connect() as sender:
            sender.sendall(b'{"ts": 1}\n{"ts": 2}\n')
            sender.shutdown(socket.SHUT_WR)

    thread = Thread(target=clients)
    thread.start()
    assert counts(pw.run(COUNT, s=source).collect()) == [2]
    thread.join()
    assert source.refused == 1
    assert b"NDJSON" in answers[0]


def test_late_rows_are_in_the_printed_result() -> None:
    rows = [{"ts": t} for t in range(30, 0, -1)]
    text = str(pw.sql(COUNT, s=rows, progress="ordered", late="drop"))
    assert text.endswith("(29 rows were late (late='drop'))")
