"""Equality of complete results: as bags of rows, floats to the last bit, times as instants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any


def assert_same_rows(found: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]) -> None:
    """Fail with the rows that differ, and how often each is there."""
    left, right = Counter(map(_key, found)), Counter(map(_key, expected))
    difference = [*(("missing", *r) for r in (right - left).most_common(5)),
                  *(("surplus", *r) for r in (left - right).most_common(5))]
    assert difference == []


def _key(value: Any) -> str:
    """The same text for the same value: names in any order, times as instants, 1.0 as 1, one zero, one NaN."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_key(value[name])}" for name in sorted(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_key, value))}]"
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    if isinstance(value, float) and value.is_integer():
        return repr(int(value))
    return repr(value)
