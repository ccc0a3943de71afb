"""Rows without a time on Spark, in batch and streams: bad if some window would see them, as in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import panewise as pw
from panewise.api.spark_streams import from_json
from panewise.cli.main import main
from panewise.core.errors import PanewiseError, PlanError, UnsupportedError
from panewise.core.schema import Catalog
from panewise.dataflow.row_fates import RowFates
from panewise.engines.spark.io.sinks import committed_parts
from panewise.engines.spark.observe.status import query_status
from panewise.engines.spark.session.failures import plain_errors
from panewise.sql import parse

ROWS = [(1, "a"), (None, "b"), (3, "c")]
RELATION, AGGREGATE = "SELECT k FROM s [RANGE 5]", "SELECT k, count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM s GROUP BY k"
JOIN = "SELECT s.k FROM s [RANGE 5], t [RANGE 5] WHERE s.k = t.k"


def test_the_conditions_of_all_ways_to_a_window_are_known_in_the_columns_of_the_stream() -> None:
    def conditions(text: str) -> list[str]:
        return [str(c) for c in RowFates(parse(text, Catalog.anything())).conditions("s", ["ts", "k", "v"])]

    assert conditions("SELECT k FROM s [RANGE 5] WHERE ts IS NOT NULL AND v > 1") == ["NOT ts IS NULL AND v > 1"]
    assert conditions("SELECT w FROM (SELECT ts, v + 1 AS w FROM s) [RANGE 5] WHERE w > 3") == ["(v + 1) > 3"]
    assert conditions("SELECT a.k FROM s [RANGE 5] AS a, s [RANGE 5] AS b WHERE a.k = b.k AND a.v > 1") == []


def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, "ts long, k string")


@pytest.mark.parametrize("query", [f"{RELATION} WHERE ts IS NOT NULL", f"{RELATION} WHERE k <> 'b'",
                                   AGGREGATE.replace("GROUP", "WHERE ts IS NOT NULL GROUP")])
@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_a_row_that_where_leaves_out_needs_no_time(query: str, policy: str, spark: SparkSession) -> None:
    local = [{"ts": ts, "k": k} for ts, k in ROWS]
    expected = sorted(row["k"] for row in pw.sql(query, s=local, bad_rows=policy, time="ts"))
    assert sorted(row.k for row in pw.sql(query, s=frame(spark), bad_rows=policy).collect()) == expected == ["a", "c"]


@pytest.mark.parametrize("query", [RELATION, AGGREGATE, JOIN])
def test_a_row_that_a_window_would_see_stops_the_run_or_is_left_out(query: str, spark: SparkSession) -> None:
    given = {"s": frame(spark), **({"t": frame(spark)} if query is JOIN else {})}
    with pytest.raises(PanewiseError, match=r"'ts' is null in a row.*bad_rows='skip'"), plain_errors():
        pw.sql(query, **given).collect()
    assert sorted(row.k for row in pw.sql(query, **given, bad_rows="skip").collect()) == ["a", "c"]


@pytest.mark.parametrize("query", [RELATION, AGGREGATE])
def test_the_place_of_a_row_without_a_time_is_named_where_the_source_knows_it(query: str, spark: SparkSession,
                                                                              tmp_path: Path) -> None:
    (tmp_path / "s.ndjson").write_text('{"ts": 1, "k": "a"}\n{"ts": 2, "k": "b"}\n{"ts": null, "k": "c"}\n')
    with pytest.raises(PanewiseError, match=r"'ts' is null in a row \(position 3\); every row needs"), plain_errors():
        pw.sql(query, s=pw.read_batch(spark, tmp_path / "s.ndjson", time="ts")).collect()


def test_the_call_that_replaces_window_takes_the_policy_too(spark: SparkSession) -> None:
    found = pw.stream(frame(spark), time="ts", bad_rows="skip").window(range=5, slide=5).agg(n="count(*)")
    assert [row.n for row in found.collect()] == [2]


def test_what_spark_cannot_do_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"max_jump= .*read_stream.*in process"):
        pw.sql(RELATION, s=frame(spark), max_jump=5)
    stream = spark.readStream.schema("ts long, k string").parquet(str(tmp_path))
    with pytest.raises(UnsupportedError, match=r"'aside:PATH' of a streaming DataFrame.*bad_rows='aside'.*split_bad"):
        pw.sql(RELATION, s=stream, progress="ordered", bad_rows="aside:bad.ndjson")
    with pytest.raises(PlanError, match=r"bad_rows='skip' here.*bad_rows='aside' in pw.sql"):
        pw.read_batch(spark, tmp_path, bad_rows="aside")
    with pytest.raises(PlanError, match="no bad rows beside it"):
        pw.split_bad(frame(spark))


FAR = 2**62
MANY = [*ROWS, (None, "dropped"), (FAR, "far"), (4, "c")]
DROPPING = f"{RELATION} WHERE k <> 'dropped'"


def told(rows: Any) -> list[tuple[str, ...]]:
    """Bad rows but for their places: a DataFrame has no order."""
    return sorted((r["stream"], str(r["column"]), r["reason"], r["row"]) for r in rows)


def in_process(query: str, **options: Any) -> Any:
    return pw.sql(query, s=[{"ts": ts, "k": k} for ts, k in MANY], time="ts", **options)


@pytest.mark.parametrize("query", [DROPPING, AGGREGATE])
def test_bad_rows_of_a_dataframe_leave_beside_its_results(query: str, spark: SparkSession) -> None:
    expected = in_process(query, bad_rows="aside")
    output = pw.sql(query, s=spark.createDataFrame(MANY, "ts long, k string"), bad_rows="aside")
    results, bad = pw.split_bad(output)
    assert sorted(r.k for r in results.collect()) == sorted(r["k"] for r in expected)
    assert told(bad.collect()) == told(expected.bad_rows.to_pylist())
    assert {r.place for r in bad.collect()} == {"stream 's'"}


def test_rows_that_need_no_time_leave_nothing_beside_the_results(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("a",), (None,)], "k string")
    results, bad = pw.split_bad(pw.sql("SELECT k FROM s", s=rows, bad_rows="aside"))
    assert {row.k for row in results.collect()} == {"a", None}
    assert bad.collect() == []


def test_bad_rows_of_a_dataframe_go_to_a_file_as_in_process(spark: SparkSession, tmp_path: Path) -> None:
    in_process(DROPPING, bad_rows=f"aside:{tmp_path / 'here'}")
    rows = spark.createDataFrame(MANY, "ts long, k string")
    output = pw.sql(DROPPING, s=rows, bad_rows=f"aside:{tmp_path / 'there'}")
    assert "__pw_bad" not in output.columns
    here, there = ([json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
                   for name in ("here", "there"))
    assert told(here) == told(there)
    assert len(there) == 2


def run_to_end(results: DataFrame, folder: Path) -> tuple[list[Any], list[Any], Any]:
    """Results, bad rows and status of a stream whose bad rows leave beside its results."""
    found: list[Any] = []
    left: list[Any] = []

    def sink(batch: DataFrame, number: int) -> None:
        good, bad = pw.split_bad(batch)
        found.extend(good.collect())
        left.extend(bad.collect())

    query = results.writeStream.foreachBatch(sink).trigger(availableNow=True) \
        .option("checkpointLocation", str(folder / "checkpoint")).start()
    query.awaitTermination()
    return found, left, query_status(query)


def test_bad_rows_of_a_streaming_dataframe_leave_once(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame(MANY, "ts long, k string").coalesce(1)
    for number in range(2):
        rows.write.parquet(str(tmp_path / "s" / f"part={number}"))
    stream = spark.readStream.schema("ts long, k string").option("maxFilesPerTrigger", 1) \
        .parquet(str(tmp_path / "s" / "*"))
    _, bad, status = run_to_end(pw.sql(DROPPING, s=stream, progress="ordered", bad_rows="aside"), tmp_path)
    assert told(bad) == sorted(2 * told(in_process(DROPPING, bad_rows="aside").bad_rows.to_pylist()))
    assert (status.rows, status.bad_rows) == (2 * len(MANY), 4)


LINES = ['{"ts": 1, "k": "a"}', '{"ts": null, "k": "b"}', "{broken", '{"ts": 900, "k": "ahead"}', '{"ts": 3, "k": "c"}',
         '{"ts": null, "k": "dropped"}', '{"ts": 8, "k": "a"}']


@pytest.mark.parametrize("query", [DROPPING, AGGREGATE.replace("GROUP", "WHERE k <> 'dropped' GROUP")])
def test_a_file_source_hands_on_what_it_could_not_read(query: str, spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_text("\n".join(LINES) + "\n")
    expected = pw.sql(query, s=str(path), bad_rows="aside", max_jump=20)
    stream = pw.read_stream(spark, path, time="ts", rows_per_batch=2, bad_rows="skip", max_jump=20)
    found, bad, status = run_to_end(pw.sql(query, s=stream, bad_rows="aside"), tmp_path)
    assert sorted(r.k for r in found) == sorted(r["k"] for r in expected)
    assert told(bad) == told(expected.bad_rows.to_pylist())
    assert status.bad_rows == 3
    assert len(LINES) <= status.rows <= len(LINES) + 5  # and punctuation: one for each micro-batch, one at the end
    batch = pw.read_batch(spark, path, time="ts", bad_rows="skip", max_jump=20)
    for policy in ("stop", "skip"):  # the source was told to go on
        again = pw.sql(query, s=batch, bad_rows=policy).collect()
        assert sorted(r.k for r in again) == sorted(r["k"] for r in expected)
    whole = pw.split_bad(pw.sql(query, s=batch, bad_rows="aside"))
    assert told(whole[1].collect()) == told(bad)


@pytest.mark.parametrize("more", [[], ["--checkpoint", "state"]])
def test_the_command_line_finds_jumps_on_spark_as_in_process(more: list[str], spark: SparkSession,
                                                             tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_text("\n".join(LINES) + "\n")
    answers = {}
    for engine in ("embedded", "spark"):
        out, aside = tmp_path / f"{engine}.ndjson", tmp_path / f"{engine}.bad"
        given = [str(tmp_path / f"{engine}-state") if part == "state" else part for part in more]
        assert main(["run", DROPPING, "--stream", f"s={path}", "--engine", engine, "--max-jump", "20", "--quiet",
                     "--bad-rows", f"aside:{aside}", "--out", str(out), *given]) == 0
        bad = [json.loads(line) for line in aside.read_text().splitlines()]
        assert all(row.pop("place").startswith((str(path), "stream 's', row ")) for row in bad)  # Spark numbers some
        answers[engine] = sorted(out.read_text().splitlines()), bad
    assert answers["spark"] == answers["embedded"]
    assert any("max_jump='20'" in row["reason"] for row in answers["spark"][1])


def test_a_jump_stops_a_run_of_the_command_line_on_spark(spark: SparkSession, tmp_path: Path,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.ndjson"
    path.write_text('{"ts": 1, "k": "a"}\n{"ts": 900, "k": "b"}\n')
    assert main(["run", RELATION, "--stream", f"s={path}", "--engine", "spark", "--max-jump", "20", "--quiet"]) == 2
    assert "s.ndjson:2: 'ts' is 900, further ahead" in " ".join(capsys.readouterr().err.split())


STOPPING = {
    "s.ndjson": ('{"ts": 1, "k": "a"}\n\n{"ts": null, "k": "b"}\n', "s.ndjson:3: 'ts' is null"),
    "s.csv": ("ts,k\n1,a\n2,b\n,c\n4,d\n", "s.csv, row 3: 'ts' is null"),
    "s.parquet": ("", "s.parquet, row 3: 'ts' is null"),
    "text.csv": ("ts,k\n1,a\n2,b\nsoon,c\n4,d\n", "text.csv, row 3: 'ts' is 'soon'"),
}


@pytest.mark.parametrize("more", [[], ["--checkpoint", "state"]], ids=["batch", "stream"])
@pytest.mark.parametrize(("query", "name"), [*((RELATION, name) for name in STOPPING), (AGGREGATE, "s.csv"),
                                             (AGGREGATE, "s.parquet")])
def test_the_row_that_stops_a_run_of_the_command_line_is_named_with_its_file(
        query: str, name: str, more: list[str], spark: SparkSession, tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    text, place = STOPPING[name]
    path = tmp_path / name
    if text:
        path.write_text(text)
    else:
        pq.write_table(pa.table({"ts": [1, 2, None, 4], "k": list("abcd")}), path)
    more = [str(tmp_path / part) if part == "state" else part for part in more]
    assert main(["run", query, "--stream", f"s={path}", "--engine", "spark", "--quiet", *more]) == 2
    assert f"{tmp_path}/{place}" in " ".join(capsys.readouterr().err.split())


def test_rows_of_a_csv_source_that_stop_a_frame_are_named(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(STOPPING["text.csv"][0])
    with pytest.raises(PanewiseError, match=r"s\.csv, row 3: 'ts' is 'soon'"), plain_errors():
        pw.sql(RELATION, s=pw.read_batch(spark, path, time="ts")).collect()


def test_bad_lines_of_a_socket_go_to_a_folder_once(spark: SparkSession, tmp_path: Path) -> None:
    state, out, aside = tmp_path / "state", tmp_path / "out", tmp_path / "bad"
    (state / "spool" / "s").mkdir(parents=True)
    (state / "spool" / "s" / f"{0:015d}.ndjson").write_text("\n".join([*LINES, '{"punctuation": {}}']) + "\n")
    command = ["run", DROPPING, "--stream", "s=tcp://127.0.0.1:0", "--columns", "s=ts bigint, k string", "--engine",
               "spark", "--max-jump", "20", "--bad-rows", f"aside:{aside}", "--out", f"{out}/", "--once", "--quiet",
               "--checkpoint", str(state)]
    for _ in range(2):  # the second run finds everything done
        assert main(command) == 0
        found = [row for part in committed_parts(out) for row in pq.read_table(part).to_pylist()]
        assert sorted(row["k"] for row in found) == ["a", "a", "c"]
        bad = [json.loads(line) for part in sorted(aside.iterdir()) for line in part.read_text().splitlines()]
        assert len(bad) == 3
        assert {row["stream"] for row in bad} == {"s"}


@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_messages_that_do_not_fit_are_bad_rows_and_not_nulls(policy: str, spark: SparkSession) -> None:
    texts = [*LINES[: 1 if policy == "stop" else 2], "{broken", '{"ts": 3, "k": "c", "more": 1}',
             '{"ts": "soon", "k": "d"}', None]
    messages = spark.createDataFrame([(text,) for text in texts], "value string")
    columns = pa.schema({"ts": pa.int64(), "k": pa.string()})
    rows = from_json(messages, F.col("value"), columns, bad_rows=policy)
    if policy == "stop":
        with pytest.raises(PanewiseError, match=r"a message is no JSON object with the columns ts, k: .*bad_rows="), \
                plain_errors():
            pw.sql(RELATION, s=rows, bad_rows="stop").collect()
        return
    results, bad = pw.split_bad(pw.sql(RELATION, s=rows, bad_rows="aside"))
    assert sorted(r.k for r in results.collect()) == ["a", "c"]
    assert sorted(str(r.row) for r in bad.collect()) == \
        ["None", '{"ts": "soon", "k": "d"}', '{"ts": null, "k": "b"}', "{broken"]


def test_a_stream_counts_the_bad_rows_it_leaves_out(spark: SparkSession, tmp_path: Path) -> None:
    frame(spark).union(spark.createDataFrame([(None, "dropped")], "ts long, k string")) \
        .coalesce(1).write.parquet(str(tmp_path / "s"))
    stream = spark.readStream.schema("ts long, k string").parquet(str(tmp_path / "s"))
    results = pw.sql(f"{RELATION} WHERE k <> 'dropped'", s=stream, progress="ordered", bad_rows="skip")
    found: list[Any] = []

    def sink(batch: DataFrame, number: int) -> None:
        found.extend(batch.collect())

    query = results.writeStream.foreachBatch(sink).trigger(availableNow=True) \
        .option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    assert query_status(query).bad_rows == 1
    assert {row.k for row in found} <= {"a", "c"}


@pytest.mark.parametrize("policy", ["skip", "aside"])
def test_bad_rows_are_counted_where_nothing_else_is(policy: str, spark: SparkSession, tmp_path: Path) -> None:
    """A projection has no figures of its own, and a second stream no bad rows."""
    (tmp_path / "s.ndjson").write_text('{"ts": 1, "k": "a"}\n{broken\n{"ts": 3, "k": "c"}\n{"punctuation": {}}\n')
    stream = pw.read_stream(spark, tmp_path / "s.ndjson", time="ts", bad_rows="skip")
    spark.createDataFrame([("d",), (None,)], "k string").coalesce(1).write.parquet(str(tmp_path / "t"))
    other = spark.readStream.schema("k string").parquet(str(tmp_path / "t"))
    text = "SELECT k FROM s UNION ALL SELECT k FROM t"
    found: list[Any] = []

    def sink(batch: DataFrame, number: int) -> None:
        found.extend((pw.split_bad(batch)[0] if policy == "aside" else batch).collect())

    query = pw.sql(text, s=stream, t=other, progress={"t": "ordered"}, bad_rows=policy) \
        .writeStream.foreachBatch(sink).trigger(availableNow=True) \
        .option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    status = query_status(query)
    assert {row.k for row in found} == {"a", "c", "d", None}
    assert (status.rows, status.bad_rows) == (7, 1)  # with the promise of the file and the end of the stream


def test_the_command_line_skips_and_puts_aside(spark: SparkSession, tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    lines = ['{"ts": 1, "k": "a"}', '{"ts": null, "k": "b"}', "{broken", '{"ts": 3, "k": "c"}']
    (tmp_path / "s.ndjson").write_text("\n".join(lines) + "\n")
    aside, out = tmp_path / "bad.ndjson", tmp_path / "out.ndjson"
    assert main(["run", f"{RELATION} WHERE k <> 'x'", "--stream", f"s={tmp_path / 's.ndjson'}", "--engine", "spark",
                 "--bad-rows", f"aside:{aside}", "--out", str(out)]) == 0
    assert sorted(json.loads(line)["k"] for line in out.read_text().splitlines()) == ["a", "c"]
    assert len(aside.read_text().splitlines()) == 2
    assert "2 rows were bad" in capsys.readouterr().err
