"""Tables beside what a random plan reads: their join, and the rows they have."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind, SourceSchema
from panewise.plan.nodes import NamedScalar, Node, Project, Qualify, Table, TableJoin
from panewise.progress.timeline import Arrival, Timeline
from relations.plans import columns

NAMES = {"at": pa.int64(), "k": pa.string(), "w": pa.int64()}
CELLS = st.lists(st.tuples(st.integers(-2, 4), st.sampled_from("ab"), st.integers(0, 3)), min_size=1, max_size=4)


@st.composite
def beside_a_table(draw: st.DrawFn, below: Node) -> Node:
    """The rows of k and v that meet a table, with its number added; columns k and v again."""
    kind = draw(st.sampled_from([SourceKind.NRR, SourceKind.RELATION]))
    table = Table(f"q {kind.value}", SourceSchema(NAMES, time="at", kind=kind))
    met = TableJoin(Qualify(below, "s"), Qualify(columns(table, "k", "w"), "q"), Scalar.parse("`s.k` = `q.k`"))
    return Project(met, (NamedScalar("k", Scalar.column("s.k")), NamedScalar("v", Scalar.parse("`s.v` + `q.w`"))))


@st.composite
def table_rows(draw: st.DrawFn, plan: Node) -> Timeline:
    """What the tables of a plan are told before anything else comes."""
    names = sorted({node.name for node in plan.walk() if isinstance(node, Table)})
    return [Arrival(name, {"at": at, "k": k, "w": w}) for name in names for at, k, w in sorted(draw(CELLS))]
