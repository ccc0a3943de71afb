"""Worked examples as cases: queries of the language over small streams whose answers were computed by hand elsewhere.

Their expected rows come from the oracle; the oracle itself is held to the hand-computed answers in tests/oracle, and to
those of ``printed_fixtures``, which are typed. An engine either gives these rows or refuses the query.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa

from conformance.cases import Case
from conformance.printed_fixtures import FIXTURES
from panewise.core.time import parse_timestamp
from panewise.progress.punctuation import Punctuation

PACKETS = {"srcIP": pa.string(), "destIP": pa.string(), "len": pa.int64(), "ts": pa.timestamp("us", tz="UTC")}
TRAFFIC = {"seg_id": pa.string(), "speed": pa.int64(), "ts": pa.timestamp("us", tz="UTC")}
NUMBERS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return MIDNIGHT + timedelta(seconds=seconds)


def below(seconds: float, **constants: str) -> Punctuation:
    return Punctuation.below("ts", parse_timestamp(at(seconds)), **constants)


def packet(source: str, length: int, seconds: float) -> dict[str, object]:
    return {"srcIP": source, "destIP": "202.2.1.2", "len": length, "ts": at(seconds)}


# eleven fifty-eight to one minute past midnight, disordered, one promise (figure 2-1 of Li's thesis)
W5 = [
    packet("202.1.3.0", 102, -37), packet("102.3.2.7", 200, -120), packet("202.1.3.0", 111, -7),
    packet("202.6.9.2", 300, -5), below(0), packet("211.1.3.0", 100, 23), packet("202.3.1.1", 210, 53),
]
PF8 = [
    {"seg_id": "s1", "speed": 55, "ts": at(10)}, {"seg_id": "s1", "speed": 62, "ts": at(40)},
    {"seg_id": "s2", "speed": 50, "ts": at(50)}, below(60, seg_id="s1"), {"seg_id": "s1", "speed": 70, "ts": at(75)},
    {"seg_id": "s2", "speed": 48, "ts": at(30)}, below(60),
]
DAYS = [{"ts": date(2026, 1, d), "k": k, "v": d} for d, k in ((3, "a"), (1, "a"), (9, "b"), (2, "b"), (8, "a"))]
# the first and the last second of Berlin's days of 23 and of 25 hours, and of their neighbours
CLOCK_CHANGES = [{"ts": datetime.fromisoformat(f"2026-{instant}Z"), "k": k, "v": 1} for instant, k in (
    ("03-28T22:59:59", "a"), ("03-28T23:00:00", "a"), ("03-29T22:00:00", "a"), ("03-29T21:59:59", "a"),
    ("03-29T12:00:00", "b"), ("10-25T22:59:59", "a"), ("10-24T22:00:00", "a"), ("10-25T23:00:00", "b"))]
BIDS = [{"ts": t, "k": k, "v": v} for t, k, v in (
    (75, "a", 3), (12, "a", 1), (41, "b", 8), (38, "a", 2), (100, "b", 5), (61, "b", 7), (99, "a", 4), (130, "a", 9))]


def numbers(name: str, query: str, **options: str) -> Case:
    return Case(name, query, {"s": BIDS}, {"s": NUMBERS}, **options)


def packets(name: str, query: str) -> Case:
    return Case(name, query, {"Main": W5}, {"Main": PACKETS})


CASES = (
    packets("W5 tumbling count", "SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts] AS n FROM Main"),
    packets("W5 per source",
            "SELECT srcIP, count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts] AS n FROM Main GROUP BY srcIP"),
    packets("Q5-1 sliding count per source",
            "SELECT srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts] AS n FROM Main GROUP BY srcIP"),
    packets("Q6-2 sliding maximum", "SELECT max(len) [RANGE 4 minutes, SLIDE 1 minute, WA ts] AS top FROM Main"),
    packets("Q6-4 heavy hitters",
            "SELECT heavy_hitters(srcIP, 0.05) [RANGE 10 minutes, SLIDE 1 minute, WA ts] AS h FROM Main"),
    packets("Q5-2 partitioned rows",
            "SELECT srcIP, max(len) [RANGE 2 rows, SLIDE 1 rows, WA row-num, PA srcIP] FROM Main"),
    packets("Q5-3 rows, then groups",
            "SELECT srcIP, max(len) [RANGE 3 rows, SLIDE 2 rows, WA row-num] FROM Main GROUP BY srcIP"),
    packets("Q5-4 landmark", "SELECT srcIP, count(*) [RANGE ALL, SLIDE 1 minute, WA ts] FROM Main GROUP BY srcIP"),
    packets("Q5-5 slide by tuple", "SELECT max(len) [RANGE 1 minute, RATTR ts, SLIDE 1 row, SATTR row-num] FROM Main"),
    packets("Q5-6 slide by rank", "SELECT count(*) [RANGE 1 minute, RATTR ts, SLIDE 2 rows, SATTR rank(ts)] FROM Main"),
    Case("PF8 group-wise punctuation",
         "SELECT seg_id, max(speed) AS top, min(speed) AS low FROM t [RANGE 300 seconds SLIDE 60 seconds WATTR ts] "
         "GROUP BY seg_id", {"t": PF8}, {"t": TRAFFIC}),
    numbers("W14 gaps", "SELECT k, count(*) [RANGE 30, SLIDE 100, WA ts] AS n FROM s GROUP BY k"),
    numbers("W14 neither divides", "SELECT k, sum(v) [RANGE 100, SLIDE 30, WA ts] AS n FROM s GROUP BY k"),
    numbers("W8 panes of three", "SELECT max(v) [RANGE 9, SLIDE 6, WA ts] AS n FROM s"),
    numbers("origin and lag", "SELECT k, avg(v) [RANGE 40, SLIDE 20, WA ts, ORIGIN 7, LAG 5] AS m FROM s GROUP BY k"),
    numbers("an expression over aggregates", "SELECT k, max(v) - min(v) AS spread, count(*) * 2 AS twice "
            "FROM s [RANGE 60, SLIDE 20, WA ts] WHERE v % 2 = 1 OR k = 'b' GROUP BY k"),
    numbers("in order within 20", "SELECT count(*) [RANGE 40, SLIDE 20, WA ts] AS n FROM s", progress="late:20"),
    numbers("generous", "SELECT k, count(*) [RANGE 40, SLIDE 20, WA ts] AS n FROM s GROUP BY k", progress="ordered",
            late="generous"),
    numbers("consistent", "SELECT k, count(*) [RANGE 40, SLIDE 20, WA ts] AS n FROM s GROUP BY k", progress="rows:2",
            late="consistent"),
    numbers("counts of several columns",
            "SELECT count(DISTINCT k, v % 2) AS kinds, count(k, v) AS rows FROM s [RANGE 60, SLIDE 20, WA ts]"),
    numbers("a condition inside the window",
            "SELECT k, count(*) AS n FROM s [RANGE 60, SLIDE 20, WA ts WHERE v > 3] GROUP BY k"),
    numbers("sessions", "SELECT k, count(*) [SESSION 25, WA ts] AS n FROM s GROUP BY k"),
    numbers("F1 continuous maximum", "SELECT MAX(v) FROM s [RANGE 10]"),
    numbers("count window", "SELECT SUM(v) FROM s [ROWS 3]"),
    numbers("distinct", "SELECT DISTINCT k FROM s [RANGE 20]"),
    Case("dates", "SELECT k, sum(v) [RANGE 7 days, SLIDE 2 days, WA ts] AS n FROM s GROUP BY k", {"s": DAYS},
         {"s": {"ts": pa.date32(), "k": pa.string(), "v": pa.int64()}}),
    Case("days of a time zone that change their length",
         "SELECT k, count(*) [CALENDAR 1 DAY ZONE 'Europe/Berlin', WA ts] AS n FROM s GROUP BY k",
         {"s": [*CLOCK_CHANGES[:5], Punctuation.below("ts", parse_timestamp("2026-03-29T22:00:00Z")),
                *CLOCK_CHANGES[5:]]}, {"s": {"ts": pa.timestamp("us", tz="UTC"), "k": pa.string(), "v": pa.int64()}}),
    Case("Q8-5 union of two", "SELECT count(*) [RANGE 60, SLIDE 20, WA ts] AS n FROM A UNION B",
         {"A": [*BIDS[:4], Punctuation.below("ts", 30), *BIDS[4:6]], "B": [*BIDS[2:5], Punctuation.below("ts", 50)]},
         {"A": NUMBERS, "B": NUMBERS}),
    Case("Q5-8 band join", "SELECT A.k, B.k, B.ts FROM A [RANGE 30, WA ts], B [RANGE 20, WA ts] WHERE A.v = B.v",
         {"A": BIDS, "B": BIDS}, {"A": NUMBERS, "B": NUMBERS}),
    Case("own-except", "SELECT k FROM A [RANGE 20] EXCEPT ALL SELECT k FROM B [RANGE 30]",
         {"A": BIDS, "B": BIDS[3:]}, {"A": NUMBERS, "B": NUMBERS}),
    *FIXTURES,
)
