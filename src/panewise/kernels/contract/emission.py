"""When results leave: once and final, or early and corrected, as a log of changes whose sum is the final answer.

Early results come from ``peek``: what open windows would give if nothing more came. The emitter remembers what it has
shown of every open window and puts out only differences: a row that is no longer true with ``change`` -1, the one that
takes its place with +1. A final row that was shown already is not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from panewise.core.errors import PlanError, QuantityError
from panewise.core.names import did_you_mean
from panewise.core.ordinals import OrdinalKind
from panewise.core.time import Quantity, parse_duration
from panewise.kernels.groups.grouping import group_codes
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.progress.bounds import BoundTable
from panewise.progress.watermarks import FINISHED, NO_BOUND

CHANGE = "change"
"""The column of early results: +1 a row that holds now, -1 one that was output before and does not hold any more."""
FORMS = ("final", "change", "early:10s (of watermark progress)", "clock:5s (of wall-clock time)")


@dataclass(frozen=True)
class Emission:
    """A policy: ``final``, ``change``, ``early`` by watermark progress, or ``clock`` by wall-clock time."""

    mode: str = "final"
    every: int = 0
    """Of the windowing attribute for ``early``, microseconds for ``clock``."""

    @classmethod
    def parse(cls, text: str, kind: OrdinalKind) -> Emission:
        """A policy as a user writes it.

        >>> Emission.parse("early:10s", OrdinalKind.TIMESTAMP)
        Emission(mode='early', every=10000000)
        """
        mode, _, argument = (part.strip().lower() for part in text.partition(":"))
        mode = {"on change": "change", "on_change": "change"}.get(mode, mode)
        if mode in ("final", "change") and not argument:
            return cls(mode)
        if mode not in ("early", "clock") or not argument:
            raise PlanError(f"no emission policy {text!r}: write {', '.join(FORMS)}"
                            f"{did_you_mean(mode, ('final', 'change', 'early', 'clock'))}")
        try:
            every = parse_duration(argument) if mode == "clock" else kind.amount(Quantity.parse(argument))
        except QuantityError as error:
            raise PlanError(f"emission policy {text!r}: {error}") from error
        if every <= 0:
            raise PlanError(f"emission policy {text!r}: the step must be positive")
        return cls(mode, every)

    @property
    def early(self) -> bool:
        """Whether results may come before their window is complete, to be corrected."""
        return self.mode != "final"

    def identity(self) -> dict[str, str]:
        """What a checkpoint must have in common with the query that goes on from it."""
        return {"emit": f"{self.mode}:{self.every}" if self.every else self.mode} if self.early else {}


FINAL = Emission()
"""Each result once, when its window is complete."""


class Peekable(Protocol):
    """Open windows that can be looked at: a kernel, or a shard of one."""

    @property
    def keys(self) -> pa.Schema:
        """The columns that form groups."""

    @property
    def nothing(self) -> pa.Table:
        """No results."""

    @property
    def bounds(self) -> BoundTable:
        """What was promised."""

    def peek(self) -> pa.Table:
        """The results that open windows would have if nothing more came."""


class Emitter:
    """What was shown of open windows, and the difference to what holds now."""

    def __init__(self, policy: Emission, kernel: Peekable) -> None:
        self.policy, self.kernel = policy, kernel
        self.shown = kernel.nothing
        self.step = NO_BOUND
        """The step of the watermark or the clock at which early results were last output."""

    def after_item(self, finals: Sequence[pa.Table]) -> pa.Table:
        """What to put out after some rows or a promise, of which these windows closed."""
        watermark = self.kernel.bounds.linear
        if self.policy.mode == "change" or watermark == FINISHED or self._stepped(self._of_watermark(watermark)):
            return self.refresh(finals)
        return self._closed(finals)

    def after_tick(self, finals: Sequence[pa.Table], now: int) -> pa.Table:
        """What to put out when the wall clock shows ``now`` (microseconds)."""
        if self.policy.mode == "clock" and self._stepped(now // self.policy.every):
            return self.refresh(finals)
        return self.after_item(finals)

    def refresh(self, finals: Sequence[pa.Table]) -> pa.Table:
        """Everything that differs from what was shown."""
        now = self.kernel.nothing if self.kernel.bounds.linear == FINISHED else self.kernel.peek()
        before, self.shown = self.shown, now
        return self._difference(before, [*finals, now])

    def _closed(self, finals: Sequence[pa.Table]) -> pa.Table:
        """Only what became final; of other windows nothing is said."""
        if not finals:
            return self._difference(self.kernel.nothing, [])
        final = pa.concat_tables(finals)
        identity = [WINDOW_ID, *self.kernel.keys.names]
        both = pa.concat_tables([self.shown.select(identity), final.select(identity)])
        codes, first = group_codes(both.columns)
        gone = np.zeros(len(first), np.bool_)
        gone[codes[self.shown.num_rows:]] = True
        overtaken = gone[codes[: self.shown.num_rows]]
        before, self.shown = self.shown.filter(pa.array(overtaken)), self.shown.filter(pa.array(~overtaken))
        return self._difference(before, [final])

    def _difference(self, before: pa.Table, after: Sequence[pa.Table]) -> pa.Table:
        """Rows of both sides that the other does not have, by window, what goes before what comes."""
        both = pa.concat_tables([before, *after])
        if not both.num_rows:
            return both.append_column(CHANGE, pa.array([], pa.int64()))
        codes, first = group_codes(both.columns)
        sign = np.ones(both.num_rows, np.int64)
        sign[: before.num_rows] = -1
        change = np.zeros(len(first), np.int64)
        np.add.at(change, codes, sign)
        kept = np.flatnonzero(change)
        rows, change = first[kept], change[kept]
        order = np.lexsort((rows, change, both.column(WINDOW_ID).to_numpy()[rows]))
        return both.take(pa.array(rows[order])).append_column(CHANGE, pa.array(change[order]))

    def _of_watermark(self, watermark: int) -> int:
        return NO_BOUND if watermark == NO_BOUND or self.policy.mode != "early" else watermark // self.policy.every

    def _stepped(self, step: int) -> bool:
        if step <= self.step:
            return False
        self.step = step
        return True

    # -- saving

    def snapshot(self) -> tuple[dict[str, Any], pa.Table]:
        """The state as JSON data and a table."""
        return {"mode": self.policy.mode, "step": self.step}, self.shown

    def restore(self, state: Mapping[str, Any], shown: pa.Table) -> None:
        """Become what ``snapshot`` saved."""
        self.step, self.shown = int(state["step"]), shown.cast(self.kernel.nothing.schema)
