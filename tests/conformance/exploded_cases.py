"""Queries with explode and its kin, with answers computed by hand where the text of one is known."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from conformance.cases import Case
from panewise.progress.punctuation import Punctuation

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "xs": pa.list_(pa.int64()),
           "parts": pa.list_(pa.struct([("name", pa.string()), ("price", pa.int64())]))}


def row(ts: int, k: str, xs: list[int] | None, *parts: tuple[str, int] | None) -> dict[str, Any]:
    """A row; ``parts`` become structs."""
    made = [None if part is None else {"name": part[0], "price": part[1]} for part in parts]
    return {"ts": ts, "k": k, "xs": xs, "parts": made}


ROWS = [row(1, "p", [1, 2], ("a", 5)), row(2, "q", []), row(3, "r", [7], ("b", 1), ("a", 2)), row(4, "p", None),
        Punctuation.below("ts", 4), row(6, "q", [2, 2, 9], None, ("c", 3)), row(5, "r", [1]),
        Punctuation.below("ts", 7), row(11, "p", [3, 1, 2], ("a", 1)), row(12, "q", [4]), row(13, "r", [2, 5])]
S6 = [{"k": "p", "x": 1}, {"k": "p", "x": 2}, {"k": "r", "x": 7}]


def case(name: str, query: str, *, answer: list[dict[str, Any]] | None = None, rows: list[Any] = ROWS) -> Case:
    """One stream s."""
    return Case(name, query, {"s": rows}, {"s": COLUMNS}, answer=None if answer is None else tuple(answer))


STATELESS = [
    case("elements of the audit's three rows", "SELECT k, explode(xs) AS x FROM s", answer=S6, rows=ROWS[:3]),
    case("no row of null and empty arrays but outer", "SELECT k, explode_outer(xs) AS x FROM s", rows=ROWS[:4],
         answer=[*S6, {"k": "q", "x": None}, {"k": "p", "x": None}]),
    case("places and elements", "SELECT k, posexplode(xs) AS (at, x) FROM s WHERE ts > 4"),
    case("fields of structs", "SELECT k, inline(parts) FROM s"),
    case("fields of structs under other names", "SELECT k, n, c FROM s LATERAL VIEW OUTER inline(parts) t AS n, c"),
    case("two views make every pair", "SELECT k, x, name FROM s LATERAL VIEW explode(xs) t AS x "
                                      "LATERAL VIEW inline(parts) u AS name, price WHERE x > price"),
]
AGGREGATES = [
    case("words per window", "SELECT x, count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM s "
                             "LATERAL VIEW explode(xs) t AS x GROUP BY x"),
    case("a window that the aggregate takes over", "SELECT k, sum(x) AS n FROM s [RANGE 10, SLIDE 5, WA ts] "
                                                   "LATERAL VIEW OUTER explode(xs) t AS x GROUP BY k"),
    case("the first and the last element", "SELECT k, first(x) AS f, last(x) [RANGE 20, SLIDE 20, WA ts] AS l FROM s "
                                           "LATERAL VIEW explode(xs) t AS x GROUP BY k"),
    case("positions count elements", "SELECT first(x) AS f, sum(x) [RANGE 3 rows, SLIDE 2 rows, WA row-num] AS n "
                                     "FROM (SELECT ts, k, explode(xs) AS x FROM s) AS q"),
    case("positions of each key", "SELECT k, sum(x) [RANGE 2 rows, SLIDE 1 rows, WA row-num, PA k] AS n FROM s "
                                  "LATERAL VIEW explode(xs) t AS x GROUP BY k"),
    case("a union beside elements", "SELECT v, last(v) [RANGE 20, SLIDE 20, WA ts] AS l FROM ((SELECT ts, explode(xs) "
                                    "AS v FROM s) UNION ALL (SELECT ts, ts AS v FROM s)) AS q GROUP BY v"),
]
RELATIONS = [
    case("elements of a window's rows", "SELECT k, x FROM s [RANGE 5] LATERAL VIEW explode(xs) t AS x"),
    case("the newest rows, then their elements", "SELECT k, x FROM s [ROWS 2] LATERAL VIEW explode(xs) t AS x"),
    case("elements, then the newest of these", "SELECT k, x FROM s LATERAL VIEW explode(xs) t AS x [ROWS 2]"),
    case("the last of the newest", "SELECT last(x) AS x, count(*) AS n FROM s [ROWS 2] LATERAL VIEW explode(xs) t "
                                   "AS x"),
    case("elements that two rows share", "SELECT a.k, b.k, a.x FROM (SELECT ts, k, explode(xs) AS x FROM s) AS a "
                                         "[RANGE 5], (SELECT ts, k, explode(xs) AS x FROM s) AS b [RANGE 5] "
                                         "WHERE a.x = b.x AND a.k < b.k"),
    case("every element once", "SELECT DISTINCT x FROM s [RANGE 4] LATERAL VIEW explode(xs) t AS x"),
    case("what comes in", "SELECT Istream(k, x) FROM s [RANGE 4] LATERAL VIEW explode(xs) t AS x"),
    case("pairs of streams by time", "SELECT a.k, b.x FROM s AS a [RANGE 2, WA ts], (SELECT ts, k, explode(xs) AS x "
                                     "FROM s) AS b [RANGE 2, WA ts] WHERE a.k = b.k"),
]
