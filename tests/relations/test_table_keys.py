"""Keys of tables: declared ones, and rows as wholes; several rows of one compared value that come and go."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from oracle.questions import Oracle
from panewise.core.errors import SchemaError
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind, SourceSchema
from panewise.plan.nodes import Node, Qualify, Table, TableJoin
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from relations.plans import PLACES, source, timelines
from relations.running import assert_like_the_oracle, bag, run_relation
from relations.test_tables import histories
from spark.in_process_queries import Hosted

KEYS = st.sampled_from([(), ("k",), ("k", "w")])


def plan(kind: SourceKind = SourceKind.NRR, key: tuple[str, ...] = ()) -> Node:
    schema = SourceSchema({"k": pa.string(), "w": pa.int64(), "at": pa.int64()}, time="at", kind=kind, key=key)
    return TableJoin(Qualify(source("s"), "s"), Qualify(Table("t", schema), "t"), Scalar.parse("`s.k` = `t.k`"))


def told(*changes: tuple[int, str, int, int]) -> Timeline:
    """Changes as (instant, k, w, sign)."""
    return [Arrival("t", {"k": k, "w": w, "at": at, "change": sign}) for at, k, w, sign in changes]


def outcome(run: Any) -> Any:
    """What comes out, or what is refused."""
    try:
        return bag(run())
    except SchemaError as error:
        return str(error)


@settings(max_examples=80, deadline=None)
@given(histories(), st.sampled_from([SourceKind.NRR, SourceKind.RELATION]), KEYS, timelines(("s",), rows=6),
       st.randoms(use_true_random=False), PLACES, PLACES)
def test_what_is_refused_of_a_history_is_refused_however_it_is_cut(
        history: list[Any], kind: SourceKind, key: tuple[str, ...], timeline: Timeline, random: Random,
        cuts: frozenset[int], saves: frozenset[int]) -> None:
    changes = told(*((c.at, c.row["k"], c.row["w"], 1 if c.insert else -1) for c in history))
    items: Timeline = []
    for change in changes:
        if items and random.random() < 0.5:
            items.append(Arrival("t", Punctuation.below("at", change.item["at"])))
        items.append(change)
    mixed = [*timeline, *items] if random.random() < 0.5 else [*items, *timeline]
    joined = plan(kind, key)
    expected = outcome(lambda: Oracle(joined, mixed).results())
    event("refused" if isinstance(expected, str) else "runs")
    if isinstance(expected, str):
        assert outcome(lambda: run_relation(joined, mixed, cuts, saves)[0]) == expected
        assert expected in str(outcome(lambda: Hosted(joined, 2, seed=1).run(mixed, cuts)))
    else:
        assert_like_the_oracle(joined, mixed, cuts, saves)
        assert bag(Hosted(joined, 2, seed=1).run(mixed, cuts)) == expected


ONE_TO_MANY = told((0, "a", 1, 1), (0, "a", 2, 1), (6, "a", 1, -1), (9, "a", 3, 1))
ASKED = [Arrival("s", {"ts": ts, "k": "a", "v": 0}) for ts in (5, 7, 10)]


@pytest.mark.parametrize("key", [(), ("k", "w")])
def test_several_rows_of_one_compared_value_come_and_go(key: tuple[str, ...]) -> None:
    items = [*ONE_TO_MANY, *ASKED]
    assert_like_the_oracle(plan(key=key), items)
    met = [(row["s.ts"], row["t.w"]) for row in run_relation(plan(key=key), items)[0]]
    assert sorted(met) == [(5, 1), (5, 2), (7, 2), (10, 2), (10, 3)]


@pytest.mark.parametrize("order", [1, -1])
def test_an_update_may_be_written_in_either_order_as_often_as_one_likes(order: int) -> None:
    updates = told((0, "a", 1, 1), *((6, "a", 2, 1), (6, "a", 1, -1))[::order], *((9, "a", 3, 1),
                   (9, "a", 2, -1))[::order])
    items = [*updates, *ASKED]
    for key in ((), ("k",)):
        assert_like_the_oracle(plan(key=key), items)
        met = [(row["s.ts"], row["t.w"]) for row in run_relation(plan(key=key), items)[0]]
        assert met == [(5, 1), (7, 2), (10, 3)]


@pytest.mark.parametrize(("key", "changes", "message"), [
    (("k",), told((0, "a", 1, 1), (6, "a", 2, 1)), r"two rows with the key {'k': 'a'} at 6: delete the first"),
    (("k",), told((0, "a", 1, 1), (6, "a", 1, -1), (9, "a", 2, 1)), r"{'k': 'a'} at 9 uses a key .* deleted at 6"),
    ((), told((0, "a", 1, 1), (6, "a", 1, -1), (9, "a", 1, 1)), r"{'k': 'a', 'w': 1} at 9 uses a key .* deleted at 6"),
])
def test_keys_that_are_there_twice_or_come_back_are_refused(key: tuple[str, ...], changes: Timeline,
                                                            message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Oracle(plan(key=key), [*changes, *ASKED]).results()
    for saves in (frozenset[int](), frozenset({2, 3})):
        promised = Arrival("t", Punctuation.below("at", 20))
        with pytest.raises(SchemaError, match=message):
            run_relation(plan(key=key), [*changes, promised, *ASKED], frozenset(), saves)


def test_a_key_of_a_table_whose_changes_reach_back_may_come_back() -> None:
    changes = told((0, "a", 1, 1), (6, "a", 1, -1), (9, "a", 2, 1))
    assert_like_the_oracle(plan(SourceKind.RELATION, ("k",)), [*changes, *ASKED])
