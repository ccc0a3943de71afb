"""Columns of DataFrames by their names."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def quoted(name: str) -> Column:
    """A column by its flat name, dots and all."""
    return F.col(in_quotes(name))


def in_quotes(name: str) -> str:
    """The same as text."""
    return "`" + name.replace("`", "``") + "`"
