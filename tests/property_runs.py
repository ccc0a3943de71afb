"""Property tests seen from outside: what they draw when every run asks the same question, and how long a soak is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from hypothesis import is_hypothesis_test, settings

SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a test; it has no public way to change them."""


class _SeenError(Exception):
    """The case has been drawn, so the test need not go on."""


class _Looking:
    """The interactive draw of a test: the first case of this kind ends it."""

    def __init__(self, data: Any, kind: type) -> None:
        self._data, self._kind, self.case = data, kind, None

    def draw(self, strategy: Any, label: Any = None) -> Any:
        value = self._data.draw(strategy, label)
        if isinstance(value, self._kind):
            self.case = value
            raise _SeenError
        return value


def drawn(test: Callable[..., Any], kind: type, name: str, /, **chosen: Any) -> Iterator[dict[str, Any]]:
    """The arguments and the ``case`` of each example that a test named so draws before a change lands."""
    found: list[dict[str, Any]] = []
    handle: Any = test.hypothesis  # type: ignore[attr-defined]
    inner = handle.inner_test

    @wraps(inner)  # the seed follows from its source
    def look(**given: Any) -> None:
        looking = _Looking(given["data"], kind)
        try:
            inner(**{**given, "data": looking})
        except _SeenError:
            found.append({**given, "case": looking.case})

    look._hypothesis_internal_add_digest = name.encode()  # type: ignore[attr-defined]
    with _changed(test, derandomize=True, database=None):
        handle.inner_test = look
        try:
            test(**chosen)
        finally:
            handle.inner_test = inner
    yield from found


@contextmanager
def _changed(test: Any, **changes: Any) -> Iterator[None]:
    before = getattr(test, SETTINGS)
    setattr(test, SETTINGS, settings(before, **changes))
    try:
        yield
    finally:
        setattr(test, SETTINGS, before)


def is_soaking() -> bool:
    """Whether tests were asked to search long."""
    return settings.get_current_profile_name() == "soak"


def prolong(test: Any) -> bool:
    """Let a property test try as many examples as the profile says, not the few it may before a change lands."""
    test = getattr(test, "__func__", test)
    if not is_hypothesis_test(test):
        return False
    setattr(test, SETTINGS, settings(getattr(test, SETTINGS), max_examples=settings().max_examples))
    return True
