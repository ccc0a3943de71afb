"""Rewrites next to a join with a table: which keep the moment a row meets the table, and which would not."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.building import last, table
from oracle.questions import Oracle
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.engines.oracle import TableChange
from panewise.plan import nodes as n
from panewise.planner.legal.legality import problems
from panewise.planner.rewrites.closure import closure, steps
from panewise.planner.rewrites.negation import negation_above_table_join
from panewise.planner.rewrites.selections import selection_below_table_join
from panewise.progress.timeline import Timeline
from planner.random_plans import STREAMS, timeline_of, timelines, windows

A, B, C = (n.Qualify(n.Window(STREAMS[name], last(5)), name) for name in "abc")
KINDS = [SourceKind.NRR, SourceKind.RELATION]
changes = st.lists(st.builds(lambda at, v, w: TableChange(at, {"v": v, "w": w}), st.integers(0, 9),
                             st.sampled_from("pq"), st.integers(0, 2)), max_size=4)


def names(kind: SourceKind) -> n.Node:
    return n.Qualify(table("t", kind, v=pa.string(), w=pa.int64()), "t")


def with_table(node: n.Node, kind: SourceKind) -> n.TableJoin:
    return n.TableJoin(node, names(kind), Scalar.parse("`a.v` = `t.v`"))


def history(plan: n.Node, items: Timeline, rows: list[TableChange]) -> list[Counter[object]]:
    oracle = Oracle(plan, items, tables={"t": rows})
    return [Counter(tuple(row.items()) for row in oracle.relation_at(tau)) for tau in range(18)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(items=timelines, rows=changes, windows=st.tuples(windows, windows),
       exists=st.sampled_from([n.SemiJoin, n.AntiJoin]))
def test_a_negation_goes_above_a_table_join(kind: SourceKind, items: Timeline, rows: list[TableChange],
                                            windows: tuple[n.WindowClause, n.WindowClause], exists: type[n.AntiJoin]):
    left, right = (n.Qualify(n.Window(STREAMS[s], w), s) for s, w in zip("ac", windows, strict=True))
    plan = with_table(exists(left, right, Scalar.parse("`a.v` = `c.v`")), kind)
    (moved,) = negation_above_table_join.apply(plan)
    assert moved.columns == plan.columns
    assert history(plan, items, rows) == history(moved, items, rows)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(items=timelines, rows=changes, window=windows)
def test_a_selection_on_the_stream_goes_below_a_table_join(kind: SourceKind, items: Timeline, rows: list[TableChange],
                                                           window: n.WindowClause):
    join = with_table(n.Qualify(n.Window(STREAMS["a"], window), "a"), kind)
    plan = n.Filter(join, Scalar.parse("`a.x` > 1 AND `t.w` > 0"))
    (moved,) = selection_below_table_join.apply(plan)
    assert isinstance(moved, n.Filter)
    assert history(plan, items, rows) == history(moved, items, rows)


def test_the_rewritten_plan_is_legal_where_the_written_one_is_not():
    plan = with_table(n.AntiJoin(A, C, Scalar.parse("`a.v` = `c.v`")), SourceKind.NRR)
    assert list(problems(plan))
    assert [found for found in closure(plan) if not list(problems(found.plan))]


def test_a_join_does_not_move_across_a_table_met_at_birth():
    """The pair is younger than its first row, so it meets a later state of the table."""
    pair = n.Join(A, B, Scalar.parse("`a.v` = `b.v`"))
    plan = with_table(pair, SourceKind.NRR)
    moved = n.Join(with_table(A, SourceKind.NRR), B, Scalar.parse("`a.v` = `b.v`"))
    items, rows = timeline_of([(1, "p", 0)], [(4, "p", 0)]), [TableChange(2, {"v": "p", "w": 1})]
    assert [sum(bag.values()) for bag in (history(plan, items, rows)[4], history(moved, items, rows)[4])] == [1, 0]
    assert not [step for step in steps(plan) if not isinstance(step.plan, n.TableJoin | n.Project)]


def test_below_a_table_met_at_birth_no_other_representative_is_chosen():
    one, other = (n.Project(side, (n.NamedScalar("a.v", Scalar.column(f"{side.alias}.v")),)) for side in (A, B))
    plan = with_table(n.Distinct(n.Union((one, other))), SourceKind.NRR)
    assert not [step for step in steps(plan) if "distinct below union" in step.by]
    assert [step for step in steps(with_table(n.Distinct(n.Union((one, other))), SourceKind.RELATION))
            if "distinct below union" in step.by]
