"""How a query is written does not change its plan, and what is no query is refused, never mistaken."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.core.errors import SqlError
from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog
from panewise.plan.nodes import AggregateCall, NamedScalar, Node
from panewise.sql import parse
from panewise.sql.cursor import UNITS
from panewise.sql.dialect import tokenize
from panewise.sql.functions import aggregate_names
from panewise.sql.parser import AFTER_SOURCE, STREAM_OPERATORS
from panewise.sql.windows.brackets import KEYWORDS
from plan_text import render
from sql.sql_cases import catalog, load, options

CASES: list[dict[str, Any]] = [*load("queries.yaml"), *load("examples.yaml")]
SPACES = st.sampled_from([" ", "  ", "\n", "\t", " /* a comment */ ", " -- to the end of the line\n", "\n\n  "])
SPLICED = "SELECT FROM WHERE GROUP RANGE SLIDE ROWS WA EXISTS NOT UNION AS CASE END min INTERVAL CAST NULL OVER"
SIGNS = st.sampled_from([
    *"[](),;:'\"`*-+/=<>.%$?@#{}|&^~!\\ \n∪‘’“", "\0", "--", "/*", "*/", "x -> ", "[RANGE 1 min]", "1", "-1", "1e9",
    ":w", *SPLICED.split(),
])
SPARK_WORDS = "distinct all and or not in is null like between case when then else end cast split upper exists"
OUR_WORDS = "group-by groupby tumbling start at by rank"
WORDS = {
    *(c.lower() for schema in catalog().sources.values() for c in schema.columns),
    *(s.lower() for s in catalog().sources), *UNITS, *aggregate_names(), *STREAM_OPERATORS,
    *(k.lower() for k in (*KEYWORDS, *AFTER_SOURCE)), *SPARK_WORDS.split(), *OUR_WORDS.split(),
} - {"u"}


def plan_of(text: str, case: dict[str, Any]) -> Node:
    return parse(text, catalog(), **options(case))


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_spacing_comments_and_the_case_of_words_do_not_matter(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    text = case["text"]
    variant, end, before = "", 0, ""
    for token in tokenize(text):
        if token.start < end:
            continue  # sqlglot reads 10s as several tokens in one place
        if token.start > end:
            variant += data.draw(SPACES)
        piece = text[token.start:token.end + 1]
        end = token.end + 1
        # Names behind AS and of parameters are the query's own; every other known word is looked up.
        if piece.lower() in WORDS and before not in {"AS", ":"}:
            piece = data.draw(st.sampled_from([piece, piece.lower(), piece.upper(), piece.capitalize()]))
        variant += piece
        before = piece.upper()
    assert plan_of(variant, case) == plan_of(text, case)


@settings(max_examples=75, deadline=None)
@given(st.data())
def test_a_truncated_query_is_read_or_refused_but_never_breaks(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    cut = data.draw(st.integers(0, len(case["text"])))
    refuse_or_plan(case["text"][:cut], case)


@settings(max_examples=125, deadline=None)
@given(st.data())
def test_a_mutated_query_is_read_or_refused_but_never_breaks(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    text = case["text"]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        drop = data.draw(st.integers(0, 6))
        text = text[:at] + data.draw(st.one_of(SIGNS, st.just(""))) + text[at + drop:]
    refuse_or_plan(text, case)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(SIGNS, st.sampled_from(["S", "a", "max(", "count(*)", "FROM S", "10 min"])), max_size=25))
@example(["SELECT", " ", "a", " ", "FROM", " ", "S", "[", "]"])
def test_garbage_is_refused(pieces: list[str]) -> None:
    refuse_or_plan(" ".join(pieces), {})


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_refused_or_read(text: str) -> None:
    refuse_or_plan(text, {})


def refuse_or_plan(text: str, case: dict[str, Any]) -> None:
    for known in (catalog(), Catalog.anything()):
        outcome = plan_or_error(text, known, case)
        if isinstance(outcome, Node):
            assert render(outcome)
            assert all(scalar.columns is not None for scalar in scalars_of(outcome))  # engines can read them again
        else:
            assert 0 <= outcome.start <= len(outcome.text)
            assert outcome.line >= 1
            assert outcome.hint, str(outcome)


def scalars_of(plan: Node) -> list[Scalar]:
    found: list[Scalar] = []
    for node in plan.walk():
        for field in fields(node):
            value = getattr(node, field.name)
            found += [value] if isinstance(value, Scalar) else []
            for part in value if isinstance(value, tuple) else ():
                found += [part.scalar] if isinstance(part, NamedScalar) else []
                found += part.arguments if isinstance(part, AggregateCall) else ()
    return found


def plan_or_error(text: str, known: Catalog, case: dict[str, Any]) -> Node | SqlError:
    try:
        return parse(text, known, **options(case))
    except SqlError as error:
        return error


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(SqlError, match=r"line 1, column \d+: an expression nested deeper than 500 levels"):
        parse("SELECT a FROM S WHERE " + "(" * 5000 + "a" + ")" * 5000, catalog())


def test_unknown_schemas_accept_every_name() -> None:
    plan = parse("SELECT k, max(v) FROM whatever [RANGE 1 min SLIDE 1 min WA t] GROUP BY k", Catalog.anything())
    assert plan.columns == ("k", "window", "max(v)")


def test_unknown_schemas_have_no_bare_words() -> None:
    plan = parse("SELECT a FROM whatever WHERE protocol = TCP", Catalog.anything())
    assert "'TCP'" not in render(plan)
