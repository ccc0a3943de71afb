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

from panewise.plan import nodes as n
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
         n.RelationToStream: "stream"}
DEEPER = (*tuple(NODES)[:8], n.RelationToStream)


@dataclass
class Seen:
    """The examples of a test that have results: how many of how many, and how often each thing occurs in them."""

    drawn: int = 0
    filled: int = 0
    having: Counter[str] = field(default_factory=Counter)

    def note(self, plan: n.Node) -> None:
        self.filled += 1
        self.having.update({name for kind, name in NODES.items() if any(isinstance(x, kind) for x in plan.walk())})
        self.having[f"depth {depth(plan)}"] += 1
        self.having.update({str(spec.kind) for spec in specs_of(plan)})  # type: ignore[attr-defined]


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
            found.note(plan)
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
