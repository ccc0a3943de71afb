"""What a relation promises of its results: the instants that are told, and what follows for times among its columns."""

from __future__ import annotations

from collections.abc import Callable

from panewise.plan.nodes import Node
from panewise.planner.closing import promised
from panewise.planner.forms import VALID_FROM, Form
from panewise.progress.meld import Meld
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.queries.one_at_a_time import OneAtATime
from panewise.queries.promises import Promises


class TellsPromises(OneAtATime):
    """How far the results of a relational query are."""

    plan: Node
    _form: Form
    _meld: Meld
    _reached: int
    _promises: Promises
    _listeners: list[Callable[[Punctuation], object]]

    def on_punctuation(self, listener: Callable[[Punctuation], object]) -> Callable[[Punctuation], object]:
        """Call a function with what results promise, after those that keep it.

        ``(valid_from < 9)`` says that all that happens before 9 is told. Where results show a time of the streams they
        come from, a bound on it (a slab), or on all times of a pair together (a box), says that no result below will
        come or change any more.
        """
        self._listeners.append(self._turn.later(listener))
        return listener

    def promises(self) -> list[Punctuation]:
        """What holds now."""
        bound = self._reached if self.waits else self._meld.bound
        if bound == NO_BOUND:
            return []
        if bound == FINISHED:
            return [END]
        if self._form is not Form.STREAM:
            return [Punctuation.below(VALID_FROM, bound), *promised(self.plan, bound)]
        return [] if self._passes_late_rows else promised(self.plan, bound)

    @property
    def waits(self) -> bool:
        """Whether results wait until their instant is complete."""
        raise NotImplementedError

    @property
    def _passes_late_rows(self) -> bool:
        """Whether some stream is read without a guard, so that its rows may break what was promised about it."""
        raise NotImplementedError

    def _tell_promises(self) -> None:
        if not self._listeners:
            return
        for promise in self.promises():
            if self._promises.note(promise):
                for listener in self._listeners:
                    listener(promise)
