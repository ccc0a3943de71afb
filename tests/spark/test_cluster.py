"""A real standalone cluster on this machine: a master, two workers, and this package sent to them.

The driver is a process of its own, as a user's program is; the workers' Python finds everything but this package.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import panewise as pw
from conformance.compare import assert_same_rows
from panewise.engines.spark.io.sinks import COMMITTED, read_sealed
from spark.clusters import SETTINGS, Cluster

pytestmark = pytest.mark.spark
PROGRAM = '''
import json, sys
from pathlib import Path
import pyarrow as pa
import panewise as pw
from panewise.datasets.auction import AuctionSite
from panewise.engines.spark.io.generated import AuctionOptions
from panewise.engines.spark.session.session import session

master, out = sys.argv[1], Path(sys.argv[2])
spark = session(master, log=out / "driver.log", **{
    "spark.sql.shuffle.partitions": 2, "spark.cores.max": 2, "spark.executor.cores": 1, "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"})
site = AuctionSite(events=600, rate=20, keys=4, disorder=0.2)
SLIDING = "SELECT auction, {} [RANGE 20 s, SLIDE 5 s, WA ts] AS x FROM bids GROUP BY auction"


def plain(rows):
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


def answer(frame):
    return [row.asDict(recursive=True) for row in frame.selectExpr("auction", "x").collect()]


def in_process(text):
    options = AuctionOptions("bids", site.__dict__, segment_events=300)
    rows = pw.sql(text, bids=pa.concat_tables([options.segment(0), options.segment(1)]))
    return plain([{"auction": r["auction"], "x": r["x"]} for r in rows])


queries = {"sql": SLIDING.format("max(price)"), "kernels": SLIDING.format("median(price)")}
batch = pw.read_auction(spark, "bids", site, streaming=False, segment_events=300)
found = {}
for name, query in queries.items():
    found[name] = plain(answer(pw.sql(query, bids=batch)))
    assert found[name] == in_process(query), name
stream = pw.read_auction(spark, "bids", site, segment_events=300)
running = (pw.sql(queries["kernels"], bids=stream).writeStream.format(pw.register_parts(spark))
           .option("path", str(out / "parts")).option("checkpointLocation", str(out / "state"))
           .trigger(availableNow=True).start())
running.awaitTermination()
assert plain(answer(pw.read_parts(spark, out / "parts"))) == found["kernels"]
print(len(found["sql"]), len(found["kernels"]))
spark.stop()
'''


def test_a_standalone_cluster_gives_the_same_answers_with_the_package_sent_to_it(cluster: Cluster,
                                                                                 tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(tmp_path / "program.py"), cluster.url, str(tmp_path)], text=True,
                          capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    counts = [int(n) for n in done.stdout.split()]
    assert min(counts) > 20
    committed = sorted((tmp_path / "parts" / COMMITTED).glob("[0-9]*"))
    assert [read_sealed(path, "batch")["batch"] for path in committed] == list(range(len(committed)))
    assert committed


@pytest.mark.soak
def test_the_command_line_runs_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    rows = [{"k": "ab"[i % 2], "ts": i, "v": i * i} for i in range(60)]
    lines = [*rows[:40], {"punctuation": {"ts": 40}}, *rows[40:]]
    (tmp_path / "s.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    query = "SELECT k, max(v) [RANGE 20, SLIDE 10, WA ts] AS top FROM s GROUP BY k"
    command = [sys.executable, "-m", "panewise.cli.main", "run", query, "--stream", f"s={tmp_path / 's.ndjson'}",
               "--out", str(tmp_path / "out.ndjson"), "--master", cluster.url]
    for name, value in SETTINGS.items():
        command += ["--conf", f"{name}={value}"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "60 rows in" in done.stderr
    found = [json.loads(line) for line in (tmp_path / "out.ndjson").read_text().splitlines()]
    assert_same_rows(found, pw.sql(query, s=rows).to_arrow().to_pylist())
