"""The table of refusals: every example is refused with just its words, by the engines that it names and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pyarrow as pa
import pytest

import panewise.planner
from panewise.api.query import plan_of
from panewise.core.errors import PanewiseError
from panewise.core.schema import SourceKind, SourceSchema
from panewise.planner.legal.capabilities import check
from panewise.planner.legal.refusals import EVERYWHERE, RUNNING, TABLE, Refusal, docs_table

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
SCHEMAS = {name: SourceSchema(COLUMNS, time="ts") for name in "st"} | {
    "days": SourceSchema({"day": pa.date32(), "k": pa.string()}, time="day"),
    "dated": SourceSchema({"at": pa.timestamp("us", tz="UTC"), "k": pa.string()}, time="at"),
    "names": SourceSchema({"ts": pa.int64(), "k": pa.string(), "w": pa.int64()}, time="ts", kind=SourceKind.NRR),
    "cities": SourceSchema({"k": pa.string(), "w": pa.int64()}, kind=SourceKind.RELATION)}
EXAMPLES = [refusal for refusal in TABLE if refusal.example is not None]
LEGAL = Path(panewise.planner.__file__).parent / "legal"


def words(refusal: Refusal) -> str:
    """A pattern of what it says, whatever it is about."""
    return ".*".join(re.escape(part) for part in re.split(r"{[^{}]*}", refusal.at_place or refusal.says))


def refused(text: str, engine: str) -> str | None:
    try:
        check(plan_of(text, SCHEMAS), engine)
    except PanewiseError as error:
        return str(error)
    return None


@pytest.mark.parametrize("engine", EVERYWHERE)
@pytest.mark.parametrize("refusal", EXAMPLES, ids=lambda refusal: refusal.title)
def test_every_example_is_refused_with_its_words(refusal: Refusal, engine: str) -> None:
    assert refusal.example is not None
    said = refused(refusal.example, engine)
    if engine not in refusal.engines:
        assert said is None
        return
    assert said is not None
    assert re.search(words(refusal), said), said


def test_every_refusal_has_a_title_and_words_of_its_own() -> None:
    assert len({refusal.title for refusal in TABLE}) == len(TABLE)
    assert len({refusal.says for refusal in TABLE}) == len(TABLE)
    assert all(refusal.engines in (EVERYWHERE, RUNNING, ("spark",)) for refusal in TABLE)
    assert docs_table().count("\n") == len(TABLE) + 2


def test_nothing_else_is_a_reason() -> None:
    """Reasons are `Said`, which mypy holds every function of legality to; only the table makes them of words."""
    for path in LEGAL.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        words_of_its_own = [node for node in ast.walk(tree) if isinstance(node, ast.Yield | ast.Raise)
                            and _has_words(node) and path.name not in {"partial_windows.py", "refusals.py"}]
        shown = [ast.unparse(node) for node in words_of_its_own]
        # an engine that is not there, and the end of a sentence that says where to go instead
        assert all("there is no engine" in text or "use engine=" in text for text in shown), (path.name, shown)


def _has_words(node: ast.AST) -> bool:
    """Whether it writes a message itself, and does not only hand arguments to a reason of the table."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("refusals."):
        return False
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return " " in node.value.strip()
    return any(_has_words(part) for part in ast.iter_child_nodes(node))
