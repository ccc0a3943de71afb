"""Tables beside what a random plan reads: their join, and the rows they have."""

from __future__ import annotations

from operator import itemgetter

import pyarrow as pa
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind, SourceSchema
from panewise.plan.nodes import NamedScalar, Node, Project, Qualify, Table, TableJoin
from panewise.progress.timeline import Arrival, Timeline
from relations.plans import columns

NAMES = {"at": pa.int64(), "k": pa.string(), "w": pa.int64()}
CELLS = st.lists(st.tuples(st.integers(-2, 4), st.sampled_from([*"abab", None]), st.sampled_from([0, 1, 2, 3, None])),
                 min_size=1, max_size=4)
KINDS = st.sampled_from([SourceKind.NRR, SourceKind.RELATION])


@st.composite
def beside_a_table(draw: st.DrawFn, below: Node, name: str = "q") -> Node:
    """The rows of k and v that meet a table, with its number added; columns k and v again."""
    return meeting(below, draw(KINDS), name)


def meeting(below: Node, kind: SourceKind, name: str = "q") -> Node:
    """The same with a table of this kind."""
    table = Table(f"{name} {kind.value}", SourceSchema(NAMES, time="at", kind=kind))
    met = TableJoin(Qualify(below, "s"), Qualify(columns(table, "k", "w"), "q"), Scalar.parse("`s.k` = `q.k`"))
    return Project(met, (NamedScalar("k", Scalar.column("s.k")), NamedScalar("v", Scalar.parse("`s.v` + `q.w`"))))


@st.composite
def table_rows(draw: st.DrawFn, plan: Node) -> Timeline:
    """What the tables of a plan are told before anything else comes."""
    return [Arrival(name, {"at": at, "k": k, "w": w}) for name in _tables(plan)
            for at, k, w in sorted(draw(CELLS), key=itemgetter(0))]


@st.composite
def table_histories(draw: st.DrawFn, plan: Node) -> list[Timeline]:
    """What each table of a plan is told, in any order: mostly several rows of a key; what reaches back may also go."""
    found = []
    for name in _tables(plan):
        cells = st.tuples(st.sampled_from([-1, 0, 0, 1, 2, 4]), st.sampled_from("aaab"), st.integers(0, 3))
        rows = [Arrival(name, {"at": at, "k": k, "w": w}) for at, k, w in draw(st.lists(cells, min_size=2, max_size=6))]
        if name.endswith(SourceKind.RELATION.value):
            gone = draw(st.lists(st.sampled_from(rows), max_size=2, unique_by=id))
            rows += [Arrival(name, {**row.item, "at": draw(st.integers(4, 8)), "change": -1}) for row in gone]
        found.append(rows)
    return found


def _tables(plan: Node) -> list[str]:
    return sorted({node.name for node in plan.walk() if isinstance(node, Table)})
