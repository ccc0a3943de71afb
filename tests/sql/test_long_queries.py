"""A query may be long: chains cost what their terms cost, and what nests too deep is refused at its place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

import panewise as pw
from panewise.core.errors import LONGEST, PlanError, SqlError
from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog, SourceSchema
from panewise.core.trees import MAX_NESTING, deep_stack, parse_expression
from panewise.plan.nodes import Distinct, Union
from panewise.planner.facts.equi_keys import join_condition
from panewise.planner.rewrites.scalars import conjunction, conjuncts
from panewise.progress.meld import Meld
from panewise.progress.punctuation import Punctuation
from panewise.sql import parse
from panewise.sql.parser import MAX_QUERIES

MANY = 10_000
ROWS = [{"ts": 1, "a": 3}, {"ts": 2, "a": 20_000}]
CATALOG = Catalog.of(s=SourceSchema.of(pa.schema({"ts": pa.int64(), "a": pa.int64()}), time="ts"))

LONG: dict[str, tuple[Callable[[int], str], list[dict[str, Any]]]] = {
    "AND": (lambda n: "SELECT a FROM s WHERE " + " AND ".join(f"a <> {i}" for i in range(n)), [{"a": 20_000}]),
    "OR": (lambda n: "SELECT a FROM s WHERE " + " OR ".join(f"a = {i}" for i in range(n)), [{"a": 3}]),
    "IN": (lambda n: f"SELECT a FROM s WHERE a IN ({', '.join(map(str, range(n)))})", [{"a": 3}]),
    "CASE": (lambda n: f"SELECT CASE {' '.join(f'WHEN a = {i} THEN {i + 1}' for i in range(n))} END AS x FROM s",
             [{"x": 4}, {"x": None}]),
    "UNION ALL": (lambda n: " UNION ALL ".join(["SELECT a FROM s WHERE a = 3"] * n), [{"a": 3}]),
    "UNION in FROM": (lambda n: f"SELECT a FROM {' UNION '.join(['s'] * n)} WHERE a = 3", [{"a": 3}]),
}


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
@pytest.mark.parametrize("kind", sorted(LONG))
def test_five_hundred_terms_give_the_answer_of_the_definition(kind: str, engine: str) -> None:
    text, expected = LONG[kind]
    times = 500 if kind.startswith("UNION") else 1
    assert list(pw.sql(text(500), s=ROWS, engine=engine)) == [row for row in expected for _ in range(times)]


@pytest.mark.parametrize("kind", sorted(LONG))
def test_ten_thousand_terms_become_a_plan(kind: str) -> None:
    plan = parse(LONG[kind][0](MANY), CATALOG)
    assert max(_depth(scalar.tree) for node in plan.walk() for scalar in _scalars(node)) < 40


@pytest.mark.parametrize("kind", ["AND", "OR", "UNION ALL"])
def test_ten_thousand_terms_are_run(kind: str) -> None:
    text, expected = LONG[kind]
    times = MANY if kind == "UNION ALL" else 1
    assert list(pw.sql(text(MANY), s=ROWS)) == expected * times


def test_ten_thousand_branches_are_run_by_the_definition_too() -> None:
    assert list(pw.sql(LONG["UNION ALL"][0](MANY), s=ROWS, engine="oracle")) == [{"a": 3}] * MANY


GROWING: dict[str, Callable[[int], str]] = {
    "terms": LONG["OR"][0],
    "terms of a relation": lambda n: LONG["OR"][0](n).replace("FROM s", "FROM s [RANGE 5]"),
    "columns": lambda n: f"SELECT {', '.join(f'a + {i} AS c{i}' for i in range(n))} FROM s",
    "columns of a relation": lambda n: f"SELECT {', '.join(f'a + {i} AS c{i}' for i in range(n))} FROM s [RANGE 5]",
    "aggregates": lambda n: f"SELECT {', '.join(f'sum(a + {i}) [RANGE 5, SLIDE 5, WA ts] AS c{i}' for i in range(n))} "
                            "FROM s",
    "branches": lambda n: " UNION ALL ".join(f"SELECT a FROM s WHERE a = {i}" for i in range(n)),
    "relations": lambda n: " UNION ALL ".join(f"SELECT a FROM s [RANGE 5] WHERE a = {i}" for i in range(n)),
    "windows": lambda n: " UNION ALL ".join(f"SELECT count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM s WHERE a = {i}"
                                            for i in range(n)),
}


@pytest.mark.parametrize("how", ["embedded", "oracle", "explain"])
@pytest.mark.parametrize("kind", sorted(GROWING))
def test_work_grows_with_the_length_of_a_query_not_with_its_square(kind: str, how: str) -> None:
    """Counted in calls, so that no other load of the machine can make it fail."""
    def ask(length: int) -> None:
        text = GROWING[kind](length)
        if how == "explain":
            pw.explain(text, s=ROWS)
        else:
            assert len(pw.sql(text, s=ROWS, engine=how).to_arrow()) < 3

    ask(20)  # what is imported and compiled when it is first used
    few, many = _calls(ask, 150), _calls(ask, 600)
    assert many < 6 * few


def _calls(ask: Callable[[int], None], length: int) -> int:
    """How many functions, and steps of generators, are entered."""
    entered = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal entered
        entered += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        ask(length)
    finally:
        sys.setprofile(None)
    return entered


def test_expressions_of_ten_thousand_branches_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(text: str) -> exp.Expr:
        parsed.append(text)
        return parse_expression(text)

    monkeypatch.setattr("panewise.core.trees.parse_expression", counted)
    branches = [f"SELECT a + {i} AS a FROM s WHERE a <> {-i}" for i in range(3_000)]
    assert len(list(pw.sql(" UNION ALL ".join(branches), s=ROWS[:1]))) == len(branches)
    assert len(parsed) == len(set(parsed))


def test_ten_thousand_columns_are_computed() -> None:
    text = f"SELECT {', '.join(f'a + {i} AS c{i}' for i in range(MANY))} FROM s"
    [row] = list(pw.sql(text, s=ROWS[:1]))
    assert list(row.values()) == [3 + i for i in range(MANY)]


def test_rows_of_ten_thousand_columns_are_read() -> None:
    row = {"ts": 1, **{f"c{i}": i for i in range(MANY)}}
    text = f"SELECT {', '.join(f's.C{i}' for i in range(0, MANY, 10))} FROM s"
    [found] = list(pw.sql(text, s=[row]))
    assert list(found.values()) == list(range(0, MANY, 10))


def test_ten_thousand_branches_of_a_union_are_one_node() -> None:
    plan = parse(" UNION ALL ".join(["SELECT a FROM s [RANGE 5]"] * MANY), CATALOG)
    assert isinstance(plan, Union)
    assert len(plan.parts) == MANY


def test_a_chain_of_unions_is_distinct_up_to_its_last_union_without_all() -> None:
    one = "SELECT a FROM s [RANGE 5]"
    plan = parse(f"{one} UNION ALL {one} UNION {one} UNION {one} UNION ALL {one}", CATALOG)
    assert isinstance(plan, Union)
    first, last = plan.parts
    assert isinstance(first, Distinct)
    assert isinstance(first.input, Union)
    assert len(first.input.parts) == 4
    assert last == parse(one, CATALOG)


def test_predicates_are_taken_apart_and_put_together_whatever_their_length() -> None:
    parts = [Scalar(f"`l.c{i}` = `r.c{i}`") for i in range(MANY)]
    whole = conjunction(parts)
    assert whole is not None
    assert conjuncts(whole) == parts
    names = [f"c{i}" for i in range(MANY)]
    found = join_condition(whole, [f"l.{name}" for name in names], [f"r.{name}" for name in names])
    assert len(found.keys) == MANY


def test_progress_of_ten_thousand_inputs_moves_when_the_last_of_them_moves() -> None:
    meld = Meld(MANY)
    for bound in (3, 5):
        news = [meld.punctuate(i, Punctuation.below("ts", bound)) for i in range(MANY)]
        assert [len(found) for found in news] == [0] * (MANY - 1) + [1]
    assert meld.bound == 5


def test_a_balanced_chain_is_written_as_it_was_read() -> None:
    for text in ("a AND b AND c", "a OR b OR c OR d OR e", "a AND b OR c AND d OR e", "a AND (b OR c) AND NOT d"):
        assert parse_expression(text).sql(dialect="spark") == text
    assert _depth(parse_expression(" AND ".join(f"c{i}" for i in range(MANY)))) < 20


# -- nesting


DEEP: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: f"SELECT {'(' * n}a{')' * n} AS x FROM s",
    "calls": lambda n: f"SELECT {'abs(' * n}a{')' * n} AS x FROM s",
    "NOT": lambda n: f"SELECT a FROM s WHERE {'NOT ' * n}a = 1",
    "CASE": lambda n: f"SELECT {'CASE WHEN a = 1 THEN 2 ELSE ' * n}3{' END' * n} AS x FROM s",
    "casts": lambda n: f"SELECT a{'::bigint' * n} AS x FROM s",
    "sum": lambda n: f"SELECT {' + '.join(['a'] * n)} AS x FROM s",
    "minus": lambda n: f"SELECT {'- ' * n}a AS x FROM s",
    "condition of a window": lambda n: f"SELECT a FROM s [RANGE 5, WHERE {'(' * n}a = 1{')' * n}]",
}


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
@pytest.mark.parametrize("kind", sorted(DEEP))
def test_two_hundred_levels_are_computed(kind: str, engine: str) -> None:
    some = kind not in {"NOT", "condition of a window"}  # 3 is not 1
    assert len(list(pw.sql(DEEP[kind](200), s=ROWS[:1], engine=engine))) == some


@pytest.mark.parametrize("levels", [MAX_NESTING + 10, 20_000])
@pytest.mark.parametrize("kind", sorted(DEEP))
def test_more_levels_than_the_limit_are_refused_at_their_place(kind: str, levels: int) -> None:
    with pytest.raises(SqlError, match="nested") as caught:
        parse(DEEP[kind](levels), CATALOG)
    assert caught.value.hint
    assert caught.value.line == 1


def test_queries_and_joins_have_a_limit_too() -> None:
    nested = "SELECT * FROM (" * MAX_QUERIES + "SELECT a FROM s" + ")" * MAX_QUERIES
    with pytest.raises(SqlError, match=f"nested deeper than {MAX_QUERIES} levels"):
        parse(nested, CATALOG)
    joined = ", ".join(f"s AS s{i} [RANGE 5]" for i in range(MAX_QUERIES + 1))
    with pytest.raises(SqlError, match=f"a join of {MAX_QUERIES + 1} sources, of at most {MAX_QUERIES}"):
        parse(f"SELECT s0.a FROM {joined}", CATALOG)


def test_the_limit_of_the_process_is_put_back() -> None:
    before = sys.getrecursionlimit()
    with deep_stack(), deep_stack():
        assert sys.getrecursionlimit() > before
    assert sys.getrecursionlimit() == before


# -- errors


@pytest.mark.parametrize("text", [
    "SELECT b FROM s WHERE " + " AND ".join(f"a <> {i}" for i in range(5_000)),
    "SELECT '" + "x" * 100_000 + "' FROM t",
    "SELECT " + "x" * 100_000 + " FROM s",
    "SELECT a FROM s [RANGE 5 " + "minuts" * 10_000 + "]",
    "SELECT a FROM " + "t" * 50_000,
])
def test_an_error_shows_a_little_of_a_long_text(text: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text, CATALOG)
    shown = str(caught.value)
    assert len(shown) <= LONGEST + 50
    line, caret = shown.split("\n")[1:3]
    assert len(line) <= 130
    place = caret.index("^")
    assert line[place] == text[caught.value.start]


def test_an_error_shows_a_little_of_a_long_value() -> None:
    query = pw.open_query("SELECT a FROM s", s="ts bigint, a bigint")
    with pytest.raises(Exception, match="characters") as caught:
        query.push("s", [{"ts": 1, "a": "x" * 1_000_000}])
    assert len(str(caught.value)) <= LONGEST + 50
    assert len(str(PlanError("x" * 1_000_000))) <= LONGEST + 50


def _depth(tree: exp.Expr) -> int:
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += ((below, depth + 1) for below in node.iter_expressions())
    return deepest


def _scalars(node: Any) -> list[Scalar]:
    items = [item.scalar for item in getattr(node, "items", ())]
    return [*items, *([node.predicate] if getattr(node, "predicate", None) is not None else [Scalar("a")])]
