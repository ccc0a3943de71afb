"""Plans that say something but mean nothing, refused before any engine sees them (Golab 3.3, property 19)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.ages_known import forgets_ages, ordered_by_age, stream_without_order
from panewise.planner.facts.clocks import two_clocks
from panewise.planner.facts.labels import Labels, UpdatePattern, label
from panewise.planner.facts.origins import united_with_itself
from panewise.planner.facts.patterns import format_amount
from panewise.planner.facts.refreshing import externalised
from panewise.planner.facts.result_forms import always_there, is_internal, relation_below
from panewise.planner.facts.returning_results import recurs
from panewise.planner.facts.stream_joins import missing_in
from panewise.planner.legal import refusals
from panewise.planner.legal.refusals import FORGETS, Said
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
    message: Said

    @property
    def because(self) -> str:
        """What is wrong, without what to write instead."""
        return self.message.rpartition(": ")[0] or self.message


def problems(plan: n.Node, labels: Labels | None = None) -> Iterator[Problem]:
    """Every illegal placement, from the root down."""
    labels = labels or label(plan)
    yield from (Problem(plan, message) for message in _table_alone(plan, "the result"))
    yield from (Problem(node, refusals.TWO_CLOCKS(one=one, its_kind=its, other=other, other_kind=kind))
                for node, (one, its), (other, kind) in two_clocks(plan))
    for node in plan.walk():
        messages: Iterator[Said] = iter(())
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


def _table_join(node: n.TableJoin, labels: Labels) -> Iterator[Said]:
    other = next((b for b in node.table.walk() if not isinstance(b, (n.Named, *AS_IT_IS))), None)
    if other is not None:
        yield refusals.TABLE_OF_RESULTS(what=type(other).__name__)
    table = next((t.name for t in node.table.walk() if isinstance(t, n.Table)), "the table")
    seen = labels[node.input]
    if seen.pattern is UpdatePattern.STR:
        yield refusals.TAKEN_BACK(table=table, why=_why_strict(node.input, labels))
    elif seen.downgrade().pattern is UpdatePattern.STR:
        yield refusals.ROWS_BESIDE_TABLE(table=table)
    elif is_internal(node.input) and recurs(externalised(node.input)):
        yield refusals.SHOWN_AGAIN(table=table)


def _why_strict(node: n.Node, labels: Labels) -> str:
    """Why rows are taken back: the reason of the operator that does it, not of those that pass it on."""
    while isinstance(node, PASS_ON):
        below = next((child for child in node.inputs if labels[child].pattern is UpdatePattern.STR), None)
        if below is None:
            break
        node = below
    return labels.reason(node)


def _tables_below(node: n.Node) -> Iterator[Said]:
    """A table that is not retroactive means something only next to a stream whose rows meet it (Golab 3.3.1)."""
    inputs = (node.input,) if isinstance(node, n.TableJoin) else node.inputs
    if isinstance(node, AS_IT_IS):  # decided by what stands above it
        return
    for child in inputs:
        yield from _table_alone(child, type(node).__name__)


def _table_alone(node: n.Node, above: str) -> Iterator[Said]:
    while isinstance(node, AS_IT_IS):
        node = node.inputs[0]
    if isinstance(node, n.Table) and node.schema.kind is SourceKind.NRR:
        yield refusals.TABLE_ALONE(table=node.name, above=above)


def _needs_rows(node: n.Lifetime) -> Iterator[Said]:
    if not any(isinstance(below, n.Source) for below in node.walk()):
        yield refusals.LIFETIME_OF_TABLES()


def _comes_again(node: n.Explode) -> Iterator[Said]:
    if is_internal(node) and recurs(externalised(node.input)):
        yield refusals.COMES_AGAIN(call=node.generator.value)


def _needs_expiry(node: n.Node) -> Iterator[Said]:
    name = NAMES[type(node)]
    for below in relation_below(node):
        if isinstance(below, n.Window) and below.clause.internal:
            yield refusals.INTERNAL_WINDOW(name=name)
        if isinstance(below, n.GroupAggregate) and below.internal:
            yield refusals.INTERNAL_AGGREGATE(name=name)
    if isinstance(node, n.Distinct) and node.policy not in {"keep", "recent"}:
        yield refusals.POLICY(policy=node.policy)


def _needs_ages(node: n.GroupAggregate) -> Iterator[Said]:
    """FIRST and LAST over a DISTINCT that only counts the copies of a value, or lets each replace the one before."""
    ordered = ordered_by_age(node)
    for below in relation_below(node) if ordered else ():
        if forgets_ages(below):
            yield refusals.NO_FIRST(function=ordered[0], also=", or DISTINCT KEEP over windows of time",
                                    what="DISTINCT of rows that leave early, by arrivals, or for the next of their "
                                         f"value: {FORGETS}")
    if ordered and (stream := stream_without_order(node.input)) is not None:
        yield refusals.NO_FIRST(function=ordered[0], what=_forgotten(stream), also="")
    if ordered and (twice := _joined_with_itself(node.input)) is not None:
        yield refusals.NO_FIRST_PAIR(function=ordered[0], name=twice)
    elif ordered and (both := united_with_itself(node.input)) is not None:
        yield refusals.NO_FIRST_PART(function=ordered[0], name=both)


def _counts_ages(node: n.Window) -> Iterator[Said]:
    """Windows by rows over streams of which rows of one instant have no order that every engine knows."""
    if node.clause.spec.clock is Clock.TIME:
        return
    if (stream := stream_without_order(node.input)) is not None:
        advice = "Istream directly over it" if stream.kind is Kind.ISTREAM else "Istream"
        yield refusals.NO_NEWEST(what=_forgotten(stream), advice=advice)
    yield from _counts_pairs(node.input)


def _forgotten(stream: n.RelationToStream) -> str:
    what = "rows made of DISTINCT" if stream.kind is Kind.ISTREAM else "DISTINCT"
    return (f"{stream.kind.value} of {what} of rows that leave early, by arrivals, or for the next of their value: "
            f"{FORGETS}")


def _counts_pairs(node: n.Node) -> Iterator[Said]:
    if (twice := _joined_with_itself(node)) is not None:
        yield refusals.NO_NEWEST_PAIR(name=twice)
    elif (both := united_with_itself(node)) is not None:
        yield refusals.NO_NEWEST_PART(name=both)


def _joined_with_itself(node: n.Node) -> str | None:
    """A stream or table of which rows meet rows of the same one."""
    for below in node.walk():
        if isinstance(below, n.Join | n.TimePairs | n.TableJoin):
            names = [{s.name for s in side.walk() if isinstance(s, n.Named)} for side in below.inputs[:2]]
            if names[0] & names[1]:
                return min(names[0] & names[1])
    return None


def _relation_to_stream(node: n.RelationToStream) -> Iterator[Said]:
    below, kind = [*relation_below(node)], node.kind.value
    for culprit in (b for b in below if isinstance(b, NEEDS_EXPIRY)):
        if node.output_window is not None:
            yield refusals.OUTPUT_OF_NEGATION(name=NAMES[type(culprit)])
        elif node.kind is Kind.WSTREAM:
            yield refusals.WSTREAM_OF_NEGATION(name=NAMES[type(culprit)])
    if node.output_window is not None:
        if node.output_window.spec.kind not in OUTPUT_WINDOW_KINDS:
            yield refusals.OUTPUT_KIND(kind=node.output_window.spec.kind)
        if node.kind is not Kind.WSTREAM:
            yield refusals.OUTPUT_PLACE(kind=kind)
        if node.output_window.spec.clock is not Clock.TIME:
            yield from _counts_pairs(node.input)
    if not node.restore:
        return
    if node.kind not in {Kind.ISTREAM, Kind.RSTREAM}:
        yield refusals.RESTORE_KIND(kind=kind)
    if any(isinstance(b, n.Window) and b.clause.spec.kind == "calendar" for b in below):
        yield refusals.RESTORE_CALENDAR(kind=kind)
        return
    slides = {s for b in below if isinstance(b, n.Window) and (s := getattr(b.clause.spec, "slide", None)) is not None}
    if len(slides) > 1:
        yield refusals.RESTORE_SLIDES(kind=kind, count=len(slides))
    for clause in (b.clause for b in below if isinstance(b, n.Window)):
        slide = getattr(clause.spec, "slide", 1)
        size = getattr(clause.spec, "range", getattr(clause.spec, "n", None))
        if size is not None and 1 < slide >= size:
            extent, step = (format_amount(amount, clause.ordinal) for amount in (size, slide))
            yield refusals.RESTORE_STEP(kind=kind, extent=extent, step=step)


def _needs_stream(node: n.Node, labels: Labels) -> Iterator[Said]:
    for child in node.inputs:
        if labels[child].pattern is UpdatePattern.MON:
            table = always_there(child)
            if table is not None:
                yield refusals.ALWAYS_THERE(table=table.name)
            continue
        what = "a window" if isinstance(node, n.Window | n.WindowAggregate) else "a stream join"
        hint = "write INTERNAL in the inner window, or Istream(...) around the inner query"
        if isinstance(child, n.Table):
            hint = "a table has no order of arrival; join it with a stream instead"
        yield refusals.NEEDS_STREAM(what=what, why=labels.reason(child), hint=hint)


def _missing_time(aggregate: n.WindowAggregate) -> Iterator[Said]:
    """A window on the time of a side of an outer join that may be missing."""
    column = aggregate.window.attribute
    outer = missing_in(aggregate.input, column)
    if outer is not None:
        yield refusals.MISSING_TIME(column=column, kind=outer)
