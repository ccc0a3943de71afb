"""Where progress comes from: the contract of a generator, and the one that only repeats what its source says.

All knowledge of disorder sits in the generator of a source; nothing downstream needs any (SIGMOD 2005, 7.2). A
generator looks at rows in arrival order and says, for every row, which bound was in force *before* it. It never looks
at batches as such, so cutting the input differently changes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled
from panewise.core.errors import CheckpointError
from panewise.core.ordinals import Ordinals
from panewise.progress.jumps import JumpGuard
from panewise.progress.watermarks import FINISHED, NO_BOUND

Extra = Mapping[str, Any]
"""Further columns a generator asks for by name in ``Generator.columns``, as Arrow arrays."""


class Trailing:
    """Bounds that follow the rows themselves: before each row, the largest value so far minus a delay.

    Most rows are checked by a compiled loop that carries the bound along; the array is made only when it is asked for.
    ``first`` is the bound before the first row; no value minus the delay wraps round.

    >>> Trailing(np.array([100, 95, 120]), 80, 10).array.tolist()
    [80, 90, 90]
    """

    def __init__(self, values: Ordinals, first: int, delay: int) -> None:
        self.values, self.first, self.delay = values, first, delay

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def array(self) -> Ordinals:
        """The bound before each row."""
        bounds = np.empty(len(self.values), np.int64)
        bounds[:1] = self.first
        np.subtract(self.values[:-1], self.delay, out=bounds[1:])
        return np.maximum.accumulate(bounds, out=bounds)

    def late(self, reached: int) -> npt.NDArray[np.bool_]:
        """Which rows are below the bound before them, or below another that holds for all."""
        return behind(self.values, self.first, self.delay, reached)


Bounds = Ordinals | Trailing
"""The bound before each row of a batch, in one of two forms."""


def bound_array(bounds: Bounds) -> Ordinals:
    """Bounds in the plain form."""
    return bounds.array if isinstance(bounds, Trailing) else bounds


@dataclass(frozen=True)
class Observed:
    """What a generator makes of some rows: the bound in force before each of them, and the one after the last.

    A generator that knows substreams also says ``own``: the bound before each row in its own substream. It applies
    where results are grouped by substream; elsewhere ``before`` does.
    """

    bounds: Bounds
    after: int
    own: Ordinals | None = None

    def __len__(self) -> int:
        return len(self.bounds)

    @property
    def before(self) -> Ordinals:
        """The bounds as an array."""
        return bound_array(self.bounds)


class Generator(ABC):
    """Turns the rows of a source into a bound that never goes back.

    Wall-clock time is a value handed to ``tick``; no generator reads a clock or sleeps.
    """

    kind: ClassVar[str] = ""
    """The name in policies, messages and saved state."""
    columns: tuple[str, ...] = ()
    """The columns, besides the windowing attribute, that ``observe`` needs in ``extra``."""
    saved: ClassVar[tuple[str, ...]] = ()
    """The fields that a kind saves as they are: numbers, true or false, or nothing."""
    idle: bool = False
    """Whether the source is silent for so long that a Meld should not wait for it."""

    def __init__(self, *, guard: JumpGuard | None = None) -> None:
        self.guard = guard
        self._supplied = NO_BOUND

    # -- what happens --------------------------------------------------------------------------------------------

    def observe(self, values: Ordinals, extra: Extra | None = None, *, high: int | None = None) -> Observed:
        """Rows arrived, with these values of the windowing attribute, in this order.

        ``high`` is the largest, from a caller that has looked at all of them and found none beyond ``LIMIT``.
        """
        if high is not None and self.guard is None:
            seen = self._observe_checked(values, extra or {}, high)
        else:
            seen = self._observe(self._believed(values, extra or {}), extra or {})
        if self._supplied == NO_BOUND:
            return seen
        own = None if seen.own is None else np.maximum(seen.own, self._supplied)
        return Observed(np.maximum(seen.before, self._supplied), max(seen.after, self._supplied), own)

    def tick(self, now: int) -> int:
        """The wall clock shows ``now`` (an ordinal of the windowing attribute); the bound after that.

        Only the kinds that know the wall clock do anything here.
        """
        return self.bound

    def supply(self, bound: int) -> int:
        """The source itself promised a bound; the bound after that. Every generator honours it beside its own."""
        self._supplied = max(self._supplied, bound)
        return self.bound

    def finish(self) -> int:
        """The source has ended."""
        return self.supply(FINISHED)

    # -- what is known -------------------------------------------------------------------------------------------

    @property
    def bound(self) -> int:
        """The bound in force now; ``NO_BOUND`` when nothing is promised yet."""
        return max(self._supplied, self._bound())

    def group_bounds(self) -> list[tuple[dict[str, Any], int]]:
        """Bounds of single substreams, for group-wise punctuation; empty for generators that know none."""
        return []

    def describe(self) -> str:
        """The policy on one line, for explain."""
        return self.kind

    # -- saving --------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """The state as data that JSON can hold."""
        state: dict[str, Any] = {"kind": self.kind, "supplied": self._supplied, "state": self._save()}
        if self.guard is not None:
            state["guard"] = self.guard.snapshot()
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``snapshot`` saved; state of another policy is refused."""
        if state.get("kind") != self.kind:
            raise CheckpointError(
                f"saved progress is of the policy {state.get('kind')!r}, this run has {self.kind!r}: "
                "restart with the policy the checkpoint was made with"
            )
        if ("guard" in state) != (self.guard is not None):
            raise CheckpointError("saved progress and this run differ in max_jump: restart with the same option")
        try:
            self._supplied = int(state["supplied"])
            if self.guard is not None:
                self.guard.restore(state["guard"])
            self._load(state["state"])
        except (KeyError, TypeError, ValueError) as error:  # a checkpoint is input
            raise CheckpointError(f"saved progress of the policy {self.kind!r} is damaged: {error!r}") from error

    # -- what a kind defines -------------------------------------------------------------------------------------

    @abstractmethod
    def _observe(self, values: Ordinals, extra: Extra) -> Observed:
        """As ``observe``, on believed values (``NO_BOUND`` stands for a row that must not move the bound)."""

    def _observe_checked(self, values: Ordinals, extra: Extra, high: int) -> Observed:
        """As ``_observe``, on values that all lie within ``LIMIT`` and of which ``high`` is the largest."""
        return self._observe(self._believed(values, extra), extra)

    @abstractmethod
    def _bound(self) -> int:
        """The bound this kind derived."""

    def _believed(self, values: Ordinals, extra: Extra) -> Ordinals:
        return values if self.guard is None else self.guard.believed(values)

    def _save(self) -> Any:
        return {name: getattr(self, name) for name in self.saved}

    def _load(self, state: Any) -> None:
        for name in self.saved:
            if not isinstance(state[name], int | None):
                raise TypeError(f"{name} is {state[name]!r}")
            setattr(self, name, state[name])


