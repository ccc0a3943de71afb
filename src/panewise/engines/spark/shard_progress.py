"""What a shard knows of progress: promises of all inputs, put together, and what must be true of its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from panewise.core.errors import CheckpointError
from panewise.engines.spark.fragment import ORDINAL
from panewise.progress.bounds import BoundTable
from panewise.progress.meld import Meld
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND

VERSION = 2
DAMAGED = ("the state in the checkpoint is damaged and cannot be read: restore the folder from a copy, or start with a "
           "new one")


def refuse_other(state: Mapping[str, Any], kind: str, version: int, identity: Mapping[str, str]) -> None:
    """A saved shard is only taken by the query that saved it."""
    if state.get("kind") != kind or state.get("version") != version:
        raise CheckpointError("the checkpoint was written by another kind of query or another version of panewise: "
                              "start with a new one")
    for what in dict.fromkeys([*identity, *state["identity"]]):
        found, value = state["identity"].get(what), identity.get(what)
        if found != value:
            raise CheckpointError(f"the checkpoint has {what} {found!r}, the query has {value!r}: go on with the "
                                  "query it was made with, or start with a new one")


def told(news: Iterable[Mapping[str, Any]], behind: Mapping[str, tuple[str, int]]) -> list[tuple[str, Punctuation]]:
    """The promises that tasks heard in a micro-batch, each with its input.

    ``behind`` says of inputs whose bound follows their largest value which attribute it is of, and how far behind.
    """
    highest: dict[str, int] = {}
    promises: list[tuple[str, Punctuation]] = []
    for said in news:
        for tag, patterns in said.get("promises", []):
            promises.append((tag, Punctuation.from_state(patterns)))
        for tag, value in said.get("highest", {}).items():
            highest[tag] = max(highest.get(tag, NO_BOUND), int(value))
    for tag, value in highest.items():
        attribute, delay = behind[tag]
        if value >= NO_BOUND + delay:
            promises.append((tag, Punctuation.below(attribute, value - delay)))
    return promises


def silences(news: Iterable[Mapping[str, Any]]) -> dict[str, bool]:
    """The inputs that fell silent in a micro-batch, or woke up; of one that did both, what it did last."""
    last: dict[str, list[Any]] = {}
    for said in news:
        for tag, found in said.get("silent", {}).items():
            last[tag] = max(last.get(tag, [0, False]), found)
    return {tag: bool(silent) for tag, (_, silent) in last.items()}


class ShardProgress:
    """The bounds in force in one shard, its late rows, and the chunks of state it has."""

    proposal: str | None = None
    """Another plan; the planner has none for a window aggregate that runs."""

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
        self.token = ""
        """Of what the worker that saved the shard may still have at hand."""
        if saved is not None:
            try:
                self._restore(json.loads(saved))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise CheckpointError(DAMAGED) from error

    @property
    def bounds(self) -> BoundTable:
        """What is promised to this shard."""
        return next(iter(self.meld.tables.values())) if len(self.meld.tables) == 1 else self.meld.sent

    def learn(self, news: Iterable[Mapping[str, Any]]) -> list[Punctuation]:
        """Take in what tasks said in a micro-batch; the promises that say something new."""
        news = list(news)
        self.late += sum(int(said.get("late", 0)) for said in news)
        moved: list[Punctuation] = []
        silent = silences(news) if len(self.meld.tables) > 1 else {}
        for tag in [tag for tag, is_silent in silent.items() if not is_silent]:
            self.meld.set_idle(tag, False)
        for tag, punctuation in told(news, {tag: (ORDINAL, delay) for tag, delay in self.delays.items()}):
            if len(self.meld.tables) > 1:
                moved += self.meld.punctuate(tag, punctuation)
            elif self.meld.tables[tag].advance(punctuation):
                moved.append(punctuation)
        for tag in [tag for tag, is_silent in silent.items() if is_silent]:
            moved += self.meld.set_idle(tag)
        return moved

    def saved(self) -> str:
        """Bounds and counters as JSON."""
        return json.dumps({"kind": self.kind, "version": VERSION, "identity": self.identity,
                           "progress": self.meld.snapshot(), "late": self.late, "chunks": sorted(self.known),
                           "top": self.top, "open": self.open, "token": self.token,
                           "more": self._more()})

    def _more(self) -> dict[str, Any]:
        """What else a kind of shard saves."""
        return {}

    def _restore_more(self, state: Mapping[str, Any]) -> None:
        """Go on from it."""

    def _restore(self, state: Mapping[str, Any]) -> None:
        refuse_other(state, self.kind, VERSION, self.identity)
        self.meld.restore(state["progress"])
        self.late = int(state["late"])
        self.known = set(state["chunks"])
        self.top = int(state.get("top", NO_BOUND))
        self.open = dict(state.get("open", {}))
        self.token = str(state.get("token", ""))
        self._restore_more(state.get("more", {}))
