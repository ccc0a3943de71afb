"""The benchmark of plan choice runs every candidate for real, and all give as many results."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def test_candidates_of_every_scenario_give_the_same_results() -> None:
    import plan_choice as bench

    for scenario in bench.SCENARIOS:
        slower = {name: (max(1, rate // 100), max(2, values // 50))
                  for name, (rate, values) in scenario.streams.items()}
        lines = bench.measure(bench.Scenario(scenario.name, scenario.query, slower), 20, 1)
        assert len(lines) > 1
        assert len({line["results"] for line in lines}) == 1
        assert sum(bool(line["chosen"]) for line in lines) == 1
        assert [line["cost"] for line in lines] == sorted(line["cost"] for line in lines)
