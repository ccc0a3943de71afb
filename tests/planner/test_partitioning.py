"""By which columns plans are split, and which run in one piece."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panewise.core.schema import Catalog, SourceKind, SourceSchema
from panewise.planner.choose.partitioning import placement
from panewise.sql import parse

COLUMNS = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()})
STREAMS = {name: SourceSchema.of(COLUMNS, time="ts") for name in ("a", "b", "c")}
CATALOG = Catalog({**STREAMS, "names": SourceSchema.of(pa.schema({"k": pa.string(), "name": pa.string()}),
                                                       kind=SourceKind.NRR),
                   "known": SourceSchema.of(pa.schema({"at": pa.int64(), "k": pa.string(), "v": pa.int64()}), time="at",
                                            kind=SourceKind.RELATION)})


@pytest.mark.parametrize(("text", "keys"), [
    ("SELECT * FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k", {"a": "k", "b": "k"}),
    ("SELECT * FROM a [RANGE 5], b [RANGE 5], c [RANGE 5] WHERE a.k = b.k AND b.k = c.k",
     {"a": "k", "b": "k", "c": "k"}),
    ("SELECT * FROM a [RANGE 5], b [RANGE 5] WHERE a.v = b.v AND a.k < b.k", {"a": "v", "b": "v"}),
    ("SELECT DISTINCT v FROM a [RANGE 5]", {"a": "v"}),
    ("SELECT k FROM a [RANGE 5] EXCEPT ALL SELECT k FROM b [RANGE 5]", {"a": "k", "b": "k"}),
    ("SELECT v, k FROM a [RANGE 5] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)", {"a": "k", "b": "k"}),
    ("SELECT k, count(*) AS n FROM a [ROWS 3 PARTITION BY k] GROUP BY k", {"a": "k"}),
    ("SELECT a.v, names.name FROM a, names WHERE a.k = names.k", {"a": "v"}),
    ("SELECT DISTINCT a.k FROM a [RANGE 5, WA ts], b [RANGE 5, WA ts], c [RANGE 5, WA ts] "
     "WHERE a.k = b.k AND b.k = c.k", {"a": "k", "b": "k", "c": "k"}),
    ("SELECT a.k, b.v FROM a [RANGE 5, WA ts], b [RANGE 5, WA ts] WHERE a.k = b.k AND NOT EXISTS "
     "(SELECT * FROM c [RANGE 4] WHERE c.k = a.k)", {"a": "k", "b": "k", "c": "k"}),
    ("SELECT k FROM (SELECT a.k AS k FROM a [RANGE 5, WA ts], b [RANGE 5, WA ts] WHERE a.k = b.k) AS p "
     "[ROWS 3 PARTITION BY k]", {"a": "k", "b": "k"}),
])
def test_a_column_that_all_operators_keep_together_splits_a_plan(text: str, keys: dict[str, str]) -> None:
    found = placement(parse(text, CATALOG))
    assert found is not None
    assert set(keys) == set(dict(found.keys))
    assert "names" not in text or found.everywhere == {"names"}
    if "DISTINCT" not in text and "names" not in text:
        assert dict(found.keys) == keys


@pytest.mark.parametrize("text", [
    "SELECT count(*) AS n FROM a [RANGE 5]",
    "SELECT * FROM a [RANGE 5], b [RANGE 5] WHERE a.v < b.v",
    "SELECT * FROM a [RANGE 5], b [RANGE 5], c [RANGE 5] WHERE a.k = b.k AND b.v = c.v",
    "SELECT k, count(*) AS n FROM a [ROWS 3] GROUP BY k",
    "SELECT Rstream(k) FROM a [RANGE 5]",
    "SELECT * FROM a [RANGE 5] LIFETIME 50",
    "SELECT x.v FROM a [RANGE 5] AS x, a [RANGE 5] AS y WHERE x.k = y.v",
    "SELECT k FROM (SELECT a.k AS k FROM a [RANGE 5, WA ts], b [RANGE 5, WA ts] WHERE a.k = b.k) AS p [ROWS 3]",
    "SELECT a.ts, b.ts, count(*) AS n FROM a [RANGE 5, WA ts], b [RANGE 5, WA ts] WHERE a.k = b.k GROUP BY a.ts, b.ts",
    "SELECT at, v FROM known WHERE EXISTS (SELECT * FROM a [RANGE 5] WHERE a.ts = known.at)",  # deletions come later
    "SELECT k FROM known EXCEPT ALL SELECT a.k FROM a [RANGE 5], known WHERE a.v = known.v",  # split and everywhere
])
def test_what_needs_everything_together_is_not_split(text: str) -> None:
    assert placement(parse(text, CATALOG)) is None


def test_rows_that_look_for_a_table_by_its_key_meet_it_there() -> None:
    found = placement(parse("SELECT k, v FROM a [RANGE 5] WHERE NOT EXISTS (SELECT * FROM known WHERE known.k = a.k)",
                            CATALOG))
    assert found is not None
    assert dict(found.keys) == {"a": "k", "known": "k"}


def test_a_table_that_rows_look_for_by_another_column_is_in_every_part() -> None:
    found = placement(parse("SELECT v, count(*) AS n FROM a [RANGE 5] WHERE EXISTS "
                            "(SELECT * FROM known WHERE known.k = a.k) GROUP BY v", CATALOG))
    assert found is not None
    assert (dict(found.keys), found.everywhere) == ({"a": "v"}, {"known"})


@pytest.mark.parametrize("text", [
    "SELECT k FROM known WHERE NOT EXISTS (SELECT * FROM a [RANGE 5] WHERE a.k = known.k)",
    "SELECT k FROM known EXCEPT ALL SELECT k FROM a [RANGE 5]",
    "SELECT k FROM a [RANGE 5] UNION ALL SELECT k FROM known",
])
def test_rows_of_a_table_that_show_by_themselves_are_in_one_part_each(text: str) -> None:
    found = placement(parse(text, CATALOG))
    assert found is not None
    assert dict(found.keys) == {"a": "k", "known": "k"}


def test_a_table_is_not_split_by_its_time_which_a_row_that_deletes_has_another_of() -> None:
    assert placement(parse("SELECT at FROM known EXCEPT ALL SELECT ts FROM a [RANGE 5]", CATALOG)) is None
