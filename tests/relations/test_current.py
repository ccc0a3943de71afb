"""The relation as it is now, kept beside its changes on request."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise.core.errors import CheckpointError, PlanError

COLUMNS = "ts bigint, k varchar, v bigint"
RELATIONS = {
    "window": "SELECT k, v FROM a [RANGE 6]",
    "join": "SELECT a.k, a.v, b.v AS other FROM a [RANGE 6], b [RANGE 4] WHERE a.k = b.k",
    "distinct": "SELECT DISTINCT k FROM a [RANGE 5]",
    "without": "SELECT k, v FROM a [RANGE 8] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)",
    "groups": "SELECT k, count(*) AS n FROM a [RANGE 6] GROUP BY k",
    "rows": "SELECT k, v FROM a [ROWS 3]",
}
events = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.sampled_from("xyz"), st.integers(0, 2)),
                  min_size=1, max_size=30)


def open_with(name: str, style: str, *, current: bool = True) -> object:
    streams = {s: COLUMNS for s in "ab" if f"{s} [" in RELATIONS[name]}
    return pw.open_query(RELATIONS[name], progress="ordered", strategy=style, current=current, **streams)


def now(query: object) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in query.current().to_pylist())


def there(told: pa.Table, instant: int) -> Counter[tuple[object, ...]]:
    """What the changes told so far add up to at an instant."""
    found: Counter[tuple[object, ...]] = Counter()
    for row in told.to_pylist():
        since, until, change = row.pop("valid_from"), row.pop("expires_at", None), row.pop("change", 1)
        if since <= instant and (until is None or until > instant):
            found[tuple(row.values())] += change
    return +found


@pytest.mark.parametrize("name", RELATIONS)
@given(given_events=events)
def test_it_is_what_the_changes_add_up_to(name: str, given_events: list[tuple[str, int, str, int]]) -> None:
    query, ts, parts = open_with(name, "upa"), 0, []
    for stream, pause, k, v in given_events:
        ts += pause
        if stream in query.streams:
            parts.append(query.push(stream, [{"ts": ts, "k": k, "v": v}]))
            if query.watermark > 0:
                assert now(query) == there(pa.concat_tables(parts), query.watermark - 1)


@pytest.mark.parametrize("name", [n for n in RELATIONS if n != "rows"])
@given(given_events=events)
def test_all_styles_keep_the_same(name: str, given_events: list[tuple[str, int, str, int]]) -> None:
    queries, ts = [open_with(name, style) for style in ("upa", "negative", "direct")], 0
    for stream, pause, k, v in given_events:
        ts += pause
        for query in queries:
            if stream in query.streams:
                query.push(stream, [{"ts": ts, "k": k, "v": v}])
        assert now(queries[0]) == now(queries[1]) == now(queries[2])


@pytest.mark.parametrize("name", ["join", "without"])
def test_it_comes_back_from_a_checkpoint(name: str) -> None:
    query = open_with(name, "upa")
    for ts in range(8):
        for stream in "ab":
            query.push(stream, [{"ts": ts, "k": "xyz"[ts % 3] if stream == "a" else "x", "v": ts}])
    again = open_with(name, "upa")
    again.restore(query.snapshot())
    assert now(again) == now(query)
    assert now(again)
    with pytest.raises(CheckpointError):
        open_with(name, "upa", current=False).restore(query.snapshot())


def test_it_must_be_asked_for() -> None:
    with pytest.raises(PlanError, match="open the query with current=True"):
        open_with("join", "upa", current=False).current()


@pytest.mark.parametrize("text", ["SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM a", "SELECT k FROM a",
                                  "SELECT Istream(k) FROM a [RANGE 5]",
                                  "SELECT * FROM a [RANGE 3, WA ts], b [RANGE 3, WA ts] WHERE a.k = b.k"])
def test_streams_have_no_current_state(text: str) -> None:
    with pytest.raises(PlanError, match="leave it out"):
        pw.open_query(text, a=COLUMNS, current=True, **({"b": COLUMNS} if " b [" in text else {}))
