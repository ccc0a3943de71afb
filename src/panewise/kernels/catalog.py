"""Which kernel runs which window: one list, asked from the top; a new kernel adds its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from panewise.aggregates.compiled_form import compiled_form
from panewise.core.errors import UnsupportedError
from panewise.kernels.adaptive import AdaptiveKernel
from panewise.kernels.base import WindowKernel
from panewise.kernels.buffering import BufferingKernel
from panewise.kernels.landmark import LandmarkKernel, endless
from panewise.kernels.numbered import NumberedKernel
from panewise.kernels.paned import PanedKernel
from panewise.kernels.partials import BoundAggregate
from panewise.kernels.rows import RowKernel
from panewise.kernels.session import SessionKernel
from panewise.kernels.tuple_slide import TupleSlideKernel
from panewise.kernels.two_level import TwoLevelKernel
from panewise.kernels.wid import WidKernel
from panewise.progress.late import LatePolicy
from panewise.windows.base import Clock, ContextClass, WindowSpec
from panewise.windows.count import CountWindow
from panewise.windows.predicate import PredicateWindow
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


@dataclass(frozen=True)
class Entry:
    """A kernel and what it can run."""

    kernel: type[WindowKernel]
    runs: Callable[[Request], bool]

    @property
    def name(self) -> str:
        """What explain and ``strategy=`` call it."""
        return self.kernel.name


def _context_free(request: Request) -> bool:
    spec = request.spec
    return (spec.context_class is ContextClass.CF and spec.clock not in (Clock.ORDER, Clock.PARTITION_ORDER)
            and not endless(spec))


def _endless(request: Request) -> bool:
    return endless(request.spec)


def _sessions(request: Request) -> bool:
    return isinstance(request.spec, SessionWindow)


def _positions(request: Request) -> bool:
    return isinstance(request.spec, RowWindow | CountWindow)


def _by_tuple(request: Request) -> bool:
    return isinstance(request.spec, TupleSlideWindow)


def _panes(request: Request) -> bool:
    spec = request.spec
    return (isinstance(spec, SlidingWindow) and spec.clock is Clock.TIME
            and all(compiled_form(a.function, a.inputs) is not None for a in request.aggregates))


KERNELS: tuple[Entry, ...] = (
    Entry(PanedKernel, _panes),
    Entry(WidKernel, _context_free),
    Entry(AdaptiveKernel, _context_free),
    Entry(BufferingKernel, _context_free),
    Entry(TwoLevelKernel, _context_free),
    Entry(LandmarkKernel, _endless),
    Entry(SessionKernel, _sessions),
    Entry(RowKernel, _positions),
    Entry(TupleSlideKernel, _by_tuple),
)
"""The first that runs a request is its default."""


def able(request: Request) -> Iterator[Entry]:
    """The kernels that can run a window aggregate, the default first."""
    return (entry for entry in KERNELS if entry.runs(request))


def make_kernel(spec: WindowSpec, keys: pa.Schema, aggregates: Sequence[BoundAggregate], *, attribute: str,
                late: str | LatePolicy = LatePolicy.DROP, partition: Sequence[str] = (),
                strategy: str = "auto", by_position: bool = False) -> WindowKernel:
    """A kernel for a window aggregate: the default one, or the one named.

    ``by_position`` says that the windowing attribute is ``row-num``; kinds that do not count rows by themselves get
    them numbered.
    """
    while isinstance(spec, PredicateWindow):  # rows that fail it do not come here
        spec = spec.spec
    request = Request(spec, keys, tuple(aggregates), tuple(partition))
    entries = list(able(request))
    if not entries:
        raise UnsupportedError(f"no kernel runs {spec.kind} windows; use engine='oracle'")
    if strategy != "auto":
        entries = [entry for entry in entries if entry.name == strategy]
        if not entries:
            names = ", ".join(entry.name for entry in able(request))
            raise UnsupportedError(f"the strategy {strategy!r} does not run these {spec.kind} windows: use {names}")
    kernel = entries[0].kernel(spec, keys, aggregates, attribute=attribute, late=late, partition=partition)
    counts_itself = spec.clock in (Clock.ORDER, Clock.PARTITION_ORDER)
    return NumberedKernel(kernel) if by_position and not counts_itself else kernel
