"""The text that a plan was written as, for what is refused after the text was read.

It belongs to the root of a plan and is no part of it: two texts may have equal plans.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from panewise.core.places import placed
from panewise.plan.nodes import Node

F = TypeVar("F", bound=Callable[..., Any])
P = TypeVar("P", bound=Node)
ATTRIBUTE = "_written"


def written(plan: P, text: str | None) -> P:
    """The plan, which remembers its text."""
    if text is not None:
        object.__setattr__(plan, ATTRIBUTE, text)
    return plan


def text_of(plan: Node) -> str | None:
    """The text of a plan; None of one that was put together by hand.

    >>> from panewise.plan.nodes import Source
    >>> from panewise.core.schema import SourceSchema
    >>> plan = written(Source("s", SourceSchema()), "SELECT * FROM s")
    >>> text_of(plan), text_of(Source("s", SourceSchema())), plan == Source("s", SourceSchema())
    ('SELECT * FROM s', None, True)
    """
    return getattr(plan, ATTRIBUTE, None)


def refuses_at_place(function: F) -> F:
    """Of a function of a plan: what is wrong with the plan is refused at a place of its text."""

    @wraps(function)
    def refusing(plan: Node, *arguments: Any, **options: Any) -> Any:
        with placed(text_of(plan)):
            return function(plan, *arguments, **options)

    return cast("F", refusing)
