"""Rows of a relation have no place in a stream: where an expression fails on one, the error says when it came in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from panewise.core.beginning import ALWAYS
from panewise.core.errors import EvaluationError
from panewise.core.ordinals import Ordinals


@contextmanager
def rows_born(born: Ordinals) -> Iterator[None]:
    """Around what is computed of rows that were born then."""
    try:
        yield
    except EvaluationError as error:
        at = ALWAYS if error.row is None or error.row > len(born) else int(born[error.row - 1])
        if at <= ALWAYS:
            raise
        raise error.placed(f"a row that came in at {at}", born=at) from error.__cause__
