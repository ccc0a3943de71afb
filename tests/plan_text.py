"""A plan as text: one line per node with all its parameters, inputs indented below.

The text is complete (two plans with the same text are the same plan) and stable, so that golden files can hold it.
Amounts on timestamps are shown as durations.
"""

from __future__ import annotations

from dataclasses import fields

from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.time import format_duration, format_timestamp
from panewise.plan import nodes as n
from panewise.windows.base import WindowSpec

LENGTHS = frozenset({"range", "slide", "lag", "gap"})
UNSAID = frozenset({"origin", "lag", "keeps_history", "partitioned"})
"""Left out where they have their usual value."""
INSTANTS = frozenset({"origin", "lower", "upper", "registered_at"})


def render(plan: n.Node) -> str:
    """The plan from the root down.

    >>> from panewise.core.scalar import Scalar
    >>> from panewise.core.schema import SourceSchema
    >>> print(render(n.Filter(n.Source("S", SourceSchema(open=True)), Scalar("a > 3"))))
    Filter a > 3
      Source S
    """
    return "\n".join(_lines(plan, 0))


def _lines(node: n.Node, depth: int) -> list[str]:
    lines = ["  " * depth + describe(node)]
    for child in node.inputs:
        lines.extend(_lines(child, depth + 1))
    return lines


def describe(node: n.Node) -> str:
    """One node without its inputs."""
    name = type(node).__name__
    match node:
        case n.Source(name=stream) | n.Table(name=stream):
            details = [stream, *([node.schema.kind.value] if isinstance(node, n.Table) else [])]
        case n.Qualify(alias=alias):
            details = [f"as {alias}"]
        case n.Filter(predicate=predicate):
            details = [str(predicate)]
        case n.Project(items=items):
            details = [_named(items)]
        case n.Explode(names=names):
            details = [f"{node.call} AS {', '.join(names)}"]
        case n.Window(clause=clause):
            details = [clause_text(clause)]
        case n.Distinct(policy=policy):
            details = [f"({policy})"]
        case n.WindowAggregate():
            details = [_grouped(node.keys, node.aggregates), clause_text(node.window), f"-> {', '.join(node.columns)}"]
        case n.GroupAggregate():
            details = [_grouped(node.keys, node.aggregates), "internal" if node.internal else ""]
        case n.BandJoin():
            ranges = [f"{node.left_time} with range {_length(node.left_range)},",
                      f"{node.right_time} with range {_length(node.right_range)},"]
            if min(node.left_range, node.right_range) < 0:
                ranges = [f"{node.right_time} - {node.left_time} from {_length(-node.right_range)} to "
                          f"{_length(node.left_range)},"]
            details = [_kind(node), *ranges, f"bounds {node.bounds}", _on(node.predicate)]
        case n.TumblingJoin():
            details = [_kind(node), f"{node.left_time} and {node.right_time} in buckets of {_length(node.range)}"
                       + (f" from {node.origin}" if node.origin else ""), _on(node.predicate)]
        case n.Join() | n.TableJoin() | n.SemiJoin() | n.AntiJoin():
            details = [_on(node.predicate)]
        case n.RelationToStream():
            window = node.output_window
            details = [node.kind.value + ("-restore" if node.restore else ""), clause_text(window) if window else ""]
        case n.Lifetime(amount=amount):
            details = [f"{amount} ticks"]
        case _:
            details = []
    return " ".join([name, *(d for d in details if d)])


def clause_text(clause: n.WindowClause) -> str:
    """A window with everything that makes it up."""
    text = f"[{clause.spec.kind} on {clause.attribute} ({clause.ordinal.value}): {_spec(clause.spec, clause.ordinal)}"
    if clause.partition:
        text += f"; per {', '.join(clause.partition)}"
    if clause.predicate is not None:
        text += f"; where {clause.predicate}"
    return text + "; internal" * clause.internal + "; numbered" * clause.numbered + "]"


def _spec(spec: WindowSpec, ordinal: OrdinalKind) -> str:
    parts = []
    for f in fields(spec):
        value = getattr(spec, f.name)
        if value is None or (f.name in UNSAID and value == f.default):
            continue
        if ordinal is OrdinalKind.TIMESTAMP and isinstance(value, int) and spec.kind != "calendar":
            if f.name in LENGTHS:
                value = _length(value)
            elif f.name in INSTANTS and value:
                value = format_timestamp(value)
        elif isinstance(value, OrdinalKind):
            value = value.value
        parts.append(f"{f.name} {getattr(value, 'value', value)}")
    return ", ".join(parts)


def _length(amount: int) -> str:
    return format_duration(amount)


def _kind(node: n.TimePairs) -> str:
    return "" if node.kind is JoinKind.INNER else f"{node.kind.value},"


def _on(predicate: object) -> str:
    return f"on {predicate}" if predicate is not None else ""


def _named(items: tuple[n.NamedScalar, ...]) -> str:
    return ", ".join(i.name if i.scalar.column_name == i.name else f"{i.scalar} as {i.name}" for i in items)


def _grouped(keys: tuple[n.NamedScalar, ...], aggregates: tuple[n.AggregateCall, ...]) -> str:
    by = f" by {_named(keys)}" if keys else ""
    return f"{{{', '.join(map(_call, aggregates))}}}{by}"


def _call(call: n.AggregateCall) -> str:
    inside = ", ".join([*map(str, call.arguments), *(f"={p!r}" for p in call.parameters)]) or "*"
    return f"{call.function}({'distinct ' if call.distinct else ''}{inside}) as {call.name}"
