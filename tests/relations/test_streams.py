"""Relations as streams: Istream, Dstream, Rstream, restored or not; output windows, INTERNAL, LIFETIME."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracle.questions import Oracle
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog, SourceSchema
from panewise.plan.nodes import (
    AntiJoin,
    Distinct,
    Filter,
    GroupAggregate,
    Join,
    Lifetime,
    NamedScalar,
    Node,
    Qualify,
    RelationToStream,
    Union,
    Window,
    WindowClause,
)
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline, timeline
from panewise.sql import parse
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import NowWindow
from relations.plans import PLACES, TIME_WINDOWS, columns, source, timelines, windows
from relations.running import assert_like_the_oracle, run_relation
from relations.test_group_aggregates import call

EQUAL = Scalar.parse("k = `r.k`")


def shaped(shape: int, left: Window, right: Window) -> Node:
    a, b = columns(left, "k", "v"), columns(right, "k", "v")
    pairs = Join(Qualify(a, "l"), Qualify(b, "r"), Scalar.parse("`l.k` = `r.k`"))
    return [Filter(left, Scalar.parse("v > 1")), pairs, Distinct(columns(left, "k")),
            AntiJoin(a, Qualify(b, "r"), EQUAL),
            GroupAggregate(a, (NamedScalar.column("k"),), (call("n", "count"), call("top", "max", "v")))][shape]


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t"), st.integers(0, 4), st.sampled_from([Kind.ISTREAM, Kind.DSTREAM, Kind.RSTREAM]),
       timelines(("s", "t"), rows=18), PLACES, PLACES)
def test_what_comes_what_goes_and_all_of_it(left: Window, right: Window, shape: int, kind: Kind, items: Timeline,
                                            cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan = RelationToStream(shaped(shape, left, right), kind)
    assert_like_the_oracle(plan, items, cuts, saves)


@st.composite
def together(draw: st.DrawFn) -> tuple[Window, Window]:
    """Two windows with one SLIDE, which is smaller than both."""
    slide = draw(st.integers(1, 4))
    made = []
    for stream in ("s", "t"):
        spec = SlidingWindow.scoped(draw(st.integers(slide + (slide > 1), 8)), slide)
        made.append(Window(source(stream), WindowClause(spec, "ts", OrdinalKind.INTEGER)))
    return made[0], made[1]


@settings(max_examples=30, deadline=None)
@given(together(), st.integers(0, 4), st.sampled_from([Kind.ISTREAM, Kind.RSTREAM]), timelines(("s", "t"), rows=18),
       PLACES, PLACES)
def test_restore_reports_what_lived_between_refreshes(pair: tuple[Window, Window], shape: int, kind: Kind,
                                                      items: Timeline, cuts: frozenset[int],
                                                      saves: frozenset[int]) -> None:
    plan = RelationToStream(shaped(shape, *pair), kind, restore=True)
    assert_like_the_oracle(plan, items, cuts, saves)


def test_refreshes_go_on_while_a_value_only_changes_its_representative() -> None:
    """The value is shown all the time, so nothing comes and nothing goes until its last row leaves."""
    window = Window(source("s"), WindowClause(SlidingWindow.scoped(3, 2), "ts", OrdinalKind.INTEGER))
    plan = RelationToStream(Distinct(columns(window, "k")), Kind.RSTREAM, restore=True)
    rows = [Arrival("s", {"ts": ts, "k": "a", "v": 0}) for ts in (0, 1)]
    assert_like_the_oracle(plan, [*rows, Arrival("s", Punctuation.below("ts", 4))])


def test_windows_that_show_nothing_never_refresh() -> None:
    """NOW SLIDE 2 looks at odd instants, and there is no row then; the stream beside it is not told on its own."""
    now = columns(Window(source("s"), WindowClause(NowWindow(2), "ts", OrdinalKind.INTEGER)), "k", "v")
    plan = RelationToStream(Union((now, columns(source("t"), "k", "v"))), Kind.RSTREAM)
    rows = [Arrival(name, {"ts": 0, "k": "a", "v": 0}) for name in "st"]
    assert_like_the_oracle(plan, rows)
    assert Oracle(plan, rows).results() == []
    assert len(Oracle(plan, [*rows, Arrival("s", {"ts": 1, "k": "b", "v": 0})]).results()) == 3  # at 1, and at 3


def internal(window: Window) -> Window:
    return replace(window, clause=replace(window.clause, internal=True))


OUTPUT_WINDOWS: st.SearchStrategy[WindowSpec | None] = st.one_of(
    st.none(), st.builds(CountWindow, st.integers(1, 4)), st.builds(SlidingWindow.scoped, st.integers(1, 6),
                                                                    st.integers(1, 3)))


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t"), st.integers(0, 1), OUTPUT_WINDOWS, st.booleans(), timelines(("s", "t"), rows=18),
       PLACES, PLACES)
def test_internal_windows_and_windows_over_the_output(left: Window, right: Window, shape: int,
                                                      spec: WindowSpec | None, wstream: bool, items: Timeline,
                                                      cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan = shaped(shape, internal(left), internal(right))
    clause = None if spec is None else WindowClause(spec, "valid_from", OrdinalKind.INTEGER)
    if wstream:
        plan = RelationToStream(plan, Kind.WSTREAM, output_window=clause)
    assert_like_the_oracle(plan, items, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s", TIME_WINDOWS), windows("t", TIME_WINDOWS), windows("u", TIME_WINDOWS), st.integers(0, 3),
       timelines(("s", "t", "u"), rows=18), PLACES, PLACES)
def test_results_of_internal_windows_stay_with_their_external_rows(one: Window, two: Window, three: Window,
                                                                   shape: int, items: Timeline,
                                                                   cuts: frozenset[int],
                                                                   saves: frozenset[int]) -> None:
    pairs = Join(Qualify(internal(one), "l"), Qualify(two, "r"), Scalar.parse("`l.k` = `r.k`"))
    plan: Node = [
        pairs,
        Join(columns(pairs, "l.k", "r.v"), Qualify(three, "u"), Scalar.parse("`u.v` = `r.v`")),
        Filter(Join(Qualify(three, "u"), pairs, Scalar.parse("`u.k` = `l.k`")), Scalar.parse("`u.v` > 0")),
        GroupAggregate(pairs, (NamedScalar.column("l.k"),), (call("n", "count"),)),
    ][shape]
    assert_like_the_oracle(plan, items, cuts, saves)


SPECS = st.one_of(st.builds(SlidingWindow.scoped, st.integers(1, 8), st.integers(1, 4)),
                  st.builds(CountWindow, st.integers(1, 4)))


@example(SlidingWindow.scoped(1, 2), (NamedScalar.column("k"),), CountWindow(1), 1,  # the younger group comes last
         timeline(s=[{"ts": 0, "k": "a", "v": 0}, {"ts": 0, "k": "b", "v": 0}, {"ts": 0, "k": "a", "v": 0}]),
         frozenset(), frozenset())
@settings(max_examples=30, deadline=None)
@given(SPECS, st.sampled_from([(), (NamedScalar.column("k"),)]), OUTPUT_WINDOWS, st.integers(0, 2),
       timelines(("s",), rows=18), PLACES, PLACES)
def test_values_of_internal_aggregates_and_windows_over_them(spec: WindowSpec, keys: tuple[NamedScalar, ...],
                                                             over: WindowSpec | None, shape: int, items: Timeline,
                                                             cuts: frozenset[int], saves: frozenset[int]) -> None:
    attribute: Any = ("ts", OrdinalKind.INTEGER) if spec.kind == "sliding" else ("row-num", OrdinalKind.ROWS)
    inner = Window(source(), WindowClause(spec, *attribute, internal=True))
    values: Node = GroupAggregate(inner, keys, (call("n", "count"), call("top", "max", "v")))
    clause = None if over is None else WindowClause(over, "valid_from", OrdinalKind.INTEGER)
    plan = values
    if shape == 1 and clause is not None:
        plan = GroupAggregate(Window(values, clause), (), (call("sum", "sum", "n"), call("last", "last", "top")))
    elif shape == 2:
        plan = GroupAggregate(RelationToStream(values, Kind.WSTREAM, output_window=clause), (),
                              (call("sum", "sum", "n"),))
    assert_like_the_oracle(plan, items, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t"), st.integers(0, 4), st.integers(1, 10), timelines(("s", "t"), rows=18), PLACES,
       PLACES)
def test_a_lifetime_ends_a_query(left: Window, right: Window, shape: int, amount: int, items: Timeline,
                                 cuts: frozenset[int], saves: frozenset[int]) -> None:
    assert_like_the_oracle(Lifetime(shaped(shape, left, right), amount), items, cuts, saves)


def test_rows_of_one_instant_keep_their_ages_through_every_stream_below_a_window_by_rows() -> None:
    """Groups change in the order of their newest rows, however often they become a stream before they are counted."""
    groups = GroupAggregate(columns(Window(source("s"), WindowClause(SlidingWindow.scoped(5), "ts",
                                                                     OrdinalKind.INTEGER)), "k", "v"),
                            (NamedScalar.column("v"),), (call("k", "max", "k"),))
    again = Window(RelationToStream(groups, Kind.ISTREAM),
                   WindowClause(SlidingWindow.scoped(4), "valid_from", OrdinalKind.INTEGER))
    newest = Window(RelationToStream(again, Kind.ISTREAM), WindowClause(CountWindow(1), "row-num", OrdinalKind.ROWS))
    rows = [Arrival("s", {"ts": 3, "k": "a", "v": v}) for v in (2, 1, 2)]
    assert [row["v"] for row in Oracle(newest, rows).results()] == [2]
    assert_like_the_oracle(newest, rows)


KEYED = Catalog({"s": SourceSchema({"ts": pa.int64(), "k": pa.string()}, time="ts")})


def keyed(*rows: tuple[int, str]) -> Timeline:
    return [Arrival("s", {"ts": ts, "k": k}) for ts, k in rows]


@pytest.mark.parametrize("cuts", [frozenset(), frozenset({1})], ids=["one batch", "a step later"])
def test_of_copies_that_come_as_others_go_the_youngest_came(cuts: frozenset[int]) -> None:
    """One a leaves as two come: the youngest of the three is the change, and so it is newer than b."""
    plan = parse("SELECT k FROM (SELECT Istream(k) FROM s [RANGE 5]) AS z [ROWS 1]", KEYED)
    items = keyed((0, "a"), (5, "a"), (5, "b"), (5, "a"))
    assert Oracle(plan, items).relation_at(5) == [{"k": "a"}]
    assert_like_the_oracle(plan, items, cuts)


@pytest.mark.parametrize("cuts", [frozenset(), frozenset({1, 2})], ids=["one batch", "row by row"])
def test_a_copy_that_follows_one_shown_before_is_not_restored_beside_it(cuts: frozenset[int]) -> None:
    """Between the refreshes at 4 and 8 one a goes and another comes: no short-lived row, as many copies as before."""
    plan = parse("SELECT Rstream-restore(k) FROM s [RANGE 6 SLIDE 4]", KEYED)
    items = keyed((1, "a"), (8, "a"), (20, "b"))
    found, _ = run_relation(plan, items, cuts)
    assert sorted((row["valid_from"], row["k"]) for row in found if row["valid_from"] <= 8) == [(4, "a"), (8, "a")]
    assert_like_the_oracle(plan, items, cuts)


@pytest.mark.parametrize("text", [
    "SELECT sum(n) AS m FROM (SELECT Rstream(v, count(*) AS n) FROM s GROUP BY v) AS q",
    "SELECT DISTINCT k FROM (SELECT Rstream(k, v) FROM s [ROWS 2]) AS q",
    "SELECT q.k, t.v FROM (SELECT Rstream(k) FROM s [ROWS 2]) AS q, t [RANGE 4] WHERE q.k = t.k",
    "SELECT Istream(k) FROM (SELECT Rstream(k) FROM s [ROWS 2] WHERE v > 0) AS q",
    "SELECT k, count(*) AS n FROM (SELECT Rstream(k) FROM s [ROWS 2]) [RANGE 3] AS q GROUP BY k",
])
@settings(max_examples=10, deadline=None)
@given(items=timelines(("s", "t"), rows=18), cuts=PLACES, saves=PLACES)
def test_rstream_without_a_window_is_the_relation_itself(text: str, items: Timeline, cuts: frozenset[int],
                                                         saves: frozenset[int]) -> None:
    catalog = Catalog({name: source(name).schema for name in ("s", "t")})
    assert_like_the_oracle(parse(text, catalog), items, cuts, saves)
