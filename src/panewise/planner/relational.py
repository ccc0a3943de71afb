"""Plans that are relations at every instant: what an engine must have to run them."""

from __future__ import annotations

from collections.abc import Iterator

from panewise.plan import nodes as n
from panewise.planner.forms import exposed_windows, is_internal, is_mixed
from panewise.planner.labels import UpdatePattern, label
from panewise.planner.refreshing import externalised
from panewise.planner.stream_joins import BELOW
from panewise.windows.base import Clock
from panewise.windows.refreshing import moves_in_steps


def is_relational(plan: n.Node) -> bool:
    """Whether a plan is something else than a window aggregate with selections and projections around it."""
    node = plan
    while isinstance(node, n.Project | n.Filter):
        node = node.input
    return not isinstance(node, n.WindowAggregate)


def relational_gaps(plan: n.Node) -> Iterator[str]:
    """What the kernels of continuous relations cannot do yet, of nodes and windows they do have."""
    for node in plan.walk():
        match node:
            case n.Window(clause=clause) if clause.spec.clock is None:
                yield f"a {clause.spec.kind} window's changing contents are not defined"
            case n.SemiJoin() if any(window.clause.internal for window in exposed_windows(node)):
                yield "EXISTS over INTERNAL windows is not yet run"
            case n.GroupAggregate() if is_internal(node) and not _never_recurs(node):
                yield "an INTERNAL aggregate over rows that do not leave in order is not yet run"
            case n.WindowAggregate():
                yield from _inside(plan, node)
            case n.Filter() | n.Project() | n.Qualify() | n.Union() | n.Join() if is_mixed(node) \
                    and _ends_are_sent(node):
                yield "INTERNAL windows beside windows by rows, or beside rows that are taken back, are not yet run"
            case _:
                pass


def _never_recurs(node: n.GroupAggregate) -> bool:
    """Whether no group ever consists of the same rows twice, or results are counted by refresh anyway."""
    specs = [window.clause.spec for window in exposed_windows(node)]
    if specs and all(spec.clock is Clock.TIME and moves_in_steps(spec) for spec in specs):
        return True
    return label(externalised(node.input)).output.pattern in {UpdatePattern.MON, UpdatePattern.WKS}


def _inside(plan: n.Node, node: n.WindowAggregate) -> Iterator[str]:
    """A window aggregate whose results another window reads."""
    if not all(isinstance(below, BELOW) for below in node.input.walk()):
        yield "a window aggregate over another, or over a relation, is not yet run"
    if not node.window.has_time_range and node.window.spec.kind != "landmark":
        yield "a window over a window aggregate by rows is not yet run"
    read = {below.name: below.schema.time for below in node.walk() if isinstance(below, n.Source)}
    for other in plan.walk():
        if not isinstance(other, n.Window | n.WindowAggregate) or other == node:
            continue
        clause = other.clause if isinstance(other, n.Window) else other.window
        shared = {below.name for below in other.input.walk() if isinstance(below, n.Source)} & read.keys()
        if any({clause.attribute, node.window.attribute} - {"", read[name]} for name in shared) \
                and not any(isinstance(below, n.WindowAggregate) for below in other.input.walk()):
            yield (f"the stream {sorted(shared)[0]!r} inside a window aggregate and beside it, ordered by different "
                   "columns, is not yet run")


def _ends_are_sent(node: n.Node) -> bool:
    """Whether rows of any input of a plan with both kinds of windows leave at a moment nobody knows beforehand."""
    inside = externalised(node)
    return label(inside).output.downgrade().pattern is UpdatePattern.STR
