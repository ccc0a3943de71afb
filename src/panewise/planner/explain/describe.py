"""Plan nodes and windows in words, with quantities as people write them."""

from __future__ import annotations

from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import ROW_NUM
from panewise.plan import nodes as n
from panewise.planner.facts.patterns import format_amount
from panewise.windows.count import CountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.predicate import PredicateWindow
from panewise.windows.rows import RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import NowWindow, TumblingWindow
from panewise.windows.tuple_slide import TupleSlideWindow


def describe_window(clause: n.WindowClause) -> str:
    """A window clause on one line.

    >>> clause = n.WindowClause(SlidingWindow(600_000_000, 60_000_000), "ts", OrdinalKind.TIMESTAMP)
    >>> describe_window(clause)
    'range 10min, slide 1min on ts'
    """
    spec = clause.spec
    while isinstance(spec, PredicateWindow):
        spec = spec.spec
    text = _parameters(n.WindowClause(spec, clause.attribute, clause.ordinal, clause.partition))
    if not isinstance(spec, CountWindow) and not (clause.attribute == ROW_NUM and isinstance(spec, RowWindow)):
        text += f" on {clause.attribute}"
    if clause.partition:
        text += f", per {', '.join(clause.partition)}"
    if clause.predicate is not None:
        text += f", of rows where {clause.predicate}"
    return text + (", internal" if clause.internal else "")


def describe_context(clause: n.WindowClause) -> str:
    """The context class: what must be known of other rows to place a row in its windows.

    >>> describe_context(n.WindowClause(SlidingWindow(5, 1), "ts", OrdinalKind.INTEGER))
    'CF (context free)'
    """
    context = clause.spec.context_class
    return f"{context.name} ({context.value})"


def _parameters(clause: n.WindowClause) -> str:
    spec, unit = clause.spec, clause.ordinal

    def amount(value: int) -> str:
        return format_amount(value, unit)

    match spec:
        case RowWindow():
            extent, slide = (format_amount(value, OrdinalKind.ROWS) for value in (spec.range, spec.slide))
            return f"range {extent}, slide {slide}"
        case CountWindow():
            slide = f", slide {format_amount(spec.slide, OrdinalKind.ROWS)}" if spec.slide > 1 else ""
            return f"{spec.n} newest rows{slide}" if spec.n > 1 else f"the newest row{slide}"
        case TumblingWindow():
            return f"tumbling {amount(spec.range)}, {spec.disclosure.value}{_origin(spec, unit)}"
        case NowWindow():
            return f"now{_slide(spec, unit)}{_origin(spec, unit)}"
        case SlidingWindow():
            slide = _slide(spec, unit) or ", continuous"
            return f"range {amount(spec.range)}{slide}{_origin(spec, unit)}"
        case LandmarkWindow():
            return f"everything so far, slide {amount(spec.slide)}"
        case BandWindow():
            ends = [f"from {unit.text(spec.start)}" if spec.start is not None else "",
                    f"to {unit.text(spec.upper)}" if spec.upper is not None else ""]
            return " ".join(end for end in ends if end) or "unbounded"
        case SessionWindow():
            return f"session, gap {amount(spec.gap)}"
        case TupleSlideWindow():
            every = "every row" if spec.every == 1 else f"every {spec.every} rows by {spec.by.value}"
            return f"range {amount(spec.range)}, a window at {every}"
    return f"{spec.kind}: {spec.describe()}"


def _slide(spec: SlidingWindow, unit: OrdinalKind) -> str:
    return f", slide {format_amount(spec.slide, unit)}" if spec.slide > 1 else ""


def _origin(spec: SlidingWindow, unit: OrdinalKind) -> str:
    """Where windows are aligned, if not at the epoch, and the lag; a scope window is aligned by its registration."""
    text = f", lag {format_amount(spec.lag, unit)}" if spec.lag else ""
    shift = spec.origin % spec.slide
    if shift > 1:
        text += f", origin {unit.text(spec.origin)}"
    return text


