"""One Hypothesis strategy per window kind, and rows that suit it; a new kind needs an entry here and nothing else."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from panewise.core.ordinals import OrdinalKind
from panewise.core.time import DAY, HOUR, parse_timestamp
from panewise.windows import (
    BandWindow,
    CalendarWindow,
    CountWindow,
    Disclosure,
    LandmarkWindow,
    LinearWindow,
    NowWindow,
    PartitionedCountWindow,
    PartitionedRowWindow,
    PredicateWindow,
    Rows,
    RowWindow,
    SessionWindow,
    SlidingWindow,
    TumblingWindow,
    TupleSlideWindow,
    VaryingWindow,
    WindowSpec,
)

amounts = st.integers(1, 12)
instants = st.integers(-20, 20)
small_values = st.integers(-40, 40)
lags = st.integers(0, 6)


@st.composite
def rows_of(draw: st.DrawFn, values: st.SearchStrategy[int] = small_values) -> Rows:
    """A few rows in any order, with ties, partitions and a mask."""
    drawn = draw(st.lists(st.tuples(values, st.sampled_from("abc"), st.booleans()), min_size=1, max_size=14))
    return Rows.of([v for v, _, _ in drawn], [p for _, p, _ in drawn], [q for _, _, q in drawn])


@st.composite
def bands(draw: st.DrawFn) -> BandWindow:
    lower, upper = sorted(draw(st.tuples(instants, instants)))
    registered_at = draw(st.none() | instants)
    ends = draw(st.sampled_from([(lower, upper), (lower, None), (None, upper), (None, None)]))
    return BandWindow(*ends, registered_at, keeps_history=registered_at is None or draw(st.booleans()))


@st.composite
def varying(draw: st.DrawFn) -> VaryingWindow:
    at = sorted(draw(st.lists(instants, unique=True, max_size=3)))
    changes = tuple((a, draw(amounts)) for a in at)
    return VaryingWindow(draw(amounts), changes, draw(st.integers(1, 4)), draw(instants), gradual=True)


coefficients = st.integers(1, 6) | st.fractions(Fraction(1, 3), 4, max_denominator=4)
offsets = st.integers(-10, 10) | st.fractions(-8, 8, max_denominator=4)
linear = st.builds(LinearWindow, st.just(0) | coefficients, offsets, coefficients, offsets)

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia")
# Around changes of daylight saving, and around the 30th of December 2011 that Apia skipped.
ANCHORS = [parse_timestamp(t) for t in ("2026-03-29", "2026-10-25", "2018-11-04", "2011-12-30", "1969-12-31")]
moments = st.builds(lambda a, h, us: a + h * HOUR + us, st.sampled_from(ANCHORS), st.integers(-60, 60),
                    st.integers(-2, 2))
timestamp_calendars = st.builds(
    CalendarWindow, st.sampled_from(["day", "week", "month", "quarter", "year"]), st.integers(1, 3),
    st.none() | st.integers(1, 3), st.sampled_from(ZONES),
    st.none() | st.sampled_from([datetime(2000, 1, 1), datetime(1970, 4, 5, 6), datetime(2026, 3, 28, 2, 30)]),
)
date_calendars = st.builds(
    CalendarWindow, st.sampled_from(["day", "week", "month"]), st.integers(1, 3), st.none() | st.integers(1, 3),
    ordinal=st.just(OrdinalKind.DATE),
)

SPECS: dict[str, st.SearchStrategy[WindowSpec]] = {
    "sliding": st.builds(SlidingWindow, amounts, amounts, instants, lags),
    "tumbling": st.builds(TumblingWindow, amounts, instants, lags, st.sampled_from(Disclosure)),
    "now": st.builds(NowWindow, amounts, instants, lags),
    "calendar": timestamp_calendars | date_calendars,
    "varying": varying(),
    "row": st.builds(RowWindow, amounts, amounts, lag=lags),
    "partitioned row": st.builds(PartitionedRowWindow, amounts, amounts),
    "count": st.builds(CountWindow, amounts, amounts),
    "partitioned count": st.builds(PartitionedCountWindow, amounts, amounts),
    "landmark": st.builds(LandmarkWindow, amounts, instants),
    "band": bands(),
    "slide by tuple": st.builds(
        TupleSlideWindow, amounts, st.integers(1, 4), st.sampled_from(["arrival", "rank"]), st.booleans()
    ),
    "session": st.builds(SessionWindow, amounts),
    "linear": linear,
}
SPECS["predicate"] = st.builds(PredicateWindow, st.one_of(*(SPECS[k] for k in SPECS if k != "calendar")))


@st.composite
def cases(draw: st.DrawFn, kind: str) -> tuple[WindowSpec, Rows]:
    """A specification of the kind and rows in its range of values."""
    spec = draw(SPECS[kind])
    if isinstance(spec, CalendarWindow):
        rows = draw(rows_of(moments))
        if spec.ordinal is OrdinalKind.DATE:
            rows = Rows(rows.values // DAY, rows.row_num, rows.partition, rows.qualifies)
        return spec, rows
    return spec, draw(rows_of())


def parts(spec: WindowSpec, rows: Rows) -> list[Rows]:
    """The rows among which an id names one window."""
    return rows.by_partition() if spec.per_partition else [rows]


def counted(spec: WindowSpec, rows: Rows) -> np.ndarray:
    """The rows a specification does not filter away."""
    every = np.ones(len(rows), np.bool_)
    return rows.qualifies if isinstance(spec, PredicateWindow) and rows.qualifies is not None else every
