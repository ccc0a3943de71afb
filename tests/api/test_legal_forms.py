"""A query that is illegal as written and legal in another form runs in that form; others are refused everywhere."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import panewise as pw
from oracle.building import last, source, table
from panewise.core.errors import PlanError
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
from panewise.dataflow import open_plan
from panewise.plan import nodes as n
from relations.running import bag

ALONE = "NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)"
ABOVE = f"SELECT d.k, t.w FROM (SELECT * FROM a [RANGE 9] WHERE {ALONE}) AS d, t WHERE d.k = t.k"
BELOW = f"SELECT a.k, t.w FROM a [RANGE 9], t WHERE a.k = t.k AND {ALONE}"
STREAMS = {"a": [{"ts": 1, "k": "x"}, {"ts": 4, "k": "y"}, {"ts": 6, "k": "x"}], "b": [{"ts": 2, "k": "x"}]}
CHANGES = [{"ts": 0, "k": "x", "w": 1, "change": 1}, {"ts": 0, "k": "y", "w": 2, "change": 1},
           {"ts": 3, "k": "x", "w": 3, "change": 1}]
HOPELESS = {
    "except": "SELECT d.k, t.w FROM (SELECT k FROM a [RANGE 9] EXCEPT ALL SELECT k FROM b [RANGE 5]) AS d, t "
              "WHERE d.k = t.k",
    "groups": "SELECT d.k, t.w FROM (SELECT k, count(*) AS n FROM a [RANGE 9] GROUP BY k) AS d, t WHERE d.k = t.k",
}
WHY = {"except": "a row on the right takes a result back", "groups": "how long a value lasts depends on the next row"}


def results(text: str, **options: Any) -> Any:
    return bag(map(dict, pw.sql(text, **options, **STREAMS, t=pw.table(CHANGES, time="ts"))))


@pytest.mark.parametrize("exists", ["NOT EXISTS", "EXISTS"])
def test_a_table_joined_above_a_negation_is_joined_below_it(exists: str) -> None:
    above, below = (text.replace("NOT EXISTS", exists) for text in (ABOVE, BELOW))
    expected = results(below, engine="oracle")
    assert expected
    assert results(above, engine="oracle") == expected
    assert results(above) == expected
    assert results(above, stats={"a.rows_per_second": 100, "b.rows_per_second": 1}) == expected


@pytest.mark.parametrize("stats", [None, {"a.rows_per_second": 100}])
def test_explain_says_how_it_runs_and_why(stats: Any) -> None:
    text = pw.explain(ABOVE, stats=stats, **STREAMS, t=pw.table(CHANGES, time="ts"))
    assert text.startswith("rewritten as π((a[] ⋈ t) ▷ b[]) (alias below operators, negation above table join), "
                           "because the rows joined with table t may be taken back (a row on the right takes a result")
    assert "rewritten" not in pw.explain(BELOW, stats=stats, **STREAMS, t=pw.table(CHANGES, time="ts"))


@pytest.mark.parametrize("name", HOPELESS)
def test_what_has_no_legal_form_is_refused_everywhere_for_its_real_reason(name: str) -> None:
    message = WHY[name]
    for run in (pw.sql, pw.explain):
        with pytest.raises(PlanError, match=message):
            run(HOPELESS[name], **read(name), t=pw.table(CHANGES, time="ts"))
    with pytest.raises(PlanError, match="join the stream with the table first"):
        pw.sql(HOPELESS[name], engine="oracle", **read(name), t=pw.table(CHANGES, time="ts"))


def read(name: str) -> dict[str, Any]:
    """The streams that a text reads: others are refused."""
    return {stream: rows for stream, rows in STREAMS.items() if f"FROM {stream} " in HOPELESS[name]}


def test_a_plan_without_a_text_is_treated_alike() -> None:
    one, other = (n.Qualify(n.Window(source(s, k=pa.string()), last(5)), s) for s in "ab")
    rows = n.Qualify(table("t", SourceKind.NRR, k=pa.string()), "t")
    on = Scalar.parse("`a.k` = `t.k`")
    query = open_plan(n.TableJoin(n.AntiJoin(one, other, Scalar.parse("`a.k` = `b.k`")), rows, on))
    running = query.relation.physical.running
    assert isinstance(running.inputs[0] if isinstance(running, n.Project) else running, n.AntiJoin)
    with pytest.raises(PlanError, match="a row on the right takes a result back"):
        open_plan(n.TableJoin(n.BagDifference(one, other), rows, on))
