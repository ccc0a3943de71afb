"""``panewise run`` on Spark over streams that are no files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panewise as pw
from panewise.cli.main import main
from panewise.datasets.auction import AuctionSite
from panewise.engines.spark.files.kept_batches import KeptBatches
from panewise.engines.spark.io.generated import AuctionOptions
from panewise.engines.spark.io.sinks import committed_parts
from panewise.storage import DirectoryChunks

QUERY = "SELECT auction, count(*) [RANGE 20 s, SLIDE 5 s, WA ts] AS n FROM bids GROUP BY auction"


def plain(table: pa.Table) -> list[tuple[int, str, int]]:
    return sorted((r["auction"], str(r["window"]["start"])[:19], r["n"]) for r in table.to_pylist())


@pytest.mark.spark
def test_a_generated_site_into_a_folder_goes_on_from_its_checkpoint(spark: object, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["run", QUERY, "--stream", "bids=auction:bids?rate=20&events=600&keys=4&segment=300", "--once",
               "--out", f"{out}/", "--checkpoint", str(tmp_path / "state"), "--quiet"]
    options = AuctionOptions("bids", AuctionSite(events=600, rate=20, keys=4).__dict__, segment_events=300)
    expected = plain(pw.sql(QUERY, bids=pa.concat_tables([options.segment(0), options.segment(1)])).table)
    for _ in range(2):  # the second run finds everything done
        assert main(command) == 0
        assert plain(pa.concat_tables([pq.read_table(f) for f in committed_parts(out)])) == expected


@pytest.mark.spark
def test_the_rate_source_has_windows_too(spark: object, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT count(*) [RANGE 2 s, SLIDE 1 s, WA timestamp] AS n FROM ticks"
    assert main(["run", query, "--stream", "ticks=rate:100", "--once"]) == 0
    assert "rows in" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.parametrize(("arguments", "message"), [
    (["--stream", "bids=rate:many"], "write rate:1000"),
    (["--stream", "bids=auction:cars"], "no stream 'cars'"),
    (["--stream", "bids=auction:bids?speed=3"], "no 'speed'"),
    (["--stream", "bids=kafka://localhost:9092/bids"], "declare the columns of 'bids'"),
    (["--stream", "bids=kafka://localhost:9092/bids", "--columns", "bids=ts timestamp, auction bigint"],
     "spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10"),
    (["--stream", "bids=tcp://localhost", "--columns", "bids=ts timestamp"], "write tcp://127.0.0.1:9000"),
    (["--stream", "bids=auction:bids?events=9", "--emit", "clock:5s"], "the trigger is the clock"),
    (["--stream", "bids=rate:10", "--out", "x.parquet"], "--out DIR/"),
    (["--stream", "bids=rate:10", "--time", "bets=ts"], "no such --stream"),
])
def test_mistakes_are_one_message(spark: object, arguments: list[str], message: str,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", QUERY, *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_late_rows_are_counted_over_restarts(tmp_path: Path) -> None:
    def report(batch: int, rows: int, late: int) -> dict[str, object]:
        return {"batchId": batch, "numInputRows": rows, "observedMetrics": {"panewise": {"late_rows": late}}}

    def counted(*reports: dict[str, object]) -> dict[str, int]:
        with DirectoryChunks(tmp_path / "kept") as store:
            return KeptBatches(store, tmp_path / "spark").count(reports)

    assert counted(report(0, 10, 2), report(1, 10, 1)) == {"rows": 20, "late": 3}
    idle = {"batchId": 2, "numInputRows": 0, "observedMetrics": {}}
    assert counted(report(1, 10, 1), report(2, 5, 4), idle) == {"rows": 25, "late": 7}
