"""The allow-list: every one-row function, what it takes, what it gives and how it is computed.

A function is a Python function on Arrow values, declared with its types:

    @function("upper", "ucase", takes=[STRING], gives=STRING)
    def upper(text): return pc.utf8_upper(text)

Arguments arrive in the declared types, already cast as Spark casts them implicitly. Each is an Arrow array, or a scalar
where the argument is constant (``arrays=True`` asks for arrays). A parameter ``here`` gets the call itself: the result
type, the time zone, and ``here.fail_where`` for rows without a value.

A name may be declared several times, for other types; the first declaration whose parameters take the arguments as they
are is chosen, else the first that takes them with implicit casts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Datum

Gives: TypeAlias = pa.DataType | Callable[..., pa.DataType]


@dataclass(frozen=True)
class Kind:
    """A parameter that takes more than one type: which ones as they are, and what others are cast to."""

    name: str
    takes: Callable[[pa.DataType], bool]
    cast: Callable[[pa.DataType], pa.DataType | None] = field(default=lambda given: None)


Parameter: TypeAlias = pa.DataType | Kind
Check: TypeAlias = Callable[[Sequence[Bound]], str | None]


@dataclass(frozen=True)
class Function:
    """One declaration of a function."""

    name: str
    takes: tuple[Parameter, ...]
    gives: Gives
    """A type, or a function from the types of the arguments (after casts) to it."""
    run: Callable[..., Datum]
    optional: int = 0
    """How many of the last parameters may be left out."""
    variadic: bool = False
    """Whether the last parameter may be repeated any number of times (also not at all)."""
    constants: frozenset[int] = frozenset()
    """Arguments that must be constant."""
    arrays: bool = False
    note: str = ""
    """What a reader of the list of functions should know."""
    by_value: bool = False
    """Computed once per distinct value, in Python."""
    check: Check | None = None
    """Says why bound arguments are refused: a constant pattern that has no meaning here, for instance."""

    @property
    def needs_here(self) -> bool:
        """Whether it asks about its call."""
        return "here" in inspect.signature(self.run).parameters

    def parameters_for(self, count: int) -> tuple[Parameter, ...] | None:
        """A parameter for each of so many arguments; None if there cannot be so many."""
        least = len(self.takes) - self.optional - self.variadic
        if count < least or (not self.variadic and count > len(self.takes)):
            return None
        if count <= len(self.takes):
            return self.takes[:count]
        return (*self.takes, *[self.takes[-1]] * (count - len(self.takes)))


Special: TypeAlias = Callable[..., Bound]
"""Binds a call itself: ``special(binder, tree, arguments)``."""

Operator: TypeAlias = Callable[..., Bound]
"""Binds a call from bound arguments, where their types decide together: ``operator(binder, arguments, tree)``."""

_functions: dict[str, list[Function]] = {}
_operators: dict[str, Operator] = {}
_specials: dict[str, Special] = {}


def function(*names: str, takes: Sequence[Parameter] = (), gives: Gives, optional: int = 0, variadic: bool = False,
             constants: Sequence[int] = (), arrays: bool = False, note: str = "",
             by_value: bool = False, check: Check | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function under one or more names."""
    def declare(run: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            _functions.setdefault(name, []).append(
                Function(name, tuple(takes), gives, run, optional, variadic, frozenset(constants), arrays, note,
                         by_value, check))
        return run
    return declare


def special(*names: str) -> Callable[[Special], Special]:
    """Declare a function that binds its own call: branches, lambdas, constructors of structs, units of time."""
    def declare(bind: Special) -> Special:
        for name in names:
            _specials[name] = bind
        return bind
    return declare


def operator(*names: str) -> Callable[[Operator], Operator]:
    """Declare a function whose arguments are cast together: arithmetic, comparisons, ``greatest``."""
    def declare(bind: Operator) -> Operator:
        for name in names:
            _operators[name] = bind
        return bind
    return declare


def declarations(name: str) -> list[Function]:
    """Every declaration of a name."""
    return _functions.get(name, [])


def special_of(name: str) -> Special | None:
    """How a name binds its own call, if it does."""
    return _specials.get(name)


def operator_of(name: str) -> Operator | None:
    """How a name binds bound arguments, if it does."""
    return _operators.get(name)


def supported_names() -> frozenset[str]:
    """Every function that can be called; signs and helpers of the binder are not among them."""
    return frozenset(name for known in (_functions, _operators, _specials) for name in known
                     if name.isidentifier() and not name.startswith("_"))
