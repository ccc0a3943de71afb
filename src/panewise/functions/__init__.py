"""One-row expressions with the meaning Spark 4 gives them in ANSI mode, computed on Arrow columns without Spark.

``evaluate`` computes expressions on a table, ``truth`` a condition, ``type_of`` says what type one has. Which functions
there are is an allow-list (``registry``), held against Spark's own answers by ``tests/functions``.
"""

from panewise.functions.binding.evaluation import check_condition, evaluate, truth, type_of

__all__ = ["check_condition", "evaluate", "supported_names", "truth", "type_of"]


def supported_names() -> frozenset[str]:
    """Every function that can be called."""
    from panewise.functions.binding import library

    return library.supported_names()
