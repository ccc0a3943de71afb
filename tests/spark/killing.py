"""Runs of a streaming query in which processes are killed, each started again from its checkpoint until it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Condition, Event, Thread
from time import monotonic

from spark.clusters import Cluster
from spark.processes import python_workers, under

TESTS = Path(__file__).parents[1]
KINDS = ("driver", "worker", "executor")
DEADLINE = 600
LONGEST = 5.0
"""Seconds after which a micro-batch that goes on as the others do is over."""


@dataclass
class Victim:
    """The driver of one run, and what it has told so far."""

    process: subprocess.Popen[str]
    over: Event = field(default_factory=Event)
    lines: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When the query was started, and when each of its micro-batches was done."""
    news: Condition = field(default_factory=Condition)

    @classmethod
    def start(cls, master: str, folder: Path, seed: int, *, cuts: list[int], sink: str, reader: str,
              heard: Callable[[Victim, str], object]) -> Victim:
        """In a process of its own; ``heard`` is called with every line it says."""
        code = f"import sys; sys.path.insert(0, {str(TESTS)!r}); from pathlib import Path; " \
               "from spark.faulty_child import main; " \
               f"main({master!r}, Path({str(folder)!r}), {seed}, {sink!r}, {reader!r}, {cuts})"
        victim = cls(subprocess.Popen([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE))
        Thread(target=victim._listen, args=(heard,), daemon=True).start()
        return victim

    def _listen(self, heard: Callable[[Victim, str], object]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if line.startswith("started") or line.strip().isdigit():
                with self.news:
                    self.times.append(monotonic())
                    self.news.notify_all()
            heard(self, line.strip())
        self.over.set()
        with self.news:
            self.news.notify_all()

    def has_done(self, batches: int) -> bool:
        """Wait until it has done so many more micro-batches since it was started; whether it came so far."""
        with self.news:
            self.news.wait_for(lambda: len(self.times) > batches or self.over.is_set(), DEADLINE)
            return len(self.times) > batches

    def inside_a_batch(self, random: Random) -> float:
        """A random share of the time that its latest micro-batch took; the first takes much longer than the next."""
        lasted = self.times[-1] - self.times[-2] if len(self.times) > 1 else LONGEST
        return random.uniform(0, min(lasted, LONGEST))

    def kill(self, kind: str, cluster: Cluster | None, random: Random) -> bool:
        """Kill a process of this run: the driver with all that is under it, a Python worker, or an executor."""
        if self.process.poll() is not None:
            return False
        if kind == "driver":
            chosen = [p.number for p in under(self.process.pid)]
        else:
            if kind == "worker":
                found = cluster.python_workers() if cluster is not None else python_workers(self.process.pid)
            else:
                found = cluster.executors() if cluster is not None else []
            chosen = [random.choice(found)] if found else []
        killed = 0
        for number in chosen:
            try:
                os.kill(number, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                continue
        return killed > 0

    def ended(self) -> int:
        """How it ended."""
        status = self.process.wait(timeout=DEADLINE)
        self.over.wait(DEADLINE)
        assert status in (0, -signal.SIGKILL), self.lines
        return status


def killed_at_random(folder: Path, seed: int, cluster: Cluster | None, kinds: Iterator[str], wanted: int,
                     sink: str = "parquet") -> tuple[Counter[str], int]:
    """One run with up to so many kills at random moments and other cuts after every restart; kills, and restarts.

    A moment is a random number of micro-batches after the start or the kill before it, and somewhere inside the next.
    """
    random = Random(seed)
    kills: Counter[str] = Counter()
    starts = -1
    master, reader = (cluster.url, "json") if cluster is not None else ("local[2]", random.choice(("json", "panewise")))
    while True:
        victim = Victim.start(master, folder, seed, cuts=[random.randint(1, 3) for _ in range(8)], sink=sink,
                              reader=reader, heard=lambda *_: None)
        done = 0
        while kills.total() < wanted:
            done += random.choice((0, 1, 1, 2, 3))
            if not victim.has_done(done) or victim.over.wait(victim.inside_a_batch(random)):
                break
            kind = next(kinds)
            kills[kind] += victim.kill(kind, cluster, random)
            done = max(done, len(victim.times) - 1)
        status = victim.ended()
        starts += victim.lines.count("started")
        if status == 0:
            return kills, starts


def killed_at(folder: Path, seed: int, cluster: Cluster, moments: dict[int, str]) -> tuple[Counter[str], int]:
    """One run in which a process is killed after each of these micro-batches; kills, and restarts."""
    kills: Counter[str] = Counter()
    due = dict(moments)
    random = Random(seed)

    def heard(victim: Victim, line: str) -> None:
        for batch in [b for b in due if line.isdigit() and b <= int(line)][:1]:
            kills[due[batch]] += victim.kill(due[batch], cluster, random)
            del due[batch]

    starts = -1
    while True:
        victim = Victim.start(cluster.url, folder, seed, cuts=[7], sink="parquet", reader="json", heard=heard)
        status = victim.ended()
        starts += victim.lines.count("started")
        if status == 0:
            assert not due, f"the run ended before {due}"
            return kills, starts


def note(report: Path, **facts: object) -> None:
    """One more line of a report that a machine can read."""
    with report.open("a", encoding="utf-8") as out:
        out.write(json.dumps(facts) + "\n")
