"""Pairs of windows by rows and by time at the instant one of their rows leaves, told in steps."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival
from relations.running import assert_like_the_oracle

SCHEMAS = {name: SourceSchema({"ts": pa.int64(), "k": pa.string()}, time="ts") for name in "ab"}


def row(stream: str, ts: int, k: str) -> Arrival:
    return Arrival(stream, {"ts": ts, "k": k})


def below(bound: int) -> list[Arrival]:
    return [Arrival(name, Punctuation.below("ts", bound)) for name in "ab"]


@pytest.mark.parametrize("windows", ["a [ROWS 1], b [ROWS 1]", "a [ROWS 1], b [RANGE 4]", "a [RANGE 4], b [ROWS 1]",
                                     "a [ROWS 2], b [ROWS 1]"])
@pytest.mark.parametrize("saves", [frozenset[int](), frozenset([4]), frozenset(range(12))])
@pytest.mark.parametrize("bound", [3, 4, 5])
def test_a_pair_ends_once_with_the_first_of_its_rows(windows: str, saves: frozenset[int], bound: int) -> None:
    plan = plan_of(f"SELECT * FROM {windows} WHERE a.k = b.k", SCHEMAS)
    rows = [row("a", 1, "x"), row("b", 1, "x"), *below(bound)]
    for more in ([row("a", 5, "y"), row("b", 5, "z")], [row("a", 9, "y")], [row("b", 5, "z"), row("a", 6, "y")],
                 [row("a", 5, "x"), *below(6), row("b", 7, "x"), *below(8), row("a", 8, "x"), row("b", 9, "y")]):
        assert_like_the_oracle(plan, [*rows, *more], saves=saves)
