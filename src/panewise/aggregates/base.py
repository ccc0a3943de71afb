"""The contract of an aggregate function.

Two forms of one function. The *scalar* form (``init``, ``add``, ``merge``, ``finish``, optional ``inverse``) is the
definition: the oracle uses it and a user-defined aggregate needs nothing else. The *columnar* form works on whole
batches: a partial state is a row of ``state_fields`` columns, groups are dense integer codes. The base class derives
the columnar form from the scalar one; the built-in functions override it with vectorised code.

States are data: every field has an Arrow type, so a state can be saved, shipped and merged anywhere. A function whose
scalar state is not already such a row (an exact sum is one Python integer, its columns are two halves) says how to
go there and back: ``pack`` and ``unpack``.

Functions of the arrival order (``needs_order``: FIRST, LAST) take one more argument than the query wrote: the arrival
position as a non-null int64, always last. ``add(state, value, position)``, ``partials([values, positions], …)``; the
types in ``inputs`` do not include it. Their states carry the position, so states merge in any order.

Functions of the panes of a window (``of_panes``) take one more argument too, the windowing attribute, and two more
constants, the length of a pane and where panes begin. The query adds all three; to the function they are like others.
Where the window counts rows there is no such column: a third constant says so, the function is ``numbered``, and what
numbers the rows of the window adds their positions, as a non-null int64, last; ``inputs`` do not include it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import AggregateError

Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
State = tuple[Any, ...]
Columns = list[pa.Array]
Types = Sequence[pa.DataType]
Elementwise = Literal["sum", "min", "max", "exact"]
EXACT_SUM: tuple[Elementwise, ...] = ("exact", "exact", "exact")
"""The three columns of an exact sum of floats (`expansions`): one number, which kernels add as `digits`."""


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
    """Whether ``inverse`` exists and is exact for every input type; see ``is_invertible`` for one type."""
    duplicate_insensitive: ClassVar[bool] = False
    """Whether counting a row twice changes nothing (MIN, MAX)."""
    needs_order: ClassVar[bool] = False
    """Whether it takes the arrival position as an additional last argument."""
    of_panes: ClassVar[bool] = False
    """Whether the query adds the windowing attribute as last argument, length and origin of panes as last constants."""
    settles: ClassVar[bool] = False
    """Whether a state gets smaller once no more of its rows can come; see ``settle``."""
    slides: ClassVar[bool] = False
    """Whether windows over settled states need not be merged one by one; see ``finish_windows``."""
    short_lists: ClassVar[bool] = False
    """Whether lists in its states are nearly always empty, so that a state is a few numbers all the same."""
    arity: ClassVar[int] = 1
    """How many argument columns it takes; with the position where it is ``numbered``."""
    variadic: ClassVar[bool] = False
    """Whether it takes more arguments than ``arity`` too."""

    @property
    def numbered(self) -> bool:
        """Whether it takes the position that its window counts rows by as an additional last argument."""
        return False

    # -- types ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """The columns of a partial state for arguments of these types; refuses types it does not take."""

    @abstractmethod
    def result_type(self, inputs: Types) -> pa.DataType:
        """The type of the result, as Spark SQL has it; refuses types it does not take."""

    def check_inputs(self, inputs: Types) -> None:
        """Refuse a wrong number of arguments; the number does not include positions."""
        given, arity = len(inputs), self.arity - self.numbered
        if given < arity or (given > arity and not self.variadic):
            expected = f"{'at least ' if self.variadic else ''}{arity} argument{'s' * (arity != 1)}"
            raise AggregateError(f"{self.name} takes {expected}, not {given}: {', '.join(map(str, inputs)) or 'none'}")

    def is_invertible(self, inputs: Types) -> bool:
        """Whether ``inverse`` and ``subtract_all`` are exact for arguments of these types; floats would drift."""
        return self.invertible

    def elementwise(self, inputs: Types) -> list[Elementwise] | None:
        """The operation that merges each state column by itself, or None when columns depend on each other.

        Where it is given, every state column is a non-null int64 or float64 without NaN-sensitive meaning, and
        ``state_fields`` of no rows hold the operation's identity, so a kernel may scan panes with ``np.add`` (int64
        only), ``np.minimum`` and ``np.maximum``; or three of them are ``exact``, a sum of floats (see ``EXACT_SUM``).
        When all are ``sum`` and ``is_invertible``, a state is taken away by plain subtraction of every column.
        """
        return None

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

    # -- between the forms ---------------------------------------------------------------------------------------

    def pack(self, state: State, inputs: Types) -> State:
        """A scalar state as one row of state columns."""
        return state

    def unpack(self, row: State, inputs: Types) -> State:
        """One row of state columns as a scalar state."""
        return row

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """One partial state per group from raw rows; rows are in arrival order."""
        states = [self.init() for _ in range(groups)]
        columns = [a.to_pylist() for a in arguments]
        for i, code in enumerate(codes.tolist()):
            states[code] = self.add(states[code], *(c[i] for c in columns))
        return self._columns(states, inputs)

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """One partial state per group from partial states."""
        states: list[State | None] = [None] * groups
        for code, state in zip(codes.tolist(), self._states(partials, inputs), strict=True):
            before = states[code]
            states[code] = state if before is None else self.merge(before, state)
        return self._columns([self.init() if s is None else s for s in states], inputs)

    def subtract_all(self, whole: Columns, part: Columns, inputs: Types) -> Columns:
        """``inverse`` row by row."""
        pairs = zip(self._states(whole, inputs), self._states(part, inputs), strict=True)
        return self._columns([self.inverse(w, p) for w, p in pairs], inputs)

    def settle(self, partials: Columns, inputs: Types) -> Columns:
        """The states as small as they get where no more rows can come that are in them; results are the same."""
        return partials

    def finish_windows(self, partials: Columns, low: Codes, high: Codes, windows: int, inputs: Types) -> pa.Array:
        """The results of windows over settled states: state i is in the windows ``low[i]`` to ``high[i]``."""
        raise NotImplementedError(f"{self.name} puts windows together one by one")

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """The results of partial states."""
        return pa.array([self.finish(s) for s in self._states(partials, inputs)], self.result_type(inputs))

    def finish_some(self, partials: Columns, inputs: Types, chosen: Mask) -> list[Any]:
        """The results of some of the states by the scalar form."""
        rows = pa.array(np.flatnonzero(chosen))
        return [self.finish(s) for s in self._states([column.take(rows) for column in partials], inputs)]

    def _columns(self, states: Sequence[State], inputs: Types) -> Columns:
        fields = self.state_fields(inputs)
        rows = [self.pack(s, inputs) for s in states]
        return [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(fields)]

    def _states(self, partials: Columns, inputs: Types) -> list[State]:
        rows = zip(*(c.to_pylist() for c in partials), strict=True)
        return [self.unpack(row, inputs) for row in rows]
