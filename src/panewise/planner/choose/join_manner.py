"""How windows that are joined at once are evaluated and expire: what the query means, and what a user asks for.

A SLIDE says that rows are shown at refreshes: what holds there is found, new rows of a key together (Golab's J3), or
with the restore forms also what lived in between (J4). Without one every row is evaluated by itself (J1, J2). Any of it
gives the same results, because a row says when it lives; only the work differs. So all of it can be asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from panewise.core.errors import PlanError
from panewise.core.names import did_you_mean
from panewise.core.ordinals import OrdinalKind
from panewise.kernels.relations.joins.many_join import Manner
from panewise.kernels.relations.joins.probe_groups import Refreshes
from panewise.plan import nodes as n
from panewise.planner.choose.join_order import Order
from panewise.planner.facts.patterns import format_amount
from panewise.planner.facts.result_forms import exposed_windows
from panewise.windows.base import Clock
from panewise.windows.sliding import SlidingWindow

LAZY_SHARE = 20
"""Lazy evaluation without a SLIDE is done so many times in the shortest window (Golab 2.3: every 5 %)."""
WHOLE_STEP = 1 << 61
"""Between these instants nothing is cut: new rows are gathered as long as a step is."""
COPIED = 8
"""A refresh that takes at least this part of a window expires eagerly: then at most so many rows are copied for each
that comes, which costs little and saves half the rows or more (``bench/multiway_joins.py expiry``)."""
CHOICES = ("'auto', 'by twos' and 'at once', the last also as 'at once: eager', 'at once: lazy, eager expiry' and so "
           "on; of streams on Spark 'native' and 'kernels'")


class Timing(Enum):
    """When something is done."""

    EAGER = "eager"
    LAZY = "lazy"


@dataclass(frozen=True)
class Joins:
    """What a user asks for: ``at_once`` None leaves it to statistics, a timing of None to the query."""

    at_once: bool | None = None
    evaluation: Timing | None = None
    expiry: Timing | None = None

    @classmethod
    def parse(cls, text: str | Joins) -> Joins:
        """From words.

        >>> Joins.parse("at once: lazy, eager expiry")
        Joins(at_once=True, evaluation=<Timing.LAZY: 'lazy'>, expiry=<Timing.EAGER: 'eager'>)
        """
        if isinstance(text, Joins):
            return text
        whether, _, how = " ".join(text.lower().split()).partition(":")
        ways = {"auto": None, "by twos": False, "at once": True}
        parts = [part.strip() for part in how.split(",") if part.strip()]
        evaluations = [Timing(part) for part in parts if part in ("eager", "lazy")]
        expiries = [Timing(part.split()[0]) for part in parts if part in ("eager expiry", "lazy expiry")]
        if whether.strip() not in ways or len(evaluations) + len(expiries) < len(parts) or \
                max(len(evaluations), len(expiries)) > 1 or (parts and not ways[whether.strip()]):
            raise PlanError(f"joins={text!r} is no way to run joins: there are {CHOICES}{did_you_mean(whether, ways)}")
        return cls(ways[whether.strip()], *(found[0] if found else None for found in (evaluations, expiries)))


AUTO, BY_TWOS = Joins(), Joins(at_once=False)


def known_way(given: str | Joins) -> str | Joins:
    """What is given, if it is a way to run joins at all; which ways an engine has it says itself."""
    if given not in {"native", "kernels"}:
        Joins.parse(given)
    return given


def manner_of(join: n.Node, order: Order, asked: Joins = AUTO, *, restore: n.Node | None = None) -> Manner:
    """How a join is done; ``restore`` is the relation whose refreshes report also what lived between them."""
    windows = exposed_windows(join)
    refreshes = common_refreshes(exposed_windows(restore) if restore is not None else windows, counted=restore is None)
    born_at_them = restore is None and refreshes is not None and all(map(_is_born_at_refreshes, _inputs(join)))
    shortest = min((int(getattr(spec, "range", WHOLE_STEP)) for spec in (w.clause.spec.plain for w in windows)
                    if spec.clock is Clock.TIME and spec.kind != "calendar"), default=WHOLE_STEP)
    eager_expiry = refreshes is not None and COPIED * refreshes.length >= shortest
    if asked.expiry is not None:
        eager_expiry = asked.expiry is Timing.EAGER
    if asked.evaluation is Timing.EAGER:
        refreshes = None
    elif asked.evaluation is Timing.LAZY and refreshes is None:
        refreshes = Refreshes(max(1, shortest // LAZY_SHARE) if shortest < WHOLE_STEP else WHOLE_STEP)
    return Manner(order, refreshes, born_at_them and refreshes is not None, eager_expiry)


def common_refreshes(windows: Sequence[n.Window], *, counted: bool) -> Refreshes | None:
    """The refreshes all windows share; windows by rows have none (``counted``), and may stand beside a restore form."""
    found = set()
    for window in windows:
        spec = window.clause.spec.plain
        if isinstance(spec, SlidingWindow) and spec.kind == "sliding":
            found.add((spec.slide, spec.origin % spec.slide))
        elif spec.clock is Clock.TIME or counted:
            found.add((1, 0))
    slide, origin = found.pop() if len(found) == 1 else (1, 0)
    return Refreshes(slide, origin) if slide > 1 else None


PASSES = (n.Filter, n.Project, n.Explode, n.Qualify, n.Join, n.SemiJoin, n.AntiJoin, n.Distinct, n.Union,
          n.BagDifference)
"""Operators whose rows come and go only when rows of their inputs do."""


def _inputs(join: n.Node) -> list[n.Node]:
    """What is below a join, down to its windows."""
    found: list[n.Node] = []
    for node in join.inputs:
        found += [node] if isinstance(node, n.Window) else [node, *_inputs(node)]
    return found


def _is_born_at_refreshes(node: n.Node) -> bool:
    """Whether a window shows rows at its refreshes only: not one over another column than the stream's time, which a
    row may reach after the refresh that would have shown it."""
    if not isinstance(node, n.Window):
        return isinstance(node, PASSES)
    attribute, below = node.below(node.input, node.clause.attribute), node.input
    while isinstance(below, n.Filter | n.Qualify | n.Project | n.Explode) and attribute is not None:
        attribute, below = below.below(below.input, attribute), below.input
    return isinstance(below, n.Source) and attribute is not None and below.schema.time == attribute


def describe_manner(manner: Manner, unit: OrdinalKind) -> str:
    """In words, with the number of the algorithm.

    >>> describe_manner(Manner((0, 1)), OrdinalKind.INTEGER)
    'eager evaluation, lazy expiry (J2)'
    >>> describe_manner(Manner((0, 1), Refreshes(10), True, True), OrdinalKind.INTEGER)
    'lazy evaluation at refreshes every 10, eager expiry (J3)'
    """
    expiry = f"{'eager' if manner.eager_expiry else 'lazy'} expiry"
    if manner.refreshes is None:
        return f"eager evaluation, {expiry} ({'J1' if manner.eager_expiry else 'J2'})"
    length = manner.refreshes.length
    when = "step by step" if length == WHOLE_STEP else f"every {format_amount(length, unit)}"
    if manner.born_at_refreshes:
        return f"lazy evaluation at refreshes {when}, {expiry} (J3)"
    return f"lazy evaluation {when}, with what lived in between, {expiry} (J4)"
