"""Nine queries of Nexmark: our text, and what DuckDB says to the same tables when everything has arrived.

A reference is plain SQL over complete tables whose times are integers, microseconds. It gives the columns of ours,
including those that say when a result holds, so a comparison misses nothing:

* ``valid_from`` of an event (Istream, Rstream), ``valid_from`` and ``expires_at`` of a row whose end is known;
* ``valid_from`` and ``change`` (+1 came, -1 went) where a later row may end a result;
* ``window`` of a window aggregate.

``:longest`` in a text is the longest an auction may be open, as the generator promises it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from nexmark.generator import STREAMS, Nexmark


def _closed(results: str) -> str:
    return f"""
  SELECT a.id, a.seller, a.category, a.ts AS opened, a.expires, {results}
  FROM auctions AS a [RANGE 1 tick, SLIDE 1 tick, WA expires], bids AS b [RANGE :longest, SLIDE 1 tick, WA ts]
  WHERE a.id = b.auction AND b.ts BETWEEN a.ts AND a.expires
  GROUP BY a.id, a.seller, a.category, a.ts, a.expires"""


CLOSED = _closed("max(b.price) AS final")
"""Every auction at the instant it closes, with its best bid: the window over ``expires`` holds an auction for that one
tick, the window of the bids reaches back to the opening of the longest."""
WON = _closed("max(b.price) AS price, min_by(b.bidder, -b.price, b.ts) AS bidder, min_by(b.ts, -b.price, b.ts) AS ts")
"""The same with the bid itself, of equal ones the earliest."""

CLOSED_IN_DUCKDB = """
closed AS (
  SELECT a.id, a.seller, a.category, a.ts AS opened, a.expires, max(b.price) AS final
  FROM auctions AS a JOIN bids AS b ON a.id = b.auction AND b.ts BETWEEN a.ts AND a.expires
  GROUP BY ALL)"""


@dataclass(frozen=True)
class Query:
    """One query of the benchmark."""

    name: str
    title: str
    text: str
    reference: str
    """DuckDB's SQL."""
    note: str
    """What the original says, and where ours differs."""
    clocks: dict[str, str] = field(default_factory=dict)
    """The column whose progress counts, for streams where it is not ``ts``."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams the text reads."""
        return tuple(stream for stream in STREAMS if re.search(rf"\b{stream}\b", self.text))

    def params(self, site: Nexmark) -> dict[str, Any] | None:
        """The values of the text's parameters for what was generated."""
        return {"longest": f"{site.longest} us"} if ":longest" in self.text else None

    def clock(self, stream: str) -> str:
        """The column of a stream whose progress counts."""
        return self.clocks.get(stream, "ts")


def _changes(key: str) -> str:
    """The end of a reference: ``averages(key, price, since)``, each of which holds until the next, as changes."""
    return f"""
lives AS (SELECT *, lead(since) OVER (PARTITION BY {key} ORDER BY since) AS gone FROM averages),
told AS (SELECT {key}, price, since AS valid_from, 1 AS change FROM lives
         UNION ALL SELECT {key}, price, gone, -1 FROM lives WHERE gone IS NOT NULL)
SELECT {key}, price, valid_from, sum(change) AS change FROM told GROUP BY ALL HAVING sum(change) <> 0"""


Q3 = Query(
    "q3", "local item suggestion",
    """
SELECT p.name, p.city, p.state, a.id
FROM auctions AS a, persons AS p
WHERE a.seller = p.id AND a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    """
SELECT p.name, p.city, p.state, a.id, greatest(a.ts, p.ts) AS valid_from, NULL::BIGINT AS expires_at
FROM auctions AS a JOIN persons AS p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "As in Flink's SQL: a join of two streams without windows, so nothing is ever forgotten.")

Q4 = Query(
    "q4", "average closing price of each category",
    f"""
SELECT category, avg(final) AS price
FROM (SELECT Istream(category, id, final) FROM ({CLOSED}) AS c) AS closed
GROUP BY category""",
    f"""
WITH {CLOSED_IN_DUCKDB},
averages AS (
  SELECT category, expires AS since, sum(sum(final)) OVER so_far / sum(count(*)) OVER so_far AS price
  FROM closed GROUP BY category, expires WINDOW so_far AS (PARTITION BY category ORDER BY expires)),
{_changes("category")}""",
    "As in the original (A.expires < CURRENT_TIME) only closed auctions count, each from the instant it closes. "
    "Flink's SQL has no such condition: there an average also moves with every better bid on an open auction. Written "
    "that way, without Istream and windows, the query runs here, too. A bid at the very end of an auction counts, as "
    "in Flink's; in the original it comes too late.",
    {"auctions": "expires"})

_COUNTS = "SELECT auction, count(*) AS num FROM bids [RANGE 10 s, SLIDE 2 s, WA ts] GROUP BY auction"

