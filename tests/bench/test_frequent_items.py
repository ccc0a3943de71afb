"""The benchmark of frequent items compares every window with the truth; longer lists miss less."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def test_longer_lists_have_lower_thresholds_and_nothing_is_reported_that_is_not_so() -> None:
    import frequent_items as bench

    lines = [bench.measure(5_000, 50, k, 4) for k in (1, 3, 6)]
    assert [line["windows"] for line in lines] == [4, 4, 4]
    assert {line["windows by rows"] for line in lines} == {4 * bench.slide_for(5_000, 50) // 50 + 1}
    thresholds = [line["threshold"] for line in lines]
    assert thresholds == sorted(thresholds, reverse=True)
    assert lines[-1]["found"] > 0.7
    assert lines[-1]["entries"] < 5_000 / 4
