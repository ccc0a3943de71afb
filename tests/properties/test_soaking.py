"""A soak goes on where the gate stops: every property test takes the examples of the profile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_runs import SETTINGS, drawn, is_soaking, prolong


@pytest.fixture
def soaking() -> Iterator[None]:
    before = settings.get_current_profile_name()
    settings.load_profile("soak")
    yield
    settings.load_profile(before)


@settings(max_examples=3)
@given(st.data())
def short(data: st.DataObject) -> None:
    data.draw(st.integers(0, 9).map(str))


def test_examples_of_a_soak_are_those_of_its_profile(soaking: None) -> None:
    before = getattr(short, SETTINGS)
    try:
        assert is_soaking()
        assert prolong(short)
        assert getattr(short, SETTINGS).max_examples == settings.get_profile("soak").max_examples >= 1000
    finally:
        setattr(short, SETTINGS, before)


def test_other_tests_do_not_soak(soaking: None) -> None:
    assert not prolong(test_other_tests_do_not_soak)
    assert not prolong(None)


def test_what_a_test_draws_is_seen_without_running_it_and_is_the_same_each_time() -> None:
    once, again = ([example["case"] for example in drawn(short, str, "a name")] for _ in range(2))
    assert once == again
    assert 1 <= len(once) <= 3
