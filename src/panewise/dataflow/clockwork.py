"""The wall clock of a query: which streams follow it, and what a tick promises.

Nothing here reads a clock: ``now`` is a value (microseconds since the epoch), so a test or a replay ticks as it likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from panewise.core.ordinals import OrdinalKind
from panewise.dataflow.inputs import StreamInput
from panewise.progress.clocks import clock_ordinal, clock_step, clocks_of
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND


class Clockwork:
    """The streams of one query whose progress policy looks at the wall clock."""

    def __init__(self, inputs: Iterable[StreamInput], kind: OrdinalKind) -> None:
        self.kind = kind
        self.sources = [source for source in inputs if list(clocks_of(source.generator))]

    def __bool__(self) -> bool:
        return bool(self.sources)

    @property
    def step(self) -> int:
        """How often to tick, in microseconds: four times within the shortest time any policy waits for."""
        return clock_step([source.generator for source in self.sources], self.kind)

    def tick(self, now: int) -> Iterator[tuple[StreamInput, int, bool]]:
        """Per stream the bound it may promise now, and whether it fell silent."""
        for source in self.sources:
            if source.finished:
                continue
            was_idle = source.generator.idle
            bound = source.generator.tick(clock_ordinal(now, self.kind))
            yield source, bound, source.generator.idle and not was_idle

    def sign_of_life(self, source: StreamInput, punctuation: Punctuation | None = None) -> None:
        """A promise counts against silence as a row does."""
        if source in self.sources and punctuation is not None:
            bound = punctuation.linear_bound(source.attribute or "")
            source.generator.supply(NO_BOUND if bound is None else bound)
