"""The two conditions on windows that most laws ask for: *logical*, and *reaching up to now*.

Logical windows are those on values (sliding, tumbling, landmark, band): whether a row is inside depends on that row and
the clock alone, not on other rows. A window *reaches up to now* if its upper end is the current instant: no lag, no
waiting for a refresh, no fixed end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from panewise.core.ordinals import OrdinalKind
from panewise.plan.nodes import WindowClause
from panewise.planner.rewrites.scalars import renamed
from panewise.windows.base import Clock
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, TumblingWindow


def is_logical(clause: WindowClause) -> bool:
    """Whether other rows have no say in who is inside."""
    return clause.spec.clock is Clock.TIME and clause.ordinal is not OrdinalKind.ROWS


def is_partitioned(clause: WindowClause) -> bool:
    """Whether rows are counted per group: then what happens to other groups does not matter."""
    return clause.spec.clock in (Clock.ORDER, Clock.PARTITION_ORDER) and bool(clause.partition)


def reaches_now(clause: WindowClause) -> bool:
    """Whether every row is inside from the instant it arrives, if it ever is (``upper = τ``).

    >>> def on_ts(spec): return WindowClause(spec, "ts", OrdinalKind.INTEGER)
    >>> reaches_now(on_ts(SlidingWindow.scoped(5))), reaches_now(on_ts(SlidingWindow.scoped(5, 3)))
    (True, False)
    """
    spec = clause.spec.plain
    if not is_logical(clause):
        return False
    if isinstance(spec, TumblingWindow) and spec.disclosure is Disclosure.GROWING:
        return spec.lag == 0
    if isinstance(spec, SlidingWindow):
        return spec.slide == 1 and spec.lag == 0
    return isinstance(spec, BandWindow) and spec.upper is None


def clause_renamed(clause: WindowClause, names: Mapping[str, str]) -> WindowClause:
    """The same window over columns that are called otherwise."""
    return replace(clause, attribute=names.get(clause.attribute, clause.attribute),
                   partition=tuple(names[c] for c in clause.partition),
                   predicate=None if clause.predicate is None else renamed(clause.predicate, names))
