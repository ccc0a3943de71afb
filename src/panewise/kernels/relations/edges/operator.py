"""The contract of a relational operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from panewise.kernels.relations.edges.delta import Delta

Saved = tuple[dict[str, Any], dict[str, pa.Table]]
"""State as data: what JSON can hold, and tables."""


def under(prefix: str, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables of a part, by names of their own among those of the whole."""
    return {prefix + name: table for name, table in tables.items()}


def beneath(prefix: str, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """What ``under`` gave."""
    return {name.removeprefix(prefix): table for name, table in tables.items() if name.startswith(prefix)}


class RelationOperator(ABC):
    """A state machine over steps: the deltas of its inputs up to a bound in, its own out."""

    schema: pa.Schema
    """The columns it puts out."""

    @abstractmethod
    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Everything that happens at the instants below ``upto`` and was not put out before."""

    def snapshot(self) -> Saved:
        """The state; most stateless operators have none."""
        return {}, {}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        del header, tables

    def counters(self) -> dict[str, int]:
        """How much is kept: ``rows``, ``bytes`` and what else there is to count."""
        return {}
