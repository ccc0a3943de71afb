"""Rows of a relation have no place in a stream: where an expression fails on one, the error says when it came in and
which rows that arrived it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from panewise.core.ages import stream_rows
from panewise.core.beginning import ALWAYS
from panewise.core.errors import EvaluationError
from panewise.core.ordinals import Ordinals


@contextmanager
def rows_born(born: Ordinals, age: npt.NDArray[np.int64] | None = None) -> Iterator[None]:
    """Around what is computed of rows that were born then, and of these ages where they are at hand."""
    try:
        yield
    except EvaluationError as error:
        if error.row is None or error.row > len(born):
            raise
        at, made_of = int(born[error.row - 1]), () if age is None else stream_rows(map(int, age[1:, error.row - 1]))
        if at <= ALWAYS and not made_of:
            raise
        raise error.placed(f"a row that came in at {at}", born=at, made_of=made_of) from error.__cause__
