"""Every operator keeps the promises it passes on: rows come out before the punctuation that rules them out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.plans import COLUMNS
from panewise.core.generators import Generator
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.dataflow.batch import Batch
from panewise.dataflow.operators.base import Operator
from panewise.dataflow.operators.row_step import RowStep
from panewise.dataflow.operators.union import Merged
from panewise.plan.nodes import Explode, Filter, NamedScalar, Node, Project, Qualify, Source
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival
from progress.grammar import grammatical, is_grammatical

Row = dict[str, Any]
rows = st.fixed_dictionaries({"ts": st.integers(0, 30), "k": st.sampled_from(["a", "b"]), "g": st.integers(0, 1),
                              "v": st.sampled_from([0.5, 2.0])})
groups = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b"])})
promises = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(0, 30), groups)
streams = st.lists(st.one_of(rows, rows, promises), max_size=25).map(
    lambda items: [a.item for a in grammatical([Arrival("s", i) for i in items])])
SCHEMA = pa.schema(COLUMNS)


def batch_of(some: list[Row]) -> Batch:
    place = np.arange(1, 1 + len(some))
    return Batch(pa.Table.from_pylist(some, SCHEMA), "s", place, place, np.zeros(len(some), np.int64))


def fed(items: list[Any], size: int = 1) -> list[Any]:
    """Rows as batches of at most so many rows; punctuation ends a batch."""
    out: list[Any] = []
    waiting: list[Row] = []
    for item in [*items, END]:
        if waiting and (isinstance(item, Punctuation) or len(waiting) == size):
            out.append(batch_of(waiting))
            waiting = []
        if isinstance(item, Punctuation):
            out.append(item)
        else:
            waiting.append(item)
    return out


def through(operator: Operator, items: list[Any], port: int = 0) -> list[Any]:
    """What comes out, rows and promises one by one."""
    out: list[Any] = []
    for item in items:
        if isinstance(item, Punctuation):
            out += operator.advance(port, item)
        else:
            made = operator.take(port, item)
            out += [] if made is None else made.table.to_pylist()
    return out


def make(name: str) -> Operator:
    source = Source("s", SourceSchema(COLUMNS))
    renamed = zip(["t", "key", "h", "w"], map(Scalar.column, COLUMNS), strict=True)
    steps: dict[str, Node] = {
        "select": Filter(source, Scalar.parse("v > 1")),
        "apply": Project(source, (NamedScalar.column("ts"), NamedScalar("v", Scalar.parse("v * 2")))),
        "prefix": Qualify(source, "S"),
        "rename": Project(source, tuple(NamedScalar(*item) for item in renamed)),
        "explode": Explode(source, Generator.EXPLODE, Scalar.parse("array(g, g + 1)"), ("x",))}
    return RowStep(steps[name], SCHEMA) if name in steps else Merged(SCHEMA, [list(COLUMNS)], "ts")


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(["select", "apply", "prefix", "rename", "explode", "union"]), streams, st.integers(1, 5))
def test_a_stream_that_keeps_its_promises_still_does_after_every_operator(
        name: str, items: list[Any], size: int) -> None:
    assert is_grammatical([Arrival("s", i) for i in through(make(name), fed(items, size))])


@settings(deadline=None, max_examples=50)
@given(streams, streams, st.lists(st.booleans(), max_size=60))
def test_a_union_promises_only_what_all_its_inputs_do(one: list[Any], other: list[Any], turns: list[bool]) -> None:
    union, waiting, out = Merged(SCHEMA, [list(COLUMNS)] * 2, "ts"), [fed(one), fed(other)], []
    for turn in [*turns, *([False] * len(waiting[0])), *([True] * len(waiting[1]))]:
        if waiting[turn]:
            out += through(union, [waiting[turn].pop(0)], int(turn))
    assert is_grammatical([Arrival("s", i) for i in out])
    assert out[-1] == END
