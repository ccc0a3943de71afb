"""Every family of functions, declared by being imported."""

from panewise.functions import (  # noqa: F401 -- importing declares
    arithmetic,
    bits,
    comparison,
    conditional,
    conversions,
    digests,
    elementary,
    extremes,
    formats,
    hashing,
    joining,
    matching,
    nested,
    number_formats,
    numerals,
    raising,
    rounding,
    text,
    times,
)
from panewise.functions.registry import supported_names

__all__ = ["supported_names"]
