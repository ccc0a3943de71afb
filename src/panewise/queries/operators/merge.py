"""Merge, the ordered union: rows wait until no input can send a smaller one (Li 3.9)."""

from __future__ import annotations

import numpy as np

from panewise.core.errors import PlanError, ProgressError
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.queries.operators.base import Item, Operator
from panewise.queries.operators.held import HeldRows


class Merge:
    """Several ordered inputs as one ordered output; give each path its ``input(i)``.

    A row leaves when every other input has shown, by a row or by a promise, that it is at least as far. An input in a
    lull therefore holds the others back, and what they send meanwhile is kept: without punctuation there is no limit.
    ``Meld`` has neither cost.
    """

    def __init__(self, inputs: int, attribute: str) -> None:
        if inputs < 1:
            raise PlanError(f"a Merge needs at least one input, not {inputs}")
        self.attribute = attribute
        self.held = HeldRows(attribute)
        self.bounds = [NO_BOUND] * inputs
        self.promised = NO_BOUND

    def input(self, number: int) -> MergeInput:
        """Where the rows and promises of one input go."""
        return MergeInput(self, number)

    def take(self, number: int, item: Item) -> list[Item]:
        """Rows or a promise of one input; what may leave now."""
        if isinstance(item, Punctuation):
            bound = item.closes_below(self.attribute)
            if bound is None or item.attributes - {self.attribute}:
                return []  # a promise about some groups of one input promises nothing of the union
            self.bounds[number] = max(self.bounds[number], bound)
        else:
            values = self.held.ordinals(item)
            if not len(values):
                return []
            if (np.diff(values, prepend=max(self.bounds[number], values.min())) < 0).any() or \
                    values[0] < self.bounds[number]:
                raise ProgressError(f"Merge needs ordered inputs, and input {number} goes back in {self.attribute!r}: "
                                    "put a Sort before it, or use Meld, which needs no order")
            self.held.add(item, values)
            self.bounds[number] = int(values[-1])
        return self._free()

    def _free(self) -> list[Item]:
        horizon = min(self.bounds)
        # rows at the horizon may leave, too: what comes later is not smaller
        freed = self.held.release(below=min(horizon, FINISHED - 1) + 1) if horizon != NO_BOUND else None
        items: list[Item] = [] if freed is None else [freed]
        if horizon > self.promised:
            items.append(END if horizon == FINISHED else Punctuation.below(self.attribute, horizon))
            self.promised = horizon
        return items


class MergeInput(Operator):
    """One input of a Merge."""

    def __init__(self, merge: Merge, number: int) -> None:
        self.merge, self.number = merge, number

    def take(self, item: Item) -> list[Item]:
        """Held until its turn."""
        return self.merge.take(self.number, item)
