"""Plans that say something but mean nothing, refused before any engine sees them (Golab 3.3, property 19)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from panewise.core.errors import PlanError
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.ages_known import forgets_ages, ordered_by_age, relation_below, stream_without_order
from panewise.planner.clocks import two_clocks
from panewise.planner.forms import always_there, is_internal
from panewise.planner.labels import Labels, UpdatePattern, label
from panewise.planner.origins import united_with_itself
from panewise.planner.patterns import format_amount
from panewise.planner.recurring import recurs
from panewise.planner.refreshing import externalised
from panewise.planner.stream_joins import missing_in
from panewise.windows.base import Clock

AS_IT_IS = (n.Filter, n.Project, n.Qualify)
"""Nodes through which a table is still that table."""
PASS_ON = (*AS_IT_IS, n.Explode, n.Lifetime, n.Union, n.Join, n.Distinct, n.TableJoin)
"""Nodes that take back what one of their inputs takes back."""
NEEDS_EXPIRY = (n.Distinct, n.BagDifference, n.AntiJoin)
"""Operators whose answer is wrong unless rows that left their window are gone."""
NAMES = {n.Distinct: "DISTINCT", n.BagDifference: "EXCEPT ALL", n.AntiJoin: "NOT EXISTS"}
OUTPUT_WINDOW_KINDS = frozenset({"sliding", "tumbling", "count", "row"})


@dataclass(frozen=True)
class Problem:
    """One illegal placement: the node, and a message that says what to write instead."""

    node: n.Node
    message: str

    @property
    def because(self) -> str:
        """What is wrong, without what to write instead."""
        return self.message.rpartition(": ")[0] or self.message


def check_legal(plan: n.Node, labels: Labels | None = None) -> Labels:
    """Raise `PlanError` for the first problem; otherwise the labels, which every caller needs next."""
    labels = labels or label(plan)
    for problem in problems(plan, labels):
        raise PlanError(problem.message)
    return labels


def problems(plan: n.Node, labels: Labels | None = None) -> Iterator[Problem]:
    """Every illegal placement, from the root down."""
    labels = labels or label(plan)
    yield from (Problem(plan, message) for message in _table_alone(plan, "the result"))
    yield from (Problem(*found) for found in two_clocks(plan))
    for node in plan.walk():
        messages: Iterator[str] = iter(())
        match node:
            case n.TableJoin():
                messages = _table_join(node, labels)
            case n.Distinct() | n.BagDifference() | n.AntiJoin():
                messages = _needs_expiry(node)
            case n.GroupAggregate():
                messages = _needs_ages(node)
            case n.RelationToStream():
                messages = _relation_to_stream(node)
            case n.Lifetime():
                messages = _needs_rows(node)
            case n.Explode():
                messages = _comes_again(node)
            case n.WindowAggregate():
                messages = chain(_needs_stream(node, labels), _missing_time(node))
            case n.Window():
                messages = chain(_needs_stream(node, labels), _counts_ages(node))
            case n.BandJoin() | n.TumblingJoin():
                messages = _needs_stream(node, labels)
            case _:
                pass
        yield from (Problem(node, message) for message in messages)
        yield from (Problem(node, message) for message in _tables_below(node))


def _table_join(node: n.TableJoin, labels: Labels) -> Iterator[str]:
    other = next((b for b in node.table.walk() if not isinstance(b, (n.Named, *AS_IT_IS))), None)
    if other is not None:
        yield (f"a stream is joined with a table, possibly filtered or projected, and not with the result of "
               f"{type(other).__name__}: write a window join instead")
    table = next((t.name for t in node.table.walk() if isinstance(t, n.Table)), "the table")
    seen = labels[node.input]
    if seen.pattern is UpdatePattern.STR:
        yield (f"the rows joined with table {table} may be taken back ({_why_strict(node.input, labels)}), and by "
               "then the table may have changed: join the stream with the table first, below the negation or aggregate")
    elif seen.downgrade().pattern is UpdatePattern.STR:
        yield (f"a window by rows cannot be joined with table {table}: when its rows leave is not known in time, and "
               "by then the table may have changed; use a time window, or join the stream before it is windowed")
    elif is_internal(node.input) and recurs(externalised(node.input)):
        yield (f"the rows joined with table {table} may be hidden by EXISTS and shown again, and by then the table may "
               "have changed: join the stream with the table first, below EXISTS")


def _why_strict(node: n.Node, labels: Labels) -> str:
    """Why rows are taken back: the reason of the operator that does it, not of those that pass it on."""
    while isinstance(node, PASS_ON):
        below = next((child for child in node.inputs if labels[child].pattern is UpdatePattern.STR), None)
        if below is None:
            break
        node = below
    return labels.reason(node)


def _tables_below(node: n.Node) -> Iterator[str]:
    """A table that is not retroactive means something only next to a stream whose rows meet it (Golab 3.3.1)."""
    inputs = (node.input,) if isinstance(node, n.TableJoin) else node.inputs
    if isinstance(node, AS_IT_IS):  # decided by what stands above it
        return
    for child in inputs:
        yield from _table_alone(child, type(node).__name__)


def _table_alone(node: n.Node, above: str) -> Iterator[str]:
    while isinstance(node, AS_IT_IS):
        node = node.inputs[0]
    if isinstance(node, n.Table) and node.schema.kind is SourceKind.NRR:
        yield (f"updates of table {node.name} reach only rows that arrive later, and no rows arrive at "
               f"{above}: join a stream with the table, or declare it a retroactive relation")


def _needs_rows(node: n.Lifetime) -> Iterator[str]:
    if not any(isinstance(below, n.Source) for below in node.walk()):
        yield "LIFETIME is counted from the first row of a stream, and this query reads tables alone: remove it"


def _comes_again(node: n.Explode) -> Iterator[str]:
    if is_internal(node) and recurs(externalised(node.input)):
        yield (f"{node.generator.value} over rows of INTERNAL windows that EXISTS may hide and show again: explode the "
               "rows first, in a query in FROM, below EXISTS")


def _needs_expiry(node: n.Node) -> Iterator[str]:
    name = NAMES[type(node)]
    for below in relation_below(node):
        if isinstance(below, n.Window) and below.clause.internal:
            yield (f"an INTERNAL window under {name} would keep rows that have left the window, and the answer would "
                   f"be wrong: remove INTERNAL, or write Istream(...) to get a stream of what comes in")
        if isinstance(below, n.GroupAggregate) and below.internal:
            yield (f"an INTERNAL aggregate under {name} keeps every value it ever had: remove INTERNAL")
    if isinstance(node, n.Distinct) and node.policy not in {"keep", "recent"}:
        yield f"DISTINCT policy {node.policy!r} is unknown: use 'keep' or 'recent'"


def _needs_ages(node: n.GroupAggregate) -> Iterator[str]:
    """FIRST and LAST over a DISTINCT that only counts the copies of a value, or lets each replace the one before."""
    ordered = ordered_by_age(node)
    for below in relation_below(node) if ordered else ():
        if forgets_ages(below):
            yield (f"{ordered[0]} over DISTINCT of rows that leave early, by arrivals, or for the next of their value: "
                   "which copy of a value counts as its row is not kept, and so there is no first and last; use min or "
                   "max, or DISTINCT KEEP over windows of time")
    if ordered and (stream := stream_without_order(node.input)) is not None:
        yield f"{ordered[0]} over {_forgotten(stream)}, and so there is no first and last; use min or max"
    if ordered and (twice := _joined_with_itself(node.input)) is not None:
        yield (f"{ordered[0]} over a join of {twice} with itself: a pair and the same two rows the other way "
               "round are as old as each other, and so there is no first and last; use min or max")
    elif ordered and (both := united_with_itself(node.input)) is not None:
        yield (f"{ordered[0]} over a UNION of which two parts show rows of {both}, but not the same values: these are "
               "as old as each other, and so there is no first and last; use min or max")


def _counts_ages(node: n.Window) -> Iterator[str]:
    """Windows by rows over streams of which rows of one instant have no order that every engine knows."""
    if node.clause.spec.clock is Clock.TIME:
        return
    if (stream := stream_without_order(node.input)) is not None:
        advice = "Istream directly over it" if stream.kind is Kind.ISTREAM else "Istream"
        yield (f"a window by rows over {_forgotten(stream)}, and so neither is which value is the newest; use "
               f"{advice}, a window of time, or DISTINCT KEEP over windows of time")
    yield from _counts_pairs(node.input)


def _forgotten(stream: n.RelationToStream) -> str:
    what = "rows made of DISTINCT" if stream.kind is Kind.ISTREAM else "DISTINCT"
    return (f"{stream.kind.value} of {what} of rows that leave early, by arrivals, or for the next of their value: "
            "which copy of a value counts as its row is not kept")


def _counts_pairs(node: n.Node) -> Iterator[str]:
    if (twice := _joined_with_itself(node)) is not None:
        yield (f"a window by rows over a join of {twice} with itself: a pair and the same two rows the other "
               "way round are as old as each other, and so neither is the newest; use a window of time")
    elif (both := united_with_itself(node)) is not None:
        yield (f"a window by rows over a UNION of which two parts show rows of {both}, but not the same values: "
               "these are as old as each other, and so neither is the newest; use a window of time")


def _joined_with_itself(node: n.Node) -> str | None:
    """A stream or table of which rows meet rows of the same one."""
    for below in node.walk():
        if isinstance(below, n.Join | n.TimePairs | n.TableJoin):
            names = [{s.name for s in side.walk() if isinstance(s, n.Named)} for side in below.inputs[:2]]
            if names[0] & names[1]:
                return min(names[0] & names[1])
    return None


def _origins(node: n.Node) -> Iterator[str]:
    """The streams that rows of a relation come from, once for each way."""
    if isinstance(node, n.Source):
        yield node.name
    left_only = isinstance(node, n.SemiJoin | n.AntiJoin | n.BagDifference | n.TableJoin)
    for below in node.inputs[:1] if left_only else node.inputs:
        yield from _origins(below)


def _relation_to_stream(node: n.RelationToStream) -> Iterator[str]:
    below = [*relation_below(node)]
    for culprit in (b for b in below if isinstance(b, NEEDS_EXPIRY)):
        if node.output_window is not None:
            yield (f"an output window over {NAMES[type(culprit)]} means nothing: it would show rows that are no longer "
                   "in the answer; remove the output window")
        elif node.kind is Kind.WSTREAM:
            yield (f"Wstream makes the windows under {NAMES[type(culprit)]} INTERNAL, and the answer would be wrong: "
                   "write Istream(...) to get a stream of what comes in")
    if node.output_window is not None:
        if node.output_window.spec.kind not in OUTPUT_WINDOW_KINDS:
            yield (f"an output window is [ROWS n] or [RANGE t], not a {node.output_window.spec.kind} window")
        if node.kind is not Kind.WSTREAM:
            yield f"an output window stands after Wstream, not after {node.kind.value}"
        if node.output_window.spec.clock is not Clock.TIME:
            yield from _counts_pairs(node.input)
    if not node.restore:
        return
    if node.kind not in {Kind.ISTREAM, Kind.RSTREAM}:
        yield f"{node.kind.value}-restore is not defined: use Istream-restore or Rstream-restore"
    if any(isinstance(b, n.Window) and b.clause.spec.kind == "calendar" for b in below):
        yield (f"{node.kind.value}-restore over CALENDAR windows: results between two refreshes need a SLIDE of one "
               "length, and months and days in a time zone have several; leave out -restore, or write RANGE and SLIDE")
        return
    slides = {s for b in below if isinstance(b, n.Window) and (s := getattr(b.clause.spec, "slide", None)) is not None}
    if len(slides) > 1:
        yield (f"{node.kind.value}-restore needs one SLIDE for all windows, there are {len(slides)}: "
               "results between two refreshes are only defined when all windows refresh together")
    for clause in (b.clause for b in below if isinstance(b, n.Window)):
        slide = getattr(clause.spec, "slide", 1)
        size = getattr(clause.spec, "range", getattr(clause.spec, "n", None))
        if size is not None and 1 < slide >= size:
            extent, step = (format_amount(amount, clause.ordinal) for amount in (size, slide))
            yield (f"{node.kind.value}-restore over a window of {extent} that moves by {step}: rows of the window "
                   "itself would come and go between two refreshes; write a SLIDE smaller than every window")


def _needs_stream(node: n.Node, labels: Labels) -> Iterator[str]:
    for child in node.inputs:
        if labels[child].pattern is UpdatePattern.MON:
            table = always_there(child)
            if table is not None:
                yield (f"rows of table {table.name} are in this stream, and they were always there: a window would "
                       "have to know when they came; give the table a time column")
            continue
        what = "a window" if isinstance(node, n.Window | n.WindowAggregate) else "a stream join"
        hint = "write INTERNAL in the inner window, or Istream(...) around the inner query"
        if isinstance(child, n.Table):
            hint = "a table has no order of arrival; join it with a stream instead"
        yield (f"{what} takes a stream, but its input is a changing relation whose rows leave again "
               f"({labels.reason(child)}): {hint}")


def _missing_time(aggregate: n.WindowAggregate) -> Iterator[str]:
    """A window on the time of a side of an outer join that may be missing."""
    outer = missing_in(aggregate.input, aggregate.window.attribute)
    if outer is not None:
        yield (f"a window on {aggregate.window.attribute} over a {outer.kind.value} join: it is null in rows without a "
               "partner, which would be in no window; use the time of the side whose rows all come out")
