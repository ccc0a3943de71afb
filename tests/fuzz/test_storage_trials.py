"""A short version of ``make fuzz``: some durable calls with each fault, some kills, some damaged checkpoints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def fuzz(*arguments: str) -> dict[str, Any]:
    """In a process of its own, which has no threads."""
    done = subprocess.run([sys.executable, "tools/fuzz.py", *arguments], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return dict(json.loads(done.stdout))


def test_a_durable_call_that_fails_or_is_the_last_loses_and_repeats_nothing() -> None:
    found = fuzz("faults", "--every", "13")
    assert found["durable calls"] > 150
    assert found["faults"]["kill"] == found["faults"]["ENOSPC"] == found["faults"]["EIO"] > 10


def test_processes_that_are_killed_lose_and_repeat_nothing() -> None:
    assert fuzz("kills", "--count", "15")["kills"] >= 15


def test_damaged_checkpoints_and_results_are_refused_or_do_not_matter() -> None:
    found = fuzz("checkpoints", "--count", "60")
    assert sum(count for name, count in found["outcomes"].items() if name.endswith("refused")) > 20


@pytest.mark.soak
def test_every_durable_call_three_hundred_kills_and_two_thousand_damages() -> None:
    assert fuzz("faults")["faults"]["kill"] > 150
    assert fuzz("kills", "--count", "300")["kills"] >= 300
    assert fuzz("checkpoints", "--count", "2000")["trials"] >= 2000
