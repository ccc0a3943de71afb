"""Early results of every window kind: whatever was said on the way, the changes add up to the oracle's answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.compare import assert_same_rows
from embedded.plans import call, run_timeline
from embedded.test_window_kinds import BY_VALUE, groupings, places, plan, streams
from oracle.questions import Oracle
from panewise.core.ordinals import OrdinalKind
from panewise.dataflow import open_plan
from panewise.progress.timeline import Arrival
from panewise.windows import WindowSpec
from windows.window_strategies import SPECS

EXACT = (call("n", "count"), call("top", "max", "v"))
"""Equal whichever way they are put together, so that changes cancel exactly."""
BY_POSITION = ("row", "partitioned row", "slide by tuple")


def left_over(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that still hold after all corrections."""
    holding: list[dict[str, Any]] = []
    for row in changes:
        if row.pop("change") > 0:
            holding.append(row)
        else:
            holding.remove(row)  # an error when it was never said
    return holding


@pytest.mark.parametrize("kind", [*BY_VALUE, *BY_POSITION])
def test_changes_add_up(kind: str) -> None:
    @settings(deadline=None, max_examples=12)
    @given(SPECS[kind], groupings, streams, places, places, st.sampled_from(["change", "early:5"]))
    def run(spec: WindowSpec, keys: tuple[str, ...], items: list[Any], cuts: frozenset[int], saves: frozenset[int],
            emit: str) -> None:
        if kind == "row":
            node = plan(spec, keys, attribute="row-num", ordinal=OrdinalKind.ROWS)
        elif kind == "partitioned row":
            node = plan(spec, keys, ("k",), attribute="row-num", ordinal=OrdinalKind.ROWS)
        else:
            node = plan(spec, keys)
        node = replace(node, aggregates=EXACT)
        emit = "early:5 rows" if emit != "change" and node.window.ordinal is OrdinalKind.ROWS else emit
        timeline = [Arrival("s", item) for item in items]
        found, query = run_timeline(open_plan(node, emit=emit), timeline, cuts, saves, emit=emit)
        assert_same_rows(left_over(found), Oracle(node, timeline).results())
        assert query.status()["windows"] == []

    run()


@pytest.mark.parametrize("kind", [*BY_VALUE, *BY_POSITION])
def test_the_status_of_open_windows_can_always_be_shown(kind: str) -> None:
    @settings(deadline=None, max_examples=10)
    @given(SPECS[kind], groupings, streams)
    def run(spec: WindowSpec, keys: tuple[str, ...], items: list[Any]) -> None:
        by_position = kind in ("row", "partitioned row")
        node = plan(spec, keys, ("k",) if kind == "partitioned row" else (),
                    attribute="row-num" if by_position else "ts",
                    ordinal=OrdinalKind.ROWS if by_position else OrdinalKind.INTEGER)
        query = open_plan(node, events=True)
        for item in items:
            query.push("s", [item] if isinstance(item, dict) else item)
        status = query.status(windows=3)
        assert "rows in" in repr(status)
        assert "<table>" in status._repr_html_()
        assert len(status["windows"]) <= 3

    run()
