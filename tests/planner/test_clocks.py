"""Inputs whose times are of two kinds do not meet: refused with both columns, in whatever form they are combined."""

from __future__ import annotations

from itertools import permutations

import pyarrow as pa
import pytest

from panewise.api.query import plan_of
from panewise.core.errors import PlanError
from panewise.core.schema import SourceKind, SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import BandJoin, Qualify, Source

KINDS = {"integer": pa.int64(), "timestamp": pa.timestamp("us"), "date": pa.date32()}
RANGES = {"integer": "3", "timestamp": "3 days", "date": "3 days"}
TEXTS = {
    "band": "SELECT a.ts, b.ts FROM a [RANGE {a}, WA ts], b [RANGE {b}, WA ts]",
    "outer": "SELECT a.ts, b.ts FROM a [RANGE {a}, WA ts] LEFT JOIN b [RANGE {b}, WA ts] ON a.k = b.k",
    "counted band": "SELECT count(*) [RANGE {a}, SLIDE {a}, WA a.ts] AS n "
                    "FROM a [RANGE {a}, WA ts], b [RANGE {b}, WA ts]",
    "windows": "SELECT a.ts, b.ts FROM a [RANGE {a}], b [RANGE {b}]",
    "a window and rows": "SELECT a.ts, b.ts FROM a [RANGE {a}], b [ROWS 3]",
    "rows": "SELECT a.ts, b.ts FROM a [ROWS 2], b [ROWS 3] WHERE a.k = b.k",
    "windows of windows": "SELECT k FROM (SELECT a.k, a.ts FROM a [RANGE {a}], b [RANGE {b}] WHERE a.k = b.k)",
    "exists": "SELECT k FROM a [RANGE {a}] WHERE NOT EXISTS (SELECT * FROM b [RANGE {b}] WHERE a.k = b.k)",
    "except": "SELECT k FROM a [RANGE {a}] EXCEPT ALL SELECT k FROM b [RANGE {b}]",
    "union": "SELECT k FROM a [RANGE {a}] UNION ALL SELECT k FROM b [RANGE {b}]",
    "streams": "SELECT a.ts, b.ts FROM a, b WHERE a.k = b.k",
    "three": "SELECT a.ts FROM a [RANGE {a}], c [RANGE {a}], b [RANGE {b}] WHERE a.k = b.k AND b.k = c.k",
}


def schemas(a: str, b: str, kind: SourceKind = SourceKind.STREAM) -> dict[str, SourceSchema]:
    return {name: SourceSchema({"ts": KINDS[of], "k": pa.int64()}, time="ts", kind=as_)
            for name, of, as_ in (("a", a, SourceKind.STREAM), ("b", b, kind), ("c", a, SourceKind.STREAM))}


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize(("a", "b"), [*permutations(KINDS, 2)])
def test_times_of_two_kinds_are_refused_by_name(form: str, a: str, b: str) -> None:
    text = TEXTS[form].format(a=RANGES[a], b=RANGES[b])
    with pytest.raises(PlanError, match=rf"[abc]\.ts \((?:{a}|{b})\) and [abc]\.ts \((?:{a}|{b})\) are of two kinds"):
        plan_of(text, schemas(a, b))
    plan_of(TEXTS[form].format(a=RANGES[a], b=RANGES[a]), schemas(a, a))


def test_buckets_are_of_one_kind() -> None:
    with pytest.raises(PlanError, match="two kinds"):
        plan_of("SELECT a.ts, b.ts FROM a, b [RANGE TUMBLING 3 days, WA ts]", schemas("timestamp", "date"))


@pytest.mark.parametrize("kind", [SourceKind.NRR, SourceKind.RELATION])
def test_tables_change_by_the_clock_of_the_stream(kind: SourceKind) -> None:
    text = "SELECT a.ts FROM a [RANGE 3 days], b WHERE a.k = b.k"
    with pytest.raises(PlanError, match=r"a\.ts \(timestamp\) and b\.ts \(integer\)"):
        plan_of(text, schemas("timestamp", "integer", kind))
    plan_of(text, schemas("timestamp", "timestamp", kind))


def test_only_the_times_that_are_used_must_agree() -> None:
    columns = {"ts": pa.timestamp("us"), "n": pa.int64(), "k": pa.int64()}
    mixed = {"a": SourceSchema(columns, time="ts"), "b": SourceSchema({"ts": pa.int64(), "k": pa.int64()}, time="ts")}
    plan_of("SELECT a.k FROM a [RANGE 3, WA n], b [RANGE 3, WA ts] WHERE a.k = b.k", mixed)


def test_a_plan_made_by_hand_is_refused_when_it_is_opened() -> None:
    sides = [Qualify(Source(name, schema), name) for name, schema in schemas("timestamp", "date").items()][:2]
    with pytest.raises(PlanError, match=r"a\.ts \(timestamp\) and b\.ts \(date\)"):
        open_plan(BandJoin(*sides, "a.ts", "b.ts", 3, 3))
