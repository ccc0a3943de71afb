"""Spark Connect: the same calls on a session without a JVM in its process.

The client is a process of its own, because a process has classic sessions or Connect sessions, not both.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from panewise.core.errors import PanewiseError
from panewise.engines.spark.session.session import check_connect

PROGRAM = '''
import json, sys
from pathlib import Path
import panewise as pw
from panewise.core.errors import SchemaError

home = Path(sys.argv[1])
spark = pw.spark_session("local[2]", connect=True, **{"spark.sql.shuffle.partitions": 2})
assert type(spark).__module__.startswith("pyspark.sql.connect")
rows = spark.createDataFrame([(1, 2.0, 5), (1, 3.0, 7), (2, 1.0, 12)], "k int, v double, ts bigint")
QUERY = "SELECT k, {} [RANGE 10, SLIDE 5, WA ts] AS x FROM s GROUP BY k"


def plain(frame):
    return sorted((r.k, r.window.start, r.x) for r in frame.collect())


found = [(1, 0, 3.0), (1, 5, 3.0), (2, 5, 1.0), (2, 10, 1.0)]
assert plain(pw.sql(QUERY.format("max(v)"), s=rows)) == found
assert plain(pw.sql(QUERY.format("median(v)"), s=rows))[0] == (1, 0, 2.5)
assert plain(pw.stream(rows, time="ts").window(range=10, slide=5).group_by("k").agg(x="max(v)")) == found
numbered = pw.arrival(rows, "ts")
by_rows = pw.sql("SELECT k, sum(v) [RANGE 2 rows, SLIDE 1 rows, WA row-num, PATTR k] AS x FROM s GROUP BY k",
                 s=numbered).collect()
assert max(r.x for r in by_rows) == 5.0
try:
    with pw.plain_errors():
        pw.sql(QUERY.format("max(v)"), s=spark.createDataFrame([(1, 2.0, None)], rows.schema)).collect()
except SchemaError as error:
    assert "'ts' is null" in str(error)
else:
    raise AssertionError("a null was taken")
lines = [{"k": 1, "v": 2.0, "ts": 5}, {"k": 1, "v": 3.0, "ts": 7}, {"punctuation": {"ts": 8}},
         {"k": 2, "v": 1.0, "ts": 12}]
(home / "s.ndjson").write_text("".join(json.dumps(line) + "\\n" for line in lines))
stream = pw.sql(QUERY.format("max(v)"), s=pw.read_stream(spark, home / "s.ndjson", time="ts"))
query = (stream.writeStream.format(pw.register_parts(spark)).option("path", str(home / "out"))
         .option("checkpointLocation", str(home / "state")).trigger(availableNow=True).start())
query.awaitTermination()
assert plain(pw.read_parts(spark, home / "out")) == found
assert pw.query_status(query).rows >= 3
spark.stop()
print("connected")
'''


@pytest.mark.spark
@pytest.mark.soak
def test_a_connect_session_gives_the_same_answers(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(tmp_path / "program.py"), str(tmp_path)], text=True, timeout=300,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().endswith("connected")


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panewise.engines.spark.session.session._found", lambda module: module != "grpc_status")
    with pytest.raises(PanewiseError, match=r"grpc_status is missing.*panewise\[connect\]"):
        check_connect()
