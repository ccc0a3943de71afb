"""What a shard knows of progress: promises of all inputs, put together, and what must be true of its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from panewise.core.errors import CheckpointError
from panewise.engines.spark.fragment import ORDINAL
from panewise.progress.bounds import BoundTable
from panewise.progress.meld import Meld
from panewise.progress.notation import pattern_from_state
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND

VERSION = 2


class ShardProgress:
    """The bounds in force in one shard, its late rows, and the chunks of state it has."""

    def __init__(self, inputs: Sequence[str], delays: Mapping[str, int], kind: str, identity: Mapping[str, str],
                 saved: str | None) -> None:
        self.meld = Meld(inputs, ORDINAL)
        self.delays, self.kind, self.identity = dict(delays), kind, dict(identity)
        """How far the bound of an input stays behind its largest value, for inputs whose bound is derived from it."""
        self.late = 0
        self.late_texts: list[str] = []
        """Late rows of this step that the shard itself found, as JSON."""
        self.known: set[int] = set()
        self.top = NO_BOUND
        """The newest pane there has been."""
        self.open: dict[str, int] = {}
        """Open windows by chunk, where a chunk knows them."""
        if saved is not None:
            try:
                self._restore(json.loads(saved))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise CheckpointError("the state in the checkpoint is damaged and cannot be read: restore the folder "
                                      "from a copy, or start with a new one") from error

    @property
    def bounds(self) -> BoundTable:
        """What is promised to this shard."""
        return next(iter(self.meld.tables.values())) if len(self.meld.tables) == 1 else self.meld.sent

    def learn(self, news: Iterable[Mapping[str, Any]]) -> list[Punctuation]:
        """Take in what tasks said in a micro-batch; the promises that say something new."""
        highest: dict[str, int] = {}
        promises: list[tuple[str, Punctuation]] = []
        for said in news:
            self.late += int(said.get("late", 0))
            for tag, patterns in said.get("promises", []):
                found = {a: pattern_from_state(a, p) for a, p in patterns.items()}
                promises.append((tag, Punctuation.of(found)))
            for tag, value in said.get("highest", {}).items():
                highest[tag] = max(highest.get(tag, NO_BOUND), int(value))
        for tag, value in highest.items():
            if value >= NO_BOUND + self.delays[tag]:
                promises.append((tag, Punctuation.below(ORDINAL, value - self.delays[tag])))
        moved: list[Punctuation] = []
        for tag, punctuation in promises:
            if len(self.meld.tables) > 1:
                moved += self.meld.punctuate(tag, punctuation)
            elif self.meld.tables[tag].advance(punctuation):
                moved.append(punctuation)
        return moved

    def saved(self) -> str:
        """Bounds and counters as JSON."""
        return json.dumps({"kind": self.kind, "version": VERSION, "identity": self.identity,
                           "progress": self.meld.snapshot(), "late": self.late, "chunks": sorted(self.known),
                           "top": self.top, "open": self.open})

    def _restore(self, state: Mapping[str, Any]) -> None:
        if state.get("kind") != self.kind or state.get("version") != VERSION:
            raise CheckpointError("the checkpoint was written by another kind of query or another version of panewise: "
                                  "start with a new one")
        for what in dict.fromkeys([*self.identity, *state["identity"]]):
            found, value = state["identity"].get(what), self.identity.get(what)
            if found != value:
                raise CheckpointError(f"the checkpoint has {what} {found!r}, the query has {value!r}: go on with the "
                                      "query it was made with, or start with a new one")
        self.meld.restore(state["progress"])
        self.late = int(state["late"])
        self.known = set(state["chunks"])
        self.top = int(state.get("top", NO_BOUND))
        self.open = dict(state.get("open", {}))
