"""The questions of the jobs in panewise's own language; both of its engines are asked with the same text."""

from __future__ import annotations

from adapter import Job

ORIGIN = 1_767_225_600_000_000
"""2026-01-01 in microseconds, where the data begins and the windows of ``cumulate`` too."""
WINDOWS = {
    "sliding": "RANGE {range} us, SLIDE {slide} us, WA ts",
    "session": "SESSION {range} us, WA ts",
    "cumulate": "RANGE ALL, SLIDE {slide} us, WA ts, ORIGIN '2026-01-01 00:00:00'",
    "rows": "RANGE {range} rows, SLIDE {slide} rows, WA row-num, PA item",
    "tuple": "RANGE {range} us RATTR ts SLIDE {slide} rows SATTR rank(ts)",
}


def question(job: Job) -> str:
    """The text of a job's query."""
    if job.kind == "join":
        return (f"SELECT a.ts, a.item, a.price, b.ts AS other, b.price AS offer FROM a [WA ts, RANGE {job.range} us], "
                f"b [WA ts, RANGE {job.range} us] WHERE a.item = b.item")
    window = WINDOWS["sliding" if job.kind == "queries" else job.kind].format(range=job.range, slide=job.slide)
    key, group = ("", "") if job.kind == "tuple" else ("item, ", " GROUP BY item")
    return f"SELECT {key}count(*) [{window}] AS n, max(price) AS hi, avg(price) AS mean FROM bids{group}"
