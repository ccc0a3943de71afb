"""What the options of the entry points may be: a value of another type is refused by the option's name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from functools import wraps
from typing import Any, TypeVar

from panewise.core.errors import PlanError, shortened

Entry = TypeVar("Entry", bound=Callable[..., Any])

_NOTHING = type(None)
_NAME = (str, Enum)
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "late": (_NAME, "a policy, such as 'generous'"),
    "progress": ((str, Mapping), "a policy, such as 'late:10s', or one for each stream by its name"),
    "emit": ((str,), "'final' or a policy, such as 'early:10s'"),
    "strategy": (_NAME, "a name, such as 'auto'"),
    "joins": (_NAME, "a name, such as 'auto'"),
    "engine": ((str, _NOTHING), "a name, such as 'embedded'"),
    "params": ((Mapping, _NOTHING), "values by the names of parameters"),
    "functions": ((Mapping, _NOTHING), "functions by their names"),
    "columns": ((Mapping, _NOTHING), "columns by the names of streams, such as {'s': 'ts bigint'}"),
    "time": ((str, Mapping, _NOTHING), "a column, or one for each stream by its name"),
    "stats": ((str, Mapping, _NOTHING), "statistics by their names, such as {'groups': 10}"),
    "max_jump": ((int, str, timedelta, _NOTHING), "a number of ticks or a duration, such as '1 hour'"),
    "now": ((datetime, _NOTHING), "a datetime with its time zone"),
    "checkpoint": ((str, os.PathLike, _NOTHING), "the path of a directory"),
    "checkpoint_seconds": ((int, float, _NOTHING), "a number of seconds"),
}
_OF_EACH: dict[str, tuple[tuple[type, ...], str]] = {
    "progress": ((str,), "a policy"), "time": ((str, _NOTHING), "a column"),
}
"""What may stand for one stream."""


def options_checked(entry: Entry) -> Entry:
    """An entry point that refuses options of another type than they have, before anything else happens.

    >>> @options_checked
    ... def sql(text, *, late="generous"):
    ...     return late
    >>> sql("SELECT 1", late=5)
    Traceback (most recent call last):
    ...
    panewise.core.errors.PlanError: late=5: give a policy, such as 'generous'; ...
    """
    @wraps(entry)
    def called(*arguments: Any, **options: Any) -> Any:
        for name, given in options.items():
            if name in _TYPES:
                _check(name, given)
        return entry(*arguments, **options)

    return called  # type: ignore[return-value]


def _check(name: str, given: Any) -> None:
    types, meant = _TYPES[name]
    if not isinstance(given, types) or (isinstance(given, bool) and bool not in types):
        raise PlanError(f"{name}={shortened(repr(given))}: give {meant}; an input of this name goes into "
                        f"streams={{{name!r}: ...}}")
    for key, one in given.items() if isinstance(given, Mapping) else ():
        if not isinstance(key, str):
            raise PlanError(f"{name}={shortened(repr(given))}: {key!r} is no name")
        if name in _OF_EACH and not isinstance(one, _OF_EACH[name][0]):
            raise PlanError(f"{name}={shortened(repr(given))}: {one!r} of {key!r} is not {_OF_EACH[name][1]}")
