"""now() on Spark: one instant for a run and all its restarts, or a refusal; never another one in silence."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise.api import instants
from panewise.cli.main import main
from panewise.core.errors import CheckpointError, PanewiseWarning, PlanError
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.io.sinks import committed_parts
from panewise.storage import DirectoryChunks

TEXT = "SELECT ts, cast(now() AS string) AS n FROM s"
RELATION = "SELECT ts, cast(now() AS string) AS n FROM s [NOW]"
FIRST, LATER = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2))


def lines(path: Path, *times: int) -> None:
    path.write_text("".join(json.dumps({"ts": ts}) + "\n" for ts in times))


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema("ts long").json(str(folder))


def test_a_stream_whose_instant_nobody_keeps_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    frame = stream(spark, tmp_path)
    for query in (TEXT, RELATION):
        with pytest.raises(PlanError, match=r"now=pw\.kept_instant\('FOLDER'\)"):
            pw.sql(query, s=frame, progress="ordered")
    with pytest.raises(PlanError, match=r"now=pw\.kept_instant"):
        pw.stream(frame, time="ts", progress="ordered").where("now() IS NOT NULL").window(range=5).agg(n="count(*)")
    with pytest.raises(PlanError, match=r"now=pw\.kept_instant"):
        run_streaming(pw.stream(frame, time="ts").where("now() IS NOT NULL").window(range=5).plan(n="count(*)"),
                      {"stream": frame}, progress="ordered")
    with pytest.raises(PlanError, match="has no time zone"):
        pw.sql(TEXT, s=frame, progress="ordered", now=datetime(2026, 1, 1))


def test_a_restart_has_the_instant_that_was_kept(spark: SparkSession, tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    home, found = tmp_path / "s", []
    home.mkdir()

    def sink(batch: DataFrame, number: int) -> None:
        found.extend((row.ts, row.n) for row in batch.collect())

    for number, clock in enumerate((FIRST, LATER)):
        monkeypatch.setattr(instants, "instant_now", lambda clock=clock: clock)
        lines(home / f"{number}.json", 2 * number, 2 * number + 1)
        with pytest.warns(PanewiseWarning, match=r"now\(\) is the instant the run began"):
            results = pw.sql(TEXT, s=stream(spark, home), progress="ordered", now=pw.kept_instant(tmp_path / "now"))
        results.writeStream.foreachBatch(sink).trigger(availableNow=True) \
            .option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    assert sorted(found) == [(ts, "2026-01-01 00:00:00") for ts in range(4)]


@pytest.mark.parametrize("query", [TEXT, RELATION])
def test_a_static_dataframe_has_one_instant_or_the_one_it_is_given(query: str, spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1,), (2,)], "ts long")
    assert len({row.n for row in pw.sql(query, s=frame).collect()}) == 1
    assert {row.n for row in pw.sql(query, s=frame, now=FIRST).collect()} == {"2026-01-01 00:00:00"}
    assert {row["n"] for row in pw.sql(query, s=[{"ts": 1}], now=FIRST)} == {"2026-01-01 00:00:00"}


def test_a_live_run_of_the_command_line_keeps_it_in_its_checkpoint(spark: SparkSession, tmp_path: Path,
                                                                   capsys: pytest.CaptureFixture[str]) -> None:
    state, out = tmp_path / "state", tmp_path / "out"
    spool = state / "spool" / "s"
    spool.mkdir(parents=True)
    found: list[Any] = []
    for times in ((1, 2), (1, 2, 3, 4)):
        lines(spool / f"{0:015d}.ndjson", *times)
        assert main(["run", TEXT, "--stream", "s=tcp://127.0.0.1:0", "--columns", "s=ts bigint", "--engine", "spark",
                     "--once", "--quiet", "--checkpoint", str(state), "--out", f"{out}/"]) == 0
        assert "now() is the instant the run began" in " ".join(capsys.readouterr().err.split())
        found = [row for part in committed_parts(out) for row in pq.read_table(part).to_pylist()]
        assert sorted(row["ts"] for row in found) == list(times)
    assert len({row["n"] for row in found}) == 1


def test_a_folder_with_something_else_in_it_is_no_place_for_an_instant(tmp_path: Path) -> None:
    with DirectoryChunks(tmp_path / "state") as store:
        store.put("other", b"1")
        store.commit()
    with pytest.raises(CheckpointError, match="kept_instant a folder of its own"):
        pw.kept_instant(tmp_path / "state")
