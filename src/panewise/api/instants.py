"""``now=``: the instant that ``now()`` gives, where a program has to keep it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from panewise.core.errors import CheckpointError, PlanError
from panewise.engines.checkpoints import BEGAN
from panewise.plan.nodes import Node
from panewise.plan.run_instant import begun_at, instant_now, warn_of_the_clock
from panewise.storage import DirectoryChunks


def kept_instant(folder: str | Path) -> datetime:
    """The instant kept in a folder; one that holds none is given the present one.

    For queries over streaming DataFrames, whose checkpoint Spark is told only when they are started: with
    ``now=kept_instant("state/now")`` they have the same ``now()`` whenever they are started again. The folder belongs
    beside the checkpoint, and goes when it goes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     kept_instant(home) == kept_instant(home)
    True
    """
    with DirectoryChunks(folder) as store:
        kept = store.get(BEGAN)
        if kept is None:
            if store.names():
                raise CheckpointError(f"{folder} holds something else than an instant: give kept_instant a folder of "
                                      "its own, beside the checkpoint")
            kept = instant_now().isoformat().encode()
            store.put(BEGAN, kept)
            store.commit()
        return datetime.fromisoformat(kept.decode())


def given_instant(plan: Node, now: datetime | None, *, endless: bool = False) -> Node:
    """The plan with the instant that a program gives; without one the run decides."""
    if now is None:
        return plan
    if now.tzinfo is None:
        raise PlanError(f"now={now!r} has no time zone, so it is no instant: write datetime(…, tzinfo=UTC)")
    if endless:
        warn_of_the_clock(plan)
    return begun_at(plan, now)
