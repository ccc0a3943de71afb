"""Conditions on the distance of two times, as texts: rows meet exactly where the condition holds, on every engine."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.compare import assert_same_rows
from embedded.join_plans import run
from oracle.questions import Oracle
from panewise.core.schema import Catalog, SourceSchema
from panewise.plan.nodes import BandJoin, Join
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse

CATALOG = Catalog({name: SourceSchema({"k": pa.string(), "ts": pa.int64()}, time="ts") for name in "ab"})
KINDS = ("", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
places = st.frozensets(st.integers(0, 50), max_size=6)
rows = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 25)), min_size=1, max_size=25)

# how a distance of b from a is said to be above low, and below high
LOWS = ("b.ts - a.ts {gt} {low}", "b.ts {gt} a.ts + {low}", "a.ts + {low} {lt} b.ts", "a.ts {lt} b.ts - {low}",
        "a.ts - b.ts {lt} -({low})", "({low} {lt} b.ts - a.ts)")
HIGHS = ("b.ts - a.ts {lt} {high}", "b.ts {lt} a.ts + {high}", "a.ts + {high} {gt} b.ts", "-a.ts + b.ts {lt} {high}",
         "b.ts - 3 {lt} a.ts + {high} - 3")
BOTH = ("b.ts - a.ts BETWEEN {low} AND {high}", "b.ts BETWEEN a.ts + {low} AND a.ts + {high}",
        "a.ts BETWEEN b.ts - {high} AND b.ts - {low}")


def with_promises(random: Random, drawn: list[tuple[str, str, int]]) -> Timeline:
    shaken = sorted(drawn, key=lambda row: row[2] + random.randint(0, 8))
    made: Timeline = []
    for place, (stream, k, ts) in enumerate(shaken):
        made.append(Arrival(stream, {"k": k, "ts": ts}))
        for name in "ab":
            ahead = [later[2] for later in shaken[place + 1 :] if later[0] == name]
            if ahead and random.random() < 0.4:
                made.append(Arrival(name, Punctuation.below("ts", min(ahead))))
    return made


@settings(max_examples=80, deadline=None)
@given(st.randoms(use_true_random=False), rows, st.integers(-8, 8), st.integers(1, 8), st.booleans(), st.booleans(),
       st.sampled_from(KINDS), places, places)
def test_rows_meet_where_the_condition_holds(random: Random, drawn: list[tuple[str, str, int]], low: int, width: int,
                                             open_low: bool, open_high: bool, kind: str, cuts: frozenset[int],
                                             saves: frozenset[int]) -> None:
    high = low + width + open_low + open_high
    if not open_low and not open_high and random.random() < 0.5:
        texts = [random.choice(BOTH).format(low=low, high=high)]
    else:
        texts = [random.choice(LOWS).format(low=low, gt=">" if open_low else ">=", lt="<" if open_low else "<="),
                 random.choice(HIGHS).format(high=high, gt=">" if open_high else ">=", lt="<" if open_high else "<=")]
    condition = " AND ".join(random.sample(["a.k = b.k", *texts], len(texts) + 1))
    text = f"SELECT * FROM a {kind} JOIN b ON {condition}" if kind else f"SELECT * FROM a, b WHERE {condition}"
    plan = parse(text, CATALOG)
    assert any(isinstance(node, BandJoin) for node in plan.walk()), text
    arrivals = with_promises(random, drawn)
    expected = by_definition(drawn, kind, low + open_low, high - open_high)
    assert_same_rows(Oracle(plan, arrivals).results(), expected)
    found, query = run(plan, arrivals, cuts, saves)
    assert_same_rows(found, expected)
    assert query.late_count == 0


def by_definition(drawn: list[tuple[str, str, int]], kind: str, low: int, high: int) -> list[dict[str, Any]]:
    left, right = ([{f"{name}.k": k, f"{name}.ts": ts} for stream, k, ts in drawn if stream == name] for name in "ab")
    met = [(i, j) for (i, one), (j, other) in product(enumerate(left), enumerate(right))
           if one["a.k"] == other["b.k"] and low <= other["b.ts"] - one["a.ts"] <= high]
    some, others = {i for i, _ in met}, {j for _, j in met}
    if kind in ("LEFT SEMI", "LEFT ANTI"):
        return [one for i, one in enumerate(left) if (i in some) is (kind == "LEFT SEMI")]
    found: list[dict[str, Any]] = [{**left[i], **right[j]} for i, j in met]
    if kind in ("LEFT", "FULL"):
        found += [{**one, "b.k": None, "b.ts": None} for i, one in enumerate(left) if i not in some]
    if kind in ("RIGHT", "FULL"):
        found += [{"a.k": None, "a.ts": None, **other} for j, other in enumerate(right) if j not in others]
    return found


@pytest.mark.parametrize("condition", [
    "b.ts > a.ts", "b.ts = a.ts", "b.ts - a.ts > 2 OR b.ts < a.ts", "2 * b.ts BETWEEN a.ts AND a.ts + 5",
    "b.ts + a.ts BETWEEN 1 AND 2", "NOT b.ts BETWEEN a.ts AND a.ts + 5", "b.ts BETWEEN a.ts AND 100",
])
def test_without_windows_and_both_ends_rows_stay_for_ever(condition: str) -> None:
    plan = parse(f"SELECT * FROM a, b WHERE {condition}", CATALOG)
    assert any(isinstance(node, Join) for node in plan.walk())
