"""Several ordered substreams in one stream: each bounds itself, together they bound the stream (SIGMOD 2005, 7.2 a).

A row of substream s with value v promises that no smaller value of s comes. Nothing is promised about the stream as a
whole before *every registered* substream has passed a value: one that was never registered could still send anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from panewise.core.errors import CheckpointError, ProgressError, SchemaError
from panewise.core.ordinals import Ordinals
from panewise.progress.generators import Extra, Generator, Observed
from panewise.progress.jumps import JumpGuard
from panewise.progress.notation import value_from_state, value_to_state
from panewise.progress.patterns import as_values, plain_column
from panewise.progress.watermarks import NO_BOUND


class PerSubstream(Generator):
    """A bound per registered substream, and for the whole stream the smallest of them.

    >>> import pyarrow as pa
    >>> roads = PerSubstream("seg", ["s1", "s2"])
    >>> roads.observe(np.array([10, 30, 20]), {"seg": pa.array(["s1", "s1", "s2"])}).after
    20
    >>> roads.group_bounds()
    [({'seg': 's1'}, 30), ({'seg': 's2'}, 20)]
    """

    kind: ClassVar[str] = "substream"

    def __init__(self, column: str, substreams: Iterable[Any], *, guard: JumpGuard | None = None) -> None:
        super().__init__(guard=guard)
        self.columns = (column,)
        self.keys: list[Any] = list(dict.fromkeys(substreams))
        if not self.keys:
            raise ProgressError(f"no substream of {column!r} is registered: name them, else there is never a bound")
        self.highest = np.full(len(self.keys), NO_BOUND, np.int64)
        self.reached = NO_BOUND

    # -- the contract --------------------------------------------------------------------------------------------

    def _observe(self, values: Ordinals, extra: Extra) -> Observed:
        """Bounds before each row, of the stream and of the row's substream.

        The stream's bound before row i is the smallest of all substreams' bounds then. A substream's bound stands until
        its own next row, so the smallest is found among the own bounds before rows i, i+1, … and the final ones.
        """
        codes = self._codes(extra, len(values))
        own = self._own_maxima(values, codes)
        np.maximum.at(self.highest, codes, values)
        final = int(self.highest.min())
        ahead = np.minimum.accumulate(own[::-1])[::-1]
        before = np.maximum(np.minimum(ahead, final), self.reached)
        self.reached = max(self.reached, final)
        return Observed(before, self.reached, own)

    def _own_maxima(self, values: Ordinals, codes: Ordinals) -> Ordinals:
        """The largest value of the row's substream before the row: a running maximum restarted per substream."""
        present = np.flatnonzero(np.bincount(codes))
        all_codes = np.concatenate((present, codes))
        distinct, ranks = np.unique(np.concatenate((self.highest[present], values)), return_inverse=True)
        small = all_codes.astype(np.int16) if len(self.keys) < 2**15 else all_codes  # sorted by radix, not by comparing
        order = np.argsort(small, kind="stable")  # what was known before comes first in its substream
        lifted = all_codes * len(distinct) + ranks
        running = distinct[np.maximum.accumulate(lifted[order]) - all_codes[order] * len(distinct)]
        before = np.empty(len(order), np.int64)
        before[order[1:]] = running[:-1]
        return before[len(present):]

    def _bound(self) -> int:
        return self.reached

    def group_bounds(self) -> list[tuple[dict[str, Any], int]]:
        """The bound of each substream that has one."""
        found = zip(self.keys, self.highest.tolist(), strict=True)
        return [({self.columns[0]: key}, bound) for key, bound in found if bound != NO_BOUND]

    # -- keys ----------------------------------------------------------------------------------------------------

    def _codes(self, extra: Extra, rows: int) -> Ordinals:
        name = self.columns[0]
        if name not in extra:
            raise SchemaError(f"substreams are told apart by the column {name!r}, which the rows do not have")
        column = plain_column(extra[name])
        if len(column) != rows:
            raise ProgressError(f"{rows} rows came with {len(column)} values of {name!r}")
        places = pc.index_in(column, value_set=as_values(self.keys, column.type, f"on {name!r}"))
        if places.null_count:
            key = column[pc.index(pc.is_null(places), True).as_py()].as_py()
            known = ", ".join(map(str, self.keys[:10])) + (", …" if len(self.keys) > 10 else "")
            raise ProgressError(f"substream {key!r} of {name!r} is not registered; registered are {known}. Register it "
                                "before its first row, else no bound of the whole stream is safe")
        return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)

    # -- saving --------------------------------------------------------------------------------------------------

    def _save(self) -> Any:
        return {"keys": [value_to_state(k) for k in self.keys], "highest": self.highest.tolist(),
                "reached": self.reached}

    def _load(self, state: Any) -> None:
        keys = [value_from_state(k) for k in state["keys"]]
        missing = [k for k in self.keys if k not in keys]
        if missing:
            raise CheckpointError(f"the substreams {missing} were not registered when the checkpoint was made")
        self.keys = keys
        self.highest = np.array(state["highest"], np.int64)
        self.reached = int(state["reached"])

    def describe(self) -> str:
        """With the column and the number of substreams."""
        return f"{len(self.keys)} substreams by {self.columns[0]}"
