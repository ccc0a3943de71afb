"""Equality of complete results: as bags of rows, floats to the last bit, times as instants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any


def assert_same_rows(found: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]) -> None:
    """Fail with the rows that differ."""
    left, right = sorted(map(_plain, found), key=_key), sorted(map(_plain, expected), key=_key)
    missing = [r for r in right if not any(_same(r, x) for x in left)]
    surplus = [x for x in left if not any(_same(x, r) for r in right)]
    difference = [*(("missing", r) for r in missing[:5]), *(("surplus", x) for x in surplus[:5])]
    assert difference == []
    assert len(left) == len(right), f"{len(left)} rows, expected {len(right)}: some row is there twice"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return value


def _key(row: Any) -> str:
    if isinstance(row, Mapping):
        return ",".join(f"{k}={_key(row[k])}" for k in sorted(row))
    return f"{row:.6g}" if isinstance(row, float) else str(row)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, float) and isinstance(right, float | int):
        return left == right or (math.isnan(left) and math.isnan(right))
    return bool(left == right)
