"""Every declared option reaches the engine from every entry point, or is refused by name: asked of the declarations."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, date, datetime
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import panewise as pw
from panewise.api.query import plan_of
from panewise.cli.options import add_options, run_options
from panewise.cli.terminal import add_inputs
from panewise.core.bad_rows import BadRowPolicy
from panewise.core.errors import PanewiseError, PlanError
from panewise.core.schema import SourceSchema
from panewise.engines.spark.engine import run as run_on_spark
from panewise.plan.nodes import Node
from panewise.planner.options import DEFAULTS, OPTIONS, Mode, Option, PlanKind, RunOptions, kind_of, options_of
from panewise.progress.late import LatePolicy

ROWS = [{"ts": 1, "k": "a", "v": 2}, {"ts": 2, "k": "b", "v": 3}, {"ts": 14, "k": "a", "v": 5}]
SCHEMAS = {name: SourceSchema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}, time="ts") for name in "st"}
TEXTS = {
    PlanKind.ROWS: "SELECT v FROM s WHERE v > 1",
    PlanKind.WINDOWS: "SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY k",
    PlanKind.NESTED: "SELECT max(n) [RANGE 20, SLIDE 20, WA window.time] AS top FROM "
                     "(SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s) AS q",
    PlanKind.PAIRS: "SELECT s.ts, t.v FROM s [RANGE 5, WA ts], t [RANGE 5, WA ts] WHERE s.k = t.k",
    PlanKind.RELATION: "SELECT DISTINCT k FROM s [RANGE 10]",
}
OTHERS: dict[str, Any] = {
    "params": {"p": 5}, "functions": {"f": "sum"}, "lenient": True, "suppress_partial": True, "day": date(2026, 1, 1),
    "zone": "Europe/Berlin", "now": datetime(2026, 1, 1, tzinfo=UTC), "columns": {"s": "ts bigint, k string, v bigint"},
    "time": "ts", "bad_rows": "skip", "max_jump": 100, "max_line": 5_000, "progress": "ordered", "late": "side",
    "late_keep": 3, "emit": "change", "empty_windows": True, "events": True, "current": True, "checkpoint": "state",
    "checkpoint_seconds": 2.5, "engine": "embedded", "strategy": "panes", "joins": "by twos",
    "stats": {"rows_per_unit": 5}, "analyze": True, "exact": True,
}
"""A value of every option that is not its default."""
WRITTEN: dict[str, list[str]] = {
    "params": ["p=5"], "time": ["s=ts"], "columns": ["s=ts bigint"], "day": ["2026-01-01"],
    "stats": ["rows_per_unit=5"],
}
"""On the command line, where it is not the value's own text."""
NAMED = {"params": "parameter", "stats": "statistic", "checkpoint_seconds": "checkpoint"}
"""What messages of the parser and the planner call them."""


def plan(kind: PlanKind) -> Node:
    return plan_of(TEXTS[kind], SCHEMAS)


def other(name: str) -> Any:
    return getattr(RunOptions(**{name: OTHERS[name]}), name)


def test_every_option_is_declared_with_its_help_and_has_a_value_here() -> None:
    assert [field.name for field in fields(RunOptions)] == list(OPTIONS)
    assert set(OTHERS) == set(OPTIONS)
    for name, declared in OPTIONS.items():
        assert declared.help, name
        assert other(name) != getattr(DEFAULTS, name), name
        assert declared.entries <= {"sql", "run", "open_query", "explain", "stream"}, name


@pytest.mark.parametrize("entry", ["sql", "run", "open_query", "explain", "stream"])
def test_editors_and_help_show_the_options_of_every_entry_point(entry: str) -> None:
    function = getattr(pw, entry)
    shown = inspect.signature(function).parameters
    for name in options_of(entry):
        assert shown[name].default == OPTIONS[name].default
        assert f"{name}: {OPTIONS[name].help}" in function.__doc__
    assert not (set(OPTIONS) - set(options_of(entry))) & set(shown)


@pytest.mark.parametrize("kind", PlanKind)
def test_there_is_a_plan_of_every_kind(kind: PlanKind) -> None:
    assert kind_of(plan(kind)) is kind


