"""Every query of the language runs on the oracle: columns as the plan says, and changes that add up."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from oracle.questions import Oracle
from panewise.core.time import HOUR, SECOND
from panewise.engines.oracle.tuples import value_of
from panewise.plan.nodes import Node, Source
from panewise.planner.facts.result_forms import Form, form_of
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse
from sql.sql_cases import catalog, load, options

WORDS = ("ftp", "TCP", "UDP", "SYN", "SYN_ACK", "U", "202.101.0.0")
CASES = {case["id"]: case for case in load("queries.yaml")}


def value(data_type: pa.DataType, chance: random.Random) -> Any:
    if pa.types.is_string(data_type):
        return chance.choice(WORDS)
    return float(chance.randrange(0, 40)) if pa.types.is_floating(data_type) else chance.choice((1, 2, 12, 31))


def small_timeline(plan: Node, seed: int) -> Timeline:
    """A few rows of every stream around seven o'clock, a little out of order, with punctuation."""
    chance = random.Random(seed)
    schemas = {n.name: n.schema for n in plan.walk() if isinstance(n, Source)}
    found: Timeline = []
    for step in range(7):
        for name, schema in schemas.items():
            at = 7 * HOUR + (step * 20 - chance.randrange(0, 30)) * SECOND
            row = {c: at if c == schema.time else value(t, chance) for c, t in schema.columns.items()}
            found.append(Arrival(name, row))
            if step == 4 and schema.time:
                found.append(Arrival(name, Punctuation.below(schema.time, 7 * HOUR + 30 * SECOND)))
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_every_query_of_the_language_has_an_answer(case: dict[str, Any]):
    plan = parse(case["text"], catalog(), **options(case))
    oracle = Oracle(plan, small_timeline(plan, seed=len(case["text"])))
    for row in oracle.results():
        assert tuple(row) == oracle.columns
    if form_of(plan) in {Form.LIVES, Form.CHANGES}:
        bag: Counter[object] = Counter()
        for change in oracle.changes():
            bag[value_of(change.row)] += change.sign
        final = Counter(value_of(row) for row in oracle.relation_at(max(oracle.instants(), default=0)))
        assert +bag == final
        assert min(bag.values(), default=0) >= 0
