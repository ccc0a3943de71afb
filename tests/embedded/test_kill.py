"""kill -9 at any moment loses nothing and repeats nothing: real processes, really killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from embedded.disordered import PLAN, cut, disordered
from embedded.killed_child import ROWS
from embedded.plans import bag
from oracle.questions import Oracle
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival
from panewise.storage import DirectoryChunks

TESTS = Path(__file__).parents[1]


def start(home: Path, batch: int) -> subprocess.Popen[str]:
    code = f"import sys; sys.path.insert(0, {str(TESTS)!r}); from embedded.killed_child import main; " \
           f"from pathlib import Path; main(Path({str(home)!r}), {batch})"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def seen(home: Path) -> list[dict[str, object]]:
    """What a reader of the sink finds at this moment."""
    parts = sorted((home / "out").glob("part-*.ndjson"))
    return [json.loads(line) for part in parts for line in part.read_text().splitlines()]


@pytest.mark.parametrize("seed", [1])
def test_a_killed_process_loses_nothing_and_repeats_nothing(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    before: list[dict[str, object]] = []
    kills, ended = 0, False
    while not ended:
        child = start(tmp_path, batch=rng.choice([7, 8, 20, 21]))
        assert child.stdout is not None
        for _ in range(rng.randrange(1, 120) if kills < 3 else 10**9):
            word = child.stdout.readline()
            if not word or word == "end\n":
                ended = True
                break
        else:
            os.kill(child.pid, signal.SIGKILL)
            kills += 1
        child.stdout.close()
        assert child.wait(100) == (0 if ended else -signal.SIGKILL)
        now = seen(tmp_path)
        assert now[: len(before)] == before, "what could be seen stays as it was"
        before = now
    assert kills == 3
    with DirectoryChunks(tmp_path / "state") as store:
        assert store.number >= 10
    arrivals = [Arrival("s", one) for item in cut(disordered(ROWS), [20])
                for one in ([item] if isinstance(item, Punctuation) else item.to_pylist())]
    assert bag(before) == bag(Oracle(PLAN, arrivals).results())
