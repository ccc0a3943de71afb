"""What somebody above wants to know of the windows below, handed down while a plan is compiled."""

from __future__ import annotations

from dataclasses import dataclass

from panewise.kernels.relations.refresh import RefreshClock


@dataclass(frozen=True)
class Watch:
    """What somebody above wants to know of the windows below."""

    ticking: bool = False
    """Every instant at which anything can change."""
    clock: RefreshClock | None = None
    """When windows refresh."""
    every: bool = False
    """Every change of a group, also to an equal value."""
    ordered: bool = False
    """Rows of one instant are counted one by one above, so their ages must be exact, however many streams lie between.
    """
    late: bool = False
    """The window above takes late rows in."""
    by_time: bool = False
    """Rows of a stream that is never late still wait for a table."""
