"""What is running, how much is done and about how long the rest takes."""

from __future__ import annotations

import sys
import time
from typing import Any

from common import say
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


class Display:
    """A bar on a terminal, a line per measurement elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._total = self._done = 0
        self._seconds: list[float] = []
        self._begun, self._now = 0.0, ""
        self._bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                             TextColumn("{task.fields[left]}"), console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=None, left="")

    def __enter__(self) -> Display:
        if self._live:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @property
    def _live(self) -> bool:
        return sys.stderr.isatty() and not self.quiet

    def start(self, total: int) -> None:
        """So many measurements are planned."""
        self._total = total
        self._bar.update(self._task, total=total)

    def begin(self, job: str, point: str, title: str, number: int) -> None:
        """One measurement starts."""
        self._now = f"{job} {point}: {title}, {f'round {number}' if number else 'check'}"
        self._begun = time.perf_counter()
        self._bar.update(self._task, description=self._now, left=self.left())

    def end(self, line: dict[str, Any]) -> None:
        """It is done."""
        self._seconds.append(time.perf_counter() - self._begun)
        self.skip(1)
        outcome = f"failed: {line['failure']}" if "failure" in line else f"{line['seconds']:.2f} s"
        if self._live:
            self._bar.console.print(f"{self._now}: {outcome}", highlight=False, markup=False)
        elif not self.quiet:
            say(f"[{self._done}/{self._total}] {self._now}: {outcome}{', ' + self.left() if self.left() else ''}")

    def more(self, count: int) -> None:
        """So many have been added."""
        self._total += count
        self._bar.update(self._task, total=self._total)

    def skip(self, count: int) -> None:
        """So many need not be measured, or no longer."""
        self._done += count
        self._bar.update(self._task, completed=self._done)

    def left(self) -> str:
        """By what a measurement has taken on average so far."""
        if not self._seconds:
            return ""
        minutes, seconds = divmod(round((self._total - self._done) * sum(self._seconds) / len(self._seconds)), 60)
        return f"about {minutes}:{seconds:02} left"
