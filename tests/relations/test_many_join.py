"""Joins of three and more windows run at once: the same answers as trees of joins of two, and when it is done."""

from __future__ import annotations

from functools import reduce
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from panewise.api.query import plan_of
from panewise.core.scalar import Scalar
from panewise.kernels.relations.many_join import ManyJoin
from panewise.plan.nodes import Distinct, Join, NamedScalar, Node, Project, Qualify
from panewise.planner.join_order import Stream
from panewise.planner.physical import Physical, one_attribute, physical, saves_work
from panewise.planner.relation_statistics import NOTHING_KNOWN
from panewise.progress.timeline import Timeline
from panewise.queries.relations import RelationQuery
from panewise.queries.relations.tree import Stage
from relations.plans import PLACES, TIME_WINDOWS, source, timelines, windows
from relations.running import assert_like_the_oracle, run_relation

STREAMS = ("s", "t", "u")
NAMES = "abcd"
COLUMNS = "ts bigint, k string, v bigint"


@st.composite
def joins(draw: st.DrawFn) -> Node:
    """Three or four windows on one column, in a tree of any shape."""
    count = draw(st.integers(3, 4))
    inputs = [Qualify(draw(windows(draw(st.sampled_from(STREAMS)), TIME_WINDOWS)), NAMES[i]) for i in range(count)]
    if count == 4 and draw(st.booleans()):
        left, right = (Join(*inputs[i:i + 2], on(i, i + 1)) for i in (0, 2))
        return Join(left, right, on(draw(st.sampled_from([0, 1])), draw(st.sampled_from([2, 3]))))
    return reduce(lambda left, i: Join(left, inputs[i], on(draw(st.integers(0, i - 1)), i)), range(1, count), inputs[0])


def on(one: int, other: int) -> Scalar:
    return Scalar.parse(f"`{NAMES[one]}.k` = `{NAMES[other]}.k`")


def at_once(query: RelationQuery, known: object) -> Physical:
    """As if it always paid."""
    del known
    with mock.patch("panewise.planner.physical.saves_work", return_value=True):
        return physical(query.running, NOTHING_KNOWN)


def operators(root: Stage) -> list[type]:
    return [type(stage.operator) for stage in root.walk()]


@settings(max_examples=60, deadline=None)
@given(joins(), timelines(STREAMS, rows=18, times=12), PLACES, PLACES)
def test_joined_at_once_gives_the_oracles_answer(plan: Node, items: Timeline, cuts: frozenset[int],
                                                 saves: frozenset[int]) -> None:
    with mock.patch.object(RelationQuery, "_physical", at_once):
        assert_like_the_oracle(plan, items, cuts, saves)
        _, query = run_relation(plan, items)
        assert operators(query._root).count(ManyJoin) == (one_attribute(query.running) is not None)


@settings(max_examples=30, deadline=None)
@given(joins(), timelines(STREAMS, rows=18, times=12), PLACES)
def test_below_other_operators_too(join: Node, items: Timeline, saves: frozenset[int]) -> None:
    plan = Distinct(Project(join, (NamedScalar("k", Scalar.column("a.k")), NamedScalar("v", Scalar.column("b.v")))))
    with mock.patch.object(RelationQuery, "_physical", at_once):
        assert_like_the_oracle(plan, items, frozenset(), saves)


def test_only_equal_columns_of_windows_without_negatives_are_joined_at_once() -> None:
    def found(text: str) -> bool:
        plan = plan_of(text, {name: source(name).schema for name in STREAMS})
        return any(one_attribute(node) is not None for node in RelationQuery(plan).running.walk())

    three = "SELECT * FROM s [RANGE 5], t [RANGE 5], u [{}] WHERE s.k = t.k AND {}"
    assert found(three.format("RANGE 5", "t.k = u.k"))
    assert found(three.format("RANGE 5", "t.k = u.k").replace("*", "s.v, u.v AS other"))  # columns are left out between
    assert not found(three.format("ROWS 5", "t.k = u.k"))  # rows leave when others come
    assert not found(three.format("RANGE 5", "t.v = u.v"))  # two attributes
    assert not found(three.format("RANGE 5", "t.k = u.k AND s.v < u.v"))
    assert not found("SELECT * FROM s [RANGE 5], t [RANGE 5] WHERE s.k = t.k")


def test_statistics_decide_and_the_plan_says_so() -> None:
    text = "SELECT * FROM s [RANGE 10], t [RANGE 10], u [RANGE 10] WHERE s.k = t.k AND t.k = u.k"
    many = {f"{name}.rows_per_second": 100 for name in STREAMS} | {f"{name}.k": 10 for name in STREAMS}
    schemas = dict.fromkeys(STREAMS, COLUMNS)
    query = pw.open_query(text, stats=many, **schemas)
    assert isinstance(query, RelationQuery)
    assert ManyJoin in operators(query._root)
    assert "3 windows joined at once, probed in the order" in pw.explain(
        text, stats=many, **{name: [{"ts": 1, "k": "a", "v": 1}] for name in STREAMS})
    by_rule = pw.open_query(text, **schemas)
    assert isinstance(by_rule, RelationQuery)
    assert ManyJoin not in operators(by_rule._root)


def test_a_selective_first_join_is_better_kept() -> None:
    rare, common = Stream(1, 10, 1000), Stream(1000, 10, 1)
    assert not saves_work([rare, rare, common])
    assert saves_work([Stream(100, 10, 10)] * 3)
