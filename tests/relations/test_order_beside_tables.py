"""Rows that meet several rows of a table at one instant: their results have the order of the table's rows.

Windows by rows, FIRST and LAST stand above joins with tables here, in every form of a stream, against the oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import panewise as pw
from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.plan.nodes import (
    GroupAggregate,
    Join,
    NamedScalar,
    Node,
    Project,
    Qualify,
    RelationToStream,
    Union,
    Window,
    WindowClause,
)
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.progress.timeline import Timeline
from panewise.windows.count import CountWindow
from planner.plans import check_legal
from relations.plans import COUNT_WINDOWS, PLACES, TIME_WINDOWS, columns, source, timelines, windows
from relations.random_plans import STREAM_KINDS, by_rows, is_legal
from relations.random_tables import beside_a_table, meeting, table_histories
from relations.running import assert_like_the_oracle
from relations.test_group_aggregates import call

FIRST_AND_LAST = call("first", "first", "v"), call("last", "last", "v"), call("n", "count")


@st.composite
def beside_tables(draw: st.DrawFn) -> Node:
    """A window or stream beside a table, also united or joined with another, beside the same table or another one."""
    def leaf(stream: str) -> Node:
        below = source(stream) if draw(st.integers(0, 3)) == 0 else draw(windows(stream, TIME_WINDOWS))
        return columns(below, "k", "v")

    one = draw(beside_a_table(leaf("s")))
    match draw(st.integers(0, 5)):
        case 0:
            return Union((one, draw(beside_a_table(leaf("s"), "other"))))
        case 1:
            return Union((leaf("s"), one, leaf("t")))
        case 2:
            pairs = Join(Qualify(one, "l"), Qualify(leaf("t"), "r"), Scalar.parse("`l.k` = `r.k`"))
            return Project(pairs, (NamedScalar("k", Scalar.column("l.k")), NamedScalar("v", Scalar.column("l.v"))))
        case 3:
            return draw(beside_a_table(one, "other"))
    return one


@st.composite
def cases(draw: st.DrawFn, above: Callable[[Node], st.SearchStrategy[Node]]) -> tuple[Node, Timeline]:
    """A plan that asks for ages, with rows of its streams between those of its tables."""
    plan = draw(beside_tables().flatmap(above))
    assume(is_legal(plan))
    parts = [draw(timelines(("s", "t"), rows=12, times=8)), *draw(table_histories(plan))]
    order = [number for number, part in enumerate(parts) for _ in part]
    Random(draw(st.integers(0, 99))).shuffle(order)
    rest = [iter(part) for part in parts]
    return plan, [next(rest[number]) for number in order]


def internalised(node: Node) -> Node:
    """With all windows internal."""
    if isinstance(node, Window):
        return replace(node, clause=replace(node.clause, internal=True))
    return node.with_inputs(*map(internalised, node.inputs)) if node.inputs else node


def first_and_last(below: Node) -> st.SearchStrategy[Node]:
    """By key, or of all rows."""
    keys = st.sampled_from([(NamedScalar.column("k"),), ()])
    return keys.map(lambda by: GroupAggregate(below, by, FIRST_AND_LAST))


def newest(below: Node) -> st.SearchStrategy[Node]:
    """A window by rows over what comes, what goes, what is there, or over what is ever produced."""
    return st.one_of(st.builds(lambda kind, spec: by_rows(RelationToStream(below, kind), spec), STREAM_KINDS,
                               COUNT_WINDOWS),
                     st.builds(lambda spec: by_rows(internalised(below), spec), COUNT_WINDOWS),
                     st.builds(lambda count: RelationToStream(below, Kind.WSTREAM, output_window=WindowClause(
                         CountWindow(count), "", OrdinalKind.ROWS)), st.integers(1, 4)))


@settings(max_examples=60, deadline=None)
@given(cases(first_and_last), PLACES, PLACES)
def test_first_and_last_of_rows_beside_a_table(case: tuple[Node, Timeline], cuts: frozenset[int],
                                               saves: frozenset[int]) -> None:
    assert_like_the_oracle(*case, cuts, saves)


@settings(max_examples=80, deadline=None)
@given(cases(newest), PLACES, PLACES)
def test_windows_by_rows_over_rows_beside_a_table(case: tuple[Node, Timeline], cuts: frozenset[int],
                                                  saves: frozenset[int]) -> None:
    assert_like_the_oracle(*case, cuts, saves)


PAIRS = "SELECT s.k AS k, q.w AS w FROM s [RANGE 5], q WHERE s.k = q.k"
TEXTS = {
    "last": (f"SELECT k, last(w) AS w FROM ({PAIRS}) AS z GROUP BY k", False),
    "Wstream": ("SELECT Wstream(s.k AS k, q.w AS w)[ROWS 1] FROM s [RANGE 5], q WHERE s.k = q.k", False),
    "a stream": ("SELECT w FROM (SELECT s.k AS k, q.w AS w FROM s, q WHERE s.k = q.k) AS z [ROWS 1]", False),
    "INTERNAL": (f"SELECT w FROM ({PAIRS.replace('[', '[INTERNAL ')}) AS z [ROWS 1]", False),
    "Istream": ("SELECT w FROM (SELECT Istream(s.k AS k, q.w AS w) FROM s [RANGE 5], q WHERE s.k = q.k) AS z [ROWS 1]",
                True),
}


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
@pytest.mark.parametrize(("times", "last"), [((0, 0, 0), 2), ((2, 0, 1), 3)])
@pytest.mark.parametrize(("text", "retroactive"), TEXTS.values(), ids=TEXTS)
def test_the_newest_of_several_matches_is_that_of_the_tables_newest_row(text: str, retroactive: bool,
                                                                        times: tuple[int, ...], last: int,
                                                                        engine: str) -> None:
    rows = [{"ts": ts, "k": "a", "w": w} for ts, w in zip(times, (3, 1, 2), strict=True)]
    found = pw.sql(text, s=[{"ts": 4, "k": "a"}],
                   q=pw.table(rows, time="ts", retroactive=retroactive), time="ts", engine=engine)
    assert next(iter(found))["w"] == last


def test_rows_that_meet_one_table_twice_have_no_order() -> None:
    below: Node = columns(source("s"), "k", "v")
    for _ in range(2):
        below = meeting(below, SourceKind.NRR)
    with pytest.raises(PlanError, match="over a join of q nrr with itself"):
        check_legal(by_rows(below, CountWindow(1)))
