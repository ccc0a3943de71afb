"""The contract of an aggregate function.

Two forms of one function. The *scalar* form (``init``, ``add``, ``merge``, ``finish``, optional ``inverse``) is the
definition: the oracle uses it and a user-defined aggregate needs nothing else. The *columnar* form works on whole
batches: a partial state is a row of ``state_fields`` columns, groups are dense integer codes. The base class derives
the columnar form from the scalar one; the built-in functions override it with vectorised code.

States are data: every field has an Arrow type, so a state can be saved, shipped and merged anywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Codes = npt.NDArray[np.int64]
State = tuple[Any, ...]
Columns = list[pa.Array]


class AggClass(Enum):
    """How large a partial state is (Gray et al.; Li 6.2.2 calls the first two bounded)."""

    DISTRIBUTIVE = "distributive"
    ALGEBRAIC = "algebraic"
    HOLISTIC = "holistic"


@dataclass(frozen=True)
class Aggregate(ABC):
    """One aggregate function with its parameters fixed (such as the quantile's fraction)."""

    name: ClassVar[str] = ""
    agg_class: ClassVar[AggClass] = AggClass.DISTRIBUTIVE
    invertible: ClassVar[bool] = False
    """Whether ``inverse`` exists and is exact for every input type; floats never are (they drift)."""
    duplicate_insensitive: ClassVar[bool] = False
    """Whether counting a row twice changes nothing (MIN, MAX)."""
    arity: ClassVar[int] = 1
    """How many argument columns it takes; 0 for ``count(*)``."""

    # -- types ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        """The columns of a partial state for arguments of these types; refuses types it does not take."""

    @abstractmethod
    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        """The type of the result, as Spark SQL has it."""

    # -- scalar form ---------------------------------------------------------------------------------------------

    @abstractmethod
    def init(self) -> State:
        """The state of no rows."""

    @abstractmethod
    def add(self, state: State, *values: Any) -> State:
        """The state with one more row; null handling is the function's own."""

    @abstractmethod
    def merge(self, left: State, right: State) -> State:
        """The state of the rows of both; associative. ``left`` came first where order matters."""

    @abstractmethod
    def finish(self, state: State) -> Any:
        """The result."""

    def inverse(self, whole: State, part: State) -> State:
        """The state of the rows of ``whole`` that are not in ``part``."""
        raise NotImplementedError(f"{self.name} has no inverse")

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int,
                 inputs: Sequence[pa.DataType]) -> Columns:
        """One partial state per group from raw rows; rows are in arrival order."""
        states = [self.init() for _ in range(groups)]
        columns = [a.to_pylist() for a in arguments]
        for i, code in enumerate(codes.tolist()):
            states[code] = self.add(states[code], *(c[i] for c in columns))
        return self._columns(states, inputs)

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Sequence[pa.DataType]) -> Columns:
        """One partial state per group from partial states."""
        states: list[State | None] = [None] * groups
        for code, row in zip(codes.tolist(), zip(*(c.to_pylist() for c in partials), strict=True), strict=True):
            before = states[code]
            states[code] = row if before is None else self.merge(before, row)
        return self._columns([self.init() if s is None else s for s in states], inputs)

    def finish_all(self, partials: Columns, inputs: Sequence[pa.DataType]) -> pa.Array:
        """The results of partial states."""
        rows = zip(*(c.to_pylist() for c in partials), strict=True)
        return pa.array([self.finish(row) for row in rows], self.result_type(inputs))

    def _columns(self, states: Sequence[State], inputs: Sequence[pa.DataType]) -> Columns:
        fields = self.state_fields(inputs)
        return [pa.array([s[i] for s in states], f.type) for i, f in enumerate(fields)]
