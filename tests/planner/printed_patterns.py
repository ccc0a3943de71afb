"""Table 1 of Patroumpas and Sellis as it is printed: the claim that the planner's own table corrects."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from panewise.planner.facts.pattern_table import OperatorKind, WindowShape
from panewise.planner.facts.patterns import UpdatePattern

MON, WKS, WK, STR = UpdatePattern

_PRINTED_ROWS: dict[str, dict[UpdatePattern, tuple[OperatorKind, ...]]] = {
    "sliding": {WKS: (OperatorKind.NEUTRAL,),
                WK: (OperatorKind.DISTINCT_KEEP, OperatorKind.DISTINCT_RECENT, OperatorKind.JOIN,
                     OperatorKind.AGGREGATE),
                STR: (OperatorKind.DIFFERENCE,)},
    "tumbling": {WK: tuple(k for k in OperatorKind if k is not OperatorKind.DIFFERENCE),
                 STR: (OperatorKind.DIFFERENCE,)},
    "partitioned": {WK: tuple(k for k in OperatorKind if k is not OperatorKind.DIFFERENCE),
                    STR: (OperatorKind.DIFFERENCE,)},
    "landmark": {MON: tuple(k for k in OperatorKind if k is not OperatorKind.DIFFERENCE),
                 STR: (OperatorKind.DIFFERENCE,)},
}
_PRINTED_NAMES = {
    WindowShape.SLIDING: "sliding", WindowShape.UNEVEN: "sliding", WindowShape.COUNT: "sliding",
    WindowShape.GROWING: "tumbling", WindowShape.DISCLOSED: "tumbling",
    WindowShape.PARTITIONED: "partitioned", WindowShape.LANDMARK: "landmark",
}

PRINTED: Mapping[tuple[OperatorKind, WindowShape], UpdatePattern] = MappingProxyType({
    (operator, shape): pattern
    for shape, name in _PRINTED_NAMES.items()
    for pattern, operators in _PRINTED_ROWS[name].items()
    for operator in operators
})
"""The paper's claim; it knows neither disclosure modes nor distinct policies, so both forms have its one entry."""
