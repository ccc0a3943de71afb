"""Which engine runs what: refusals by name, and the table of the documentation."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

import panewise.windows
from panewise.core.errors import UnsupportedError, WindowSpecError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.time import DAY, SECOND
from panewise.plan import nodes as n
from panewise.planner.legal import capabilities
from panewise.planner.legal.capabilities import check, docs_table, supports, unsupported
from panewise.windows.base import WindowSpec
from panewise.windows.calendar import CalendarWindow
from panewise.windows.count import CountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.predicate import PredicateWindow
from panewise.windows.rows import RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, TumblingWindow
from planner.plans import counted, filtered, over_windows, projected, source, window

SLICE = over_windows(filtered(projected(n.Union((source(), source("R"))), "ts", "a", "k")), SlidingWindow(60, 20), "k")
REAL = ("spark", "embedded")


@pytest.mark.parametrize("engine", [*REAL, "oracle"])
@pytest.mark.parametrize("spec", [SlidingWindow(60, 20), SlidingWindow(7, 10, 3, 2), TumblingWindow(10)], ids=str)
def test_every_engine_runs_the_slice(engine: str, spec: SlidingWindow) -> None:
    check(projected(over_windows(SLICE.input, spec, "k"), "k", "n"), engine)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> str:
    """An engine that has sliding and tumbling windows and nothing else."""
    known = capabilities.ENGINES["embedded"]
    monkeypatch.setitem(capabilities.ENGINES, "narrow",
                        replace(known, engine="narrow", windows=frozenset({"sliding", "tumbling", "predicate"})))
    return "narrow"


@pytest.mark.parametrize(("spec", "name"), [
    (LandmarkWindow(10), "landmark"), (SessionWindow(5), "session"),
    (CountWindow(5), "count"), (RowWindow(5, 1), "row"),
    (TumblingWindow(5, disclosure=Disclosure.GROWING), "growing tumbling"),
])
def test_other_windows_are_refused_by_name(narrow: str, spec: WindowSpec, name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"^{name} windows are not run by the narrow engine; use engine='"):
        check(over_windows(source(), spec), narrow)
    check(over_windows(source(), spec), "embedded")
    check(over_windows(source(), spec), "oracle")


def test_the_embedded_engine_runs_a_window_aggregate_of_every_kind() -> None:
    assert all(capabilities.ENGINES["embedded"].runs_window(kind) for kind, _ in capabilities.WINDOW_KINDS)


@pytest.mark.parametrize("spec", [CalendarWindow("day", timezone="Europe/Berlin"), SlidingWindow(60, 20)], ids=str)
def test_the_embedded_engine_runs_calendars_and_conditions_inside_windows(spec: WindowSpec) -> None:
    clause = n.WindowClause(spec, "ts", OrdinalKind.TIMESTAMP, predicate=Scalar.parse("a > 3"))
    check(n.WindowAggregate(source(), clause, (), (n.AggregateCall("n", "count"),)), "embedded")


def test_a_condition_does_not_hide_the_window_it_stands_in(narrow: str) -> None:
    with pytest.raises(UnsupportedError, match=r"^count windows are not run"):
        check(over_windows(source(), PredicateWindow(CountWindow(5))), narrow)


def test_a_sliding_window_over_row_positions_is_a_row_window(narrow: str) -> None:
    clause = n.WindowClause(SlidingWindow(5, 1), "row-num", OrdinalKind.ROWS)
    plan = n.WindowAggregate(source(), clause, (), (n.AggregateCall("n", "count"),))
    assert next(unsupported(plan, narrow)) == "row windows are not run by the narrow engine"


RELATIONAL = (counted(window(SlidingWindow.scoped(5))), n.Distinct(source()), filtered(source()),
              n.Union((SLICE, SLICE)), n.Lifetime(SLICE, 5))
NESTED = over_windows(over_windows(source(), SlidingWindow(5, 5)), SlidingWindow(10, 10))
WITHOUT_AN_END = n.Window(over_windows(source(), BandWindow(lower=20)),
                          n.WindowClause(SlidingWindow.scoped(10), "ts", OrdinalKind.INTEGER))


@pytest.mark.parametrize("plan", RELATIONAL, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("engine", REAL)
def test_relations_run_in_process_and_on_spark(plan: n.Node, engine: str) -> None:
    assert supports(plan, engine)
    check(plan, engine)


@pytest.mark.parametrize("engine", REAL)
def test_what_no_fast_engine_runs_is_left_to_the_oracle(engine: str) -> None:
    assert supports(NESTED, engine)
    assert not supports(WITHOUT_AN_END, engine)
    with pytest.raises(UnsupportedError, match="use engine='oracle'"):
        check(WITHOUT_AN_END, engine)


@pytest.mark.parametrize("engine", [*REAL, "oracle"])
def test_a_row_in_more_windows_than_memory_could_hold_is_refused(engine: str) -> None:
    with pytest.raises(WindowSpecError, match=r"puts every row in 86,400,000,000 windows.*choose a SLIDE of at least"):
        check(over_windows(source(), SlidingWindow(DAY, 1)), engine)
    check(over_windows(source(), SlidingWindow(DAY, SECOND)), engine)


def test_a_flood_is_told_in_durations() -> None:
    timed = n.WindowClause(SlidingWindow(DAY, 1), "ts", OrdinalKind.TIMESTAMP)
    plan = replace(over_windows(source(), SlidingWindow(5, 5)), window=timed)
    with pytest.raises(WindowSpecError, match=r"RANGE 1d with SLIDE 1us .* choose a SLIDE of at least 87ms"):
        check(plan, "embedded")


def test_an_unknown_engine_is_named_with_the_ones_there_are() -> None:
    with pytest.raises(UnsupportedError, match="no engine 'flink': use one of spark, embedded, oracle"):
        check(SLICE, "flink")


def test_the_documentation_has_a_row_for_every_node_and_window_kind() -> None:
    text = docs_table()
    kinds = {cls.__name__ for _, cls in inspect.getmembers(n, inspect.isclass)
             if issubclass(cls, n.Node) and not cls.__subclasses__()}  # what others share is no node itself
    kinds -= {"Relayed"}  # made by the planner; no query says it
    assert {kind.__name__ for kind, _ in capabilities.NODE_KINDS} == kinds
    for kind in kinds | {name for name, _ in capabilities.WINDOW_KINDS}:
        assert f"| {kind} |" in text
    assert all(line.count("|") == 6 for line in text.splitlines() if line)


def test_every_window_class_has_a_row_in_the_documentation() -> None:
    def leaves(cls: type[WindowSpec]) -> set[type[WindowSpec]]:
        return {cls, *(leaf for sub in cls.__subclasses__() for leaf in leaves(sub))}

    known = {name for name, _ in capabilities.WINDOW_KINDS}
    ours = {cls.kind for cls in leaves(WindowSpec) if cls.kind and cls.__module__.startswith(panewise.windows.__name__)}
    assert ours <= known
