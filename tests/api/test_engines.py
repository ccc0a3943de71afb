"""One contract of engines: each refuses by name, says how it runs a plan, and runs it."""

from __future__ import annotations

import pytest

from panewise.api.engines import ENGINES, engine_named
from panewise.api.inputs import MemoryStream
from panewise.api.query import plan_of
from panewise.api.results import Results
from panewise.core.errors import PlanError
from panewise.planner.legal.capabilities import ENGINES as CAPABILITIES
from panewise.planner.options import RunOptions

ROWS = [{"ts": 1, "k": "a"}, {"ts": 7, "k": "a"}, {"ts": 12, "k": "b"}]
STREAMS = {"s": MemoryStream.of_items(ROWS)}
PLAN = plan_of("SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY k", {"s": STREAMS["s"].schema})


def test_the_engines_by_name_are_those_with_capabilities() -> None:
    assert list(ENGINES) == list(CAPABILITIES)
    with pytest.raises(PlanError, match="no engine 'embeded'"):
        engine_named("embeded")


@pytest.mark.parametrize("name", ["embedded", "oracle"])
def test_an_engine_without_a_jvm_runs_streams(name: str) -> None:
    engine, options = engine_named(name), RunOptions()
    engine.check(PLAN, STREAMS, options)
    results = Results.of(engine.run(PLAN, STREAMS, options))
    assert sorted((row["k"], row["n"]) for row in results) == [("a", 2), ("b", 1)]
    assert results.status["rows"] == 3


@pytest.mark.parametrize(("name", "option", "words"), [
    ("oracle", {"strategy": "wid"}, "the oracle computes by definition"),
    ("oracle", {"checkpoint": "state"}, "the oracle keeps no checkpoint"),
    ("embedded", {"emit": "punctuated"}, "is for streams on Spark"),
    ("spark", {"strategy": "wid"}, "on Spark that is chosen by rule"),
])
def test_an_option_that_an_engine_does_not_take_is_refused_by_name_before_it_runs(
        name: str, option: dict[str, object], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        engine_named(name).check(PLAN, {}, RunOptions(**option))


def test_each_says_how_it_runs_a_plan() -> None:
    embedded, oracle = (engine_named(name).explain(PLAN, STREAMS, RunOptions()) for name in ("embedded", "oracle"))
    assert "strategy  panes" in embedded
    assert "strategy" not in oracle
    assert "WindowAggregate" in oracle
