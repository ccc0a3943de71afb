"""Which recorded functions the product is held against."""

from __future__ import annotations

from functions.answers import recorded_functions

ALWAYS = frozenset({"cast", "try_cast", "::"})
"""Beside the operators, what is compared whether declared as a function or not."""


def compared() -> list[tuple[str, str]]:
    """Family and name of every operator, and of every function that the product declares."""
    from panewise.functions import supported_names

    declared = supported_names()
    return [(family, name) for family, names in recorded_functions().items() for name in names
            if family in ("operators", "compositions") or name in ALWAYS or name in declared]
