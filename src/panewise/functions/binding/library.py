"""Every family of functions, declared by being imported."""

from panewise.functions import comparison, conditional, digests, extremes, formats, hashing, nested, raising, times  # noqa: F401 -- importing declares
from panewise.functions.binding import conversions  # noqa: F401 -- importing declares
from panewise.functions.binding.registry import supported_names
from panewise.functions.numbers import (
    arithmetic,  # noqa: F401 -- importing declares
    bits,  # noqa: F401 -- importing declares
    elementary,  # noqa: F401 -- importing declares
    number_formats,  # noqa: F401 -- importing declares
    numerals,  # noqa: F401 -- importing declares
    rounding,  # noqa: F401 -- importing declares
)
from panewise.functions.texts import (
    joining,  # noqa: F401 -- importing declares
    matching,  # noqa: F401 -- importing declares
    text,  # noqa: F401 -- importing declares
)

__all__ = ["supported_names"]
