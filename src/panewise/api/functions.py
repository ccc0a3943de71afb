"""``function``: one of the user's own functions, with its types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from panewise.core.user_functions import Declared


def function(call: Callable[..., Any], *, returns: str | pa.DataType | None = None,
             takes: Sequence[str] | None = None, vectorised: bool = False) -> Declared:
    """A function for ``functions={"name": ...}``, called once for every row with its arguments, null as None.

    ``returns`` is the type of its result, as Spark writes it; a plain function whose result is annotated with ``int``,
    ``float``, ``str``, ``bool``, ``bytes``, ``datetime``, ``date``, a ``list`` or ``dict`` of these, or one of them or
    None, can be given as it is. ``takes`` are types that the arguments are cast to first, as CAST does. With
    ``vectorised`` the function gets Arrow arrays, one for each argument, and gives an array of as many values.

    >>> import panewise as pw
    >>> import pyarrow.compute as pc
    >>> def grade(points: int | None) -> str:
    ...     return "none" if points is None else "high" if points > 5 else "low"
    >>> rows = [{"ts": 1, "v": 9}, {"ts": 2, "v": None}, {"ts": 3, "v": 4}]
    >>> own = {"grade": grade, "half": pw.function(lambda v: pc.divide(v, 2), takes=["double"], returns="double",
    ...                                            vectorised=True)}
    >>> [tuple(row.values()) for row in pw.sql("SELECT grade(v) AS g, half(v) AS h FROM s", s=rows, functions=own)]
    [('high', 4.5), ('none', None), ('low', 2.0)]
    """
    return Declared(call, returns, None if takes is None else tuple(takes), vectorised)
