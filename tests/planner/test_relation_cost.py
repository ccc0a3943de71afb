"""Flows and costs of relational plans: sizes as the thesis gives them, orders of magnitude as the experiments do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.planner.choose.join_order import Stream, join_size
from panewise.planner.choose.physical import relation_plan
from panewise.planner.cost.relation_cost import (
    PlanCost,
    arrival_list,
    calendar_by_arrival,
    fifo,
    naive_distinct,
    plan_cost,
)
from panewise.planner.cost.relation_flow import Flow, Flows
from panewise.planner.statistics.relation_statistics import (
    RelationStatistics,
    declared_relations,
    speaks_of_inputs,
    unit_of,
)
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from planner.plans import TIMED, counted, filtered, projected, source, table, window
from planner.random_plans import plans

HUNDRED = SlidingWindow.scoped(100)


def cost_of(plan: n.Node, known: RelationStatistics, style: str = "upa") -> PlanCost:
    return plan_cost(relation_plan(plan, known=known, style=style), Flows(plan, known))


def stats(**inputs: dict[str, float]) -> RelationStatistics:
    return declared_relations(inputs)


def flow(plan: n.Node, statistics: RelationStatistics) -> Flow:
    return Flows(plan, statistics)[plan]


def named(stream: str, spec: object = HUNDRED) -> n.Qualify:
    return n.Qualify(window(spec, stream), stream)  # type: ignore[arg-type]


def on(one: str, other: str) -> Scalar:
    return Scalar.parse(f"`{one}.a` = `{other}.a`")


KNOWN = stats(S={"rows_per_unit": 10, "a": 500}, R={"rows_per_unit": 1, "a": 50}, T={"rows_per_unit": 1, "a": 40})
PAIR = n.Join(named("S"), named("R"), on("S", "R"))


def test_a_window_holds_rate_times_length():
    assert flow(window(HUNDRED, "S"), KNOWN).size == 1000
    assert flow(window(CountWindow(30), "S"), KNOWN).size == 30
    assert flow(window(PartitionedCountWindow(3), "S", partition=("a",)), KNOWN).size == 1500
    growing = flow(window(BandWindow.since(0), "S"), KNOWN)
    assert growing.size == 10 * KNOWN.horizon
    assert growing.expiries == 0


def test_join_sizes_are_those_of_the_join_order_tables():
    streams = [Stream(10, 100, 500), Stream(1, 100, 50), Stream(1, 100, 40)]
    assert flow(PAIR, KNOWN).size == join_size(streams, [0, 1]) == 200
    three = n.Join(PAIR, named("T"), on("R", "T"))
    assert flow(three, KNOWN).size == pytest.approx(join_size(streams, [0, 1, 2]))


def test_in_a_steady_state_a_join_makes_as_many_pairs_as_leave():
    found = flow(PAIR, KNOWN)
    assert found.rate == found.expiries == pytest.approx((10 * 100 + 1 * 1000) / 500)


def test_selections_take_their_share_and_measured_shares_win():
    whole, part = window(HUNDRED, "S"), filtered(window(HUNDRED, "S"), "a = 3")
    assert flow(part, KNOWN).rate == pytest.approx(flow(whole, KNOWN).rate / 500)
    measured = RelationStatistics(KNOWN.inputs, passing={"a = 3": 0.5})
    assert flow(part, measured).rate == 5


def test_duplicates_shrink_to_values_and_groups():
    assert flow(n.Distinct(projected(window(HUNDRED, "R"), "a")), KNOWN).size == pytest.approx(43, abs=1)
    assert flow(counted(window(HUNDRED, "R"), "a"), KNOWN).size == pytest.approx(43, abs=1)


def test_the_share_that_leaves_early_is_zero_without_new_values_on_the_right():
    negation = n.AntiJoin(named("S"), named("R"), on("S", "R"))
    full = stats(S={"rows_per_unit": 10, "a": 50}, R={"rows_per_unit": 100, "a": 50})
    assert flow(negation, full).premature < 1e-6
    sparse = stats(S={"rows_per_unit": 10, "a": 50}, R={"rows_per_unit": 0.1, "a": 50})
    assert flow(negation, sparse).premature > 0.1
    assert flow(n.BagDifference(projected(window(HUNDRED, "S"), "a"), projected(window(HUNDRED, "R"), "a")),
                sparse).premature > 0


def test_terms_of_the_structures():
    assert fifo(5) == 10
    assert calendar_by_arrival(5) == fifo(5)
    assert arrival_list(1, 1000, passes=1) == 1001
    assert naive_distinct(1, 1, 1000) > 100 * (1 + 1)  # delta* looks at a row twice


@pytest.mark.parametrize("plan", [PAIR, n.Distinct(projected(window(HUNDRED, "S"), "a")), counted(PAIR, "S.k")],
                         ids=["join", "distinct", "groups"])
def test_pattern_aware_costs_less_than_negatives_and_than_lists(plan: n.Node):
    aware, negative, direct = (cost_of(plan, KNOWN, style).total
                               for style in ("upa", "negative", "direct"))
    assert aware < negative
    assert aware < direct


def test_negatives_double_what_a_stateless_operator_sees():
    plan = filtered(window(HUNDRED, "S"), "k = 'x'")
    aware, negative = (cost_of(plan, KNOWN, style).processing[()]
                       for style in ("upa", "negative"))
    assert negative == 2 * aware


def test_a_table_whose_updates_reach_back_costs_a_scan_for_each():
    late, back = (n.TableJoin(n.Qualify(window(HUNDRED, "S"), "S"), n.Qualify(table(kind=kind), "t"),
                              Scalar.parse("`S.a` = `t.a`")) for kind in (SourceKind.NRR, SourceKind.RELATION))
    known = declared_relations({"S": {"rows_per_unit": 10, "a": 50}, "T": {"rows": 50, "updates_per_unit": 2}})
    assert cost_of(back, known).processing[()] == cost_of(late, known).processing[()] + 2 * 1000


@settings(max_examples=30, deadline=None)
@given(plans(), st.sampled_from(["upa", "negative", "direct"]))
def test_every_plan_has_a_cost_in_every_style(plan: n.Node, style: str):
    cost = cost_of(plan, KNOWN, style)
    every = [*cost.processing.values(), *cost.state.values(), cost.rows]
    assert all(0 <= part < float("inf") for part in every)
    for found in Flows(plan, KNOWN).values():
        assert 0 <= found.early <= found.rate * (1 + 1e-9)
        assert 0 <= found.premature <= 1


def test_declared_statistics_are_checked():
    assert speaks_of_inputs({"S.a": 5})
    assert not speaks_of_inputs({"rows_per_second": 5})
    for bad, message in (({"groups": 5}, "whose it is"), ({"S.a": -1}, "above zero"), ({"S.a": "many"}, "above zero"),
                         ({"passing": {"a = 1": 2}}, "at most 1")):
        with pytest.raises(PlanError, match=message):
            declared_relations(bad)


def test_a_unit_is_a_second_where_time_is_a_timestamp():
    assert unit_of(window(HUNDRED)) == 1
    assert unit_of(source(schema=TIMED)) == 1_000_000
