"""Whether an expression has a value for every row of an input."""

from __future__ import annotations

from collections.abc import Iterator

from panewise.core.errors import PanewiseError
from panewise.core.scalar import Scalar
from panewise.functions.binding.bound import Bound, Call
from panewise.functions.binding.evaluation import bound
from panewise.plan.nodes import Named

TOTAL = frozenset({
    "upper", "ucase", "lower", "lcase", "concat", "dpipe", "substring", "substr", "trim", "ltrim", "rtrim", "left",
    "right", "reverse", "initcap", "length", "char_length", "like", "ilike", "startswith", "endswith", "contains",
    "hour", "minute", "second", "year", "month", "day", "quarter", "weekofyear", "dayofweek", "weekday", "dayofmonth",
    "dayofyear", "md5", "sha", "sha1", "sha2", "crc32", "soundex", "isnan", "coalesce", "nvl", "hash", "xxhash64",
})
"""Functions that have a value for all arguments, though they ask about their call."""
_TO_TEXT = "plain_to_text"


def may_fail(scalar: Scalar, node: Named) -> bool | None:
    """Whether some row could have no value but an error; None where panewise cannot compute the expression at all."""
    try:
        found = bound(scalar.sql, tuple(node.schema.columns.items()), node.schema.zone)
    except PanewiseError:
        return None
    return any(_fails(part) for part in _walk(found))


def _fails(part: Bound) -> bool:
    if not isinstance(part, Call) or not part.needs_here or getattr(part.run, "__name__", "") == _TO_TEXT:
        return False
    key = getattr(part.tree, "key", "")
    return str(part.tree.name if key == "anonymous" else key).lower() not in TOTAL


def _walk(part: Bound) -> Iterator[Bound]:
    yield part
    for below in part.children:
        yield from _walk(below)
