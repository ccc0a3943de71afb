"""The contract of everything that runs: rows and promises in on numbered ports, rows and promises out.

For one arrival of a stream a dataflow calls, from the streams upwards:

    take(port, batch)       rows come in; those that leave at once go on to the readers. Whatever can be refused is
                            refused here, and nothing counts yet
    revoke()                ... something was refused: what was taken is forgotten,
    settle()                ... or it counts now; what it sets free leaves
    advance(port, promise)  what was promised after these rows; what that sets free leaves, then what it promises
    flush()                 the arrival is complete: operators that work once for each do so now

So a count of five rows, of which the last makes a promise, is ``take`` of five rows, ``settle``, and an ``advance``
that returns the windows that closed, then the same promise about the rows that it will put out.

No row comes out after a promise that rules it out, if none comes in so. Operators do not know what is above or below.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.dataflow.batch import Batch
from panewise.kernels.contract.state_file import Saved, read_state, write_state
from panewise.progress.punctuation import Punctuation
from panewise.storage import ChunkStore

Item: TypeAlias = Batch | Punctuation
Mask: TypeAlias = npt.NDArray[np.bool_]
NOTHING: tuple[Item, ...] = ()
STATE = "state"
"""The chunk of an operator that has one."""


class Operator:
    """One node of a dataflow. What it does not say otherwise, it has nothing to do for."""

    schema: pa.Schema
    """The columns of the rows it puts out."""

    @property
    def name(self) -> str:
        """What reports call it."""
        return type(self).__name__

    # -- rows and promises

    def take(self, port: int, batch: Batch) -> Batch | None:
        """Rows; those that leave at once."""
        raise NotImplementedError

    def settle(self) -> Iterable[Item]:
        """What was taken counts; what it sets free."""
        return NOTHING

    def revoke(self) -> None:
        """What was taken since the last ``settle`` never came."""

    def advance(self, port: int, promise: Punctuation) -> Iterable[Item]:
        """A promise about the rows of a port; what it sets free, then what is promised of rows that leave here."""
        raise NotImplementedError

    def silence(self, port: int, silent: bool) -> Iterable[Item]:
        """The inputs of a port fell silent, so that they hold no others back, or woke up."""
        del port, silent
        return NOTHING

    def is_silent(self, port: int, silent: bool) -> bool:
        """Whether this falls silent when a port does."""
        del port
        return silent

    def flush(self, now: int | None = None) -> Iterable[Item]:
        """An arrival is complete, and all below have worked; ``now`` is the time of a wall clock that has ticked."""
        del now
        return NOTHING

    @cached_property
    def missed(self) -> list[tuple[Batch, Mask]]:
        """Rows that came too late to count, by batch, until the graph takes them."""
        return []

    # -- looking

    def counters(self) -> dict[str, Any]:
        """How much is kept: ``rows``, ``bytes`` and what else there is to count."""
        return {}

    # -- saving

    def save(self, store: ChunkStore) -> None:
        """Everything needed to go on exactly here, as chunks; most operators keep nothing."""

    def load(self, store: ChunkStore) -> None:
        """Become what ``save`` saved."""


class Keeping(Operator):
    """An operator whose state is one chunk."""

    def save(self, store: ChunkStore) -> None:
        """The chunk."""
        write_state(store, STATE, self.name, self.saved())

    def load(self, store: ChunkStore) -> None:
        """Become what ``save`` saved."""
        self.become(*read_state(store, STATE, self.name))

    def saved(self) -> Saved:
        """Its state as data."""
        raise NotImplementedError

    def become(self, header: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        raise NotImplementedError

