"""Window specifications: which windows exist, what each contains, and which windows a row belongs to.

One class per kind, all with the contract of ``base``; ``KINDS`` lists them by the name that messages, ``explain`` and
the table of engines use.

>>> sorted(KINDS)[:3], KINDS["sliding"](range=600, slide=60)
(['band', 'calendar', 'count'], SlidingWindow(range=600, slide=60, origin=0, lag=0))
"""

from collections.abc import Mapping
from types import MappingProxyType

from panewise.windows.base import UNBOUNDED, Clock, ContextClass, Rows, WindowSpec
from panewise.windows.calendar import CalendarWindow
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.linear import LinearWindow, derive_wids
from panewise.windows.predicate import PredicateWindow
from panewise.windows.rows import PartitionedRowWindow, RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, NowWindow, TumblingWindow
from panewise.windows.tuple_slide import SlideOrder, TupleSlideWindow
from panewise.windows.varying import VaryingWindow

KINDS: Mapping[str, type[WindowSpec]] = MappingProxyType({
    kind.kind: kind
    for kind in (
        SlidingWindow, TumblingWindow, NowWindow, CalendarWindow, VaryingWindow, RowWindow, PartitionedRowWindow,
        CountWindow, PartitionedCountWindow, LandmarkWindow, BandWindow, TupleSlideWindow, SessionWindow,
        PredicateWindow, LinearWindow,
    )
})
"""Every window kind by name."""

__all__ = [
    "KINDS",
    "UNBOUNDED",
    "BandWindow",
    "CalendarWindow",
    "Clock",
    "ContextClass",
    "CountWindow",
    "Disclosure",
    "LandmarkWindow",
    "LinearWindow",
    "NowWindow",
    "PartitionedCountWindow",
    "PartitionedRowWindow",
    "PredicateWindow",
    "RowWindow",
    "Rows",
    "SessionWindow",
    "SlideOrder",
    "SlidingWindow",
    "TumblingWindow",
    "TupleSlideWindow",
    "VaryingWindow",
    "WindowSpec",
    "derive_wids",
]