class Wrapping(Generator):
    """A generator around another, whose bounds it passes on or holds back."""

    def __init__(self, inner: Generator) -> None:
        super().__init__()
        self.inner, self.columns = inner, inner.columns

    def group_bounds(self) -> list[tuple[dict[str, Any], int]]:
        """Those of the generator inside."""
        return self.inner.group_bounds()

    def _save(self) -> Any:
        return super()._save() | {"inner": self.inner.snapshot()}

    def _load(self, state: Any) -> None:
        super()._load(state)
        self.inner.restore(state["inner"])


class SourceSupplied(Generator):
    """Promises come from the source alone, in line with its rows: exact, the favoured case (Li 8.1).

    >>> source = SourceSupplied()
    >>> source.supply(60), source.observe(np.array([61, 59])).before.tolist()
    (60, [60, 60])
    """

    kind: ClassVar[str] = "source"

    def _observe(self, values: Ordinals, extra: Extra) -> Observed:
        return Observed(np.full(len(values), NO_BOUND, np.int64), NO_BOUND)

    def _bound(self) -> int:
        return NO_BOUND


def shifted_maxima(values: Ordinals, before_first: int) -> Ordinals:
    """Running maxima: entry i is the largest of ``before_first`` and the first i values; one longer than the input."""
    maxima = np.empty(len(values) + 1, np.int64)
    maxima[0], maxima[1:] = before_first, values
    return np.maximum.accumulate(maxima, out=maxima)


def minus(values: Ordinals, amount: int) -> Ordinals:
    """Bounds moved back by an amount; no bound stays no bound, and nothing wraps round."""
    return np.where(values < NO_BOUND + amount, NO_BOUND, values - amount)


@compiled
def _ascending(values: Ordinals) -> bool:
    """Without a branch, several rows at a time: as rows mostly come, and then none is late."""
    descents = 0
    for row in range(1, len(values)):
        descents += values[row] < values[row - 1]
    return descents == 0


@compiled
def behind(values: Ordinals, first: int, delay: int, reached: int) -> npt.NDArray[np.bool_]:
    """Which values are below ``reached``, or more than the delay below the largest before them."""
    late = np.zeros(len(values), np.bool_)
    bound = max(first, reached)
    if delay >= 0 and (not len(values) or values[0] >= bound) and _ascending(values):
        return late
    for row in range(len(values)):
        value = values[row]
        late[row] = value < bound
        bound = max(bound, value - delay)
    return late
