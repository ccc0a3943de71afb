"""Aggregate functions by name: the built-in ones with their aliases, and those a user registers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from panewise.aggregates.base import Aggregate
from panewise.aggregates.chosen import MaxBy, MinBy
from panewise.aggregates.count import Count
from panewise.aggregates.extremes import Max, Min
from panewise.aggregates.frequent import ApproxHeavyHitters
from panewise.aggregates.mass import CentreOfMass
from panewise.aggregates.moments import StddevPop, StddevSamp, VarPop, VarSamp
from panewise.aggregates.multiset import CountDistinct, Distinct, HeavyHitters, Mode, TopK
from panewise.aggregates.order import First, Last
from panewise.aggregates.pane_lists import FrequentItems
from panewise.aggregates.quantiles import Median, Percentile
from panewise.aggregates.sketches import ApproxCountDistinct, ApproxPercentile
from panewise.aggregates.sums import Avg, Sum
from panewise.core.errors import AggregateError

Factory = Callable[..., Aggregate]

BUILT_IN: dict[type[Aggregate], tuple[str, ...]] = {
    Count: ("count",),
    Sum: ("sum",),
    Min: ("min",),
    Max: ("max",),
    Avg: ("avg", "mean", "average"),
    VarSamp: ("var_samp", "variance", "var"),
    VarPop: ("var_pop",),
    StddevSamp: ("stddev_samp", "stddev", "std"),
    StddevPop: ("stddev_pop",),
    CentreOfMass: ("centre_of_mass", "center_of_mass"),
    First: ("first", "first_value", "any_value"),
    Last: ("last", "last_value"),
    MaxBy: ("max_by", "arg_max"),
    MinBy: ("min_by", "arg_min"),
    CountDistinct: ("count_distinct",),
    ApproxCountDistinct: ("approx_count_distinct", "approx_distinct"),
    Median: ("median",),
    Percentile: ("percentile", "quantile"),
    ApproxPercentile: ("approx_percentile", "percentile_approx", "approx_quantile"),
    Mode: ("mode",),
    TopK: ("top_k", "topk"),
    HeavyHitters: ("heavy_hitters",),
    ApproxHeavyHitters: ("approx_heavy_hitters",),
    FrequentItems: ("frequent_items",),
}
"""The built-in functions and the names they answer to; the first is the one shown."""

REQUIRED_PARAMETERS: dict[type[Aggregate], tuple[int, str]] = {
    Percentile: (1, "percentile(x, 0.95)"),
    ApproxPercentile: (1, "approx_percentile(x, 0.95)"),
    TopK: (1, "top_k(x, 10)"),
    HeavyHitters: (1, "heavy_hitters(x, 0.01)"),
    ApproxHeavyHitters: (1, "approx_heavy_hitters(x, 0.01)"),
    FrequentItems: (1, "frequent_items(x, 10)"),
}
"""How many constants must be written although the class has a default, and how."""

_factories: dict[str, Factory] = {name: kind for kind, names in BUILT_IN.items() for name in names}


def names() -> list[str]:
    """Every name ``resolve`` knows."""
    return sorted(_factories)


def is_aggregate(name: str) -> bool:
    """Whether this is the name of an aggregate function, in any case.

    >>> is_aggregate("MAX"), is_aggregate("upper")
    (True, False)
    """
    return name.lower() in _factories


def resolve(function_name: str, parameters: Sequence[Any] = (), distinct: bool = False) -> Aggregate:
    """The function of this name with its constants fixed.

    >>> resolve("Quantile", (0.9,)), resolve("count", distinct=True), resolve("sum", distinct=True)
    (Percentile(fraction=0.9), CountDistinct(), Distinct(function=Sum()))
    """
    name = function_name.lower()
    if name not in _factories:
        raise AggregateError(_unknown(function_name))
    aggregate = _create(name, tuple(parameters))
    return _distinct(aggregate) if distinct else aggregate


def register(aggregate: type[Aggregate] | Factory, *, name: str | None = None, aliases: Iterable[str] = (),
             replace: bool = False) -> None:
    """Add a user-defined aggregate: a class, or a function from the constants in the query to an aggregate.

    Only the scalar form and the Arrow types of the state are needed; the columnar form follows from them, one Python
    call per row. Where work runs in other processes (Spark), those must import the module that registers.
    """
    main = name or getattr(aggregate, "name", "") or ""
    if not main:
        raise AggregateError(f"{aggregate!r} has no name: set the class attribute `name` or pass name=")
    for new in (main, *aliases):
        if not new.isidentifier():
            raise AggregateError(f"{new!r} cannot name an aggregate: use letters, digits and underscores")
        if is_aggregate(new) and not replace:
            raise AggregateError(f"an aggregate named {new!r} exists already: choose another name, or pass "
                                 "replace=True")
    for new in (main, *aliases):
        _factories[new.lower()] = aggregate


def unregister(name: str) -> None:
    """Forget a registered name; a built-in one becomes itself again."""
    _factories.pop(name.lower(), None)
    _factories.update({n: kind for kind, known in BUILT_IN.items() for n in known if n == name.lower()})


def lent(function_names: Iterable[str]) -> dict[str, Factory]:
    """The user's own among some functions, for a process that has not registered them."""
    own = {name.lower() for name in function_names} & _factories.keys()
    return {name: _factories[name] for name in own if _factories[name] not in BUILT_IN}


def borrow(factories: Mapping[str, Factory]) -> None:
    """Know what another process has lent."""
    _factories.update(factories)


def _create(name: str, parameters: tuple[Any, ...]) -> Aggregate:
    factory = _factories[name]
    if isinstance(factory, type) and factory in BUILT_IN:
        taken = [f.name for f in fields(factory) if not (factory is Median and f.name == "fraction")]
        least, example = REQUIRED_PARAMETERS.get(factory, (0, f"{name}(x)"))
        if not least <= len(parameters) <= len(taken):
            expected = f"{least} to {len(taken)}" if least < len(taken) else str(least)
            named = f" ({', '.join(taken)})" if taken else ""
            raise AggregateError(f"{name} takes {expected} constant{'s' * (expected != '1')}{named}, not "
                                 f"{len(parameters)}: write {example}")
    try:
        return factory(*parameters)
    except TypeError as error:
        raise AggregateError(f"{name} does not take the constants {parameters}: {error}") from error


def _distinct(aggregate: Aggregate) -> Aggregate:
    """``f(DISTINCT x)``; functions that do not see duplicates are themselves."""
    if isinstance(aggregate, Count):
        return CountDistinct()
    if aggregate.duplicate_insensitive:
        return aggregate
    return Distinct(aggregate)


def _unknown(name: str) -> str:
    close = get_close_matches(name.lower(), _factories, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return f"no aggregate function named {name!r}: {hint}There are {', '.join(names())}"
