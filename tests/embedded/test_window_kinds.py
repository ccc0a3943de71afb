"""Every window kind on values: the embedded engine gives the oracle's answer, whatever comes in whatever way.

Streams are random in everything: disorder, promises for all and for groups (kept or broken), cuts into batches, and a
state that is saved and restored into a new query at several places of one run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.compare import assert_same_rows
from embedded.plans import COLUMNS, call, run_timeline
from oracle.questions import Oracle
from panewise.core.errors import LateRowError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import (
    Filter,
    NamedScalar,
    Node,
    Project,
    Qualify,
    Source,
    Union,
    WindowAggregate,
    WindowClause,
)
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows import (
    BandWindow,
    CalendarWindow,
    LandmarkWindow,
    LinearWindow,
    SessionWindow,
    WindowSpec,
)
from windows.window_strategies import SPECS, ZONES, moments

BY_VALUE = ("sliding", "tumbling", "now", "varying", "landmark", "band", "session", "linear")
CALLS = (call("n", "count"), call("top", "max", "v"), call("oldest", "first", "v"), call("half", "median", "v"))
POLICIES = ("drop", "side", "generous", "consistent")

rows = st.fixed_dictionaries({"ts": st.integers(-15, 30), "k": st.sampled_from(["a", "b", None]),
                              "g": st.integers(0, 1), "v": st.none() | st.integers(-3, 3).map(float)})
constants = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b", None]), "g": st.integers(0, 1)})
promises = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(-12, 32), constants)
endings = constants.filter(bool).map(lambda c: Punctuation.of(dict(Punctuation.below("x", 0, **c).patterns[:-1])))
streams = st.lists(st.one_of(rows, rows, rows, promises, endings), max_size=22)
places = st.frozensets(st.integers(0, 22), max_size=6)
groupings = st.sampled_from([(), ("k",), ("k", "g"), ("g",)])
partitions = st.sampled_from([(), (), ("k",), ("k", "g")])


def plan(spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...] = (), *, attribute: str = "ts",
         ordinal: OrdinalKind = OrdinalKind.INTEGER, predicate: str | None = None,
         time: pa.DataType = COLUMNS["ts"]) -> WindowAggregate:
    source = Source("s", SourceSchema({**COLUMNS, "ts": time}, time="ts"))
    clause = WindowClause(spec, attribute, ordinal, partition, None if predicate is None else Scalar.parse(predicate))
    return WindowAggregate(source, clause, tuple(NamedScalar.column(k) for k in keys), CALLS)


def check(node: WindowAggregate, items: list[Any], policy: str, cuts: frozenset[int] = frozenset(),
          saves: frozenset[int] = frozenset()) -> list[dict[str, Any]]:
    timeline: Timeline = [Arrival("s", item) for item in items]
    oracle = Oracle(node, timeline, late=policy)
    found, query = run_timeline(open_plan(node, late=policy), timeline, cuts, saves, late=policy)
    assert_same_rows(found, oracle.results())
    if policy != "drop":
        assert_same_rows(query.late_rows.to_pylist(), oracle.late_rows())
    assert query.status()["partials"] == 0, "nothing is left when everything is closed"
    return found


@pytest.mark.parametrize("kind", BY_VALUE)
def test_the_kind_gives_the_oracles_answer(kind: str) -> None:
    @settings(deadline=None, max_examples=30)
    @given(SPECS[kind], groupings, partitions, streams, st.sampled_from(POLICIES), places, places,
           st.sampled_from([None, None, "v > 0"]))
    def run(spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...], items: list[Any], policy: str,
            cuts: frozenset[int], saves: frozenset[int], predicate: str | None) -> None:
        check(plan(spec, keys, partition, predicate=predicate), items, policy, cuts, saves)

    run()


@settings(deadline=None, max_examples=60)
@given(st.one_of(*(SPECS[kind] for kind in BY_VALUE)), groupings, partitions, streams, places, places)
def test_values_may_be_positions(spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...],
                                 items: list[Any], cuts: frozenset[int], saves: frozenset[int]) -> None:
    node = plan(spec, keys, partition, attribute="row-num", ordinal=OrdinalKind.ROWS)
    check(node, items, "drop", cuts, saves)


@settings(deadline=None, max_examples=20)
@given(st.builds(CalendarWindow, st.sampled_from(["day", "week", "month"]), st.integers(1, 2),
                 st.none() | st.integers(1, 3), st.sampled_from(ZONES)),
       st.lists(st.tuples(moments, st.sampled_from("ab")), max_size=12), places, places, st.sampled_from(POLICIES))
def test_days_and_months_of_a_time_zone(spec: CalendarWindow, drawn: list[tuple[int, str]], cuts: frozenset[int],
                                        saves: frozenset[int], policy: str) -> None:
    node = plan(spec, ("k",), ordinal=OrdinalKind.TIMESTAMP, time=pa.timestamp("us", tz="UTC"))
    items: list[Any] = []
    for i, (moment, key) in enumerate(drawn):
        items.append({"ts": OrdinalKind.TIMESTAMP.present(moment), "k": key, "g": 0, "v": float(i)})
        if i % 4 == 3:  # a promise that later rows may break
            items.append(Punctuation.below("ts", moment))
    check(node, items, policy, cuts, saves)


@settings(deadline=None, max_examples=20)
@given(st.one_of(SPECS["sliding"], SPECS["session"], SPECS["landmark"]),
       st.lists(st.one_of(rows, rows, promises), max_size=12), places, places)
def test_windows_on_dates(spec: WindowSpec, drawn: list[Any], cuts: frozenset[int], saves: frozenset[int]) -> None:
    node = plan(spec, ("k",), ordinal=OrdinalKind.DATE, time=pa.date32())
    items = [{**i, "ts": OrdinalKind.DATE.present(i["ts"])} if isinstance(i, dict) else i for i in drawn]
    check(node, items, "drop", cuts, saves)


def row(ts: int, k: str = "a", g: int = 0, v: float | None = 1.0) -> dict[str, Any]:
    return {"ts": ts, "k": k, "g": g, "v": v}


def ended(**constants: Any) -> Punctuation:
    """No more rows of this group, whatever their time."""
    return Punctuation.of(dict(Punctuation.below("x", 0, **constants).patterns[:-1]))


def test_a_row_after_the_end_of_its_group_is_in_no_window_also_of_a_window_without_end() -> None:
    node = plan(BandWindow.since(0), ())
    assert check(node, [row(1, "b"), ended(k="a"), row(0, "a")], "generous") == [
        {"wid": 0, "n": 1, "top": 1.0, "oldest": 1.0, "half": 1.0}]


def pushed(node: WindowAggregate, items: list[Any]) -> list[list[tuple[Any, ...]]]:
    """What comes out with each item, and at the end: the window, the group and the count."""
    query = open_plan(node)
    tables = [*(query.push("s", item if isinstance(item, Punctuation) else [item]) for item in items), query.finish()]
    return [[(r.get("wid", r.get("window")), r.get("k"), r["n"]) for r in t.to_pylist()] for t in tables]


def test_a_landmark_window_comes_out_when_it_is_closed_and_known_to_exist() -> None:
    node = plan(LandmarkWindow(10), ("k",))
    out = pushed(node, [row(5), Punctuation.below("ts", 40), row(45, "b")])
    assert out[1] == [(0, "a", 1)], "nothing shows yet that windows after the first with all rows exist"
    assert out[2] == [(1, "a", 1), (2, "a", 1), (3, "a", 1)], "a row in window 4 shows that those before it exist"
    assert sorted(out[3]) == [(4, "a", 1), (4, "b", 1)]


def test_a_promise_about_one_group_puts_out_its_landmark_windows_only() -> None:
    node = plan(LandmarkWindow(10), ("k",))
    out = pushed(node, [row(5), row(7, "b"), row(25, "b"), Punctuation.below("ts", 20, k="a"), row(21)])
    assert out[3] == [(0, "a", 1), (1, "a", 1)]
    assert sorted(out[5]) == [(0, "b", 1), (1, "b", 1), (2, "a", 2), (2, "b", 2)]


def test_a_landmark_of_many_windows_keeps_one_partial_per_group() -> None:
    query = open_plan(plan(LandmarkWindow(10), ("k",)))
    for ts in range(0, 1000, 5):
        query.push("s", [row(ts), row(ts, "b")])
        query.push("s", Punctuation.below("ts", ts))
        assert query.status()["partials"] <= 4


def test_a_row_that_bridges_two_sessions_makes_them_one() -> None:
    node = plan(SessionWindow(10), ("k",), ("k",))
    items = [row(0), row(18), row(9), Punctuation.below("ts", 28), row(28), Punctuation.below("ts", 39)]
    out = pushed(node, items)
    assert out[3] == [], "a row at the very end still prolongs the session"
    assert out[5] == [({"start": 0, "end": 38}, "a", 4)]


def test_a_session_of_all_rows_is_not_closed_by_a_promise_about_some() -> None:
    node = plan(SessionWindow(10), ("k",))
    out = pushed(node, [row(0), Punctuation.below("ts", 50, k="a"), row(8, "b"), Punctuation.below("ts", 50)])
    assert out[1] == []
    assert sorted(out[3]) == [({"start": 0, "end": 18}, "a", 1), ({"start": 0, "end": 18}, "b", 1)]


@pytest.mark.parametrize("spec", [LinearWindow(0, 3, 5, 0), LinearWindow(1, 0, 2, 0)], ids=str)
def test_windows_given_by_a_linear_extent(spec: LinearWindow) -> None:
    items = [row(4), row(1), Punctuation.below("ts", 4), row(12, "b"), row(17)]
    assert check(plan(spec, ("k",)), items, "drop")


SHAPED = st.one_of(*(SPECS[kind] for kind in ("landmark", "session", "band", "linear", "varying", "now")))
two_streams = st.lists(st.tuples(st.sampled_from("st"), st.one_of(rows, rows, promises)), max_size=16)


def shapes(spec: WindowSpec) -> dict[str, Node]:
    """What may stand below and above a window aggregate."""
    s, t = (Source(name, SourceSchema(COLUMNS, time="ts")) for name in "st")
    clause, keys = WindowClause(spec, "ts", OrdinalKind.INTEGER), (NamedScalar.column("k"),)
    calls = (call("n", "count"), call("top", "max", "v"))
    renamed = Project(s, (NamedScalar("at", Scalar.column("ts")), NamedScalar.column("k"),
                          NamedScalar("v", Scalar.parse("v * 2"))))
    computed = Project(s, (NamedScalar("ts", Scalar.parse("ts + 1")), NamedScalar.column("k"), NamedScalar.column("v")))
    some = Filter(s, Scalar.parse("v > 0 OR v IS NULL"))
    counted = WindowAggregate(s, clause, keys, calls)
    return {
        "filter": WindowAggregate(some, clause, keys, calls),
        "renamed": WindowAggregate(renamed, replace(clause, attribute="at"), keys, calls),
        "computed attribute": WindowAggregate(computed, clause, keys, calls),
        "alias": WindowAggregate(Qualify(s, "S"), replace(clause, attribute="S.ts"), (NamedScalar.column("S.k"),),
                                 (call("n", "count"), call("top", "max", "`S.v`"))),
        "union": WindowAggregate(Union((some, t)), clause, keys, calls),
        "having": Filter(counted, Scalar.parse("n > 1")),
        "expression": Project(counted, (NamedScalar.column("k"), NamedScalar("twice", Scalar.parse("n * 2")))),
    }


@pytest.mark.parametrize("shape", shapes(SessionWindow(3)))
def test_operators_below_and_above(shape: str) -> None:
    @settings(deadline=None, max_examples=15)
    @given(SHAPED, two_streams, places, places)
    def run(spec: WindowSpec, drawn: list[tuple[str, Any]], cuts: frozenset[int], saves: frozenset[int]) -> None:
        node = shapes(spec)[shape]
        streams = {n.name for n in node.walk() if isinstance(n, Source)}
        timeline: Timeline = [Arrival(name, item) for name, item in drawn if name in streams]
        found, _ = run_timeline(open_plan(node), timeline, cuts, saves)
        assert_same_rows(found, Oracle(node, timeline).results())

    run()


@pytest.mark.parametrize("kind", BY_VALUE)
def test_open_windows_can_be_looked_at(kind: str) -> None:
    @settings(deadline=None, max_examples=20)
    @given(SPECS[kind], groupings, st.lists(st.one_of(rows, promises), max_size=10))
    def run(spec: WindowSpec, keys: tuple[str, ...], items: list[Any]) -> None:
        node = plan(spec, keys)
        query, plain = open_plan(node, events=True), open_plan(node)
        done: list[dict[str, Any]] = []
        for item in items:
            done += query.push("s", item if isinstance(item, Punctuation) else [item]).to_pylist()
            plain.push("s", item if isinstance(item, Punctuation) else [item])
            open_now = query.peek().to_pylist()
            assert query.status()["open_windows"] >= (1 if open_now else 0)
        assert_same_rows(query.peek().to_pylist(), plain.finish().to_pylist())
        opened = {e.wid for e in query.events if e.kind == "opened"}
        assert kind == "session" or {e.wid for e in query.events if e.kind == "closed"} <= opened

    run()


@pytest.mark.parametrize("spec", [SessionWindow(3), LandmarkWindow(5), BandWindow.since(0)], ids=lambda s: s.kind)
def test_a_late_row_stops_the_run_where_it_should(spec: WindowSpec) -> None:
    query = open_plan(plan(spec, ("k",)), late="error")
    query.push("s", [row(7)])
    query.push("s", Punctuation.below("ts", 6))
    with pytest.raises(LateRowError, match="row 2 of s is late: ts is 5"):
        query.push("s", [row(5)])
    query.push("s", [row(8)])
    assert [r["n"] for r in query.finish().to_pylist()][-1] == 2
