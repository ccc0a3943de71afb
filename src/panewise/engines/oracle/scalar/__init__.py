"""One-row expressions by definition: plain Python, row by row, with the types and errors of Spark 4 in ANSI mode.

It shares nothing with the evaluator of the engines, which it checks. ``binding`` turns text and column types into a
typed function (``typed``); ``arithmetic``, ``logic``, ``casts`` and ``coercion`` are the operators; ``numbers``,
``text``, ``moments`` and ``nested`` the functions; ``calendars``, ``time_patterns``, ``decimals``, ``float_text``,
``matching`` and ``ordering`` what they rest on. A function that is not there is refused by name.
"""

from panewise.engines.oracle.scalar.evaluator import Evaluator
from panewise.engines.oracle.scalar.session import time_zone
from panewise.engines.oracle.scalar.signatures import FUNCTIONS

__all__ = ["FUNCTIONS", "Evaluator", "time_zone"]
