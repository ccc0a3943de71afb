"""Unions of progress."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.core.errors import CheckpointError, ProgressError
from panewise.progress.bounds import BoundTable
from panewise.progress.meld import Meld
from panewise.progress.patterns import Constant
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND

INPUTS = st.integers(0, 2)
BOUNDS = st.integers(0, 20)
GROUPS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}), st.fixed_dictionaries({"k": st.sampled_from("pq")}),
    st.fixed_dictionaries({"k": st.sampled_from("pq"), "n": st.integers(0, 1)}))
PUNCTUATIONS = st.one_of(
    st.builds(lambda b, g: Punctuation.below("ts", b, **g), BOUNDS, GROUPS),
    st.builds(lambda b, g: Punctuation.below("ts", b, **g), BOUNDS, GROUPS),
    GROUPS.filter(bool).map(lambda g: Punctuation.of({a: Constant(v) for a, v in g.items()})))
CELLS = [{"k": k, "n": n} for k in "pq" for n in (0, 1)]


def test_w9_a_meld_says_the_same_bound_only_once() -> None:
    """R is at 20, S at 19; S then sends 20, 21, 22: the union says 20 once, not three times."""
    meld = Meld(["R", "S"])
    meld.advance("R", 20)
    meld.advance("S", 19)
    assert [meld.advance("S", bound) for bound in (20, 21, 22)] == [20, None, None]


@given(st.lists(st.tuples(INPUTS, PUNCTUATIONS), max_size=15))
def test_a_meld_promises_exactly_what_all_inputs_promise(events: list[tuple[int, Punctuation]]) -> None:
    meld, tables, promised = Meld(3), [BoundTable("ts") for _ in range(3)], BoundTable("ts")
    for source, punctuation in events:
        tables[source].advance(punctuation)
        for news in meld.punctuate(source, punctuation):
            assert promised.advance(news), "a union never repeats itself"
        for cell in CELLS:
            assert promised.bound_for(cell) == min(t.bound_for(cell) for t in tables)


@given(st.lists(st.one_of(st.tuples(INPUTS, BOUNDS), st.tuples(INPUTS, st.booleans())), max_size=20))
def test_with_idle_inputs_the_bound_never_goes_back_and_never_passes_an_active_input(
        events: list[tuple[int, int | bool]]) -> None:
    meld, bounds, idle = Meld(3), [NO_BOUND] * 3, [False] * 3
    for source, event in events:
        before = meld.bound
        if isinstance(event, bool):
            idle[source] = event
            meld.set_idle(source, event)
        else:
            bounds[source] = max(bounds[source], event)
            meld.advance(source, event)
        active = [b for b, i in zip(bounds, idle, strict=True) if not i] or bounds
        assert meld.bound >= before
        assert meld.bound == max(before, min(active)) or isinstance(event, bool)
        assert meld.bound <= max(before, min(active))


@given(st.lists(st.tuples(INPUTS, PUNCTUATIONS), max_size=10), st.lists(st.tuples(INPUTS, PUNCTUATIONS), max_size=5))
def test_a_restored_meld_goes_on_as_the_saved_one(
        first: list[tuple[int, Punctuation]], second: list[tuple[int, Punctuation]]) -> None:
    meld, copy = Meld(3), Meld(3)
    meld.set_idle(2)
    for event in first:
        meld.punctuate(*event)
    copy.restore(json.loads(json.dumps(meld.snapshot())))
    assert [copy.punctuate(*event) for event in second] == [meld.punctuate(*event) for event in second]


def test_finished_inputs_count_as_infinitely_far_and_the_last_one_ends_the_union() -> None:
    meld = Meld(["a", "b"])
    meld.advance("a", 5)
    assert meld.finish("b") == [Punctuation.below("ts", 5)]
    assert meld.finish("a") == [END]
    assert meld.bound == FINISHED


def test_an_idle_input_left_alone_by_finished_ones_still_decides() -> None:
    meld = Meld(["a", "b"])
    meld.advance("a", 5)
    meld.set_idle("a")
    assert meld.finish("b") == [Punctuation.below("ts", 5)]
    assert meld.bound == 5, "the idle input may wake up with anything from 5"


def test_a_group_moves_when_all_inputs_have_passed_it_by_whatever_promise() -> None:
    meld = Meld(["a", "b"])
    assert meld.punctuate("a", Punctuation.below("ts", 60, seg="s1")) == []
    assert meld.punctuate("b", Punctuation.below("ts", 40)) == [Punctuation.below("ts", 40, seg="s1")]
    assert meld.punctuate("a", Punctuation.below("ts", 50)) == [Punctuation.below("ts", 40)]
    assert meld.punctuate("b", Punctuation.of({"seg": Constant("s1")})) == [Punctuation.below("ts", 60, seg="s1")]
    assert meld.punctuate("a", Punctuation.of({"seg": Constant("s1")})) == [Punctuation.of({"seg": Constant("s1")})]


def test_a_meld_names_inputs_it_does_not_have() -> None:
    with pytest.raises(ProgressError, match="no input 'c' of this Meld; there are a, b"):
        Meld(["a", "b"]).advance("c", 1)
    with pytest.raises(ProgressError, match="at least one input"):
        Meld([])
    with pytest.raises(CheckpointError, match="of 2 inputs, there are 3"):
        Meld(3).restore(Meld(2).snapshot())
