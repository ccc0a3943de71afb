"""Streams Spark cannot read by itself, the sink that commits once, and what is known of a running query."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import panewise as pw
from panewise.core.errors import CheckpointError, PanewiseError, PlanError, SchemaError, SourceError
from panewise.datasets.auction import AuctionSite
from panewise.engines.spark import SocketSpool, query_status, read_socket
from panewise.engines.spark.io.generated import AuctionOptions
from panewise.engines.spark.io.sinks import PartsWriter, committed_parts
from panewise.engines.spark.observe.status import QueryStatus, status_after
from panewise.files.types import TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERY = "SELECT auction, count(*) [RANGE 20 s, SLIDE 5 s, WA ts] AS n, max(price) AS top FROM bids GROUP BY auction"
SITE = AuctionSite(events=1_500, rate=20, keys=4, disorder=0.2)
COLUMNS = pa.schema([("ts", TIMESTAMP), ("auction", pa.int64()), ("price", pa.float64())])


def expected() -> list[tuple[Any, ...]]:
    """The windows of all segments, in process."""
    options = AuctionOptions("bids", SITE.__dict__, segment_events=500)
    table = pa.concat_tables([options.segment(i) for i in range(options.segments or 0)])
    return plain(pw.sql(QUERY, bids=table).table.to_pylist())


def plain(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((r["auction"], str(r["window"]["start"])[:19], r["n"], r["top"]) for r in rows)


def collected(frame: DataFrame) -> list[tuple[Any, ...]]:
    return plain([row.asDict(recursive=True) for row in frame.collect()])


def drain(results: DataFrame, out: Path, checkpoint: Path) -> Any:
    query = (results.writeStream.format(pw.register_parts(results.sparkSession)).option("path", str(out))
             .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start())
    query.awaitTermination()
    return query


def test_a_generated_stream_ends_in_a_sink_that_has_every_window_once(spark: SparkSession, tmp_path: Path) -> None:
    bids = pw.read_auction(spark, "bids", SITE, segment_events=500)
    query = drain(pw.sql(QUERY, bids=bids), tmp_path / "out", tmp_path / "state")
    assert collected(pw.read_parts(spark, tmp_path / "out")) == expected()
    status = query_status(query)
    assert status.rows == SITE.bids().num_rows + 3
    assert status.late_rows == 0
    assert status.batch >= 2
    # the last batch once more, as after a crash between the sink's commit and Spark's
    (tmp_path / "state" / "commits" / str(status.batch)).unlink()
    (tmp_path / "state" / "commits" / f".{status.batch}.crc").unlink(missing_ok=True)
    bids = pw.read_auction(spark, "bids", SITE, segment_events=500)
    drain(pw.sql(QUERY, bids=bids), tmp_path / "out", tmp_path / "state")
    assert collected(pw.read_parts(spark, tmp_path / "out")) == expected()


def test_a_generated_stream_in_batch(spark: SparkSession) -> None:
    bids = pw.read_auction(spark, "bids", SITE, streaming=False, segment_events=500)
    assert collected(pw.sql(QUERY, bids=bids)) == expected()
    with pytest.raises(PlanError, match="no stream 'cars'"):
        pw.read_auction(spark, "cars")


def lines(start: int, end: int) -> bytes:
    rows = [json.dumps({"ts": f"2026-01-01T00:00:{i:02d}Z", "auction": i % 2, "price": float(i)})
            for i in range(start, end)]
    return "".join(f"{row}\n" for row in rows).encode()


def send(spool: SocketSpool, content: bytes, until: int) -> int:
    """What a careful sender does: it learns how much is there, and waits until everything is."""
    with spool.address.connect() as connection, connection.makefile("rb") as answers:
        before = json.loads(answers.readline())["received"]
        connection.sendall(content)
        while json.loads(answers.readline())["received"] < until:
            pass
    return int(before)


def test_a_socket_goes_on_where_it_stopped(spark: SparkSession, tmp_path: Path) -> None:
    def results(spool: SocketSpool) -> DataFrame:
        return pw.sql(QUERY, bids=read_socket(spark, spool, COLUMNS))

    with SocketSpool(tmp_path / "spool", file_bytes=300) as spool:
        assert send(spool, lines(0, 20) + b'{"punctuation": {"ts": "2026-01-01T00:00:20Z"}}\n', 21) == 0
        drain(results(spool), tmp_path / "out", tmp_path / "state")
    first = collected(pw.read_parts(spark, tmp_path / "out"))
    assert first
    with (max((tmp_path / "spool").glob("*.ndjson"))).open("ab") as file:
        file.write(b'{"ts": "2026-01-')  # a crash cut a line short
    with SocketSpool(tmp_path / "spool", file_bytes=300) as spool:
        assert send(spool, lines(20, 40) + b'{"punctuation": {}}\n', 42) == 21
        drain(results(spool), tmp_path / "out", tmp_path / "state")
    (tmp_path / "bids.ndjson").write_bytes(lines(0, 40))
    whole = plain(pw.sql(QUERY, bids=tmp_path / "bids.ndjson").table.to_pylist())
    assert collected(pw.read_parts(spark, tmp_path / "out")) == whole
    assert len(whole) > len(first)


def test_a_browser_and_a_line_without_an_end_do_not_stop_a_spool(tmp_path: Path) -> None:
    with SocketSpool(tmp_path / "spool", max_line=1_000) as spool:
        with spool.address.connect() as browser, browser.makefile("rb") as answers:
            assert json.loads(answers.readline()) == {"received": 0}
            browser.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert "NDJSON" in json.loads(answers.readline())["error"]
        long = b"x" * 5_000 + b"\n" + b'{"k": "' + b"y" * 2_000 + b'"}\n'
        assert send(spool, lines(0, 1) + long + lines(1, 3), 5) == 0
        assert spool.refused == 1
        with spool.address.connect() as connection, connection.makefile("rb") as answers:
            assert json.loads(answers.readline()) == {"received": 5}
            for _ in range(300):  # a line that never ends is stood for by one that says so
                connection.sendall(b"{" * 10_000)
            connection.sendall(b"\n" + lines(3, 4))
            while json.loads(answers.readline())["received"] < 7:
                pass
    stored = b"".join(path.read_bytes() for path in sorted((tmp_path / "spool").glob("*.ndjson"))).splitlines()
    told = [json.loads(line) for line in stored]
    assert [isinstance(one, str) for one in told] == [False, True, True, False, False, True, False]
    assert all("longer than the limit of 1,000 bytes" in one for one in told if isinstance(one, str))
    assert max(map(len, stored)) < 200


def test_a_folder_of_results_has_one_checkpoint(tmp_path: Path) -> None:
    PartsWriter(str(tmp_path), "/state/a")
    with pytest.raises(CheckpointError, match="belong to the checkpoint /state/a"):
        PartsWriter(str(tmp_path), "/state/b")


def test_a_batch_that_was_committed_is_left_alone_and_one_cut_short_is_replaced(tmp_path: Path) -> None:
    writer = PartsWriter(str(tmp_path), None)
    batch = pa.record_batch({"n": [1, 2]})
    (tmp_path / "part-000000000000-00007.parquet").write_bytes(b"an attempt that never was committed")
    writer.commit([writer.write(iter([batch])), writer.write(iter([]))], 0)
    writer.commit([writer.write(iter([batch]))], 0)
    assert [p.name for p in committed_parts(tmp_path)] == ["part-000000000000-00000.parquet"]
    assert not list((tmp_path / "_staged").iterdir())
    assert not (tmp_path / "part-000000000000-00007.parquet").exists()


def test_status_adds_up_reports() -> None:
    report = {"batchId": 3, "numInputRows": 10, "processedRowsPerSecond": 5.0, "batchDuration": 2000,
              "stateOperators": [{"numRowsTotal": 7, "memoryUsedBytes": 2_000_000}],
              "observedMetrics": {"panewise": {"late_rows": 2}},
              "sources": [{"endOffset": {"place": json.dumps({"bound": 5, "bound_text": "00:05"})}},
                          {"endOffset": json.dumps({"place": json.dumps({"ended": True})})}]}
    status = status_after([report, report])
    assert status == QueryStatus("", 3, 20, 5.0, 7, 2_000_000, 4, "00:05", None, 2.0)
    assert str(status) == "batch 3, 20 rows in (5/s), state 7 entries, 2.0 MB, 4 late, bound 00:05"


def test_explain_says_what_each_operator_moves_and_keeps(spark: SparkSession) -> None:
    bids = pw.read_auction(spark, "bids", SITE)
    text = pw.explain(QUERY, bids=bids)
    assert "copies    none; assigning rows to windows would make 3 more of every row" in text
    assert "shuffle partials (not rows) to 2 shards, by hash of auction" in text
    query = pw.stream(bids, time="ts").window(range="20 s", slide="5 s").group_by("auction")
    assert text.endswith(query.explain(n="count(*)").partition("On Spark")[2])
    rows = pw.explain("SELECT auction, sum(price) [RANGE 5 rows, SLIDE 1 rows, WA row-num, PATTR auction] AS s "
                      "FROM bids GROUP BY auction",
                      bids=pw.read_auction(spark, "bids", SITE, streaming=False))
    assert "kernel: windows of each group over its sorted rows" in rows


def test_a_null_surfaces_as_our_error(spark: SparkSession) -> None:
    nulls = spark.createDataFrame([(1, 2.0, None)], "auction int, price double, ts timestamp")
    with pytest.raises(SchemaError, match="'ts' is null"), pw.plain_errors():
        pw.sql(QUERY, bids=nulls).collect()


def test_times_without_a_zone_are_windowed_as_they_stand_in_any_session(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    query = "SELECT count(*) [RANGE 1 hour, SLIDE 30 minutes, WA ts] AS n FROM s"
    try:
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        # in Berlin, 02:30 did not exist on this day: a detour over instants would move it to 03:30
        frame = spark.sql("SELECT * FROM VALUES (TIMESTAMP_NTZ'2026-03-29 02:30:00.000001'), "
                          "(TIMESTAMP_NTZ'1969-12-31 23:59:59.999999') AS t(ts)")
        found = pw.sql(query, s=frame).selectExpr("string(window.start) AS start", "n").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert sorted((r.start, r.n) for r in found) == [
        ("1969-12-31 23:00:00", 1), ("1969-12-31 23:30:00", 1), ("2026-03-29 02:00:00", 1), ("2026-03-29 02:30:00", 1)]


def test_kafka_without_its_connector_says_what_is_missing(spark: SparkSession) -> None:
    from panewise.api.spark_streams import kafka

    with pytest.raises(SourceError, match="spark-sql-kafka"):
        kafka(spark, "kafka://localhost:9092/bids", COLUMNS)
    with pytest.raises(SourceError, match="names no topic"):
        kafka(spark, "kafka://localhost:9092", COLUMNS)


def hang_up(spool: SocketSpool, content: bytes, *, reset: bool = False) -> int:
    """A sender that goes without a last end of line; how many lines the next one is told are there."""
    with spool.address.connect() as connection, connection.makefile("rb") as answers:
        answers.readline()
        connection.sendall(content)
        if reset:
            answers.readline()  # what was sent is there
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with spool.address.connect() as connection, connection.makefile("rb") as answers:
        return int(json.loads(answers.readline())["received"])


def kept(folder: Path) -> list[Any]:
    return [json.loads(line) for path in sorted(folder.glob("*.ndjson")) for line in path.read_bytes().splitlines()]


def test_a_line_that_a_sender_only_began_is_a_bad_row_and_no_received_line(tmp_path: Path) -> None:
    with SocketSpool(tmp_path / "spool") as spool:
        assert hang_up(spool, lines(0, 2) + b'{"ts": "2026-01-') == 2
        assert hang_up(spool, lines(2, 4).rstrip()) == 4  # a whole object needs no end of line
        assert hang_up(spool, lines(4, 5), reset=True) == 5
    with SocketSpool(tmp_path / "spool") as spool:
        assert spool.received == 5
    rows = kept(tmp_path / "spool")
    assert [isinstance(row, str) for row in rows] == [False, False, True, False, False, False, True]
    assert 'the sender hung up in the middle of a line: {"ts": "2026-01-' in rows[2]
    assert "the connection to the sender was lost" in rows[6]
    with SocketSpool(tmp_path / "other", "tcp://:0?ack") as spool:  # such senders send it again
        assert hang_up(spool, lines(0, 2) + b'{"ts": "2026-01-') == 2
    assert len(kept(tmp_path / "other")) == 2


@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_on_spark_it_stops_the_run_or_is_counted(policy: str, spark: SparkSession, tmp_path: Path) -> None:
    with SocketSpool(tmp_path / "spool") as spool:
        hang_up(spool, lines(0, 2) + b'{"ts": "2026-01-')
        hang_up(spool, lines(2, 3) + b'{"punctuation": {}}\n')
        frame = read_socket(spark, spool, COLUMNS, bad_rows=policy)
        query = pw.sql(QUERY, bids=frame, bad_rows=policy).writeStream.format("noop") \
            .option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
        if policy == "stop":
            with pytest.raises(PanewiseError, match="hung up in the middle of a line"), pw.plain_errors():
                query.awaitTermination()
            return
        query.awaitTermination()
        assert query_status(query).bad_rows == 1
