"""Entry points: their keywords are the declared options, the other keywords name inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

from panewise.api.naming import named_inputs, refuse_unknown
from panewise.core.errors import PlanError
from panewise.planner.options import OPTIONS, RunOptions, options_of

Result = TypeVar("Result")


def entry_point(function: Callable[..., Result]) -> Callable[..., Result]:
    """A function of a text, its options and its inputs, called with keywords.

    Options are those that are declared for it; its own keyword-only parameters go on to it as they are. What is left
    names inputs, together with those in ``streams={...}``, or is an option that was misspelt.

    >>> @entry_point
    ... def sql(text, options, inputs):
    ...     return options.late.value, inputs
    >>> sql("SELECT ts FROM s", late="side", s=[])
    ('side', {'s': []})
    >>> sql("SELECT ts FROM s", lat="side", s=[])
    Traceback (most recent call last):
    panewise.core.errors.PlanError: no option 'lat' and no stream of that name in the query; did you mean 'late'?
    """
    known, own = options_of(function.__name__), keywords_of(function)
    names = [*known, *own, "streams"]

    @wraps(function)
    def called(text: str, /, *, streams: Mapping[str, Any] | None = None, **given: Any) -> Result:
        if not isinstance(text, str):
            raise PlanError(f"text= is a {type(text).__name__}: give the query as text, as in {function.__name__}("
                            "'SELECT * FROM s', ...)")
        options, more = _taken(given, known), _taken(given, own)
        inputs = named_inputs(text, streams, given, names)
        return function(text, RunOptions(**options), inputs, **more)

    first = Parameter("text", Parameter.POSITIONAL_ONLY, annotation="str")
    _describe(called, [first], known, [*own.values(), Parameter("streams", Parameter.KEYWORD_ONLY, default=None)],
              [Parameter("inputs", Parameter.VAR_KEYWORD)])
    return called


def builder_point(function: Callable[..., Result]) -> Callable[..., Result]:
    """The same for a function of one input, whose every keyword is an option."""
    known, own = options_of(function.__name__), keywords_of(function)

    @wraps(function)
    def called(source: Any, **given: Any) -> Result:
        options, more = _taken(given, known), _taken(given, own)
        refuse_unknown(given, [*known, *own])
        return function(source, RunOptions(**options), **more)

    _describe(called, [Parameter("source", Parameter.POSITIONAL_OR_KEYWORD)], known, list(own.values()), [])
    return called


def keywords_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The keyword-only parameters of a function."""
    return {n: p for n, p in signature(function).parameters.items() if p.kind is Parameter.KEYWORD_ONLY}


def _taken(given: dict[str, Any], names: Any) -> dict[str, Any]:
    """These keywords, which are then no more among the given."""
    return {name: given.pop(name) for name in list(given) if name in names}


def _describe(called: Any, first: list[Parameter], known: list[str], own: list[Parameter],
              last: list[Parameter]) -> None:
    """What `help` and notebooks show: every keyword with its default, and what each option is."""
    keywords = [Parameter(n, Parameter.KEYWORD_ONLY, default=OPTIONS[n].default) for n in known]
    called.__signature__ = Signature([*first, *keywords, *own, *last])
    told = "\n".join(f"    {name}: {OPTIONS[name].help}" for name in known)
    called.__doc__ = f"{(called.__doc__ or '').rstrip()}\n\n    Options:\n\n{told}\n    "