def head(node: n.Node) -> tuple[str, str]:
    """The operator and its parameters.

    >>> from panewise.core.scalar import Scalar
    >>> from panewise.core.schema import SourceSchema
    >>> head(n.Filter(n.Source("S", SourceSchema()), Scalar.parse("a > 3")))
    ('Filter', 'a > 3')
    """
    return type(node).__name__, _detail(node)


def _detail(node: n.Node) -> str:
    match node:
        case n.Source():
            return f"stream {node.name}"
        case n.Table():
            updates = "updates reach only later rows" if node.schema.kind.value == "nrr" else "updates reach back"
            return f"table {node.name}, {updates}"
        case n.Qualify():
            return f"as {node.alias}"
        case n.Filter():
            return str(node.predicate)
        case n.Project():
            return ", ".join(_named(item) for item in node.items)
        case n.Explode():
            return f"{node.call} AS {', '.join(node.names)}"
        case n.Window():
            return describe_window(node.clause)
        case n.WindowAggregate():
            return f"{_calls(node.aggregates)}{_by(node.keys)} [{describe_window(node.window)}]"
        case n.GroupAggregate():
            internal = " (internal)" if node.internal else ""
            return f"{_calls(node.aggregates)}{_by(node.keys)}{internal}"
        case n.Distinct():
            return "representative kept" if node.policy == "keep" else "newest row"
        case n.BandJoin():
            unit = _unit(node.left, node.left_time)
            return f"{_kind(node)}{_on(node.predicate)}, {_distance(node, unit)}, bounds {node.bounds}"
        case n.TumblingJoin():
            unit = _unit(node.left, node.left_time)
            times = f"{node.left_time} and {node.right_time}"
            extent = format_amount(node.range, unit) + (f", origin {unit.text(node.origin)}" if node.origin else "")
            return f"{_kind(node)}{_on(node.predicate)}, {times} in one tumbling {extent}"
        case n.Join() | n.TableJoin() | n.SemiJoin() | n.AntiJoin():
            return _on(node.predicate)
        case n.RelationToStream():
            restore = "-restore" if node.restore else ""
            window = f" [{describe_window(node.output_window)}]" if node.output_window is not None else ""
            return f"{node.kind.value}{restore}{window}"
        case n.Lifetime():
            return f"stops after {format_amount(node.amount, _unit(node, None))}"
    return ""


def _distance(node: n.BandJoin, unit: OrdinalKind) -> str:
    back, forth = node.right_range, node.left_range
    if back < 0:
        return f"{node.right_time} {format_amount(-back, unit)} to {format_amount(forth, unit)} after {node.left_time}"
    if forth < 0:
        return f"{node.right_time} {format_amount(-forth, unit)} to {format_amount(back, unit)} before {node.left_time}"
    return (f"{node.right_time} at most {format_amount(back, unit)} before and {format_amount(forth, unit)} after "
            f"{node.left_time}")


def _unit(node: n.Node, column: str | None) -> OrdinalKind:
    """What one step of a stream's time is; a qualified name is the column's last part."""
    for source in node.walk():
        if isinstance(source, n.Source):
            name = column.rpartition(".")[2] if column is not None else source.schema.time
            if name is not None and source.schema.has(name):
                return source.schema.ordinal_kind(name)
    return OrdinalKind.TIMESTAMP


def _kind(node: n.TimePairs) -> str:
    return "" if node.kind is JoinKind.INNER else f"{node.kind.value} join "


def _on(predicate: object) -> str:
    return "every pair" if predicate is None else f"on {predicate}"


def _named(item: n.NamedScalar) -> str:
    return item.name if item.scalar.column_name == item.name else f"{item.scalar} AS {item.name}"


def _calls(calls: tuple[n.AggregateCall, ...]) -> str:
    return ", ".join(_call(call) for call in calls)


def _call(call: n.AggregateCall) -> str:
    arguments = [str(a) for a in call.arguments] + [repr(p) for p in call.parameters]
    inside = ("DISTINCT " if call.distinct else "") + (", ".join(arguments) or "*")
    text = f"{call.function}({inside})"
    return text if call.name == text else f"{text} AS {call.name}"


def _by(keys: tuple[n.NamedScalar, ...]) -> str:
    return f" by {', '.join(_named(k) for k in keys)}" if keys else ""
