"""Sensors promise for themselves: each road segment's windows close when that segment says so.

    .venv/bin/python examples/group_wise_punctuation.py
"""

import pyarrow as pa

import panewise as pw

QUERY = """
SELECT seg_id, max(speed) AS fastest, min(speed) AS slowest
FROM traffic [RANGE 300 seconds SLIDE 60 seconds WATTR ts]
GROUP BY seg_id
"""

traffic = pa.schema({"seg_id": pa.string(), "speed": pa.int64(), "ts": pa.timestamp("us", tz="UTC")})
query = pw.open_query(QUERY, traffic=traffic)


def minute(number: int) -> int:
    """A bound in microseconds, as punctuation has them."""
    return number * 60_000_000


query.push("traffic", [
    {"seg_id": "s1", "speed": 55, "ts": 10_000_000},
    {"seg_id": "s2", "speed": 50, "ts": 50_000_000},
    {"seg_id": "s1", "speed": 62, "ts": 40_000_000},  # out of order
])
print("s1 has sent everything of the first minute:")
for row in query.push("traffic", pw.Punctuation.below("ts", minute(1), seg_id="s1")).to_pylist():
    print("  ", row["seg_id"], row["window"]["end"].time(), row["fastest"], row["slowest"])
print("s2 has not, so its windows stay open:", query.status()["open_windows"])
print("now everyone has:")
for row in query.push("traffic", pw.Punctuation.below("ts", minute(1))).to_pylist():
    print("  ", row["seg_id"], row["window"]["end"].time(), row["fastest"], row["slowest"])
