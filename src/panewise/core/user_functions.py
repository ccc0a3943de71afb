"""The user's own one-row functions: what one is, how it is called, and how an expression names it.

An expression is text, so a function is known by a name that no other has in any process: ``f__pw3_9f2c41`` is the third
that was given in this one, as ``f``. What is shown to a user, and what a checkpoint is recognised by, has the plain
name. Texts travel to Spark's workers with the functions they call (``Scalar.__reduce__``); checkpoints hold none.
"""

from __future__ import annotations

import inspect
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pyarrow as pa

_PROCESS = uuid.uuid4().hex[:8]
_NAMED = re.compile(r"__pw\d+_[0-9a-f]{8}(?=\()", re.IGNORECASE)
_CALLED = re.compile(r"\b\w+?__pw\d+_[0-9a-f]{8}(?=\()", re.IGNORECASE)


class Raised(Exception):  # noqa: N818 -- becomes an EvaluationError where the expression is known
    """A function had no value: the row, where one alone is known, and what to say of it."""

    def __init__(self, row: int | None, message: str) -> None:
        super().__init__(message)
        self.row, self.message = row, message


@dataclass(frozen=True)
class Declared:
    """A function as ``pw.function`` declares it; types are Spark's, as text, or Arrow's."""

    call: Callable[..., Any]
    returns: str | pa.DataType | None = None
    takes: tuple[str, ...] | None = None
    vectorised: bool = False

    def __call__(self, *arguments: Any) -> Any:
        """The function itself."""
        return self.call(*arguments)


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A function with its types, under the name that expressions know it by."""

    name: str
    call: Callable[..., Any] = field(repr=False)
    returns: pa.DataType
    takes: tuple[str, ...] | None
    """Types that arguments are cast to before the call; as they are where None."""
    vectorised: bool
    key: str

    def problem_with(self, count: int) -> str | None:
        """Why it cannot be called with so many arguments."""
        if self.takes is not None and len(self.takes) != count:
            return f"{self.name} takes {len(self.takes)} argument{'s' * (len(self.takes) != 1)}, not {count}"
        try:
            inspect.signature(self.call).bind(*range(count))
        except TypeError as error:
            return f"{self.name} cannot be called with {count} arguments: {error}"
        except ValueError:  # some builtins have no signature
            return None
        return None

    def apply(self, arguments: Sequence[pa.Array], rows: int) -> pa.Array:
        """The function on every row; nulls are given as None, or as Arrow has them where it is vectorised."""
        if not rows:
            return pa.nulls(0, self.returns)
        return self._at_once(arguments, rows) if self.vectorised else self._one_by_one(arguments, rows)

    def _one_by_one(self, arguments: Sequence[pa.Array], rows: int) -> pa.Array:
        values = [column.to_pylist(maps_as_pydicts="strict") for column in arguments]
        found: list[Any] = []
        for row, given in enumerate(zip(*values, strict=True) if values else [()] * rows):
            try:
                found.append(self.call(*given))
            except Exception as error:
                raise Raised(row, f"{self.name} raised {type(error).__name__}: {error}") from error
        return self._typed(found)

    def _typed(self, found: list[Any]) -> pa.Array:
        try:
            return pa.array(found, self.returns)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            for row, value in enumerate(found):
                try:
                    pa.array([value], self.returns)
                except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                    raise Raised(row, f"{self.name} gave {_shown(value)}, and it returns {self.returns}") from error
            raise

    def _at_once(self, arguments: Sequence[pa.Array], rows: int) -> pa.Array:
        try:
            found = self.call(*arguments)
        except Exception as error:
            raise Raised(None, f"{self.name} raised {type(error).__name__}: {error}") from error
        try:
            column = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else \
                found if isinstance(found, pa.Array) else pa.array(found, self.returns)
            column = column if column.type == self.returns else column.cast(self.returns)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise Raised(None, f"{self.name} gave {type(found).__name__}, and it returns a column of {self.returns}: "
                               f"{error}") from error
        if len(column) != rows:
            raise Raised(None, f"{self.name} gave {len(column)} values for {rows} rows: it must give one for each")
        return column


_known: dict[str, UserFunction] = {}
_given: dict[tuple[Any, ...], UserFunction] = {}
_numbers = count(1)


def register(name: str, call: Callable[..., Any], returns: pa.DataType, takes: tuple[str, ...] | None,
             vectorised: bool) -> UserFunction:
    """A function under a key of its own; the same one, given again, has the same."""
    given = (name.lower(), id(call), returns, takes, vectorised)  # its id stays its own: a known function is kept
    found = _given.get(given)
    if found is None:
        key = f"{name.lower()}__pw{next(_numbers)}_{_PROCESS}"
        found = _given[given] = _known[key] = UserFunction(name, call, returns, takes, vectorised, key)
    return found


def remember(functions: Sequence[UserFunction]) -> None:
    """Functions that came with an expression from another process."""
    _known.update({function.key: function for function in functions})


def known(key: str) -> UserFunction | None:
    """The function that an expression calls by this name, if it is one of a user."""
    return _known.get(key.lower())


def called_in(text: str) -> tuple[UserFunction, ...]:
    """The functions that an expression calls."""
    if "__pw" not in text.lower():
        return ()
    keys = dict.fromkeys(match.lower() for match in _CALLED.findall(text))
    return tuple(_known[key] for key in keys if key in _known)


def plain_names(text: str) -> str:
    """An expression as it was written.

    >>> plain_names("1 + score__pw3_9f2c4100(a)")
    '1 + score(a)'
    """
    return _NAMED.sub("", text) if "__pw" in text.lower() else text


def _shown(value: Any) -> str:
    text = f"{type(value).__name__} {value!r}"
    return text if len(text) <= 200 else f"{text[:200]}…"
