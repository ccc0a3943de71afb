"""The wall clock of a query: which streams follow it, and what a tick promises.

Nothing here reads a clock: ``now`` is a value (microseconds since the epoch), so a test or a replay ticks as it likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from panewise.core.ordinals import OrdinalKind
from panewise.progress.clocks import clock_ordinal, clock_step, clocks_of
from panewise.progress.meld import Meld
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.queries.inputs import StreamInput
from panewise.queries.operators import MeldInput
from panewise.queries.pipeline import Path


class Clockwork:
    """The streams of one query whose progress policy looks at the wall clock."""

    def __init__(self, inputs: Iterable[StreamInput], kind: OrdinalKind) -> None:
        self.kind = kind
        self.sources = {source.name: source for source in inputs if list(clocks_of(source.generator))}

    def __bool__(self) -> bool:
        return bool(self.sources)

    @property
    def step(self) -> int:
        """How often to tick, in microseconds: four times within the shortest time any policy waits for."""
        return clock_step([source.generator for source in self.sources.values()], self.kind)

    def tick(self, now: int) -> Iterator[tuple[StreamInput, int, bool]]:
        """Per stream the bound it may promise now, and whether it fell silent."""
        for source in self.sources.values():
            if source.finished:
                continue
            was_idle = source.generator.idle
            bound = source.generator.tick(clock_ordinal(now, self.kind))
            yield source, bound, source.generator.idle and not was_idle

    def sign_of_life(self, source: StreamInput, punctuation: Punctuation | None = None) -> None:
        """A promise counts against silence as a row does."""
        if source.name in self.sources and punctuation is not None:
            bound = punctuation.bound(source.attribute or "") if punctuation.is_linear(source.attribute or "") else None
            source.generator.supply(NO_BOUND if bound is None else bound)


def set_idle(path: Path, *, idle: bool) -> list[Punctuation]:
    """A source of a union fell silent or woke up: what the union promises without it."""
    promises: list[Punctuation] = []
    active = True
    for operator in path.operators:
        promises = [after for before in promises for after in operator.advance(before)]
        meld_input = getattr(operator, "operator", operator)
        if active and isinstance(meld_input, MeldInput):
            promises += meld_input.meld.set_idle(meld_input.number, idle)
            # a union within a union is silent when all its inputs are
            active = not idle or _silent(meld_input.meld)
    return promises


def _silent(meld: Meld) -> bool:
    return all(name in meld.idle or table.linear == FINISHED for name, table in meld.tables.items())
