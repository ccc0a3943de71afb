"""The fixtures of the specifications with the answers their texts give, typed here and asked of every engine.

F: Golab's thesis; PF: the papers of Patroumpas and Sellis; W: Li's thesis. Rows of a relation are dated by the instants
between which they are there, or by the instant at which they come (change 1) or go (-1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from conformance.cases import Case, Item
from panewise.core.schema import SourceKind
from panewise.progress.punctuation import Punctuation

VALUES = {"ts": pa.int64(), "v": pa.string()}
KEYED = {"ts": pa.int64(), "v": pa.string(), "k": pa.int64()}
SYMBOLS = {"ts": pa.int64(), "sym": pa.string(), "name": pa.string(), "change": pa.int64()}

Rows = Sequence[dict[str, Any]]


def rows(names: str, *cells: Sequence[Any]) -> Rows:
    return [dict(zip(names.split(), cell, strict=True)) for cell in cells]


def values(*cells: tuple[int, str]) -> Rows:
    return rows("ts v", *cells)


def lives(names: str, *cells: Sequence[Any]) -> Rows:
    """Results with their first instant and the first at which they are gone."""
    return rows(f"{names} valid_from expires_at", *cells)


def changes(names: str, *cells: Sequence[Any]) -> Rows:
    """What comes and goes, with its instant."""
    return rows(f"{names} valid_from change", *cells)


def fixture(name: str, query: str, answer: Iterable[dict[str, Any]], columns: dict[str, pa.DataType] = VALUES,
            tables: dict[str, SourceKind] | None = None, **streams: Sequence[Item]) -> Case:
    kinds = tables or {}
    return Case(name, query, streams, {s: SYMBOLS if s in kinds else columns for s in streams}, answer=tuple(answer),
                tables=kinds)


# -- Golab ---------------------------------------------------------------------------------------------------------

F2 = {"a": values((1, "x"), (2, "y"), (14, "x")), "b": values((8, "x"), (11, "y"), (16, "x"))}
LAZY = "FROM a [RANGE 10 SLIDE 4], b [RANGE 10 SLIDE 4] WHERE a.v = b.v"
F3 = {"a": values((1, "k")), "b": values((8, "k")), "c": values((6, "k"))}
F4 = values((1, "a"), (2, "b"), (4, "a"), (6, "c"), (8, "a"))
# three rows of the value a that live [1, 10), [2, 20) and [5, 12), as long as their partners
F4_LEFT = rows("ts v k", (1, "a", 1), (2, "a", 2), (5, "a", 3))
F4_RIGHT = rows("ts v k", (-10, "", 1), (-8, "", 3), (0, "", 2))
QUOTES = values((1, "X"), (2, "Y"), (3, "X"), (5, "Y"))
HISTORY = rows("ts sym name change", (0, "X", "Acme", 1), (2, "X", "Acme", -1), (4, "Y", "Beta", 1))
# of windows of 5 refreshed every 4: x is there at 4 and gone at 8; y is born and dead between 8 and 12
F18 = {"a": values((3, "x"), (6, "y")), "b": values((3, "x"), (10, "y"))}
BETWEEN = "FROM a [RANGE 5 SLIDE 4], b [RANGE 5 SLIDE 4] WHERE a.v = b.v"

GOLAB = (
    fixture("F2 a pair lives from its younger row to the end of its older one",
            "SELECT a.ts AS one, b.ts AS other FROM a [RANGE 10], b [RANGE 10] WHERE a.v = b.v",
            lives("one other", (1, 8, 8, 11), (2, 11, 11, 12), (14, 8, 14, 18), (14, 16, 16, 24)), **F2),
    fixture("F2 refreshed every four, restored", f"SELECT Istream-restore(a.ts AS one, b.ts AS other) {LAZY}",
            rows("one other valid_from", (1, 8, 8), (2, 11, 12), (14, 8, 16), (14, 16, 16)), **F2),
    fixture("F2 refreshed every four, not restored", f"SELECT Istream(a.ts AS one, b.ts AS other) {LAZY}",
            rows("one other valid_from", (1, 8, 8), (14, 8, 16), (14, 16, 16)), **F2),
    fixture("F3 rows that never lived together are not restored",
            "SELECT Istream-restore(a.v) FROM a [RANGE 7 SLIDE 4], b [RANGE 7 SLIDE 4], c [RANGE 7 SLIDE 4] "
            "WHERE a.v = b.v AND b.v = c.v", [], **F3),
    fixture("F4 one representative until it expires", "SELECT DISTINCT v FROM a [RANGE 10]",
            lives("v", ("a", 1, 11), ("b", 2, 12), ("c", 6, 16), ("a", 11, 18)), a=F4),
    fixture("F4 the one that stays longest follows, not the youngest",
            "SELECT DISTINCT l.v FROM l [RANGE 100], r [RANGE 20] WHERE l.k = r.k",
            lives("v", ("a", 1, 10), ("a", 10, 20)), KEYED, l=F4_LEFT, r=F4_RIGHT),
    fixture("F5 the second copy is negated when the first leaves",
            "SELECT v FROM a [RANGE 10] EXCEPT ALL SELECT v FROM b [RANGE 10]",
            changes("v", ("a", 1, 1), ("a", 2, 1), ("a", 3, -1), ("b", 5, 1), ("a", 11, -1), ("b", 15, -1)),
            a=values((1, "a"), (2, "a"), (5, "b")), b=values((3, "a"), (7, "c"))),
    fixture("F5 without windows", "SELECT v FROM a EXCEPT ALL SELECT v FROM b",
            changes("v", ("d", 1, 1), ("d", 4, -1)), a=values((1, "d")), b=values((4, "d"))),
    fixture("F17 a table that is met as it was", "SELECT q.ts, q.v, n.name FROM q, n WHERE q.v = n.sym",
            rows("ts v name", (1, "X", "Acme"), (5, "Y", "Beta")), tables={"n": SourceKind.NRR}, q=QUOTES, n=HISTORY),
    fixture("F17 a table that reaches back", "SELECT q.v, n.name FROM q [RANGE 10], n WHERE q.v = n.sym",
            changes("v name", ("X", "Acme", 1, 1), ("X", "Acme", 2, -1), ("Y", "Beta", 4, 1), ("Y", "Beta", 5, 1),
                    ("Y", "Beta", 12, -1), ("Y", "Beta", 15, -1)),
            tables={"n": SourceKind.RELATION}, q=QUOTES, n=HISTORY),
    fixture("F18 removed only at the refresh", f"SELECT a.v {BETWEEN}", lives("v", ("x", 4, 8)), **F18),
    fixture("F18 born and dead between refreshes", f"SELECT Rstream(a.v) {BETWEEN}", rows("v valid_from", ("x", 4)),
            **F18),
    fixture("F18 born and dead between refreshes, restored", f"SELECT Rstream-restore(a.v) {BETWEEN}",
            rows("v valid_from", ("x", 4), ("y", 12)), **F18),
    fixture("F19 one external window: three lifetimes, and the last born dies first",
            "SELECT a.ts AS one, b.ts AS other FROM a [RANGE 10], b [RANGE 3 INTERNAL] WHERE a.k <= b.k",
            lives("one other", (1, 5, 5, 11), (2, 5, 5, 12), (1, 6, 6, 11)), KEYED,
            a=rows("ts v k", (1, "", 1), (2, "", 2)), b=rows("ts v k", (5, "", 2), (6, "", 1))),
)

# -- Patroumpas and Sellis -----------------------------------------------------------------------------------------

LAST = 43
PAPERS = (
    fixture("PF4 the representative 25 leaves when tuple 42 is admitted", "SELECT DISTINCT v FROM a [ROWS 17]",
            [*changes("v", *((f"v{rho}", rho, 1) for rho in range(1, LAST + 1))),
             *changes("v", *((f"v{rho}", rho + 17, -1) for rho in range(1, LAST - 16)))],  # 24 with 41, 25 with 42
            a=values(*((rho, f"v{rho}") for rho in range(1, LAST + 1)))),
    fixture("PF5 of two pairs the later born dies first",
            "SELECT p.v FROM p [ROWS 3], s [ROWS 4] WHERE p.v = s.v",
            changes("v", ("a", 3, 1), ("b", 5, 1), ("b", 8, -1), ("a", 9, -1)),
            p=values((1, "a"), (4, "c"), (5, "b"), (9, "q")),
            s=values((2, "b"), (3, "a"), (6, "x"), (7, "y"), (8, "z"))),
    fixture("PF6 difference of landmark windows",
            "SELECT v FROM p [UNBOUNDED START AT 0] EXCEPT ALL SELECT v FROM s [UNBOUNDED START AT 0]",
            changes("v", ("c", 1, 1), ("m", 2, 1), ("m", 3, -1), ("c", 4, -1)),
            p=values((1, "c"), (2, "m")), s=values((3, "m"), (4, "c"))),
    fixture("PF7 groups vanish when only the clock moves", "SELECT v, count(*) AS n FROM a [RANGE 3] GROUP BY v",
            changes("v n", ("g1", 1, 1, 1), ("g2", 1, 2, 1), ("g1", 1, 4, -1), ("g2", 1, 5, -1)),
            a=values((1, "g1"), (2, "g2"))),
)

# -- Li ------------------------------------------------------------------------------------------------------------

HALF_MINUTES = range(0, 600, 30)
SPLIT = range(60)


def promised(stream: Rows, *bounds: int) -> list[Item]:
    return [*stream, *(Punctuation.below("ts", bound) for bound in bounds)]


def met(ts: Iterable[int]) -> Rows:
    return rows("ts v k", *((t, "", 0) for t in ts))


def counted(ends: Iterable[int], inside: Sequence[int]) -> Rows:
    """How many of the values are in each window of 20 that has any."""
    found = [({"start": end - 20, "end": end}, sum(end - 20 <= t < end for t in inside)) for end in ends]
    return rows("window n", *((window, n) for window, n in found if n))


BAND = "SELECT m1.ts AS one, m2.ts AS other FROM m1 [RANGE 180, WA ts], m2 [RANGE 120, WA ts] WHERE m1.k = m2.k"
LI = (
    fixture("W10 groups of a band join with promises of both inputs",
            "SELECT S0.ts AS one, S1.ts AS other, count(*) AS n FROM S0 [WA ts, RANGE 2], S1 [WA ts, RANGE 2] "
            "WHERE S0.k = S1.k GROUP BY S0.ts, S1.ts",
            changes("one other n", (1, 0, 1, 1, 1), (1, 3, 1, 3, 1)), KEYED,
            S0=promised(met([1]), 1, 2, 3), S1=promised(met([0, 3, 4]), 0, 1, 2)),
    fixture("W11 one input is a minute late", BAND,
            rows("one other", *((m1, m2) for m1 in HALF_MINUTES for m2 in HALF_MINUTES if m1 - 120 <= m2 <= m1 + 180)),
            KEYED, m1=met(HALF_MINUTES), m2=met(HALF_MINUTES)),
    fixture("W11 rows eight minutes apart are no pair", BAND, rows("one other", (36_180, 36_300)), KEYED,
            m2=met([36_659, 36_300]), m1=met([36_180])),
    fixture("W15 a disordered union of two filters counts as one filter",
            "SELECT count(*) [RANGE 20, SLIDE 5, WA ts] AS n FROM (SELECT ts, k FROM s WHERE k % 3 = 0) UNION "
            "(SELECT ts, k FROM s WHERE NOT k % 3 = 0 AND k % 2 = 0)",
            counted(range(5, 85, 5), [t for t in SPLIT if t * 7 % 11 % 3 == 0 or t * 7 % 11 % 2 == 0]), KEYED,
            s=rows("ts v k", *((t, "", t * 7 % 11) for t in SPLIT))),
)

FIXTURES = (*GOLAB, *PAPERS, *LI)
