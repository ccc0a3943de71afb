"""What a person sees while a query runs, and the two lines at its end. Silent without a terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from panewise.cli.terminal import errors
from panewise.core.bad_rows import BadRowPolicy, BadRows
from panewise.files.reader import FileStream, Item
from panewise.progress.late import DEFAULT_LATE, LatePolicy, late_advice, late_text
from panewise.progress.punctuation import Punctuation


class Watch(AbstractContextManager["Watch"]):
    """A progress line per run: rows read, rows per second, watermark, results."""

    def __init__(self, streams: Mapping[str, FileStream], *, quiet: bool = False) -> None:
        self.rows, self.out, self.watermark, self.held = 0, 0, "", ""
        self._streams, self._quiet = streams, quiet
        self._started = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn(),
            TextColumn("{task.fields[state]}"), console=errors, transient=True, disable=quiet or not errors.is_terminal,
        )
        self._task = self._progress.add_task("reading", total=None, state="")

    def __enter__(self) -> Watch:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """What is going on now."""
        self._progress.update(self._task, description=text)

    def item(self, name: str, item: Item) -> None:
        """Something was read."""
        if isinstance(item, Punctuation):
            attribute = self._streams[name].schema.time
            bound = item.bound(attribute) if attribute else None
            if attribute and bound is not None:
                self.watermark = self._streams[name].schema.ordinal_kind(attribute).text(bound)
        else:
            self.rows += len(item) if isinstance(item, BadRows) else item.num_rows
        self._show()

    def advance(self, rows: int, watermark: str = "", held: str = "") -> None:
        """So many rows were read in all; what the query holds of them."""
        self.rows, self.watermark, self.held = rows, watermark or self.watermark, held
        self._show()

    def results(self, rows: int) -> None:
        """So many result rows came out."""
        self.out += rows
        self._show()

    def _show(self) -> None:
        seconds = max(time.monotonic() - self._started, 1e-3)
        state = f"{self.rows:,} rows in ({self.rows / seconds:,.0f}/s), {self.out:,} out"
        state += f", watermark {self.watermark}" if self.watermark else ""
        state += f", {self.held}" if self.held else ""
        self._progress.update(self._task, state=state)

    def summary(self, status: Mapping[str, Any], out: str | None, late_out: str | None,
                bad_rows: BadRowPolicy | None = None, *, spark: bool = False) -> None:
        """Rows in and out, late and bad rows, where everything is."""
        seconds = time.monotonic() - self._started
        rows, late = int(status.get("rows") or self.rows), int(status.get("late") or 0)
        errors.print(f"{rows:,} rows in, {self.out:,} results in {seconds:.1f} s" + (f" → {out}" if out else ""),
                     highlight=False)
        if late:
            policy = LatePolicy.parse(status.get("late_policy") or DEFAULT_LATE)
            where = f" → {late_out}" if late_out else f"; {late_advice(policy, spark=spark)}"
            errors.print(f"[yellow]{late_text(late, status.get('late_policy'))}[/]{where}", highlight=False)
        if bad := int(status.get("bad") or 0):
            path = bad_rows.path if bad_rows is not None else None
            where = f" → {path}" if path is not None else "; see them with --bad-rows aside:PATH"
            errors.print(f"[yellow]{bad:,} rows were bad and left out[/]{where}", highlight=False)
