"""Tables that change between the rows of a stream, with promises of both: what a row meets is told step by step."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.questions import Oracle
from panewise.api.query import plan_of
from panewise.core.schema import SourceKind, SourceSchema
from panewise.plan.nodes import Node
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from relations.plans import PLACES
from relations.running import assert_like_the_oracle, run_relation

TEXTS = ("SELECT s.ts, t.w, t.at FROM s, t WHERE s.k = t.k",
         "SELECT s.ts, t.w, t.at FROM s [RANGE 3], t WHERE s.k = t.k")


def plan(kind: SourceKind, text: str = TEXTS[0]) -> Node:
    return plan_of(text, {"s": SourceSchema({"ts": pa.int64(), "k": pa.string()}, time="ts"),
                          "t": SourceSchema({"at": pa.int64(), "k": pa.string(), "w": pa.int64()}, time="at",
                                            kind=kind)})


def change(at: int, sign: int, k: str = "x", w: int = 0) -> Arrival:
    return Arrival("t", {"at": at, "k": k, "w": w, "change": sign})


def asks(ts: int, k: str = "x") -> Arrival:
    return Arrival("s", {"ts": ts, "k": k})


def below(bound: int) -> list[Arrival]:
    return [Arrival("t", Punctuation.below("at", bound)), Arrival("s", Punctuation.below("ts", bound))]


@pytest.mark.parametrize("kind", [SourceKind.NRR, SourceKind.RELATION])
@pytest.mark.parametrize(("items", "met"), [
    ([change(0, 1), *below(2), change(3, -1), asks(5)], []),  # gone before the row, told in another step
    ([change(0, 1), *below(2), change(3, -1), *below(4), asks(4)], []),  # one instant later it is gone
    ([change(0, 1), *below(2), change(4, -1), asks(4)], [4]),  # and at its own instant it is still there
])
def test_a_row_that_was_deleted_is_met_no_more(kind: SourceKind, items: Timeline, met: list[int]) -> None:
    assert_like_the_oracle(plan(kind), items)
    if kind is SourceKind.NRR:
        assert [row["ts"] for row in run_relation(plan(kind), items)[0]] == met


@pytest.mark.parametrize("kind", [SourceKind.NRR, SourceKind.RELATION])
def test_of_equal_rows_the_oldest_is_deleted(kind: SourceKind) -> None:
    items = [change(0, 1), change(2, 1), *below(3), change(4, -1), *below(5), asks(6)]
    assert_like_the_oracle(plan(kind), items)
    assert [row["at"] for row in Oracle(plan(kind), items).results()] == [2]


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([SourceKind.NRR, SourceKind.RELATION]),
       st.sampled_from(TEXTS), PLACES, PLACES)
def test_tables_change_while_rows_come(random: Random, kind: SourceKind, text: str, cuts: frozenset[int],
                                       saves: frozenset[int]) -> None:
    items: Timeline = []
    there: list[tuple[str, int]] = []
    gone: set[str] = set()
    for now in range(9):
        for _ in range(random.randint(0, 2)):
            row = (random.choice("xy"), random.choice((0, 0, 1)))
            if there and random.random() < 0.4:
                row = there.pop(random.randrange(len(there)))
                gone.add(row[0])
                items.append(change(now, -1, *row))
            elif kind is SourceKind.RELATION or row[0] not in gone:  # a key of an NRR does not come back
                there.append(row)
                items.append(change(now, 1, *row))
        items += [asks(now + random.randint(0, 1), random.choice("xy")) for _ in range(random.randint(0, 2))]
        if random.random() < 0.6:
            promises: list[Any] = below(now + 1)
            items += random.sample(promises, random.randint(1, 2))
    assert_like_the_oracle(plan(kind, text), items, cuts, saves)
