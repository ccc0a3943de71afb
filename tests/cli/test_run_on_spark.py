"""``panewise run`` on Spark: the same rows as in process, resumable streams, and messages without a stack of Java."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panewise.cli.main import main
from panewise.core.time import SECOND
from panewise.datasets.auction import AuctionSite

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

QUERY = "SELECT auction, count(*) [RANGE 20 s, SLIDE 5 s, WA ts] AS n, max(price) AS top FROM bids GROUP BY auction"


@pytest.fixture
def bids(tmp_path: Path) -> Path:
    """Three files of bids with exact punctuation in line."""
    assert main(["generate", "auction", "--events", "600", "--rate", "10", "--keys", "5", "--format", "ndjson",
                 "--files", "3", "--punctuate", "5 s", "--out", str(tmp_path)]) == 0
    return tmp_path / "bids"


def rows(path: Path) -> list[dict]:
    return sorted((json.loads(line) for line in path.read_text().splitlines()), key=str)


def run(query: str, stream: str, out: Path, *more: str) -> list[dict]:
    assert main(["run", query, "--stream", stream, "--out", str(out), *more]) == 0
    return rows(out)


def test_a_punctuated_stream_gives_the_same_rows_as_in_process(bids: Path, tmp_path: Path) -> None:
    expected = run(QUERY, f"bids={bids}", tmp_path / "e.ndjson", "--engine", "embedded")
    assert run(QUERY, f"bids={bids}", tmp_path / "s.ndjson") == expected
    assert len(expected) > 50


def test_plain_parquet_is_a_batch_job_with_the_same_rows(tmp_path: Path) -> None:
    table = AuctionSite(events=500, rate=10, keys=4).bids()
    pq.write_table(table, tmp_path / "bids.parquet")
    stream = f"bids={tmp_path / 'bids.parquet'}"
    expected = run(QUERY, stream, tmp_path / "e.ndjson", "--engine", "embedded")
    assert run(QUERY, stream, tmp_path / "s.ndjson") == expected


def test_text_ordered_by_an_integer_of_any_name_is_a_batch_job_too(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("k,t,v\na,-7,1\nb,3,2\na,4,5\n")
    query = "SELECT k, sum(v) [RANGE 10, SLIDE 10, WA t] AS total FROM s GROUP BY k"
    found = run(query, f"s={tmp_path / 's.csv'}", tmp_path / "o.ndjson")
    assert {(r["k"], r["window"]["start"], r["total"]) for r in found} == {("a", -10, 1), ("b", 0, 2), ("a", 0, 5)}


def test_late_rows_come_out_beside_the_results(bids: Path, tmp_path: Path) -> None:
    options = ["--progress", "late:1s", "--late", "side", "--late-out"]
    found = run(QUERY, f"bids={bids}", tmp_path / "s.ndjson", *options, str(tmp_path / "late-s.ndjson"))
    expected = run(QUERY, f"bids={bids}", tmp_path / "e.ndjson", "--engine", "embedded", *options,
                   str(tmp_path / "late-e.ndjson"))
    assert found == expected
    late = [r["price"] for r in rows(tmp_path / "late-s.ndjson")]
    assert sorted(late) == sorted(r["price"] for r in rows(tmp_path / "late-e.ndjson"))
    assert late


def test_a_finished_checkpoint_gives_the_results_again_and_another_query_is_refused(
        bids: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = ["--checkpoint", str(tmp_path / "checkpoint")]
    first = run(QUERY, f"bids={bids}", tmp_path / "1.ndjson", *checkpoint)
    assert run(QUERY, f"bids={bids}", tmp_path / "2.ndjson", *checkpoint) == first
    assert main(["run", QUERY, "--stream", f"bids={bids}", "--engine", "embedded", *checkpoint]) == 2
    assert "belongs to the spark engine" in capsys.readouterr().err
    other = QUERY.replace("20 s", "10 s")
    assert main(["run", other, "--stream", f"bids={bids}", *checkpoint]) == 2
    assert "belongs to another query" in capsys.readouterr().err
    with (bids / "part-0002.ndjson").open("a") as file:
        file.write('{"auction": 1, "bidder": 1, "price": 1.0, "channel": "web", "ts": "2027-01-01T00:00:00Z"}\n')
    assert main(["run", QUERY, "--stream", f"bids={bids}", *checkpoint]) == 2
    assert "its files have changed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("late", "content", "message"),
    [
        ("drop", ['{"auction": 1, "price": 1.0, "ts": null}', '{"auction": 1, "price": 1.0, "ts": 4}'], "null"),
        ("error", ['{"auction": 1, "price": 1.0, "ts": 9}', '{"punctuation": {"ts": 9}}',
                   '{"auction": 1, "price": 1.0, "ts": 4}'], "4"),
        ("drop", ['{"auction": 1, "price": 1.0, "ts": 9}', '{"auction": 1, "price": '], "bids.ndjson:2"),
    ],
)
def test_bad_rows_are_one_message(late: str, content: list[str], message: str, tmp_path: Path,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bids.ndjson").write_text("\n".join(content) + "\n")
    query = QUERY.replace(" s,", ",")
    assert main(["run", query, "--stream", f"bids={tmp_path / 'bids.ndjson'}", "--late", late]) == 2
    shown = capsys.readouterr().err
    assert "error:" in shown
    assert message in shown
    assert "Traceback" not in shown
    assert "at org.apache" not in shown


def test_a_null_in_parquet_and_text_for_time_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    null = pa.table({"auction": [1, 1], "price": [1.0, 2.0], "ts": pa.array([None, SECOND], pa.timestamp("us"))})
    pq.write_table(null, tmp_path / "n.parquet")
    assert main(["run", QUERY, "--stream", f"bids={tmp_path / 'n.parquet'}"]) == 2
    assert "null" in capsys.readouterr().err
    pq.write_table(null.set_column(2, "ts", pa.array(["a", "b"])), tmp_path / "t.parquet")
    assert main(["run", QUERY, "--stream", f"bids={tmp_path / 't.parquet'}"]) == 2
    assert "'ts' is string" in capsys.readouterr().err
