"""Plans that are nearly another: a window longer or shorter, a condition less, another function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sqlglot import exp

from panewise.core.join_kinds import JoinKind
from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.windows.calendar import CalendarWindow
from panewise.windows.count import CountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import NowWindow, TumblingWindow
from panewise.windows.tuple_slide import TupleSlideWindow

OTHERS = {"max": ("min", "sum", "last"), "min": ("max", "sum"), "sum": ("max", "last", "avg"), "avg": ("max", "sum"),
          "median": ("max", "avg")}
"""What stands in for an aggregate function."""
PARAMETERS = {0.05: 0.4, 0.9: 0.1, 2: 1, 1: 3}
"""What stands in for a constant of one."""
ENDLESS = 10**7
MOST_BANDS = {"both": "strict", "strict": "both", "left": "right", "right": "left"}


def mutations(plan: n.Node) -> Iterator[tuple[str, n.Node]]:
    """All that differ in one thing, with its name."""
    names: dict[str, int] = {}
    for name, other in _changed(plan):
        if other != plan:
            names[name] = number = names.get(name, 0) + 1
            yield (f"{name} ({number})" if number > 1 else name), other
    without = _everywhere(plan)
    if without != plan:
        yield "not INTERNAL", without


def _changed(value: Any) -> Iterator[tuple[str, Any]]:
    """A part of a plan with one change, in it or somewhere below."""
    yield from _here(value)
    for field in fields(value) if is_dataclass(value) else ():
        below = getattr(value, field.name)
        if isinstance(below, tuple):
            for place, item in enumerate(below):
                for name, other in _changed(item):
                    yield name, replace(value, **{field.name: (*below[:place], other, *below[place + 1:])})
        elif is_dataclass(below) and not isinstance(below, Scalar):
            for name, other in _changed(below):
                if field.init:
                    yield name, replace(value, **{field.name: other})


def _here(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case n.WindowClause():
            yield from ((name, replace(value, spec=spec)) for name, spec in _specs(value))
            if value.predicate is not None:
                yield "no window WHERE", replace(value, predicate=None)
        case n.AggregateCall():
            yield from _calls(value)
        case n.Filter():
            yield from ((name, replace(value, predicate=left) if left else value.input)
                        for name, left in _conditions(value.predicate))
        case n.Distinct():
            yield "no DISTINCT", value.input
            if value.policy == "recent":
                yield "KEEP for RECENT", replace(value, policy="keep")
        case n.BagDifference():
            yield "NOT EXISTS", _anti(value)
            yield "no EXCEPT", value.left
        case n.RelationToStream():
            if value.restore:
                yield "no restore", replace(value, restore=False)
        case n.Lifetime():
            yield "no LIFETIME", value.input
            yield from ((f"LIFETIME {how}", replace(value, amount=amount)) for how, amount in _lengths(value.amount))
        case n.Union():
            yield from (("one part less", replace(value, parts=value.parts[:i] + value.parts[i + 1:]))
                        for i in range(len(value.parts)))
        case n.AntiJoin():
            yield "no NOT EXISTS", value.left
        case n.SemiJoin():
            yield "no EXISTS", value.left
        case n.TumblingJoin():
            yield from ((f"range {how}", replace(value, range=amount)) for how, amount in _lengths(value.range))
            yield "buckets moved", replace(value, origin=value.origin + value.range // 2)
        case n.BandJoin():
            yield from _bands(value)
    if isinstance(value, n.TimePairs) and value.kind in (JoinKind.LEFT, JoinKind.FULL):
        yield "inner join", replace(value, kind=JoinKind.INNER)
    if isinstance(value, n.Join | n.TimePairs | n.TableJoin | n.SemiJoin | n.AntiJoin) and value.predicate is not None:
        yield from ((name, replace(value, predicate=left)) for name, left in _conditions(value.predicate))


def _lengths(length: int) -> Iterator[tuple[str, int]]:
    yield "doubled", 2 * length
    if abs(length) > 1:
        yield "halved", length // 2


def _specs(clause: n.WindowClause) -> Iterator[tuple[str, Any]]:
    spec = clause.spec
    match spec:
        case CountWindow():
            yield from ((f"rows {how}", replace(spec, n=length)) for how, length in _lengths(spec.n))
            yield "all rows", replace(spec, n=ENDLESS)
        case NowWindow():
            yield "no NOW", BandWindow()
        case TumblingWindow():
            yield from ((f"range {how}", replace(spec, range=length)) for how, length in _lengths(spec.range))
            yield "unbounded", BandWindow()
        case SlidingWindow():
            yield from ((f"range {how}", replace(spec, range=length)) for how, length in _lengths(spec.range))
            if spec.lag:
                yield "no LAG", replace(spec, lag=0)
            if spec.clock is not None and clause.has_time_range:
                yield "unbounded", LandmarkWindow(spec.slide, spec.origin)
        case TupleSlideWindow():
            yield from ((f"range {how}", replace(spec, range=length)) for how, length in _lengths(spec.range))
            yield "every row", replace(spec, every=spec.every + 1)
        case SessionWindow():
            yield from ((f"gap {how}", replace(spec, gap=length)) for how, length in _lengths(spec.gap))
        case CalendarWindow():
            yield "range doubled", replace(spec, range=2 * spec.range, slide=spec.step)
        case LandmarkWindow():
            yield from ((f"slide {how}", replace(spec, slide=length)) for how, length in _lengths(spec.slide))
        case BandWindow():
            if spec.lower is not None:
                yield "no START AT", replace(spec, lower=None)
            if spec.upper is not None:
                yield "no END AT", replace(spec, upper=None)


def _calls(call: n.AggregateCall) -> Iterator[tuple[str, n.AggregateCall]]:
    for other in OTHERS.get(call.function, ()):
        yield f"{other} for {call.function}", replace(call, function=other)
    if call.function == "count" and call.arguments and not call.distinct:
        yield "count(*)", replace(call, arguments=())
    if call.distinct:
        yield "no DISTINCT", replace(call, distinct=False)
    if call.parameters and call.parameters[0] in PARAMETERS:
        yield "parameter", replace(call, parameters=(PARAMETERS[call.parameters[0]], *call.parameters[1:]))


def _conditions(predicate: Scalar) -> Iterator[tuple[str, Scalar | None]]:
    """Without one of those that AND joins, or one of those that OR does."""
    for kind, word in ((exp.And, "AND"), (exp.Or, "OR")):
        tree = predicate.tree
        found = list(tree.unnest().flatten()) if isinstance(tree.unnest(), kind) else []
        for place, condition in enumerate(found):
            left = [other.copy() for other in found if other is not condition]
            joined = exp.and_(*left) if kind is exp.And else exp.or_(*left)
            yield f"{word} without its part {place + 1}", Scalar.of(joined)
    if not isinstance(predicate.tree.unnest(), exp.And):
        yield "no condition", None


def _bands(join: n.BandJoin) -> Iterator[tuple[str, n.BandJoin]]:
    for side in ("left_range", "right_range"):
        for how, length in _lengths(getattr(join, side)):
            if (other := replace(join, **{side: length})).left_range >= -other.right_range:
                yield f"{side} {how}", other
    yield "other bounds", replace(join, bounds=MOST_BANDS[join.bounds])


def _anti(difference: n.BagDifference) -> n.Node:
    pairs = zip(difference.left.columns, difference.right.columns, strict=True)
    equal = exp.and_(*(exp.EQ(this=Scalar.column(one).tree, expression=Scalar.column(f"r.{other}").tree)
                       for one, other in pairs))
    return n.AntiJoin(difference.left, n.Qualify(difference.right, "r"), Scalar.of(equal))


def _everywhere(value: Any) -> Any:
    """Without INTERNAL, wherever it stands."""
    if isinstance(value, tuple):
        return tuple(map(_everywhere, value))
    if not is_dataclass(value) or isinstance(value, Scalar):
        return value
    changes = {field.name: _everywhere(getattr(value, field.name)) for field in fields(value) if field.init}
    if "internal" in changes:
        changes["internal"] = False
    return replace(value, **changes)
