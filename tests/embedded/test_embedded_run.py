"""Whole runs: inputs take turns, and a killed run goes on from its checkpoint as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.disordered import PLAN, Item, cut, disordered
from embedded.plans import aggregate, bag, call, source
from panewise.core.errors import CheckpointError, PlanError
from panewise.dataflow import open_plan
from panewise.engines.embedded import run_embedded
from panewise.plan.nodes import Union
from panewise.storage import DirectoryChunks
from panewise.windows.sliding import SlidingWindow


class KilledError(Exception):
    """Stands for the end of the process."""


def killed_after(items: Iterator[Item], count: int) -> Iterator[Item]:
    for i, item in enumerate(items):
        if i == count:
            raise KilledError
        yield item


def newest(directory: Path) -> bytes:
    """What changes with every checkpoint."""
    return b"".join(path.read_bytes() for path in sorted(directory.glob("manifest-?")))


def new_checkpoint(directory: Path) -> bytes:
    DirectoryChunks(directory).close()
    return newest(directory)


def run_until_killed(directory: Path, items: Iterator[Item], every: int) -> list[dict[str, Any]]:
    """The rows that were out when the last checkpoint was written: a sink would have kept exactly these."""
    out: list[dict[str, Any]] = []
    kept = 0
    before = newest(directory) or new_checkpoint(directory)
    try:
        for table in run_embedded(PLAN, {"s": items}, checkpoint=directory, checkpoint_rows=every):
            now = newest(directory)
            if now != before:  # written after what was out before this table
                before, kept = now, len(out)
            out += table.to_pylist()
    except KilledError:
        now = newest(directory)
        return out[: len(out) if now != before else kept]
    return out


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 20), st.lists(st.integers(1, 30), min_size=1, max_size=3),
       st.lists(st.integers(1, 30), min_size=1, max_size=3), st.sampled_from([1, 15, 60]))
def test_a_killed_run_continues_exactly_even_when_the_input_is_cut_differently(
        tmp_path_factory: pytest.TempPathFactory, kill: int, sizes: list[int], other: list[int], every: int) -> None:
    directory = tmp_path_factory.mktemp("checkpoint")
    table = disordered(120)
    expected = [r for t in run_embedded(PLAN, {"s": cut(table, [50])}) for r in t.to_pylist()]
    first = run_until_killed(directory, killed_after(cut(table, sizes), kill), every)
    rest = [r for t in run_embedded(PLAN, {"s": cut(table, other)}, checkpoint=directory) for r in t.to_pylist()]
    assert bag(first + rest) == bag(expected)
    again = list(run_embedded(PLAN, {"s": cut(table, other)}, checkpoint=directory))
    assert again == [], "a finished run has nothing left to say"


def test_two_inputs_take_turns_and_continue_from_their_own_positions(tmp_path: Path) -> None:
    plan = aggregate(Union((source("s"), source("t"))), SlidingWindow(20, 7), calls=(call("n", "count"),))

    def inputs() -> dict[str, Iterator[Item]]:
        return {"s": cut(disordered(100), [9]), "t": cut(disordered(60, seed=6), [13])}

    expected = [r for t in run_embedded(plan, inputs()) for r in t.to_pylist()]
    broken = inputs() | {"t": killed_after(cut(disordered(60, seed=6), [13]), 4)}
    out: list[dict[str, Any]] = []
    before = run_embedded(plan, broken, checkpoint=tmp_path, checkpoint_rows=1)
    with pytest.raises(KilledError):
        out.extend(row for table in before for row in table.to_pylist())
    for table in run_embedded(plan, inputs(), checkpoint=tmp_path):
        out += table.to_pylist()
    assert bag(out) == bag(expected)


def test_a_checkpoint_of_another_query_is_refused(tmp_path: Path) -> None:
    list(run_embedded(PLAN, {"s": cut(disordered(40), [10])}, checkpoint=tmp_path))
    other = aggregate(source(), SlidingWindow(20, 5))
    with pytest.raises(CheckpointError, match="another query"):
        list(run_embedded(other, {"s": []}, checkpoint=tmp_path))
    with pytest.raises(CheckpointError, match="late policy"):
        list(run_embedded(PLAN, {"s": []}, late="side", checkpoint=tmp_path))
    with pytest.raises(CheckpointError, match="policy"):
        list(run_embedded(PLAN, {"s": []}, progress="ordered", checkpoint=tmp_path))


def test_an_input_shorter_than_the_checkpoint_is_refused(tmp_path: Path) -> None:
    list(run_embedded(PLAN, {"s": cut(disordered(40), [10])}, checkpoint=tmp_path))
    with pytest.raises(CheckpointError, match="fewer rows"):
        list(run_embedded(PLAN, {"s": cut(disordered(20), [10])}, checkpoint=tmp_path))


@pytest.mark.parametrize("damage", [
    lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"junk",
    lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:]])
def test_a_damaged_checkpoint_is_refused_and_the_one_before_it_named(tmp_path: Path, damage: Any) -> None:
    table = disordered(40)
    list(run_embedded(PLAN, {"s": cut(table, [10])}, checkpoint=tmp_path, checkpoint_rows=20))
    states = sorted((tmp_path / "chunks").iterdir())
    states[-1].write_bytes(damage(states[-1].read_bytes()))
    message = rf"{states[-1].name}.* is damaged.*copy manifest-\d over manifest-\d"
    with pytest.raises(CheckpointError, match=message) as got:
        list(run_embedded(PLAN, {"s": cut(table, [10])}, checkpoint=tmp_path))
    good, bad = (word for word in str(got.value).split() if word.startswith("manifest-"))
    (tmp_path / bad).write_bytes((tmp_path / good).read_bytes())
    again = [r for t in run_embedded(PLAN, {"s": cut(table, [10])}, checkpoint=tmp_path) for r in t.to_pylist()]
    whole = [r for t in run_embedded(PLAN, {"s": cut(table, [10])}) for r in t.to_pylist()]
    assert again
    assert not bag(again) - bag(whole)
    for file in (tmp_path / "chunks").iterdir():
        file.write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"No other state .* is complete"):
        list(run_embedded(PLAN, {"s": cut(table, [10])}, checkpoint=tmp_path))


def test_a_checkpoint_directory_that_cannot_be_made_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be a checkpoint directory"):
        list(run_embedded(PLAN, {"s": []}, checkpoint=tmp_path / "file" / "sub"))


def test_a_missing_input_is_refused_before_anything_runs() -> None:
    with pytest.raises(PlanError, match="no input for the stream 's'"):
        run_embedded(PLAN, {})


def test_the_query_can_be_watched_while_it_runs() -> None:
    query = open_plan(PLAN)
    seen = [query.status()["rows"] for _ in run_embedded(PLAN, {"s": cut(disordered(), [20])}, query=query)]
    assert seen == sorted(seen)
    assert query.status()["rows"] == 200


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(0, 20), max_size=3), st.sampled_from([1, 15, 60]))
def test_a_run_that_keeps_its_results_repeats_nothing_however_often_it_is_killed(
        tmp_path_factory: pytest.TempPathFactory, kills: list[int], every: int) -> None:
    directory = tmp_path_factory.mktemp("kept")
    for kill in kills:
        try:
            for _ in run_embedded(PLAN, {"s": killed_after(cut(disordered(), [11]), kill)}, checkpoint=directory,
                                  checkpoint_rows=every, keep_results=True):
                pass
        except KilledError:
            continue
    last = [row for table in run_embedded(PLAN, {"s": cut(disordered(), [7])}, checkpoint=directory,
                                          checkpoint_rows=every, keep_results=True) for row in table.to_pylist()]
    undisturbed = [row for table in run_embedded(PLAN, {"s": cut(disordered(), [9])}) for row in table.to_pylist()]
    assert bag(last) == bag(undisturbed)
