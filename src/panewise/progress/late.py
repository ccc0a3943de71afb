"""What becomes of late rows: rows below the bound that was in force when they arrived.

The two slack flavours are those of Li 3.1: *consistent* drops a row that is too late for one of its windows from all
of them, *generous* only from those that are closed already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from panewise.core.arrays import of_each
from panewise.core.errors import LateRowError, ProgressError
from panewise.core.names import did_you_mean
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.progress.patterns import Mask
from panewise.progress.watermarks import FINISHED, NO_BOUND


class LatePolicy(Enum):
    """What becomes of late rows."""

    DROP = "drop"              # not counted anywhere; their number is reported
    ERROR = "error"            # the run stops
    SIDE = "side"              # as drop, and the rows go to the late output
    CONSISTENT = "consistent"  # a row counts in all of its windows or in none
    GENEROUS = "generous"      # a row counts in those of its windows that are still open

    @property
    def has_slack(self) -> bool:
        """Whether late rows may still count (Li 3.1)."""
        return self in {LatePolicy.CONSISTENT, LatePolicy.GENEROUS}

    @classmethod
    def parse(cls, text: str | LatePolicy) -> LatePolicy:
        """By name.

        >>> LatePolicy.parse("side output")
        <LatePolicy.SIDE: 'side'>
        """
        if isinstance(text, LatePolicy):
            return text
        name = text.strip().lower().replace("_", " ").replace("-", " ").removesuffix(" output")
        for policy in cls:
            if policy.value == name:
                return policy
        raise ProgressError(f"no late policy {text!r}: use {', '.join(p.value for p in cls)}"
                            f"{did_you_mean(name, (p.value for p in cls))}")


DEFAULT_LATE = LatePolicy.GENEROUS
"""The policy of every entry point, as in Spark and Flink: a late row counts where it can still count."""


LATE_KEEP = 10_000
"""So many late rows a query keeps to be looked at; all are counted."""


def checked_keep(rows: int) -> int:
    """How many late rows to keep, as the user gave it.

    >>> checked_keep(0)
    0
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
        raise ProgressError(f"late_keep={rows!r}: it is how many late rows are kept, a whole number from 0")
    return rows


def late_text(count: int, policy: LatePolicy | str | None, forgotten: int = 0) -> str:
    """What a printed result says of late rows, and of those that made room for newer ones.

    >>> late_text(2, LatePolicy.DROP)
    "2 rows were late (late='drop')"
    >>> late_text(9, "generous", 4)
    "9 rows were late (late='generous', 4 of them no longer kept)"
    """
    gone = f", {forgotten:,} of them no longer kept" if forgotten else ""
    how = "" if policy is None else f" (late={LatePolicy.parse(policy).value!r}{gone})"
    return f"{count:,} {'row was' if count == 1 else 'rows were'} late{how}"


def late_advice(policy: LatePolicy, *, spark: bool) -> str:
    """How late rows of the command line can be seen; another policy may count them in other windows.

    >>> late_advice(LatePolicy.GENEROUS, spark=False), late_advice(LatePolicy.DROP, spark=False)
    ('see them with --late-out PATH', 'see them with --late side --late-out PATH')
    >>> late_advice(LatePolicy.GENEROUS, spark=True)
    'see them with --late side --late-out PATH, which counts them in no window'
    """
    if policy in {LatePolicy.DROP, LatePolicy.SIDE}:
        return "see them with --late side --late-out PATH"
    return "see them with --late side --late-out PATH, which counts them in no window" if spark else \
        "see them with --late-out PATH"


@dataclass(frozen=True)
class Decision:
    """Per row the windows it counts in, ``first`` to ``last`` (exclusive; equal means none), and whether it is late.

    A row that missed any window it belongs to is late, so that late rows can be counted and looked at.
    """

    first: Ordinals
    last: Ordinals
    late: Mask

    @property
    def late_rows(self) -> int:
        """How many rows are late."""
        return int(np.count_nonzero(self.late))


def decide(policy: LatePolicy, first: Ordinals, last: Ordinals, values: Ordinals,
           bounds: Ordinals, closed_below: Callable[[int], int], *, stream: str = "", attribute: str = "",
           kind: OrdinalKind = OrdinalKind.INTEGER, first_row: int = 1, panes: bool = False) -> Decision:
    """Apply a late policy to a batch, or to partials of ``panes``, of which the last value each may have is judged.

    ``first`` and ``last`` are the window ids of the rows, ``bounds`` the bounds in force before each row, and
    ``closed_below`` the window specification's. ``first_row`` is the arrival position of the batch's first row.

    >>> row = np.array([1]), np.array([5]), np.array([70]), np.array([120])  # value 70 in windows 1..4, bound 120
    >>> [decide(p, *row, lambda b: b // 60).first.item() for p in (LatePolicy.DROP, LatePolicy.GENEROUS)]
    [5, 2]
    """
    below = values < bounds
    if not below.any():
        return Decision(first, last, below)
    if policy is LatePolicy.ERROR:
        at = int(np.flatnonzero(below)[0])
        row = None if panes else first_row + at
        raise late_error(row, stream, attribute, int(values[at]), int(bounds[at]), kind)
    if policy in (LatePolicy.DROP, LatePolicy.SIDE):
        return Decision(np.where(below, last, first), last, below)
    closed = _closed(below, bounds, closed_below)
    late = below & (first < closed) & (first < last)
    starts = last if policy is LatePolicy.CONSISTENT else np.minimum(np.maximum(first, closed), last)
    return Decision(np.where(late, starts, first), last, late)


def _closed(below: Mask, bounds: Ordinals, closed_below: Callable[[int], int]) -> Ordinals:
    """The first open window at each late row's arrival; only late rows' bounds are worked out, each value once."""
    closed = np.full(len(bounds), NO_BOUND, np.int64)
    closed[below] = of_each(lambda bound: min(max(closed_below(bound), NO_BOUND), FINISHED), bounds[below])
    return closed


def late_error(row: int | None, stream: str, attribute: str, value: int, bound: int, kind: OrdinalKind) -> LateRowError:
    """What is said of the first late row under the policy ``error``; of a pane no row is known, and its last value."""
    place = "a row of the stream" if row is None else f"row {row} of {stream or 'the stream'}"
    promised = "the end of the stream" if bound == FINISHED else f"that nothing below {kind.text(bound)} would come"
    return LateRowError(
        f"{place} is late: {attribute or 'its value'} is {'at most ' if row is None else ''}{kind.text(value)}, but "
        f"punctuation had promised {promised}. Allow more disorder with a progress policy such as 'late:10s', or "
        "choose the late policy drop, side, consistent or generous")
