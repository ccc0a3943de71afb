"""explode, posexplode and inline are operators: where they may stand, what they are called, what is refused and how."""

from __future__ import annotations

import pyarrow as pa
import pytest

import panewise as pw
from panewise.core.errors import SqlError
from panewise.core.schema import Catalog, SourceSchema
from panewise.plan import nodes as n
from panewise.sql import parse

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "xs": pa.list_(pa.int64()), "m": pa.map_(pa.string(), pa.int64()),
           "parts": pa.list_(pa.struct([("name", pa.string()), ("price", pa.int64())]))}
CATALOG = Catalog.of(s=SourceSchema(COLUMNS, time="ts"), u=SourceSchema(COLUMNS, time="ts"))


def explodes(plan: n.Node) -> list[n.Explode]:
    return [node for node in plan.walk() if isinstance(node, n.Explode)]


@pytest.mark.parametrize(("item", "columns"), [
    ("explode(xs)", ("k", "col")), ("explode(xs) AS k2", ("k", "k2")), ("EXPLODE(m)", ("k", "key", "value")),
    ("posexplode(xs)", ("k", "pos", "col")), ("posexplode(m) AS (p, a, b)", ("k", "p", "a", "b")),
    ("inline(parts)", ("k", "name", "price")), ("inline_outer(parts) AS (x, y)", ("k", "x", "y")),
    ("`explode`(xs) AS xs", ("k", "xs")), ("explode(array(1, 2)) AS x", ("k", "x")),
])
def test_columns_have_the_names_of_spark_or_those_behind_as(item: str, columns: tuple[str, ...]) -> None:
    assert parse(f"SELECT k, {item} FROM s", CATALOG).columns == columns


def test_a_view_that_shares_a_name_with_its_source_is_told_apart_by_its_alias() -> None:
    plan = parse("SELECT s.k, t.k AS e FROM s LATERAL VIEW explode(xs) t AS k WHERE t.k > 1 AND s.k = 'p'", CATALOG)
    assert explodes(plan)[0].names == ("t.k",)
    with pytest.raises(SqlError, match="'k' is ambiguous"):
        parse("SELECT k FROM s LATERAL VIEW explode(xs) t AS k", CATALOG)


def test_what_where_asks_of_sources_alone_is_asked_below() -> None:
    plan = parse("SELECT x FROM s LATERAL VIEW explode(xs) t AS x WHERE k = 'p' AND x > 1", CATALOG)
    (exploded,) = explodes(plan)
    assert isinstance(exploded.input, n.Filter)
    assert exploded.input.predicate.sql == "k = 'p'"


def test_a_window_behind_the_view_is_over_what_it_makes_and_nothing_is_asked_before() -> None:
    plan = parse("SELECT x FROM s LATERAL VIEW explode(xs) t AS x [ROWS 2] WHERE k = 'p'", CATALOG)
    (window,) = (node for node in plan.walk() if isinstance(node, n.Window))
    assert isinstance(window.input, n.Explode)
    assert isinstance(window.input.input, n.Source)


def test_generators_of_a_text_have_numbers_of_their_own() -> None:
    plan = parse("SELECT x, y FROM s LATERAL VIEW explode(xs) t AS x LATERAL VIEW explode(xs) v AS y", CATALOG)
    assert sorted(node.number for node in explodes(plan)) == [1, 2]


@pytest.mark.parametrize(("text", "at", "problem"), [
    ("SELECT explode(xs) AS a, explode(xs) AS b FROM s", "explode(xs) AS b", "two generators in one SELECT list"),
    ("SELECT explode(xs) + 1 AS a FROM s", "explode(xs) + 1", "makes rows and is no value"),
    ("SELECT k FROM s WHERE explode(xs) > 1", "explode(xs) > 1", "makes rows and is no value"),
    ("SELECT count(*) [RANGE 5, WA ts] FROM s GROUP BY explode(xs)", "explode(xs)", "makes rows and is no value"),
    ("SELECT sum(explode(xs)) [RANGE 5, WA ts] FROM s", "explode(xs))", "makes rows and is no value"),
    ("SELECT explode(xs), count(*) [RANGE 5, WA ts] FROM s", "explode(xs)", "makes rows and is no value"),
    ("SELECT explode(explode(xs)) FROM s", "explode(xs))", "makes rows and is no value"),
    ("SELECT explode(k) FROM s", "explode(k)", "explode takes an array or a map, not string"),
    ("SELECT inline(xs) FROM s", "inline(xs)", "inline takes an array of structs"),
    ("SELECT explode(xs, xs) FROM s", "explode(xs, xs)", "takes one array or map"),
    ("SELECT posexplode(xs) AS p FROM s", "posexplode(xs)", "makes 2 columns"),
    ("SELECT k FROM s LATERAL VIEW explode(xs) AS x", "AS x", "needs a name before AS"),
    ("SELECT k FROM s LATERAL VIEW upper(k) t AS x", "upper", "LATERAL VIEW takes explode, posexplode, inline"),
    ("SELECT k FROM s LATERAL VIEW explode(xs) s AS x", "LATERAL", "two sources are named 's'"),
    ("SELECT k FROM s LATERAL VIEW posexplode(xs) t AS x, x", "LATERAL", "two columns named 'x'"),
    ("SELECT k FROM s [RANGE 5] LATERAL VIEW explode(xs) t AS x [ROWS 2]", "[ROWS 2]", "two windows"),
    ("SELECT k FROM s LATERAL VIEW explode(xs) t AS x [ROWS 2] LATERAL VIEW explode(xs) v AS y", "[ROWS 2]",
     "a window between two LATERAL VIEWs"),
    ("SELECT x, count(*) FROM s [RANGE 2 rows, WA row-num] LATERAL VIEW explode(xs) t AS x GROUP BY x", "[RANGE",
     "a window by positions before LATERAL VIEW"),
    ("SELECT k FROM s [RANGE 5] WHERE EXISTS (SELECT * FROM u [RANGE 5] LATERAL VIEW explode(xs) t AS x)", "LATERAL",
     "LATERAL VIEW in EXISTS"),
    ("SELECT Istream(k, posexplode(xs) AS (p, x)) FROM s [RANGE 5]", "posexplode", "several names inside Istream"),
    ("SELECT stack(2, 1, 2) FROM s", "stack", "cannot be part of a query"),
])
def test_what_cannot_be_is_refused_at_its_place(text: str, at: str, problem: str) -> None:
    with pytest.raises(SqlError, match=problem) as caught:
        parse(text, CATALOG)
    assert caught.value.start == text.index(at)
    assert caught.value.hint


def test_explain_shows_the_generator_and_the_pattern_passes_through() -> None:
    text = pw.explain("SELECT k, x FROM s [RANGE 4] LATERAL VIEW OUTER posexplode(xs) t AS at, x")
    assert "Explode: posexplode_outer(xs) AS at, x" in text
    assert text.count("WKS(c=4us)") == 3  # the window, the elements, the projection


def test_an_explode_repeats_no_array_for_each_of_its_elements() -> None:
    """A row of n elements costs n, not its square: the array itself is read by nothing above."""
    rows = pa.table({"ts": [1] * 3, "k": ["a"] * 3, "xs": [list(range(20_000))] * 3})
    found = pw.sql("SELECT k, count(*) AS n, max(x) AS top FROM s [RANGE 5, WA ts, SLIDE 5] "
                   "LATERAL VIEW explode(xs) t AS x GROUP BY k", s=rows)
    assert [(row["n"], row["top"]) for row in found] == [(60_000, 19_999)]
