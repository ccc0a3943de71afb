"""Which kernel runs which window: one list, asked from the top; a new kernel adds its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from panewise.aggregates.compiled_form import compiled_form
from panewise.kernels.baselines.buffering import BufferingKernel
from panewise.kernels.baselines.two_level import TwoLevelKernel
from panewise.kernels.contract.kernel import WindowKernel
from panewise.kernels.contract.partials import BoundAggregate
from panewise.kernels.growing.landmark import LandmarkKernel, endless
from panewise.kernels.growing.session import SessionKernel
from panewise.kernels.panes.pane_kernel import PanedKernel
from panewise.kernels.positions.numbered import NumberedKernel
from panewise.kernels.positions.rows import RowKernel
from panewise.kernels.positions.tuple_slide import TupleSlideKernel
from panewise.kernels.window_ids.adaptive import AdaptiveKernel
from panewise.kernels.window_ids.context_free import follows_from_row
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.late import LatePolicy
from panewise.windows.base import Clock, WindowSpec
from panewise.windows.count import CountWindow
from panewise.windows.rows import RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tuple_slide import TupleSlideWindow


@dataclass(frozen=True)
class Request:
    """A window aggregate that wants a kernel."""

    spec: WindowSpec
    keys: pa.Schema
    aggregates: tuple[BoundAggregate, ...]
    partition: tuple[str, ...] = ()


AMOUNTS = frozenset({"slack"})
"""Options that are amounts of the windowing attribute."""
SAYS = {
    "unit": "what changes between rows and partials: a group, or the pane of a group",
    "estimate": "what decides it: the bytes held, counted, or the model of the thesis",
    "hysteresis": "a group goes back to rows below this part of what made it leave them",
    "wed_since": "from where the model measures how long windows stay open: the newest row, or the bound",
    "differential": "the next window is made of the last one, less the rows that left and with those that came",
    "slack": "windows are closed by rows that are so far ahead, as by `progress=\"late:…\"`",
    "slots": "how many partials the table holds",
    "flush": "how partials of older windows leave the table",
    "m": "how many windows may stay in the table behind the newest",
    "i": "after how many rows the slow flush puts one partial out",
}
"""What every option of a kernel is."""


@dataclass(frozen=True)
class Option:
    """One option of a kernel."""

    name: str
    default: Any
    among: tuple[str, ...] = ()
    """The names it may be, where it is one."""

    @property
    def says(self) -> str:
        """What it is."""
        return SAYS[self.name]

    def read(self, value: Any, amount: Callable[[Any], int]) -> Any:
        """A value, also as text, in the type of the default."""
        if self.name in AMOUNTS:
            return amount(value)
        if isinstance(self.default, bool):
            return {"true": True, "false": False}[str(value).lower()]
        if self.among and value not in self.among:
            raise ValueError("no such name")
        if isinstance(self.default, int) and float(value) != int(float(value)):
            raise ValueError("no whole number")
        return type(self.default)(value)

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        if self.name in AMOUNTS:
            return "an amount of the windowing attribute"
        words = {bool: "true or false", int: "a whole number", float: "a number"}
        return words.get(type(self.default), f"one of {', '.join(self.among)}")


@dataclass(frozen=True)
class Entry:
    """A kernel and what it can run."""

    kernel: type[WindowKernel]
    runs: Callable[[Request], bool]
    keeps: str
    """The state it keeps, in words."""
    bucket: str = ""
    """Where the ids of windows on values come from: a Bucket ``below`` the kernel, or ``inside`` it; else nowhere."""

    @property
    def name(self) -> str:
        """What explain and ``strategy=`` call it."""
        return self.kernel.name

    @cached_property
    def options(self) -> dict[str, Option]:
        """The options of the kernel beside the window, the groups and the aggregates."""
        made = self.kernel.__init__
        types = get_type_hints(made)
        return {p.name: Option(p.name, p.default, tuple(map(str, get_args(types[p.name]))) if isinstance(p.default, str)
                               else ()) for p in signature(made).parameters.values()
                if p.kind is Parameter.KEYWORD_ONLY and p.name not in {"attribute", "late", "partition"}}


def _context_free(request: Request) -> bool:
    return follows_from_row(request.spec)


def _of_kind(*kinds: type[WindowSpec]) -> Callable[[Request], bool]:
    return lambda request: isinstance(request.spec, kinds)


def _panes(request: Request) -> bool:
    spec = request.spec
    return (isinstance(spec, SlidingWindow) and spec.clock is Clock.TIME
            and all(compiled_form(a.function, a.inputs) is not None for a in request.aggregates))


KERNELS: tuple[Entry, ...] = (
    Entry(PanedKernel, _panes, "partials by pane and group, in arrays", "inside"),
    Entry(WidKernel, _context_free, "a partial by group and range of window ids", "below"),
    Entry(AdaptiveKernel, _context_free, "by group rows or partials, whichever are smaller", "below"),
    Entry(BufferingKernel, _context_free, "the rows of open windows", "below"),
    Entry(TwoLevelKernel, _context_free, "partials in a table of fixed size, and those it puts out", "below"),
    Entry(LandmarkKernel, lambda request: endless(request.spec), "a partial by group that only grows"),
    Entry(SessionKernel, _of_kind(SessionWindow), "a partial by group and open session"),
    Entry(RowKernel, _of_kind(RowWindow, CountWindow), "states of the newest rows by group"),
    Entry(TupleSlideKernel, _of_kind(TupleSlideWindow), "the rows that windows to come may hold"),
)
"""The first that runs a request is the usual one."""


BY_NAME = {entry.name: entry for entry in KERNELS}


def bucket_of(kernel: str) -> str:
    """Where the ids of its windows come from."""
    return BY_NAME[kernel].bucket


def able(request: Request) -> Iterator[Entry]:
    """The kernels that can run a window aggregate, the default first."""
    return (entry for entry in KERNELS if entry.runs(request))


def make_kernel(request: Request, kernel: str, *, attribute: str, late: str | LatePolicy = LatePolicy.DROP,
                by_position: bool = False, options: Mapping[str, Any] | None = None) -> WindowKernel:
    """The kernel of that name for a window aggregate.

    ``by_position`` says that the windowing attribute is ``row-num``; kinds that do not count rows by themselves get
    them numbered.
    """
    spec = request.spec.plain  # rows that fail a condition do not come here
    made = BY_NAME[kernel].kernel(spec, request.keys, request.aggregates, attribute=attribute, late=late,
                                  partition=request.partition, **(options or {}))
    counts_itself = spec.clock in (Clock.ORDER, Clock.PARTITION_ORDER)
    return NumberedKernel(made) if by_position and not counts_itself else made
