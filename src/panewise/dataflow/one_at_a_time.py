"""A running query used from several threads: one call at a time, and listeners that may call back.

Operators and kernels know nothing of threads. The public face of a query does: every public method and property of a
class below :class:`OneAtATime` holds the query's lock while it works, so each call sees the query between two others.

Listeners are called when the call that found something is done, still in its turn: in the order in which things
happened, whatever thread they came from, and with a query that is whole again. So a listener may use the query. What
such a call finds reaches listeners after the first has returned, not inside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import Token
from functools import wraps
from inspect import isfunction
from threading import RLock
from typing import Any, TypeVar, cast

from panewise.functions.binding.session import UTC, enter_zone, leave_zone
from panewise.plan.nodes import Node, zone_of

Message = TypeVar("Message")
Init = TypeVar("Init", bound=Callable[..., None])


class Turn:
    """The lock of a query, and what its listeners are still to be called with."""

    __slots__ = ("_depth", "_lock", "_telling", "_tokens", "_untold", "zone")

    def __init__(self) -> None:
        self._lock = RLock()
        self.zone = UTC
        """In which expressions read clocks while a call is in progress."""
        self._tokens: list[Token[str]] = []
        self._depth = 0
        self._telling = False
        self._untold: deque[tuple[Callable[[Any], object], Any]] = deque()

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        self._tokens.append(enter_zone(self.zone))

    def __exit__(self, *_: object) -> None:
        try:
            leave_zone(self._tokens.pop())
            self._depth -= 1
            if self._untold and not self._depth and not self._telling:
                self._tell()
        finally:
            self._lock.release()

    def later(self, listener: Callable[[Message], object]) -> Callable[[Message], object]:
        """A listener that is called when the call in progress is done."""
        return lambda message: self._untold.append((listener, message))

    def _tell(self) -> None:
        """All listeners are called, then the first error is raised: one that fails silences no other."""
        self._telling, failed = True, None
        try:
            while self._untold:
                listener, message = self._untold.popleft()
                try:
                    listener(message)
                except Exception as error:
                    failed = failed or error
        finally:
            self._telling = False
        if failed is not None:
            raise failed


class OneAtATime:
    """A class whose public methods and properties may be used from any number of threads.

    >>> class Counter(OneAtATime):
    ...     def __init__(self):
    ...         self.count, self.heard = 0, []
    ...     def add(self, listener):
    ...         self.count += 1
    ...         self._turn.later(listener)(self.count)
    ...         self.count += 1                                       # listeners do not see the query before this
    >>> counter = Counter()
    >>> counter.add(lambda seen: print(seen, counter.count))
    1 2
    """

    _turn: Turn

    def __new__(cls, *_: Any, **__: Any) -> Any:
        """The lock is there before anything else is, whatever ``__init__`` does."""
        made = super().__new__(cls)
        made._turn = Turn()
        return made

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, member in list(vars(cls).items()):
            if name.startswith("_"):
                continue
            if isinstance(member, property) and member.fget is not None:
                setattr(cls, name, property(_in_turn(member.fget), doc=member.__doc__))
            elif isfunction(member):
                setattr(cls, name, _in_turn(member))


def in_zone_of_plan(init: Init) -> Init:
    """Of ``__init__`` of a query, whose first argument is its plan: it works in the time zone of the plan, ever after.

    What is opened is bound in its zone, and so is what later calls compute.
    """
    @wraps(init)
    def opened(self: OneAtATime, plan: Node, *args: Any, **options: Any) -> None:
        self._turn.zone = zone_of(plan)
        with self._turn:
            init(self, plan, *args, **options)
    return cast("Init", opened)


def _in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(self: OneAtATime, *args: Any, **options: Any) -> Any:
        with self._turn:
            return method(self, *args, **options)
    return called