def calls(declared: Option) -> dict[str, Callable[[PlanKind, dict[str, Any]], Any]]:
    """The entry points in process that take an option, each as a call that uses it to the end."""
    def inputs(kind: PlanKind) -> dict[str, Any]:
        return {"s": ROWS, "t": ROWS} if kind is PlanKind.PAIRS else {"s": ROWS}

    def opened(kind: PlanKind, options: dict[str, Any]) -> Any:
        columns = dict.fromkeys(inputs(kind), "ts bigint, k string, v bigint")
        return pw.open_query(TEXTS[kind], streams=columns, **options).finish()

    every: dict[str, Callable[[PlanKind, dict[str, Any]], Any]] = {
        "sql": lambda kind, options: pw.sql(TEXTS[kind], streams=inputs(kind), **options),
        "run": lambda kind, options: pw.run(TEXTS[kind], streams=inputs(kind), **options).collect(),
        "open_query": opened,
    }
    return {entry: call for entry, call in every.items() if entry in declared.entries}


def error_of(call: Callable[[], Any]) -> str | None:
    try:
        call()
    except PanewiseError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", sorted(set(OPTIONS) - {"columns", "engine", "strategy", "checkpoint"}))
@pytest.mark.parametrize("kind", PlanKind)
def test_in_process_an_option_is_taken_or_refused_as_declared(name: str, kind: PlanKind) -> None:
    declared = OPTIONS[name]
    for call in calls(declared).values():
        refusals = [r for r in declared.refusals if Mode.EMBEDDED in r.modes and kind in r.kinds
                    and r.values(other(name))]
        if refusals:
            with pytest.raises(PanewiseError, match=name):
                call(kind, {name: OTHERS[name]})
            continue
        told = error_of(lambda call=call: call(kind, {name: OTHERS[name]}))
        assert told is None or NAMED.get(name, name) in told, told  # what the plan has against it says what it is


@pytest.mark.parametrize("name", [n for n in OPTIONS if any(Mode.ORACLE in r.modes for r in OPTIONS[n].refusals)])
def test_the_oracle_refuses_by_name_what_it_cannot_do(name: str) -> None:
    if name not in options_of("sql"):
        with pytest.raises(PlanError, match=f"no option '{name}'.*it is an option of"):
            pw.sql(TEXTS[PlanKind.WINDOWS], s=ROWS, engine="oracle", **{name: OTHERS[name]})
        return
    with pytest.raises(PlanError, match=name):
        pw.sql(TEXTS[PlanKind.WINDOWS], s=ROWS, engine="oracle", **{name: OTHERS[name]})


@pytest.mark.parametrize(("name", "mode", "kind"), [
    (name, mode, kind) for (name, declared), mode, kind in
    product(OPTIONS.items(), (Mode.SPARK_BATCH, Mode.SPARK_STREAM), PlanKind)
    if any(mode in r.modes and kind in r.kinds and r.values(other(name)) for r in declared.refusals)])
def test_spark_refuses_before_it_looks_at_a_frame(name: str, mode: Mode, kind: PlanKind) -> None:
    frames: Any = {"s": SimpleNamespace(isStreaming=mode is Mode.SPARK_STREAM), "t": SimpleNamespace(isStreaming=False)}
    with pytest.raises(PanewiseError, match=name):
        run_on_spark(plan(kind), frames, RunOptions(**{name: OTHERS[name]}))


@pytest.mark.parametrize("command", ["run", "explain"])
def test_the_command_line_reads_every_flag(command: str) -> None:
    parser = argparse.ArgumentParser()
    add_inputs(parser)
    add_options(parser, command)
    flagged = [one for one in OPTIONS.values() if one.flag is not None and command in one.flag.commands]
    for declared in flagged:
        assert declared.flag is not None
        flag = declared.flag.written(declared.name)
        value = [] if declared.types == (bool,) else WRITTEN.get(declared.name, [str(OTHERS[declared.name])])
        found = run_options(parser.parse_args(["--stream", "s=x", flag, *value]), command)
        assert [one.name for one in found.given()] == [declared.name]
    nothing = run_options(parser.parse_args([]), command)
    assert nothing == DEFAULTS


def test_values_are_checked_wherever_options_are_made() -> None:
    assert RunOptions(late="side", bad_rows="skip").late is LatePolicy.SIDE  # type: ignore[arg-type]
    assert RunOptions(bad_rows="aside:x").bad_rows == BadRowPolicy.parse("aside:x")  # type: ignore[arg-type]
    for name, declared in OPTIONS.items():
        if object in declared.types:
            continue
        with pytest.raises(PlanError, match=f"^{name}=<object.*give "):
            RunOptions(**{name: object()})


def test_the_page_of_options_says_who_takes_what() -> None:
    page = Path(__file__).parents[2].joinpath("docs/options.md").read_text()
    for name, declared in OPTIONS.items():
        assert f"| `{name}` |" in page
        assert declared.taken_by(Mode.EMBEDDED) in {"yes", "in part", "refused"}
