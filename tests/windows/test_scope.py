"""Scopes against the definitions of Patroumpas and Sellis (closed intervals there, half-open here: rule U1)."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.intervals import Interval
from panewise.windows import Rows, SlidingWindow

amounts, instants, lags = st.integers(1, 12), st.integers(-5, 5), st.integers(0, 6)
MODERATE = settings(max_examples=50, deadline=None)


def printed_scope(tau, tau0, omega, beta):
    """The three branches of section 3.2, closed."""
    if (tau - tau0) % beta:
        return printed_scope(tau - 1, tau0, omega, beta)
    return (tau0, tau) if tau < tau0 + omega else (tau - omega + 1, tau)


@given(instants, amounts, amounts, st.integers(0, 60))
@MODERATE
def test_the_scope_equals_the_recursion_of_the_paper(tau0, omega, beta, after):
    tau = tau0 + after
    first, last = printed_scope(tau, tau0, omega, beta)
    scope = SlidingWindow.scoped(omega, beta, registered_at=tau0).scope(tau)
    assert scope.intersect(Interval(tau0, None)) == Interval(first, last + 1)


@given(instants, amounts, amounts, lags, st.integers(0, 60))
@MODERATE
def test_the_scope_with_a_lag_equals_the_closed_form(tau0, omega, beta, lag, after):
    tau = tau0 + after
    star = tau - (tau - tau0) % beta
    expected = {ts for ts in range(tau0, tau + 1) if star - lag - omega + 1 <= ts <= star - lag}
    scope = SlidingWindow.scoped(omega, beta, registered_at=tau0, lag=lag).scope(tau)
    assert {ts for ts in range(tau0, tau + 1) if scope.contains(ts)} == expected


@given(instants, amounts, amounts, lags, st.integers(-20, 40))
@MODERATE
def test_entry_and_expiry_by_formula_are_those_of_brute_force(tau0, omega, beta, lag, ts):
    enter = tau0 + beta * -((tau0 - ts - lag) // beta)
    expiry = tau0 + beta * -((tau0 - ts - lag - omega) // beta)
    window = SlidingWindow.scoped(omega, beta, registered_at=tau0, lag=lag)
    assert [e.tolist() for e in window.lifetime(np.array([ts]))] == [[enter], [expiry]]
    visible = [tau for tau in range(enter - 30, expiry + 30) if window.scope(tau).contains(ts)]
    assert visible == list(range(enter, expiry))


@given(instants, amounts, amounts, st.integers(0, 60))
@MODERATE
def test_what_is_shown_at_a_refresh_is_a_window_by_id(tau0, omega, beta, after):
    # Rule U1: the state shown at registered_at + k·slide is window k; the origin makes up for the boundary instant.
    window = SlidingWindow.scoped(omega, beta, registered_at=tau0)
    rows = Rows.of(range(tau0, tau0 + after + 1))
    k = after // beta
    shown = [ts for ts in rows.values.tolist() if tau0 + k * beta - omega < ts <= tau0 + k * beta]
    assert rows.values[window.members(k, rows)].tolist() == shown


@given(amounts, st.integers(-20, 40))
@MODERATE
def test_without_a_slide_a_row_lives_from_its_instant_for_the_range(omega, ts):
    enter, expiry = SlidingWindow.scoped(omega).lifetime(np.array([ts]))
    assert (enter[0], expiry[0]) == (ts, ts + omega)
