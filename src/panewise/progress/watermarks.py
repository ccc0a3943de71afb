"""The two bounds that stand for infinity (Li 4)."""

from __future__ import annotations

NO_BOUND: int = -(2**63)
"""The bound before anything was promised: every value may still come."""
FINISHED: int = 2**63 - 1
"""The bound of a stream, or of a group, that has ended: nothing can come any more."""


def moved_bound(bound: int, by: int) -> int:
    """A bound on what is so much later; nothing is known, and nothing comes, whatever is added.

    >>> moved_bound(5, 3), moved_bound(FINISHED, 3) == FINISHED
    (8, True)
    """
    return bound if bound in {NO_BOUND, FINISHED} else bound + by
