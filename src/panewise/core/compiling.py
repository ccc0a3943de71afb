"""Loops compiled by numba on first use, and kept on disk where that is possible."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, overload

import numba

from panewise.core.errors import PanewiseWarning

Inline = Literal["never", "always"]
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class Compiled(Protocol[P, R_co]):
    """A compiled function, called like the one it was made of."""

    py_func: Callable[..., Any]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The function."""


@overload
def compiled(function: Callable[P, R_co]) -> Compiled[P, R_co]: ...
@overload
def compiled(*, inline: Inline) -> Callable[[Callable[P, R_co]], Compiled[P, R_co]]: ...
def compiled(function: Any = None, *, inline: Inline = "never") -> Any:
    """The decorator of every compiled loop; without a directory to write to each process compiles anew.

    numba refuses to cache where neither the package, nor the home directory, nor ``NUMBA_CACHE_DIR`` can be written to,
    as in a container with a read-only file system.
    """
    if function is None:
        return partial(compiled, inline=inline)
    try:
        return numba.njit(cache=True, nogil=True, inline=inline)(function)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        _warn()
        return numba.njit(nogil=True, inline=inline)(function)


@cache
def _warn() -> None:
    warnings.warn("compiled loops cannot be kept, because no directory can be written to: every process compiles them "
                  "anew, which takes seconds; set NUMBA_CACHE_DIR to a directory that can be", PanewiseWarning,
                  stacklevel=4)
