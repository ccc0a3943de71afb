"""Spark SQL as sqlglot reads it, but every function call stays the call that was written."""

from __future__ import annotations

from sqlglot.dialects.spark import Spark

from panewise.core.trees import ExpressionParser


class PlainSpark(Spark):
    """Spark SQL without any knowledge of functions."""

    class Parser(ExpressionParser):
        """Reads calls as names with arguments."""
