"""Property tests are worth what they draw: how many of their examples have results, by operator, depth and kind.

The examples are those that run before a change lands, so these numbers change only with the tests and generators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from panewise.aggregates.registry import resolve
from panewise.plan import nodes as n
from panewise.planner.facts.equi_keys import join_condition
from panewise.progress.timeline import Timeline
from property_runs import drawn
from relations import test_golab_properties as properties
from relations import test_golab_refreshes as refreshes
from relations import test_random_plans as plans
from relations.positive_plans import KINDS
from relations.random_plans import EVERYTHING, OPERATORS, POSITIVE, Drawn, specs_of
from relations.running import run_relation

TESTS = Path(__file__).parents[1]
NODES = {n.Filter: "filter", n.Distinct: "distinct", n.GroupAggregate: "group", n.Union: "union", n.Join: "join",
         n.BagDifference: "except", n.SemiJoin: "exists", n.AntiJoin: "not exists", n.TableJoin: "table",
         n.RelationToStream: "stream", n.Lifetime: "lifetime"}
DEEPER = (*tuple(NODES)[:8], n.RelationToStream)


@dataclass
class Seen:
    """The examples of a test that have results: how many of how many, and how often each thing occurs in them."""

    drawn: int = 0
    filled: int = 0
    having: Counter[str] = field(default_factory=Counter)

    def note(self, plan: n.Node, timeline: Timeline) -> None:
        self.filled += 1
        self.having.update({shape for node in plan.walk() for shape in shapes_of(node)})
        self.having.update({f"null {name}" for arrival in timeline if arrival.is_row
                            for name, value in arrival.item.items() if value is None})  # type: ignore[union-attr]
        self.having.update({name for kind, name in NODES.items() if any(isinstance(x, kind) for x in plan.walk())})
        self.having[f"depth {depth(plan)}"] += 1
        self.having.update({str(spec.kind) for spec in specs_of(plan)})  # type: ignore[attr-defined]


def shapes_of(node: n.Node) -> Iterator[str]:
    """What is special about an operator."""
    match node:
        case n.GroupAggregate():
            functions = [resolve(call.function, call.parameters, call.distinct) for call in node.aggregates]
            if len(functions) > 1:
                yield "several aggregates"
            if len({function.agg_class for function in functions}) > 1:
                yield "aggregates of several classes"
            if any(function.needs_order for function in functions):
                yield "by age"
            if not node.keys:
                yield "one group"
        case n.Filter(input=n.GroupAggregate()):
            yield "condition on groups"
        case n.Union(parts=(_, _, _, *_)):
            yield "three parts"
        case n.Join() | n.SemiJoin() | n.AntiJoin() if node.predicate is not None:
            condition = join_condition(node.predicate, node.left.columns, node.right.columns)
            if condition.residual is not None:
                yield "theta beside equality" if condition.keys else "theta"
            if " OR " in node.predicate.sql:
                yield "or"
        case n.Project() if any(item.scalar.column_name is None for item in node.items):
            yield "computed"
        case _:
            pass


def depth(plan: n.Node) -> int:
    """Operators above each other; projections only give columns their names, unless they are all there is."""
    return max((depth(below) for below in plan.inputs), default=0) + isinstance(plan, DEEPER)


def examples(test: Callable[..., Any], module: Any, argument: str, values: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """What a test draws in each of its runs."""
    path = Path(module.__file__).relative_to(TESTS.parent)
    for value in values:
        yield from drawn(test, Drawn, f"{path}::{test.__name__}[{value}]", **{argument: value})


@cache
def seen(name: str) -> Seen:
    found = Seen()
    for example in examples(*RUNS[name]):
        plan, timeline = example["case"]
        if "rows" in example:  # those of a table beside it
            timeline = [*properties.table_of(example["rows"]), *timeline]
            plan = properties.beside(plan, example["kind"])
        found.drawn += 1
        if run_relation(plan, timeline)[0]:
            found.note(plan, timeline)
    return found


OVER_POSITIVE = (properties, "operator", POSITIVE)
RUNS = {
    "1": (plans.test_every_plan_equals_its_definition_at_every_instant, plans, "operator", EVERYTHING),
    "2": (plans.test_all_styles_agree, plans, "operator", EVERYTHING),
    "3": (plans.test_results_leave_as_their_label_says_and_only_strict_edges_send_ends, plans, "operator", EVERYTHING),
    "4": (plans.test_equivalent_plans_put_out_the_same, plans, "operator", EVERYTHING),
    "7": (refreshes.test_property_7_restore_puts_out_what_continuous_evaluation_does_and_no_restore_what_a_refresh_sees,
          refreshes, "operator", OPERATORS),
    "5": (properties.test_property_5_delta_star_keeps_at_most_twice_its_output_at_any_time, *OVER_POSITIVE),
    "1 with a table": (properties.test_property_1_a_table_beside_any_plan_is_met_as_defined, *OVER_POSITIVE),
    "10": (properties.test_property_10_internal_windows_keep_all_that_external_ones_ever_put_out, properties, "kind",
           KINDS),
}


@pytest.mark.parametrize("name", RUNS)
def test_most_examples_of_a_property_have_results(name: str) -> None:
    found = seen(name)
    assert found.drawn >= 25
    assert found.filled >= 0.6 * found.drawn
    asked = set(RUNS[name][3]) & set(NODES.values())
    assert {what: found.having[what] for what in asked if found.having[what] < 3} == {}
    assert found.having["depth 3"] + found.having["depth 4"] >= 5


def test_the_definition_is_asked_for_deep_plans_and_every_kind_of_window() -> None:
    found = seen("1")
    assert found.having["depth 4"] >= 4
    kinds = {"sliding", "tumbling", "now", "landmark", "band", "calendar", "count", "partitioned count", "row",
             "partitioned row"}
    assert {kind for kind in kinds if found.having[kind] < 2} == set()
    assert found.having["table"] >= 8
    assert found.having["stream"] >= 8
    assert found.having["calendar"] >= 4


def test_the_definition_is_asked_for_every_shape_of_an_operator() -> None:
    found = seen("1").having
    least = {"several aggregates": 6, "aggregates of several classes": 6, "one group": 2, "condition on groups": 3,
             "by age": 1, "three parts": 4, "theta": 4, "theta beside equality": 3, "or": 3, "lifetime": 6,
             "computed": 12, "null k": 20, "null v": 12, "null w": 3}
    assert {what: found[what] for what, count in least.items() if found[what] < count} == {}


@pytest.mark.parametrize("name", ["2", "3", "4", "7"])
def test_so_are_the_other_properties_of_all_plans(name: str) -> None:
    found = seen(name).having
    asked = {"several aggregates", "condition on groups", "three parts", "theta", "or", "computed", "null k", "null v"}
    assert {what for what in asked if found[what] < 1} == set()