Q5 = Query(
    "q5", "hot items: the auctions with most bids in the last ten seconds, every two seconds",
    f"""
SELECT Istream(c.auction, c.num)
FROM ({_COUNTS}) AS c [NOW],
     (SELECT max(num) AS top
      FROM ({_COUNTS}) AS every_auction [NOW]) AS m
WHERE c.num = m.top""",
    """
WITH counts AS (
  SELECT auction, count(*) AS num, (ts // 2000000 + 1 + hop) * 2000000 AS ends
  FROM bids CROSS JOIN range(5) AS hops(hop) GROUP BY ALL)
SELECT auction, num, ends - 1 AS valid_from FROM counts QUALIFY num = max(num) OVER (PARTITION BY ends)""",
    "All auctions with the largest count, as in the original, whose windows are an hour long and move by a minute; "
    "ours are Flink's. A count is there at the last instant of its window, for that instant (NOW), so counts of one "
    "window meet. The two sub-queries are equal and run once. Without ties, SELECT mode(auction) [RANGE 10 s, SLIDE "
    "2 s, WA ts] FROM bids is enough.")

Q6 = Query(
    "q6", "average price of the last ten closed auctions of each seller",
    f"""
SELECT seller, avg(final) AS price
FROM (SELECT Istream(seller, id, final) FROM ({CLOSED}) AS c) AS closed [PARTITION BY seller ROWS 10]
GROUP BY seller""",
    f"""
WITH {CLOSED_IN_DUCKDB},
averages AS (
  SELECT seller, expires AS since, sum(final) OVER ten / count(*) OVER ten AS price
  FROM closed WINDOW ten AS (PARTITION BY seller ORDER BY expires ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)),
{_changes("seller")}""",
    "The original, with its window by rows over closed auctions. Flink's SQL has the query and cannot run it: its OVER "
    "window takes no rows that are withdrawn.",
    {"auctions": "expires"})

Q7 = Query(
    "q7", "highest bid of every ten seconds",
    """
SELECT Istream(b.auction, b.bidder, b.price, b.ts)
FROM bids AS b [RANGE 10 s, SLIDE 10 s, LAG 1 tick],
     (SELECT max(price) AS top FROM bids [RANGE 10 s, SLIDE 10 s, LAG 1 tick]) AS m
WHERE b.price = m.top""",
    """
SELECT auction, bidder, price, ts, (ts // 10000000 + 1) * 10000000 AS valid_from
FROM bids QUALIFY price = max(price) OVER (PARTITION BY ts // 10000000)""",
    "All bids of the highest price, in ten seconds as in Flink's SQL; the original has a minute. LAG 1 tick leaves "
    "out bids at the very end of a window: they belong to the next.")

Q8 = Query(
    "q8", "persons who opened an auction in the ten seconds in which they registered",
    """
SELECT id, name
FROM persons [RANGE 10 s, SLIDE 10 s, WA ts]
WHERE EXISTS (SELECT * FROM auctions [RANGE 10 s, SLIDE 10 s, WA ts] WHERE auctions.seller = persons.id)""",
    """
SELECT id, name, (ts // 10000000 + 1) * 10000000 - 1 AS valid_from, (ts // 10000000 + 2) * 10000000 - 1 AS expires_at
FROM persons AS p
WHERE EXISTS (FROM auctions AS a WHERE a.seller = p.id AND a.ts // 10000000 = p.ts // 10000000)""",
    "Ten seconds as in Flink's SQL; the original has twelve hours. EXISTS says what Flink's says by grouping sellers "
    "before the join. A window with WA is a relation from its last instant on.")

Q9 = Query(
    "q9", "winning bids: the best bid of every auction when it closes",
    f"""
SELECT Istream(id, seller, category, opened, expires, bidder, price, ts)
FROM ({WON}) AS won""",
    """
SELECT a.id, a.seller, a.category, a.ts AS opened, a.expires, b.bidder, b.price, b.ts, a.expires AS valid_from
FROM auctions AS a JOIN bids AS b ON a.id = b.auction AND b.ts BETWEEN a.ts AND a.expires
QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.ts, b.bidder) = 1""",
    "The winner is told once, when the auction closes; Flink's SQL, by ROW_NUMBER, tells every bid that is best for a "
    "while and takes it back. min_by(b.bidder, -b.price, b.ts) is the bidder of the highest price, of equal ones the "
    "earliest.",
    {"auctions": "expires"})

Q11 = Query(
    "q11", "bids of each user in a session",
    """
SELECT bidder, count(*) AS bids FROM bids [SESSION 10 s, WA ts] GROUP BY bidder""",
    """
WITH starts AS (
  SELECT bidder, ts, ts - lag(ts) OVER by_time > 10000000 AS starts FROM bids
  WINDOW by_time AS (PARTITION BY bidder ORDER BY ts)),
numbered AS (
  SELECT bidder, ts, count(*) FILTER (starts) OVER (PARTITION BY bidder ORDER BY ts) AS session FROM starts)
SELECT bidder, {'start': min(ts), 'end': max(ts) + 10000000} AS "window", count(*) AS bids
FROM numbered GROUP BY bidder, session""",
    "As in Flink's SQL.")

Q12 = Query(
    "q12", "bids of each user in every ten seconds",
    """
SELECT bidder, count(*) AS bids FROM bids [RANGE TUMBLING 10 s, WA ts] GROUP BY bidder""",
    """
SELECT bidder, {'start': ts // 10000000 * 10000000, 'end': (ts // 10000000 + 1) * 10000000} AS "window",
       count(*) AS bids
FROM bids GROUP BY bidder, ts // 10000000""",
    "Flink's windows are of processing time. Ours are of event time, so the answer does not depend on the machine.")

QUERIES = {query.name: query for query in (Q3, Q4, Q5, Q6, Q7, Q8, Q9, Q11, Q12)}
