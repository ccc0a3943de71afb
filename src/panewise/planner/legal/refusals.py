"""Every plan that is refused, and why: one table, of which the documentation is made.

What is refused has no meaning, or none that can be told while its inputs go on. Whoever refuses a plan calls an entry
of this table with what its words need; nothing else is a reason (`Said`), so that no refusal is missing here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

Said = NewType("Said", str)
"""Why a plan is refused, in words; only a `Refusal` says it."""
EVERYWHERE = ("oracle", "embedded", "spark")
RUNNING = ("embedded", "spark")


@dataclass(frozen=True)
class Refusal:
    """One reason: its words, ``{name}`` for what they are about, the rule behind it, and a text that is refused so.

    Many a text is refused while it is read, at its place: ``at_place`` are the words there, and ``says`` those for a
    plan that was put together by hand. Without an ``example`` no text says such a plan.
    """

    title: str
    says: str
    because: str
    example: str | None = None
    engines: tuple[str, ...] = EVERYWHERE
    at_place: str = ""

    def __call__(self, **about: object) -> Said:
        """Its words about something."""
        return Said(self.says.format(**about))


S, T = "SELECT k FROM s [RANGE 5]", "SELECT k FROM t [RANGE 4]"

# -- tables

TABLE_OF_RESULTS = Refusal(
    "a table that is computed",
    "a stream is joined with a table, possibly filtered or projected, and not with the result of {what}: write a "
    "window join instead", "a table is an input; what changes by itself is a relation, which has windows")
TAKEN_BACK = Refusal(
    "a table above what takes rows back",
    "the rows joined with table {table} may be taken back ({why}), and by then the table may have changed: join "
    "the stream with the table first, below the negation or aggregate",
    "a row meets the table as it was when the row came; to take it back would mean to know it as it was then",
    "SELECT q.k, names.w FROM (SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k) AS q, names WHERE q.k = names.k")
ROWS_BESIDE_TABLE = Refusal(
    "a table above a window by rows",
    "a window by rows cannot be joined with table {table}: when its rows leave is not known in time, and by then "
    "the table may have changed; use a time window, or join the stream before it is windowed",
    "the same: which row leaves follows from rows that are still to come",
    "SELECT s.k, names.w FROM s [ROWS 5], names WHERE s.k = names.k")
SHOWN_AGAIN = Refusal(
    "a table above EXISTS of INTERNAL windows",
    "the rows joined with table {table} may be hidden by EXISTS and shown again, and by then the table may have "
    "changed: join the stream with the table first, below EXISTS", "the same: a row would meet the table twice",
    "SELECT q.k, names.w FROM (SELECT k FROM s [RANGE 5, INTERNAL] WHERE EXISTS (SELECT * FROM t [RANGE 4, "
    "INTERNAL] WHERE t.k = s.k)) AS q, names WHERE q.k = names.k")
TABLE_ALONE = Refusal(
    "a table that no row meets",
    "updates of table {table} reach only rows that arrive later, and no rows arrive at {above}: join a stream "
    "with the table, or declare it a retroactive relation",
    "a table whose changes do not reach back is nothing at an instant",
    "SELECT w FROM names")
LIFETIME_OF_TABLES = Refusal(
    "LIFETIME of tables",
    "LIFETIME is counted from the first row of a stream, and this query reads tables alone: remove it",
    "a table was always there, so it has no first row", "SELECT w FROM cities LIFETIME 5")
ALWAYS_THERE = Refusal(
    "a window over rows of a table without a time",
    "rows of table {table} are in this stream, and they were always there: a window would have to know when they "
    "came; give the table a time column", "a window takes rows by the time at which they came")

# -- streams

NEEDS_STREAM = Refusal(
    "a window over what takes rows back",
    "{what} takes a stream, but its input is a changing relation whose rows leave again ({why}): {hint}",
    "a row of a window cannot be taken back (rule 10, law L11)",
    "SELECT count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM (SELECT k, ts FROM s [RANGE 5]) AS q",
    at_place="a window with ids over a relation whose rows leave again")
MISSING_TIME = Refusal(
    "a window on a time that may be missing",
    "a window on {column}, which is null in rows of the {kind} join below that have no partner: they would be in no "
    "window; use the time of the side whose rows all come out", "a row without a time is in no window",
    "SELECT count(*) [RANGE 5, SLIDE 5, WA b] AS n FROM (SELECT t.ts AS b FROM s [RANGE 5, WA ts] LEFT JOIN t "
    "[RANGE 4, WA ts] ON s.k = t.k) AS p")
TWO_CLOCKS = Refusal(
    "times of two kinds",
    "the times {one} ({its_kind}) and {other} ({other_kind}) are of two kinds, and rows of both cannot meet by "
    "them: make one of the columns anew in the type of the other", "a day is no instant, and a number is neither",
    "SELECT s.k FROM s [RANGE 5], days [RANGE 5] WHERE s.k = days.k")

# -- INTERNAL, output windows, restore

INTERNAL_WINDOW = Refusal(
    "INTERNAL under an operator that needs to forget",
    "an INTERNAL window under {name} would keep rows that have left the window, and the answer would be wrong: "
    "remove INTERNAL, or write Istream(...) to get a stream of what comes in",
    "DISTINCT, EXCEPT ALL and NOT EXISTS are about rows that are there (rule 9)",
    "SELECT DISTINCT k FROM s [RANGE 5, INTERNAL]", at_place="an INTERNAL window under DISTINCT")
INTERNAL_AGGREGATE = Refusal(
    "an INTERNAL aggregate under such an operator",
    "an INTERNAL aggregate under {name} keeps every value it ever had: remove INTERNAL", "the same")
COMES_AGAIN = Refusal(
    "elements of rows that come again",
    "{call} over rows of INTERNAL windows that EXISTS may hide and show again: explode the rows first, in a query"
    " in FROM, below EXISTS", "a result that stays is told once, and elements do not say of which showing they are",
    "SELECT e FROM (SELECT k, v FROM s [RANGE 5, INTERNAL] WHERE EXISTS (SELECT * FROM t [RANGE 4, INTERNAL] "
    "WHERE t.k = s.k)) AS q LATERAL VIEW explode(array(v)) x AS e")
OUTPUT_OF_NEGATION = Refusal(
    "an output window over such an operator",
    "an output window over {name} means nothing: it would show rows that are no longer in the answer; remove the "
    "output window", "an output window keeps rows that are gone (rule 9)",
    "SELECT Wstream(DISTINCT k) [ROWS 3] FROM s [RANGE 5]", at_place="an output window over DISTINCT")
WSTREAM_OF_NEGATION = Refusal(
    "Wstream over such an operator",
    "Wstream makes the windows under {name} INTERNAL, and the answer would be wrong: write Istream(...) to get a "
    "stream of what comes in", "rule 8 and rule 9")
OUTPUT_KIND = Refusal(
    "other output windows", "an output window is [ROWS n] or [RANGE t], not a {kind} window",
    "results are ordered by when they came to be, and nothing else",
    "SELECT Wstream(k) [SESSION 3] FROM s [RANGE 5]", at_place="an output window takes ROWS or RANGE, not SESSION")
OUTPUT_PLACE = Refusal(
    "an output window elsewhere", "an output window stands after Wstream, not after {kind}",
    "Istream, Dstream and Rstream give streams, over which a window stands in FROM",
    "SELECT Istream(k) [ROWS 3] FROM s [RANGE 5]", at_place=
    "an output window stands behind Wstream, not behind Istream")
RESTORE_KIND = Refusal(
    "restore of another operator", "{kind}-restore is not defined: use Istream-restore or Rstream-restore",
    "only what comes in, or is there, can be missed between two refreshes",
    "SELECT Dstream-restore(k) FROM s [RANGE 5]", at_place="Dstream-restore is not defined")
RESTORE_CALENDAR = Refusal(
    "restore over CALENDAR",
    "{kind}-restore over CALENDAR windows: results between two refreshes need a SLIDE of one length, and months "
    "and days in a time zone have several; leave out -restore, or write RANGE and SLIDE",
    "restore looks back by one SLIDE", "SELECT Istream-restore(k) FROM dated [CALENDAR 1 day]")
RESTORE_SLIDES = Refusal(
    "restore over windows of several SLIDEs",
    "{kind}-restore needs one SLIDE for all windows, there are {count}: results between two refreshes are only "
    "defined when all windows refresh together", "the same",
    "SELECT Istream-restore(s.k) FROM s [RANGE 8 SLIDE 2], t [RANGE 8 SLIDE 4] WHERE s.k = t.k",
    at_place="restore needs one SLIDE for all windows")
RESTORE_STEP = Refusal(
    "restore over windows that jump",
    "{kind}-restore over a window of {extent} that moves by {step}: rows of the window itself would come and go "
    "between two refreshes; write a SLIDE smaller than every window", "the same",
    "SELECT Istream-restore(k) FROM s [RANGE 4 SLIDE 8]")
POLICY = Refusal("an unknown policy of DISTINCT", "DISTINCT policy {policy!r} is unknown: use 'keep' or 'recent'",
                 "there are two")

# -- orders that there are not

FORGETS = "which copy of a value counts as its row is not kept"
NO_FIRST = Refusal(
    "first and last of values", "{function} over {what}, and so there is no first and last; use min or max{also}",
    "of a value that leaves early, or for the next of its kind, copies are counted, not kept",
    "SELECT first(v) AS f FROM (SELECT DISTINCT RECENT k, v FROM s [RANGE 5]) AS q")
NO_FIRST_PAIR = Refusal(
    "first and last of a join of a stream with itself",
    "{function} over a join of {name} with itself: a pair and the same two rows the other way round are as old as"
    " each other, and so there is no first and last; use min or max", "a pair is as old as its rows",
    "SELECT first(a.v) AS f FROM s [RANGE 5] AS a, s [RANGE 5] AS b WHERE a.k = b.k")
NO_FIRST_PART = Refusal(
    "first and last of a UNION of a stream with itself",
    "{function} over a UNION of which two parts show rows of {name}, but not the same values: these are as old as"
    " each other, and so there is no first and last; use min or max", "two results of one row are as old as each other",
    "SELECT first(v) AS f FROM (SELECT v FROM s [RANGE 5] UNION ALL SELECT v + 1 AS v FROM s [RANGE 5]) AS q")
NO_NEWEST = Refusal(
    "windows by rows over streams of values",
    "a window by rows over {what}, and so neither is which value is the newest; use {advice}, a window of time, "
    "or DISTINCT KEEP over windows of time", "as for first and last",
    "SELECT k FROM (SELECT Rstream(k) FROM (SELECT DISTINCT RECENT k FROM s [RANGE 5]) AS q) AS r [ROWS 3]")
NO_NEWEST_PAIR = Refusal(
    "windows by rows over a join of a stream with itself",
    "a window by rows over a join of {name} with itself: a pair and the same two rows the other way round are as "
    "old as each other, and so neither is the newest; use a window of time", "as for first and last",
    "SELECT k FROM (SELECT Istream(a.k AS k) FROM s [RANGE 5] AS a, s [RANGE 5] AS b WHERE a.k = b.k) AS q [ROWS 3]")
NO_NEWEST_PART = Refusal(
    "windows by rows over a UNION of a stream with itself",
    "a window by rows over a UNION of which two parts show rows of {name}, but not the same values: these are as "
    "old as each other, and so neither is the newest; use a window of time", "as for first and last",
    "SELECT v FROM (SELECT v FROM s UNION ALL SELECT v + 1 AS v FROM s) AS q [ROWS 3]")

# -- what only a finished input answers, by the oracle

NO_CONTENTS = Refusal(
    "a relation of windows without contents", "a {kind} window's changing contents are not defined",
    "the kind says which windows there are, and not what one holds at an instant", engines=RUNNING)
NO_END = Refusal(
    "a window over a window without an end",
    "a relation, or another window, over a window without an end: its result has no instant; write END AT",
    "it is complete when its input has ended, and never before",
    "SELECT n FROM (SELECT count(*) [UNBOUNDED START AT 5, WA ts] AS n FROM s) AS q [RANGE 5]", RUNNING)
ORDER_OF_UNION = Refusal(
    "the order of a UNION with results of windows",
    "an aggregate or a window that goes by the order of its rows, over a union with results of windows, whose "
    "order depends on what closes them first",
    "promises about single groups close their windows sooner, which would change the answer",
    "SELECT sum(n) [RANGE 3 rows, SLIDE 1 row, WA row-num] AS m FROM (SELECT n FROM (SELECT k, count(*) [RANGE "
    "10, SLIDE 5, WA ts] AS n FROM s GROUP BY k) AS p UNION ALL SELECT v AS n FROM t)", RUNNING)
ORDER_OF_PARTITIONS = Refusal(
    "the order of windows by rows of each partition",
    "an aggregate or a window that goes by the order of its rows, over windows by rows of each partition, whose "
    "order depends on which partition is full first", "the same",
    "SELECT sum(n) [RANGE 3 rows, SLIDE 1 row, WA row-num] AS m FROM (SELECT k, count(*) [RANGE 2 rows, SLIDE 2 "
    "rows, WA row-num, PA k] AS n FROM s GROUP BY k)", RUNNING)
ORDER_OF_PAIRS = Refusal(
    "the order of pairs of several joins",
    "an aggregate of the arrival order over several joins, or over a stream joined with itself: which pair is "
    "older is not defined", "a pair is as old as its rows, and these may be the same",
    "SELECT last(l.v) [RANGE 5, SLIDE 5, WA l.ts] AS n FROM s AS l [RANGE 1, WA ts], s AS r [RANGE 1, WA ts] "
    "WHERE l.k = r.k", RUNNING)
ORDER_OF_LONE_ROWS = Refusal(
    "the order of an outer join",
    "an aggregate of the arrival order over an outer, semi or anti join of streams, whose rows come out in "
    "another order than they came", "a row without a partner comes out when none can come any more",
    "SELECT last(s.v) [RANGE 5, SLIDE 5, WA s.ts] AS n FROM s [RANGE 1, WA ts] LEFT JOIN t [RANGE 1, WA ts] ON "
    "s.k = t.k",
    RUNNING)
ORDER_BETWEEN_STREAMS = Refusal(
    "the order of several streams, on Spark",
    "an aggregate of the arrival order over a join of streams: a shard does not know whose rows came first",
    "Spark reads streams side by side, so that there is no order between rows of two",
    "SELECT last(s.v) [RANGE 5, SLIDE 5, WA s.ts] AS n FROM s [RANGE 1, WA ts], t [RANGE 1, WA ts] WHERE s.k = t.k",
    ("spark",))
NUMBERS_BETWEEN_STREAMS = Refusal(
    "numbers of rows of several streams, on Spark",
    "a window over an aggregate that counts rows of several streams as they come: a shard does not know whose "
    "rows came first", "the same",
    "SELECT n FROM (SELECT count(*) [RANGE 3 rows, SLIDE 3 rows, WA row-num] AS n FROM (SELECT k FROM s UNION ALL"
    " SELECT k FROM t) AS u) AS q [RANGE 5]", ("spark",))
JOIN_ON_MISSING = Refusal(
    "a join on a time that may be missing",
    "a join of streams on {time}, which is null in rows of the {kind} join below that have no partner",
    "a row without a time meets nothing",
    "SELECT p.k FROM (SELECT s.k AS k, t.ts AS b FROM s [RANGE 5, WA ts] LEFT JOIN t [RANGE 4, WA ts] ON s.k = "
    "t.k) AS p [RANGE 5, WA b], t AS u [RANGE 4, WA ts] WHERE p.k = u.k", RUNNING)
PAIRS_WITHOUT_INSTANTS = Refusal(
    "a relation of pairs that meet by something else than their times",
    "a changing relation over a join of streams on {time}, which does not say when its rows came: the join "
    "promises nothing of the instants of the relation",
    "no instant of the relation would be complete before the inputs end",
    "SELECT DISTINCT s.k FROM s [RANGE 3, WA v], t [RANGE 2, WA v] WHERE s.k = t.k", RUNNING)
NOT_RUN = Refusal(
    "what an engine lacks", "{what} not run by the {engine} engine",
    "a window kind of your own whose windows depend on other rows has no kernel", engines=RUNNING)
FLOOD = Refusal(
    "results that fill any memory",
    "RANGE {range} with SLIDE {slide} {what}; choose a SLIDE of at least {least}{missing}",
    "every window of a row is a result of its own", "SELECT count(*) [RANGE 10000000, SLIDE 1, WA ts] AS n FROM s")
HIDDEN = Refusal(
    "a column that results would hide",
    "the results of this query are {form}: they add a column {name!r}, and the query has one of that name; rename"
    " it with AS", "results say when rows come and go in columns of these names",
    "SELECT k AS valid_from FROM s [RANGE 5]")

TABLE: tuple[Refusal, ...] = tuple(found for found in globals().values() if isinstance(found, Refusal))
"""All of them, in their order above."""


def docs_table() -> str:
    """The table of ``docs/refusals.md`` as Markdown."""
    head = "| refused | why | by | example, and its words |\n|---|---|---|---|"
    return "\n".join([head, *(_row(refusal) for refusal in TABLE if refusal.engines), ""])


def _row(refusal: Refusal) -> str:
    by = "every engine" if refusal.engines == EVERYWHERE else ", ".join(refusal.engines)
    shown = f"`{refusal.example}`" if refusal.example else "no text says it, a plan put together by hand may"
    return f"| {refusal.title} | {refusal.because} | {by} | {shown}<br>*{refusal.at_place or refusal.says}* |"
