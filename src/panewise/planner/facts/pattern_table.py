"""Which pattern an operator gives over which window.

``OBSERVED`` holds what two-futures experiments show for each operator over windows of one signature. It differs from
table 1 of Patroumpas and Sellis for every tumbling window, for aggregates everywhere (rule U4, erratum P10) and for
duplicate elimination that follows the newest row (erratum P17).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from panewise.planner.facts.patterns import Domain, UpdatePattern

MON, WKS, WK, STR = UpdatePattern


class OperatorKind(Enum):
    """Operators by how they react to the window's own pattern."""

    NEUTRAL = "selection, projection, union"
    DISTINCT_KEEP = "distinct, representative kept"
    DISTINCT_RECENT = "distinct, newest row"
    JOIN = "join"
    AGGREGATE = "aggregate"
    DIFFERENCE = "difference"


class WindowShape(Enum):
    """Windows by how their rows come and go."""

    SLIDING = "sliding, equal lives"
    UNEVEN = "sliding, unequal lives"
    GROWING = "tumbling, growing"
    DISCLOSED = "tumbling, disclosed"
    COUNT = "count"
    PARTITIONED = "partitioned"
    LANDMARK = "landmark"
    KNOWN_EXPIRY = "of a kind that knows when its rows leave, no more"
    DATA_DRIVEN = "ended by later rows"


@dataclass(frozen=True)
class Cell:
    """One entry: the pattern, the clock it holds in, and whether all results live equally long."""

    pattern: UpdatePattern
    domain: Domain = "time"
    equal_lives: bool = False
    replace: bool = False


_STR, _WK, _WKS, _WKSC, _MON = Cell(STR), Cell(WK), Cell(WKS), Cell(WKS, equal_lives=True), Cell(MON)
_REPLACE = Cell(STR, replace=True)
_WKS_ORDER, _WK_ORDER, _STR_ORDER = Cell(WKS, "order", equal_lives=True), Cell(WK, "order"), Cell(STR, "order")
_REPLACE_ORDER = Cell(STR, "order", replace=True)

_COLUMNS = tuple(WindowShape)
_ROWS: dict[OperatorKind, tuple[Cell, ...]] = {
    # sliding, uneven, growing, disclosed | count, partitioned | landmark, known expiry, data-driven
    OperatorKind.NEUTRAL: (_WKSC, _WKS, _WKS, _WKSC, _WKS_ORDER, _WK_ORDER, _MON, _WK, _STR),
    OperatorKind.DISTINCT_KEEP: (_WK, _WK, _WKS, _WKSC, _WK_ORDER, _WK_ORDER, _MON, _WK, _STR),
    OperatorKind.DISTINCT_RECENT: (_STR, _STR, _STR, _WKSC, _STR_ORDER, _STR_ORDER, _STR, _STR, _STR),
    OperatorKind.JOIN: (_WK, _WK, _WKS, _WKSC, _WK_ORDER, _WK_ORDER, _MON, _WK, _STR),
    OperatorKind.AGGREGATE: (*[_REPLACE] * 4, *[_REPLACE_ORDER] * 2, *[_REPLACE] * 3),
    OperatorKind.DIFFERENCE: (_STR, _STR, _STR, _WKSC, _STR_ORDER, _STR_ORDER, _STR, _STR, _STR),
}

OBSERVED: Mapping[tuple[OperatorKind, WindowShape], Cell] = MappingProxyType({
    (operator, shape): cell for operator, cells in _ROWS.items() for shape, cell in zip(_COLUMNS, cells, strict=True)
})
"""Operator over window(s) of one signature, as experiments show it; the planner's source of truth."""
