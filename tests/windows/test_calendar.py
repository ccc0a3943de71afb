"""Calendar windows against the wall clocks of zoneinfo, mostly where these jump."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import QuantityError, WindowSpecError
from panewise.core.ordinals import OrdinalKind
from panewise.core.time import DAY, HOUR, parse_timestamp
from panewise.windows import CalendarWindow, Rows
from panewise.windows.calendar import UNITS


def extent_at(window, text):
    """The window that holds an instant, as UTC texts, and its hours."""
    (wid,), _ = (e.tolist() for e in window.wids(Rows.of([parse_timestamp(text)])))
    extent = window.extent(wid)
    texts = [f"{datetime.fromtimestamp(e / 1e6, UTC):%Y-%m-%dT%H:%M}" for e in (extent.start, extent.end)]
    return *texts, (extent.end - extent.start) / HOUR


@pytest.mark.parametrize(("zone", "noon", "start", "end", "hours"), [
    ("Europe/Berlin", "2026-03-28T12:00Z", "2026-03-27T23:00", "2026-03-28T23:00", 24),
    ("Europe/Berlin", "2026-03-29T12:00Z", "2026-03-28T23:00", "2026-03-29T22:00", 23),
    ("Europe/Berlin", "2026-10-25T12:00Z", "2026-10-24T22:00", "2026-10-25T23:00", 25),
    ("America/New_York", "2026-03-08T16:00Z", "2026-03-08T05:00", "2026-03-09T04:00", 23),
    ("America/New_York", "2026-11-01T16:00Z", "2026-11-01T04:00", "2026-11-02T05:00", 25),
    ("Australia/Lord_Howe", "2026-04-05T01:00Z", "2026-04-04T13:00", "2026-04-05T13:30", 24.5),
    ("Asia/Kathmandu", "2026-01-01T00:00Z", "2025-12-31T18:15", "2026-01-01T18:15", 24),
])
def test_a_day_has_as_many_hours_as_the_clocks_give_it(zone, noon, start, end, hours):
    assert extent_at(CalendarWindow("day", timezone=zone), noon) == (start, end, hours)


def test_a_midnight_that_is_skipped_makes_the_day_begin_at_the_first_instant_after():
    # São Paulo went from 23:59:59 on the 3rd of November 2018 to 01:00 on the 4th.
    window = CalendarWindow("day", timezone="America/Sao_Paulo")
    assert extent_at(window, "2018-11-04T12:00Z") == ("2018-11-04T03:00", "2018-11-05T02:00", 23)


def test_a_skip_that_only_contains_midnight_is_found_to_the_microsecond():
    # Toronto in 1919 went from 23:30 to 00:30: the new day begins at half past midnight, in the middle of the skip.
    window = CalendarWindow("day", timezone="America/Toronto")
    assert extent_at(window, "1919-03-31T12:00Z")[0] == "1919-03-31T04:30"


def test_a_day_that_is_skipped_altogether_is_empty():
    # Samoa had no 30th of December 2011.
    window = CalendarWindow("day", timezone="Pacific/Apia")
    change = parse_timestamp("2011-12-30T10:00Z")
    (before, after), _ = window.wids(Rows.of([change - 1, change]))
    assert after - before == 2
    assert window.extent(int(before) + 1).empty


def test_months_follow_the_calendar():
    window = CalendarWindow("month", timezone="Europe/Berlin")
    assert extent_at(window, "2024-02-15T00:00Z") == ("2024-01-31T23:00", "2024-02-29T23:00", 29 * 24)
    assert extent_at(window, "2026-03-31T21:59Z") == ("2026-02-28T23:00", "2026-03-31T22:00", 31 * 24 - 1)
    assert extent_at(window, "2026-03-31T22:00Z")[0] == "2026-03-31T22:00"


def test_weeks_begin_on_monday_and_quarters_and_years_in_january():
    assert extent_at(CalendarWindow("week"), "2026-01-01T00:00Z")[:2] == ("2025-12-29T00:00", "2026-01-05T00:00")
    assert extent_at(CalendarWindow("quarter"), "2026-05-20T00:00Z")[:2] == ("2026-04-01T00:00", "2026-07-01T00:00")
    assert extent_at(CalendarWindow("year"), "1969-07-20T00:00Z")[:2] == ("1969-01-01T00:00", "1970-01-01T00:00")


def test_an_origin_moves_the_start_of_the_day_and_of_the_year():
    from_six = CalendarWindow("day", timezone="Europe/Berlin", origin=datetime(1970, 1, 1, 6))
    assert extent_at(from_six, "2026-03-29T03:59Z")[:2] == ("2026-03-28T05:00", "2026-03-29T04:00")
    fiscal = CalendarWindow("year", origin=datetime(1970, 4, 1))
    assert extent_at(fiscal, "2026-03-31T23:59Z")[:2] == ("2025-04-01T00:00", "2026-04-01T00:00")


def test_several_units_can_overlap():
    quarter_each_month = CalendarWindow("month", range=3, slide=1)
    first, last = quarter_each_month.wids(Rows.of([parse_timestamp("2026-02-10")]))
    shown = [quarter_each_month.extent(w) for w in range(int(first[0]), int(last[0]))]
    months = [[datetime.fromtimestamp(at / 1e6, UTC).month for at in (e.start, e.end)] for e in shown]
    assert months == [[12, 3], [1, 4], [2, 5]]


def test_dates_have_months_without_a_time_zone():
    window = CalendarWindow("month", ordinal=OrdinalKind.DATE)
    days = [(date(2024, 2, d) - date(1970, 1, 1)).days for d in (1, 29)]
    first, _ = window.wids(Rows.of(days))
    assert first[0] == first[1]
    extent = window.extent(int(first[0]))
    assert (extent.start, extent.end) == (days[0], days[1] + 1)


@given(st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC", "Australia/Sydney"]),
       st.lists(st.integers(parse_timestamp("1965-01-01"), parse_timestamp("2040-01-01")), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_days_weeks_and_months_are_those_of_the_wall_clock(zone, moments):
    local = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=m) for m in moments]
    local = [moment.astimezone(ZoneInfo(zone)) for moment in local]
    rows = Rows.of(moments)
    day, _ = CalendarWindow("day", timezone=zone).wids(rows)
    week, _ = CalendarWindow("week", timezone=zone).wids(rows)
    month, _ = CalendarWindow("month", timezone=zone).wids(rows)
    assert day.tolist() == [(m.date() - date(1970, 1, 1)).days for m in local]
    assert week.tolist() == [(m.date() - date(1969, 12, 29)).days // 7 for m in local]
    assert month.tolist() == [(m.year - 1970) * 12 + m.month - 1 for m in local]


def test_a_bound_closes_days_at_local_midnight_and_the_end_of_time_closes_all():
    window = CalendarWindow("day", timezone="Europe/Berlin")
    midnight = parse_timestamp("2026-03-29T22:00Z")
    spring = int(window.wids(Rows.of([midnight - 1]))[0][0])
    assert [window.closed_below(b) for b in (midnight - 1, midnight)] == [spring, spring + 1]
    ends = np.iinfo(np.int64)
    assert window.closed_below(ends.min) < spring < window.closed_below(ends.max)


def test_boundaries_are_looked_up_only_where_rows_are():
    far_apart = Rows.of([parse_timestamp("0003-05-01"), parse_timestamp("9990-05-01")])
    first, _ = CalendarWindow("day", timezone="Europe/Berlin").wids(far_apart)
    assert first.tolist() == [(date(y, 5, 1) - date(1970, 1, 1)).days for y in (3, 9990)]


@pytest.mark.parametrize(("arguments", "complaint"), [
    ({"unit": "fortnight"}, "no calendar unit 'fortnight': use one of day, week, month"),
    ({"unit": "day", "range": 0}, "RANGE must be positive"),
    ({"unit": "day", "slide": 0}, "SLIDE must be positive"),
    ({"unit": "day", "timezone": "Europe/Atlantis"}, "no time zone 'Europe/Atlantis'"),
    ({"unit": "day", "timezone": "../etc/passwd"}, "no time zone"),
    ({"unit": "month", "origin": datetime(2026, 1, 31)}, "not every month has"),
    ({"unit": "day", "origin": datetime(2026, 1, 1, tzinfo=UTC)}, "has an offset"),
    ({"unit": "day", "ordinal": OrdinalKind.DATE, "timezone": "Asia/Tokyo"}, "dates have no time zone"),
    ({"unit": "day", "ordinal": OrdinalKind.DATE, "origin": datetime(1970, 1, 1, 6)}, "begins with a date"),
    ({"unit": "day", "ordinal": OrdinalKind.ROWS}, "needs timestamps or dates, not rows"),
])
def test_a_calendar_that_makes_no_sense_is_refused(arguments, complaint):
    with pytest.raises(WindowSpecError, match=complaint):
        CalendarWindow(**arguments)


def test_values_no_calendar_can_place_are_refused():
    with pytest.raises(QuantityError, match="outside the years 2 to 9997"):
        CalendarWindow("day").wids(Rows.of([4_000_000 * DAY]))


@pytest.mark.parametrize("window", [CalendarWindow("year", 9_000), CalendarWindow("day", 3_000_000)], ids=str)
def test_a_window_that_leaves_the_calendar_is_refused(window):
    with pytest.raises(QuantityError, match="outside the years 1 to 9999"):
        window.extent(window.range)


@pytest.mark.parametrize("sizes", [{"range": 10**9}, {"slide": 10**9}])
def test_a_window_longer_than_the_calendar_is_refused_before_any_row(sizes):
    for unit in UNITS:
        with pytest.raises(WindowSpecError, match="longer than the calendar"):
            CalendarWindow(unit, **sizes)
