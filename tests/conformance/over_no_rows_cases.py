"""Aggregates without GROUP BY over relations that are empty at times, with answers by hand where they are short."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from conformance.cases import Case
from panewise.progress.punctuation import Punctuation

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}


def row(ts: int, k: str, v: int | None) -> dict[str, Any]:
    """A row."""
    return {"ts": ts, "k": k, "v": v}


S = [row(4, "x", 2), row(3, "x", 1), Punctuation.below("ts", 5), row(7, "y", None), Punctuation.below("ts", 14),
     row(20, "x", 5), row(21, "z", 6), Punctuation.below("ts", 21)]
T = [Punctuation.below("ts", 2), row(3, "x", 9), row(8, "y", 1), Punctuation.below("ts", 12), row(21, "x", 3)]


def case(name: str, query: str, *, answer: list[tuple[Any, ...]] | None = None, rows: list[Any] = S) -> Case:
    """Streams s and t, as the query reads them; an answer is counts with what is told of them."""
    streams: dict[str, list[Any]] = {"s": rows, "t": T} if " t [" in query else {"s": rows}
    told = None if answer is None else tuple({"n": n, "valid_from": at, "change": change} for n, at, change in answer)
    return Case(name, query, streams, dict.fromkeys(streams, COLUMNS), answer=told)


CASES = [
    case("a window", "SELECT count(*) AS n FROM s [RANGE 5]", answer=[
        (0, None, 1), (0, 3, -1), (1, 3, 1), (1, 4, -1), (2, 4, 1), (2, 9, -1), (1, 9, 1), (1, 12, -1), (0, 12, 1),
        (0, 20, -1), (1, 20, 1), (1, 21, -1), (2, 21, 1), (2, 25, -1), (1, 25, 1), (1, 26, -1), (0, 26, 1),
        # at 7 a row comes, and at 8 one leaves
        (2, 7, -1), (3, 7, 1), (3, 8, -1), (2, 8, 1)]),
    case("no row at all", "SELECT count(*) AS n FROM s [RANGE 5]", rows=[Punctuation.below("ts", 5)],
         answer=[(0, None, 1)]),
    case("of no row but what WHERE drops", "SELECT count(*) AS n FROM s [RANGE 5] WHERE v > 90", answer=[(0, None, 1)]),
    case("many aggregates", "SELECT count(v) AS n, sum(v) AS total, min(v) AS low, avg(v) AS mean, "
                            "count(DISTINCT k) AS kinds, last(v) AS newest FROM s [RANGE 2]"),
    case("a window by rows", "SELECT count(*) AS n, sum(v) AS total FROM s [ROWS 2]"),
    case("a window that moves", "SELECT count(*) AS n, max(v) AS top FROM s [RANGE 4 SLIDE 2]"),
    case("this instant", "SELECT count(*) AS n, max(v) AS top FROM s [NOW]"),
    case("a join", "SELECT count(*) AS n, sum(t.v) AS total FROM s [RANGE 3], t [RANGE 3] WHERE s.k = t.k"),
    case("a negation", "SELECT count(*) AS n FROM s [RANGE 5] "
                       "WHERE NOT EXISTS (SELECT * FROM t [RANGE 9] WHERE t.k = s.k)"),
    case("a difference", "SELECT count(*) AS n FROM (SELECT k FROM s [RANGE 5] EXCEPT ALL SELECT k FROM t [RANGE 9]) "
                         "AS q"),
    case("an aggregate of it", "SELECT max(n) AS n, count(*) AS m FROM (SELECT count(*) AS n FROM s [RANGE 3]) AS q"),
    case("rows that meet it", "SELECT s.k, q.n FROM s [RANGE 5], (SELECT count(*) AS n FROM t [RANGE 3]) AS q"),
    case("rows of which it is one", "SELECT n FROM ((SELECT v AS n FROM s [RANGE 3]) UNION ALL (SELECT count(*) AS n "
                                    "FROM t [RANGE 3])) AS q"),
    case("what comes of it", "SELECT Istream(count(*) AS n) FROM s [RANGE 5]"),
    case("what goes of it", "SELECT Dstream(count(*) AS n, sum(v) AS total) FROM s [RANGE 5]"),
    case("all of it at every refresh", "SELECT Rstream(count(*) AS n) FROM s [RANGE 4 SLIDE 2]"),
    case("what restoring tells of it", "SELECT Rstream-restore(count(*) AS n) FROM s [RANGE 4 SLIDE 2]"),
    case("a window over what comes of it", "SELECT n, count(*) AS m FROM (SELECT Istream(count(*) AS n) FROM s "
                                           "[RANGE 3]) AS q [RANGE 4] GROUP BY n"),
    case("what internal windows keep of it", "SELECT count(*) AS n, sum(v) AS total FROM s [RANGE 3 INTERNAL]"),
]
