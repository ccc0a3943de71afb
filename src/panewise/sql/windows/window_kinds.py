"""Which window a bracket means: one function for each extent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from panewise.core.errors import PanewiseError, SqlError
from panewise.core.ordinals import OrdinalKind
from panewise.core.time import DAY, TICK_UNITS, Domain
from panewise.plan.nodes import WindowClause
from panewise.sql.hints import did_you_mean, listed
from panewise.sql.relations import BoundWindow
from panewise.sql.syntax import Amount
from panewise.sql.windows.window_parts import BracketParts
from panewise.windows.base import WindowSpec
from panewise.windows.calendar import UNITS as CALENDAR_UNITS
from panewise.windows.calendar import CalendarWindow
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.rows import PartitionedRowWindow, RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, NowWindow, TumblingWindow
from panewise.windows.tuple_slide import SlideOrder, TupleSlideWindow


class BracketWindow(BracketParts):
    """One bracket as a window."""

    def bind(self) -> BoundWindow:
        """The window and what the rest of the query must know of it."""
        self.check_companions()
        by_id = self.wa is not None or self.rattr is not None or self.extent.keyword in {"SESSION", "CALENDAR"}
        attribute, kind = self.attribute()
        try:
            kind = self.kind(kind)
            spec = _KINDS[self.extent.keyword](self, kind)
        except SqlError:
            raise
        except PanewiseError as error:
            raise self.error(str(error), self.bracket.span, "change the window") from error
        partition = self.partition()
        sliced_by: tuple[str, ...] = ()
        if not spec.per_partition:
            partition, sliced_by = (), partition
        where = self.bracket.get("WHERE")
        predicate = None
        if where is not None and where.condition is not None:
            predicate = self.binder.expressions.scalar(where.condition, self.scope, where.span)
        clause = WindowClause(spec, attribute, kind, partition, predicate, self.bracket.get("INTERNAL") is not None)
        return BoundWindow(clause, by_id, self.bracket.span, self.bracket.get("SLIDE") is not None,
                           self.extent.keyword == "RANGE TUMBLING", getattr(spec, "range", None), sliced_by)

    # -- kinds ---------------------------------------------------------------------------------------------------

    def _range(self, kind: OrdinalKind) -> WindowSpec:
        if self.rattr is not None:
            return self._by_tuple(kind)
        slide = self.bracket.get("SLIDE")
        if self.wa is None:
            return self._scoped(kind)
        if kind is OrdinalKind.ROWS:
            return self._positions(self.amount("RANGE", kind, 1), self.amount("SLIDE", kind, 1))
        if slide is not None and self.quantity(slide).domain is Domain.ROWS:
            # A time RANGE that slides by rows on one attribute: two attributes in truth (rule 3).
            return self._by_tuple(kind)
        step = self.amount("SLIDE", kind, 1)
        return SlidingWindow(self.amount("RANGE", kind, 1), step,
                             self.literal("ORIGIN", kind, every_day=DAY % step == 0) or 0, self.amount("LAG", kind, 0))

    def _positions(self, size: int, slide: int) -> WindowSpec:
        spec = PartitionedRowWindow if self.bracket.get("PA") else RowWindow
        origin = self.literal("ORIGIN", OrdinalKind.ROWS)
        return spec(size, slide, 1 if origin is None else origin, self.amount("LAG", OrdinalKind.ROWS, 0))

    def _scoped(self, kind: OrdinalKind) -> WindowSpec:
        """No WA: the window whose upper bound moves with the clock; without SLIDE at every tick (rule U7)."""
        if self.quantity(self.extent).domain is Domain.ROWS:
            assert self.extent.amount is not None
            raise self.error(f"a {self.extent.keyword} in rows needs an order of rows", self.extent.amount.span,
                             "write ROWS n for the n newest rows, or add WA row-num for windows with ids")
        return SlidingWindow.scoped(self.amount(self.extent.keyword, kind, 1), self.amount("SLIDE", kind, 1),
                                    lag=self.amount("LAG", kind, 0))

    def _by_tuple(self, kind: OrdinalKind) -> WindowSpec:
        named = self.rattr or self.wa
        assert named is not None
        if kind is OrdinalKind.ROWS:
            raise self.error("a window over row-num slides on row-num too", named.span, "write WA row-num")
        for keyword in ("LAG", "ORIGIN"):
            if (clause := self.bracket.get(keyword)) is not None:
                raise self.error(f"{keyword} cannot stand in a window that slides by rows", clause.span, "remove it")
        if self.sattr is not None:
            attribute, sattr_kind = self.column(self.sattr.names[0])
            if self.sattr.rank and attribute != self.column(named.names[0])[0]:
                raise self.error("the slide must rank the attribute of the range", self.sattr.names[0].span,
                                 f"write SATTR rank({named.names[0]})")
            if not self.sattr.rank and sattr_kind is not OrdinalKind.ROWS:
                raise self.error("SATTR counts rows", self.sattr.span,
                                 f"write SATTR row-num or SATTR rank({named.names[0]})")
        by = SlideOrder.RANK if self.sattr is not None and self.sattr.rank else SlideOrder.ARRIVAL
        return TupleSlideWindow(self.amount("RANGE", kind, 1), self.amount("SLIDE", OrdinalKind.ROWS, 1), by,
                                self.bracket.get("PA") is not None)

    def _tumbling(self, kind: OrdinalKind) -> WindowSpec:
        size, lag = self.amount("RANGE TUMBLING", kind, 1), self.amount("LAG", kind, 0)
        disclosure = Disclosure.GROWING if self.bracket.get("GROWING") else Disclosure.DISCLOSED
        if self.wa is None:
            return TumblingWindow.registered(size, lag=lag, disclosure=disclosure)
        if kind is OrdinalKind.ROWS:
            return self._positions(size, size)
        return TumblingWindow(size, self.literal("ORIGIN", kind, every_day=DAY % size == 0) or 0, lag, disclosure)

    def _landmark(self, kind: OrdinalKind) -> WindowSpec:
        if self.wa is None:
            raise self.error("RANGE ALL needs WA", self.extent.span,
                             "add WA and the column, or write UNBOUNDED for a relation that only grows")
        origin = self.literal("ORIGIN", kind)
        first = 1 if kind is OrdinalKind.ROWS else 0
        return LandmarkWindow(self.amount("SLIDE", kind, 1), first if origin is None else origin)

    def _count(self, rows: OrdinalKind) -> WindowSpec:
        assert self.extent.amount is not None
        if self.quantity(self.extent).domain not in {Domain.ROWS, Domain.TICKS}:
            raise self.error("ROWS counts rows, not time", self.extent.amount.span,
                             "write ROWS 100, or RANGE with a time unit")
        for clause in (self.extent, self.bracket.get("SLIDE")):
            if clause is not None and isinstance(clause.amount, Amount) and clause.amount.unit.lower() in TICK_UNITS:
                raise self.error(f"{clause.keyword} {clause.amount.number} ticks: a window by ROWS moves with rows and "
                                 "has no ticks", clause.amount.span,
                                 f"write {clause.keyword} {clause.amount.number} rows")
        spec = PartitionedCountWindow if self.bracket.get("PA") else CountWindow
        return spec(self.amount("ROWS", rows, 1), self.amount("SLIDE", rows, 1))

    def _now(self, kind: OrdinalKind) -> WindowSpec:
        slide, lag = self.amount("SLIDE", kind, 1), self.amount("LAG", kind, 0)
        if self.wa is None:
            return NowWindow.registered(slide, lag=lag)
        return NowWindow(slide, self.literal("ORIGIN", kind, every_day=DAY % slide == 0) or 0, lag)

    def _calendar(self, kind: OrdinalKind) -> WindowSpec:
        amount = self.extent.amount
        if not isinstance(amount, Amount):
            raise self.error("CALENDAR needs a number and a unit", self.extent.span, "write CALENDAR 1 MONTH")
        unit, count = self._calendar_unit(amount)
        slide = self.bracket.get("SLIDE")
        step = None
        if slide is not None:
            if not isinstance(slide.amount, Amount) or (stepping := self._calendar_unit(slide.amount))[0] != unit:
                raise self.error("SLIDE of a calendar window has the same unit", slide.span, f"write SLIDE 1 {unit}")
            step = stepping[1]
        zone = self.bracket.get("ZONE")
        try:
            return CalendarWindow(unit, count, step, self.zone(), self._local_origin(), kind)
        except PanewiseError as error:
            raise self.error(str(error), zone.span if zone is not None else self.extent.span,
                             "leave out ZONE, or use timestamps") from error

    def _calendar_unit(self, amount: Amount) -> tuple[str, int]:
        unit = amount.unit.lower().removesuffix("s")
        if unit not in CALENDAR_UNITS:
            raise self.error(f"no calendar unit {amount.unit!r}", amount.unit_span,
                             did_you_mean(unit, CALENDAR_UNITS, f"use one of {listed(CALENDAR_UNITS)}"))
        return unit, self.binder.quantity(replace(amount, unit="ticks")).amount

    def _local_origin(self) -> datetime | None:
        value, span = self.constant("ORIGIN")
        try:
            return value if value is None or isinstance(value, datetime) else datetime.fromisoformat(str(value))
        except ValueError as error:
            raise self.error(f"ORIGIN: {value!r} is no local time", span, "write '1970-04-01T00:00:00'") from error


_KINDS: dict[str, Callable[[BracketWindow, OrdinalKind], WindowSpec]] = {
    "RANGE": BracketWindow._range, "WINDOW": BracketWindow._scoped, "RANGE TUMBLING": BracketWindow._tumbling,
    "RANGE ALL": BracketWindow._landmark, "ROWS": BracketWindow._count, "NOW": BracketWindow._now,
    "UNBOUNDED": lambda own, kind: BandWindow(own.literal("START AT", kind), own.literal("END AT", kind)),
    "SESSION": lambda own, kind: SessionWindow(own.amount("SESSION", kind, 1)), "CALENDAR": BracketWindow._calendar,
}
