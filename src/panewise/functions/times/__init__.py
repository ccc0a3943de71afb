"""Functions of dates, timestamps and intervals."""

from panewise.functions.times import (  # noqa: F401 -- importing declares
    differences,
    epoch,
    fields,
    formatted,
    interval_literals,
    interval_scaling,
    intervals,
    making,
    moving,
    truncating,
)
