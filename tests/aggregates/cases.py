"""Every aggregate with every kind of argument, and its plain definition over a list of rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from panewise.aggregates.base import Aggregate, Columns
from panewise.aggregates.registry import resolve

Rows = list[tuple[Any, ...]]

LONGS = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(-3, 3)
FLOATS = st.floats(-1e30, 1e30)
SPECIAL_FLOATS = st.sampled_from([0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan])
VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), LONGS | SMALL),
    "uint32": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "float32": (pa.float32(), st.floats(-1000, 1000, width=32)),
    "float64": (pa.float64(), FLOATS | SMALL.map(float)),
    "special": (pa.float64(), SPECIAL_FLOATS),
    "decimal": (pa.decimal128(9, 2), st.decimals(-9999999, 9999999, places=2)),
    "long_decimal": (pa.decimal128(30, 4), st.decimals(-10**25, 10**25, places=4)),
    "string": (pa.string(), st.text("abé𝄞", max_size=3)),
    "binary": (pa.binary(), st.binary(max_size=2)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates(date(1900, 1, 1), date(2100, 1, 1))),
    "timestamp": (pa.timestamp("us", tz="UTC"),
                  st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(lambda t: t.replace(tzinfo=UTC))),
    "millis": (pa.timestamp("ms"),
               st.integers(-10**12, 10**12).map(lambda m: datetime(1970, 1, 1) + timedelta(milliseconds=m))),
}
NUMBERS = ("int8", "int64", "uint32", "float32", "float64", "special", "decimal", "long_decimal")


@dataclass(frozen=True)
class Case:
    """One aggregate on arguments of certain types, and its definition on rows that are in arrival order."""

    label: str
    aggregate: Aggregate
    kinds: tuple[str, ...]
    define: Callable[[Rows], Any]

    @property
    def inputs(self) -> list[pa.DataType]:
        return [VALUES[k][0] for k in self.kinds]

    @property
    def rows(self) -> st.SearchStrategy[Rows]:
        return st.lists(st.tuples(*(st.none() | VALUES[k][1] for k in self.kinds)), max_size=12)

    def __str__(self) -> str:
        return f"{self.label}({', '.join(self.kinds)})"


# -- definitions -------------------------------------------------------------------------------------------------


def present(rows: Rows) -> list[Any]:
    """The non-null values of rows with one argument."""
    return [alike(v) for (v,) in rows if v is not None]


def alike(value: Any) -> Any:
    """One object for NaN, so that counting by identity works; one zero."""
    if isinstance(value, float):
        return math.nan if math.isnan(value) else value + 0.0
    return value


def order(value: Any) -> Any:
    """NaN last."""
    return (True, 0) if isinstance(value, float) and math.isnan(value) else (False, value)


def total(values: Sequence[Any]) -> Any:
    if any(isinstance(v, float) and not math.isfinite(v) for v in values):
        return sum(v for v in values if not math.isfinite(v))
    return sum(map(Fraction, values))


def define_sum(rows: Rows) -> Any:
    values = present(rows)
    if not values:
        return None
    exact = total(values)
    if isinstance(values[0], float):
        return float(exact)
    if isinstance(values[0], Decimal):
        return Context(prec=100).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return OVERFLOW if not -(2**63) <= exact < 2**63 else int(exact)


def define_avg(rows: Rows) -> Any:
    values = present(rows)
    if not values:
        return None
    if isinstance(values[0], float):
        return float(total(values)) / len(values)
    exact = total(values) / len(values)
    if isinstance(values[0], Decimal):
        scale = -values[0].as_tuple().exponent + 4
        wide = Context(prec=100, rounding=ROUND_HALF_UP)
        return wide.divide(Decimal(exact.numerator), Decimal(exact.denominator)).quantize(
            Decimal(1).scaleb(-scale), context=wide)
    return float(exact)


def define_variance(taken_off: int, root: bool) -> Callable[[Rows], Any]:
    def define(rows: Rows) -> Any:
        values = present(rows)
        if len(values) <= taken_off:
            return None
        if not all(map(math.isfinite, values)):
            return math.nan
        exact = list(map(Fraction, values))
        mean = sum(exact) / len(exact)
        variance = float(sum((x - mean) ** 2 for x in exact) / (len(exact) - taken_off))
        return math.sqrt(variance) if root else variance

    return define


def define_centre(rows: Rows) -> Any:
    pairs = [(Fraction(float(m)), Fraction(float(x))) for m, x in rows if m is not None and x is not None]
    mass = sum(m for m, _ in pairs)
    return None if mass == 0 else float(sum(m * x for m, x in pairs) / mass)


def define_chosen(sign: int) -> Callable[[Rows], Any]:
    """x of the row that is extreme by the columns behind it, the smallest x of equal ones, null last."""

    def define(rows: Rows) -> Any:
        found = [row for row in rows if None not in row[1:]]
        extreme = (max if sign > 0 else min)((tuple(map(order, row[1:])) for row in found), default=None)
        values = [row[0] for row in found if tuple(map(order, row[1:])) == extreme]
        return min((alike(v) for v in values if v is not None), key=order, default=None)

    return define


def define_percentile(fraction: float) -> Callable[[Rows], Any]:
    def define(rows: Rows) -> Any:
        values = [float(v) for v in sorted(present(rows), key=order)]
        if not values:
            return None
        at = (len(values) - 1) * fraction
        low, high = values[math.floor(at)], values[math.ceil(at)]
        return low if low == high else low + (high - low) * (at - math.floor(at))

    return define


def ranking(rows: Rows) -> list[dict[str, Any]]:
    counts = Counter(present(rows))
    return [{"item": v, "count": counts[v]} for v in sorted(counts, key=lambda v: (-counts[v], order(v)))]


def define_heavy(rows: Rows) -> Any:
    return [e for e in ranking(rows) if 10 * e["count"] >= 3 * len(present(rows))]


def define_frequent(k: int, pane: int, origin: int) -> Callable[[Rows], Any]:
    """The k most frequent of every pane, together; only what exceeds the sum of the last counts of full lists."""
    def define(rows: Rows) -> Any:
        panes: dict[int, Rows] = {}
        for item, at in rows:
            if item is not None and at is not None:
                panes.setdefault((at - origin) // pane, []).append((item,))
        lists = [ranking(inside)[:k] for inside in panes.values()]
        hidden = sum(entries[-1]["count"] for entries in lists if len(entries) == k)
        summed = Counter[Any]()
        for entries in lists:
            summed.update({e["item"]: e["count"] for e in entries})
        return [{"item": v, "count": summed[v]} for v in sorted(summed, key=lambda v: (-summed[v], order(v)))
                if summed[v] > hidden]

    return define


def define_discrete(fraction: Fraction) -> Callable[[Rows], Any]:
    def define(rows: Rows) -> Any:
        values = sorted(present(rows), key=order)
        return values[max(math.ceil(fraction * len(values)) - 1, 0)] if values else None

    return define


OVERFLOW = object()
"""What the definition gives where an error is expected."""


def _cases() -> list[Case]:
    cases = [
        Case("count", resolve("count"), (), len),
        Case("count", resolve("count"), ("string",), lambda rows: len(present(rows))),
        Case("count", resolve("count"), ("int8", "string"), lambda rows: sum(None not in row for row in rows)),
        Case("centre_of_mass", resolve("center_of_mass"), ("uint32", "float32"), define_centre),
        Case("centre_of_mass", resolve("centre_of_mass"), ("float32", "decimal"), define_centre),
        Case("count_distinct", resolve("count", distinct=True), ("boolean", "special"),
             lambda rows: len({tuple(map(alike, row)) for row in rows if None not in row})),
        Case("sum_distinct", resolve("sum", distinct=True), ("decimal",),
             lambda rows: define_sum([(v,) for v in set(present(rows))])),
        Case("avg_distinct", resolve("avg", distinct=True), ("int8",),
             lambda rows: define_avg([(v,) for v in set(present(rows))])),
    ]
    for kind in VALUES:
        cases += [
            Case("max_by", resolve("max_by"), ("int8", kind), define_chosen(1)),
            Case("min_by", resolve("arg_min"), (kind, "boolean", kind), define_chosen(-1)),
        ]
    for kind in NUMBERS:
        cases += [
            Case("sum", resolve("sum"), (kind,), define_sum),
            Case("avg", resolve("avg"), (kind,), define_avg),
            Case("median", resolve("median"), (kind,), define_percentile(0.5)),
            Case("percentile", resolve("percentile", (0.3,)), (kind,), define_percentile(0.3)),
            Case("var_samp", resolve("variance"), (kind,), define_variance(1, False)),
            Case("stddev_pop", resolve("stddev_pop"), (kind,), define_variance(0, True)),
        ]
    cases += [
        Case("var_pop", resolve("var_pop"), ("float64",), define_variance(0, False)),
        Case("stddev_samp", resolve("stddev"), ("float64",), define_variance(1, True)),
    ]
    for kind in VALUES:
        cases += [
            Case("min", resolve("min"), (kind,), lambda rows: min(present(rows), key=order, default=None)),
            Case("max", resolve("max"), (kind,), lambda rows: max(present(rows), key=order, default=None)),
            Case("count_distinct", resolve("count", distinct=True), (kind,), lambda rows: len(set(present(rows)))),
            Case("approx_count_distinct", resolve("approx_count_distinct"), (kind,),
                 lambda rows: len(set(present(rows)))),
            Case("mode", resolve("mode"), (kind,), lambda rows: next((e["item"] for e in ranking(rows)), None)),
            Case("top_k", resolve("top_k", (2,)), (kind,), lambda rows: ranking(rows)[:2]),
            Case("heavy_hitters", resolve("heavy_hitters", (0.3,)), (kind,), define_heavy),
            Case("frequent_items", resolve("frequent_items", (2, 100, 7)), (kind, "int8"), define_frequent(2, 100, 7)),
        ]
    for kind in ("int8", "float32", "special", "decimal", "date", "timestamp", "millis"):
        cases.append(Case("approx_percentile", resolve("approx_percentile", (0.25,)), (kind,),
                          define_discrete(Fraction(1, 4))))
    for kind in ("int8", "string", "boolean", "date", "timestamp"):
        cases.append(Case("approx_heavy_hitters", resolve("approx_heavy_hitters", (0.3,)), (kind,), define_heavy))
    return cases


CASES = _cases()


def _ordered_cases() -> list[Case]:
    cases = []
    for kind in VALUES:
        cases += [
            Case("first", resolve("first"), (kind,), lambda rows: rows[0][0] if rows else None),
            Case("last", resolve("last"), (kind,), lambda rows: rows[-1][0] if rows else None),
        ]
    skip = [
        Case("first_ignoring_nulls", resolve("first", (True,)), ("string",), lambda rows: (present(rows) or [None])[0]),
        Case("last_ignoring_nulls", resolve("last", (True,)), ("string",), lambda rows: (present(rows) or [None])[-1]),
    ]
    return cases + skip


ORDERED_CASES = _ordered_cases()


# -- both forms --------------------------------------------------------------------------------------------------


def arrays(rows: Rows, case: Case, positions: Sequence[int]) -> list[pa.Array]:
    """The argument columns of rows, with the arrival positions where the aggregate wants them."""
    columns = [pa.array([row[i] for row in rows], t) for i, t in enumerate(case.inputs)]
    return [*columns, pa.array(positions, pa.int64())] if case.aggregate.needs_order else columns


def fold(case: Case, rows: Rows, positions: Sequence[int]) -> Any:
    """The scalar state of rows."""
    state = case.aggregate.init()
    for row, position in zip(rows, positions, strict=True):
        state = case.aggregate.add(state, *row, *([position] if case.aggregate.needs_order else []))
    return state


def partials(case: Case, rows: Rows, positions: Sequence[int], codes: Sequence[int], groups: int) -> Columns:
    """The columnar state of rows, checked against the declared types."""
    columns = case.aggregate.partials(arrays(rows, case, positions), np.array(codes, np.int64), groups, case.inputs)
    return checked(case, columns, groups)


def combine(case: Case, pieces: Sequence[Columns], codes: Sequence[Sequence[int]], groups: int) -> Columns:
    """Partial states of several pieces merged into groups."""
    stacked = [pa.concat_arrays(parts) for parts in zip(*pieces, strict=True)]
    return checked(case, case.aggregate.combine(stacked, np.concatenate(codes).astype(np.int64), groups, case.inputs),
                   groups)


def checked(case: Case, columns: Columns, groups: int) -> Columns:
    """States must have the declared types and one row per group; columns that merge by themselves are never null."""
    fields = case.aggregate.state_fields(case.inputs)
    assert [c.type for c in columns] == [f.type for f in fields]
    assert all(len(c) == groups for c in columns)
    merges = case.aggregate.elementwise(case.inputs)
    if merges is not None:
        assert all(c.null_count == 0 and (merge == "exact" or c.type in (pa.int64(), pa.float64()))
                   for c, merge in zip(columns, merges, strict=True))
    return columns


def same(left: Any, right: Any) -> bool:
    """Equality in which NaN equals NaN."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return bool(left == right)
