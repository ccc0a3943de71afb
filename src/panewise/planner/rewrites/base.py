"""What a rewrite is: a law with its exact condition, as a function from one node to equivalent nodes.

A rule looks at one node and yields every form the law gives it; nothing if the law does not apply. It is pure, and it
never looks above its node. What depends on the surroundings is declared: a rule may choose another of several equal
rows (``keeps_births``), or let fewer rows into a window (``keeps_instants``); `closure` knows where that shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from panewise.plan.nodes import Node

Forms = Iterator[Node]
"""The forms that a law gives a node."""
Law = Callable[[Node], Forms]


class Role(Enum):
    """What the optimizer does with a rule."""

    SIMPLIFY = "always better, done first"
    EXPLORE = "a candidate: better or worse, by cost"
    NARROW = "fewer columns in state, done last"


@dataclass(frozen=True)
class Rule:
    """One guarded equivalence; what it says is in the docstring of its function."""

    name: str
    role: Role
    forms: Law
    keeps_births: bool = True
    """The results are the same rows with the same times, not only equal values."""
    keeps_instants: bool = True
    """What moves a window is the same rows: what reports every movement reports as often as before."""
    with_internal: bool = False
    """It also holds for internal windows, whose results stay: each result is the same row, made at the same instant."""

    def apply(self, node: Node) -> list[Node]:
        """What the law makes of a node."""
        return list(self.forms(node))


def rule(name: str, role: Role, **properties: bool) -> Callable[[Law], Rule]:
    """Declare the function below as a rule."""
    return lambda forms: Rule(name, role, forms, **properties)
