"""An expression over rows of plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from panewise.core.errors import EvaluationError, UnsupportedError
from panewise.core.user_functions import plain_names
from panewise.engines.oracle.scalar.binding import bind
from panewise.engines.oracle.scalar.typed import Failure
from panewise.engines.oracle.scalar.types import Type, reader, to_arrow, writer


class Evaluator:
    """One expression over columns of known types.

    >>> from panewise.engines.oracle.scalar.types import LONG
    >>> half = Evaluator("a / 2", {"a": LONG})
    >>> half({"a": 3}), str(half.arrow_type)
    (1.5, 'double')
    """

    def __init__(self, sql: str, columns: Mapping[str, Type]) -> None:
        self.sql = plain_names(sql)
        self._bound = bind(sql, columns)
        self._readers = [(name, reader(kind)) for name, kind in columns.items()]
        self._writer = writer(self._bound.type)

    @property
    def type(self) -> Type:
        """The Spark type of the result."""
        return self._bound.type

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type of the result."""
        return to_arrow(self._bound.type)

    def __call__(self, row: Mapping[str, Any]) -> Any:
        """The value for one row, as a plain Python value."""
        value = self.inner({name: read(row[name]) for name, read in self._readers}, row)
        try:
            return self._writer(value)
        except OverflowError as error:
            raise UnsupportedError(f"{self.sql} of {_shown(row)} lies outside the years 1 to 9999 of "
                                   "Python's dates") from error

    def inner(self, values: Mapping[str, Any], row: Mapping[str, Any] | None = None) -> Any:
        """The same from and to values of the evaluator (``types``)."""
        try:
            return self._bound.run(values)
        except Failure as failure:
            shown = _shown(values if row is None else {name: row[name] for name, _ in self._readers})
            cause = failure.__cause__ or failure
            raise EvaluationError(f"{self.sql} of {shown}: {failure.message}", condition=failure.condition) from cause


def _shown(row: Mapping[str, Any]) -> str:
    text = repr(dict(row))
    return text if len(text) <= 400 else f"{text[:400]}…"
