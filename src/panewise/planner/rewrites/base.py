"""What a rewrite is: a law with its exact condition, as a function from one node to equivalent nodes.

A rule looks at one node and answers with every form the law gives it; nothing if the law does not apply. It is pure,
and it never looks above its node. What depends on the surroundings is declared: a rule may choose another of several
equal rows (``keeps_births``), or let fewer rows into a window (``keeps_instants``); `closure` knows where that shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from panewise.plan.nodes import Node


class Role(Enum):
    """What the optimizer does with a rule."""

    SIMPLIFY = "always better, done first"
    EXPLORE = "a candidate: better or worse, by cost"
    NARROW = "fewer columns in state, done last"
    LAW = "true, but never better by itself"


@dataclass(frozen=True)
class Rule:
    """One guarded equivalence."""

    name: str
    law: str
    """The number of the law (Patroumpas and Sellis 5), or ``pattern`` for update-pattern simplification (Golab 3.5.3)
    and ``relational`` for what holds in any relational algebra."""
    statement: str
    apply: Callable[[Node], list[Node]]
    role: Role
    keeps_births: bool = True
    """The results are the same rows with the same times, not only equal values."""
    keeps_instants: bool = True
    """What moves a window is the same rows: whoever reports at every movement reports as often as before."""
    with_internal: bool = False
    """It also holds for internal windows, whose results stay: each result is the same row, made at the same instant."""
