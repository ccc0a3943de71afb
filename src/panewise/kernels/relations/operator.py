"""The contract of a relational operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from panewise.kernels.relations.delta import Delta

Saved = tuple[dict[str, Any], dict[str, pa.Table]]
"""State as data: what JSON can hold, and tables."""


class RelationOperator(ABC):
    """A state machine over steps: the deltas of its inputs up to a bound in, its own out."""

    schema: pa.Schema
    """The columns it puts out."""

    @abstractmethod
    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Everything that happens at the instants below ``upto`` that was not told before."""

    def name_gone(self) -> bool:
        """From now on say of every row when it leaves (``Delta.gone``); False where the rows are not at hand."""
        return False

    def carry_vectors(self) -> bool:
        """From now on give rows expiry vectors (``Lives.order``) instead of sending ends; False where there is nothing
        to send, or where rows end for other reasons than that a row below is gone."""
        return False

    def snapshot(self) -> Saved:
        """The state; most stateless operators have none."""
        return {}, {}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        del header, tables

    def counters(self) -> dict[str, int]:
        """How much is kept: ``rows``, ``bytes`` and what else there is to count."""
        return {}
