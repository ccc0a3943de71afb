"""Whether a saved state belongs to a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from panewise.core.errors import CheckpointError
from panewise.progress.late import LatePolicy


def refuse_foreign(header: Mapping[str, Any], fingerprint: str, late: LatePolicy) -> None:
    """A state is only taken by the query, and under the late policy, that saved it."""
    if header["query"] != fingerprint:
        raise CheckpointError("the checkpoint was made by another query (or the same on other columns, or in another "
                              "style): give the query a checkpoint directory of its own")
    if header["late"] != late.value:
        raise CheckpointError(f"the checkpoint was made with the late policy {header['late']!r}, "
                              f"this run has {late.value!r}: restart with the same policy")
