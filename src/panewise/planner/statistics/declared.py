"""What is known of a stream before it runs: declared by the user, or measured on a sample of the input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import exp
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.errors import PlanError, QuantityError
from panewise.core.names import unknown_name
from panewise.core.ordinals import OrdinalKind, Ordinals, to_ordinals
from panewise.core.schema import ROW_NUM_NAMES
from panewise.core.time import DAY, SECOND, Quantity
from panewise.functions import evaluate
from panewise.kernels.groups.grouping import group_codes
from panewise.plan.nodes import WindowAggregate
from panewise.planner.facts.patterns import format_amount

BATCH_ROWS = 10_000
MEMORY_LIMIT = float(2**30)
"""Bytes of state of one aggregate above which memory, not time, decides."""
CLASSES = 64
"""Groups of like size are kept as one class; so many classes describe any skew well enough."""


@dataclass(frozen=True)
class Statistics:
    """What the cost formulas ask of a stream; a step is one unit of the windowing attribute (a microsecond, a row)."""

    rows_per_unit: float
    """``vol``: rows per step of the windowing attribute; of the data, not of how fast it arrives."""
    groups: float = 1.0
    """Different groups in the stream."""
    groups_per_pane: float | None = None
    groups_per_window: float | None = None
    sizes: tuple[tuple[float, float], ...] = ()
    """Skew: (share of all rows that each group of a class has, groups in the class); empty means all alike."""
    disorder: float = 0.0
    """How far, in steps, a row may lie behind the largest value seen: windows stay open so much longer."""
    row_bytes: float | None = None
    """An input row as a buffer would hold it; by its types when not given."""
    partial_bytes: float | None = None
    """A partial aggregate with its group; by its types when not given."""
    batch_rows: float = BATCH_ROWS
    """Rows that come in at once: windows close only between batches."""
    sources: tuple[tuple[str, float, float], ...] = ()
    """Of several inputs: name, rows per step, and the steps by which it lags behind the earliest."""
    memory_limit: float = MEMORY_LIMIT
    """Not of the stream but of the machine: what the state of one aggregate may take."""
    measured: bool = False

    def groups_in(self, rows: float) -> float:
        """Different groups among so many rows.

        >>> round(Statistics(1.0, groups=1000).groups_in(1000))
        632
        """
        if rows <= 0:
            return 0.0
        classes = self.sizes or ((1.0 / max(self.groups, 1.0), max(self.groups, 1.0)),)
        return max(1.0, sum(count * (1.0 - exp(-share * rows)) for share, count in classes))

    @property
    def offsets(self) -> list[tuple[float, float]]:
        """Rows per step and lag of every source, as formula 6.7 takes them."""
        return [(vol, offset) for _, vol, offset in self.sources]


_RATES = {"rows_per_second": SECOND, "rows_per_minute": 60 * SECOND, "rows_per_hour": 3600 * SECOND,
          "rows_per_day": DAY}
_PLAIN = ("groups", "groups_per_pane", "groups_per_window", "row_bytes", "partial_bytes", "batch_rows", "memory_limit")
_KNOWN = (*_RATES, "rows_per_unit", *_PLAIN, "disorder")


def declared(values: Mapping[str, Any], unit: OrdinalKind) -> Statistics:
    """Statistics a user states; rates in real time need a windowing attribute that has real time.

    >>> declared({"rows_per_second": 5000, "groups": 1000, "disorder": "2 s"}, OrdinalKind.TIMESTAMP).rows_per_unit
    0.005
    """
    known: dict[str, float] = {}
    for name, value in values.items():
        if name not in _KNOWN:
            raise PlanError(unknown_name("statistic", name, _KNOWN))
        known[name] = _lag(value, unit) if name == "disorder" else positive(name, value)
    rates = [name for name in known if name.startswith("rows_per_")]
    if unit is OrdinalKind.ROWS:
        vol = 1.0
    elif len(rates) != 1:
        expected = "rows_per_second=5000" if unit is OrdinalKind.TIMESTAMP else "rows_per_unit=3"
        raise PlanError(f"statistics need one rate, such as {expected}; given: {', '.join(rates) or 'none'}")
    else:
        vol = _rate(rates[0], known[rates[0]], unit)
    plain: dict[str, Any] = {name: known[name] for name in (*_PLAIN, "disorder") if name in known}
    if "groups" not in plain:
        plain["groups"] = known.get("groups_per_window", known.get("groups_per_pane", 1.0))
    return Statistics(vol, **plain)


def parse_statistics(text: str) -> dict[str, str]:
    """The command line's form: ``rows_per_second=5000,groups=1000``.

    >>> parse_statistics("rows_per_second=5000,groups=1000")
    {'rows_per_second': '5000', 'groups': '1000'}
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        name, sign, value = part.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise PlanError(f"cannot read the statistics {text!r}: write NAME=VALUE,NAME=VALUE with names of "
                            f"{', '.join(_KNOWN)}")
        found[name.strip()] = value.strip()
    return found


def given_statistics(stats: Any) -> Any:
    """Statistics as a program gives them, or of the command line's form."""
    return parse_statistics(stats) if isinstance(stats, str) else stats


def positive(name: str, value: Any) -> float:
    """A figure that a user states."""
    try:
        number = float(str(value).replace("_", ""))
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise PlanError(f"the statistic {name} is {value!r}: expected a number above zero")
    return number


def _lag(value: Any, unit: OrdinalKind) -> float:
    try:
        amount = unit.amount(Quantity.parse(value))
    except QuantityError as error:
        raise PlanError(f"the statistic disorder is {value!r}: {error}") from error
    if amount < 0:
        raise PlanError(f"the statistic disorder is {value!r}: expected zero or more")
    return float(amount)


def _rate(name: str, value: float, unit: OrdinalKind) -> float:
    if name == "rows_per_unit":
        return value
    if unit is OrdinalKind.TIMESTAMP:
        return value / _RATES[name]
    if unit is OrdinalKind.DATE:
        return value * DAY / _RATES[name]
    raise PlanError(f"{name} needs a windowing attribute in time, and this one counts {unit.value}: use rows_per_unit")


# -- measuring


def measure(sample: pa.Table | Iterable[pa.Table | tuple[str, pa.Table]], node: WindowAggregate) -> Statistics:
    """Statistics of rows as the window aggregate receives them, in arrival order.

    A sample is a table, or batches of it, each with the name of its source when there are several.
    """
    parts = [("", sample)] if isinstance(sample, pa.Table) else [
        part if isinstance(part, tuple) else ("", part) for part in sample]
    attribute = node.window.attribute
    by_position = attribute in ROW_NUM_NAMES
    if not by_position:  # what becomes of rows without a time is decided by the policy of a run
        parts = [(source, _timed(table, attribute)) for source, table in parts]
    parts = [(source, table) for source, table in parts if table.num_rows]
    if not parts:
        raise PlanError("there are no rows to measure statistics on: declare them, such as rows_per_second=5000")
    values = [np.zeros(t.num_rows, np.int64) if by_position else to_ordinals(t.column(attribute), attribute)
              for _, t in parts]
    scalars = [key.scalar for key in node.keys] + [a for call in node.aggregates for a in call.arguments]
    rows = [pa.table(evaluate(scalars, t), names=[str(i) for i in range(len(scalars))]) for _, t in parts]
    total = sum(map(len, values))
    table = pa.concat_tables(rows, promote_options="permissive") if scalars else None
    codes = np.zeros(total, np.int64)
    if node.keys and table is not None:
        codes = np.asarray(group_codes([table.column(str(i)) for i in range(len(node.keys))])[0])
    width = 8.0 + (table.nbytes / total if table is not None else 0.0)
    together = np.arange(1, total + 1) if by_position else np.concatenate(values)
    counts = np.bincount(codes)
    found = Statistics(
        1.0 if by_position else total / _span(together), groups=float(len(counts)), sizes=_classes(counts / total),
        disorder=0.0 if by_position else float((np.maximum.accumulate(together) - together).max()),
        row_bytes=width, batch_rows=total / len(parts), measured=True)
    if len({source for source, _ in parts}) > 1 and not by_position:
        found = replace(found, sources=_sources([s for s, _ in parts], values))
        lag = max(offset for _, offset in found.offsets)
        found = replace(found, disorder=max(found.disorder - lag, lag))
    return _per_extent(found, node, together, codes)


def _timed(table: pa.Table, attribute: str) -> pa.Table:
    times = table.column(attribute)
    return table.filter(times.is_valid()) if times.null_count else table


def _per_extent(found: Statistics, node: WindowAggregate, values: Ordinals, codes: Ordinals) -> Statistics:
    """Groups of a pane and of a window, counted, where the sample is long enough to have several of them."""
    spec = node.window.spec.plain
    length, pane = getattr(spec, "range", None), getattr(spec, "pane", None)
    counted: dict[str, Any] = {}
    for name, size in (("groups_per_pane", pane), ("groups_per_window", length)):
        if isinstance(size, int) and (groups := _groups_per(values, codes, size)) is not None:
            counted[name] = groups
    return replace(found, **counted) if counted else found


def _groups_per(values: Ordinals, codes: Ordinals, size: int) -> float | None:
    pieces = (values - values.min()) // size
    whole = pieces < pieces.max()  # the last piece is cut by the end of the sample
    if not whole.any():
        return None
    pairs = group_codes([pieces[whole], codes[whole]])[1]
    return len(pairs) / len(np.unique(pieces[whole]))


def _span(values: Ordinals) -> float:
    """The steps a sample covers; n rows are n-1 distances, and the last one counts as well."""
    distance = float(values.max() - values.min())
    return max(distance * (len(values) / max(len(values) - 1, 1)), 1.0)


def _classes(shares: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[tuple[float, float], ...]:
    """Groups by size: (mean share, number) of classes with like shares."""
    ordered = np.sort(shares)[::-1]
    pieces = np.array_split(ordered, _cuts(ordered))
    return tuple((float(piece.mean()), float(len(piece))) for piece in pieces if len(piece))


def _cuts(ordered: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    """Where a class ends: at equal steps of the share's logarithm, so that few large groups keep their own."""
    level = np.floor(np.log2(ordered) * 2)
    cuts = (np.flatnonzero(np.diff(level)) + 1).tolist()
    return cuts if len(cuts) < CLASSES else np.linspace(0, len(ordered), CLASSES + 1).astype(int)[1:-1].tolist()


def _sources(names: list[str], values: list[Ordinals]) -> tuple[tuple[str, float, float], ...]:
    """Rates and offsets: the mean distance of a source's high watermark from the foremost one."""
    high: dict[str, int] = {}
    lags: dict[str, list[float]] = {name: [] for name in names}
    for name, column in zip(names, values, strict=True):
        high[name] = max(high.get(name, int(column.max())), int(column.max()))
        if len(high) == len(lags):
            foremost = max(high.values())
            for other, mark in high.items():
                lags[other].append(foremost - mark)
    found = []
    for name, seen in lags.items():
        column = np.concatenate([v for n, v in zip(names, values, strict=True) if n == name])
        found.append((name, len(column) / _span(column), float(np.mean(seen)) if seen else 0.0))
    foremost_lag = min(offset for _, _, offset in found)
    return tuple((name, vol, offset - foremost_lag) for name, vol, offset in found)


def describe_statistics(known: Statistics, unit: OrdinalKind) -> str:
    """The figures a choice rests on, on one line.

    >>> describe_statistics(Statistics(0.005, groups=1000), OrdinalKind.TIMESTAMP)
    'declared: 5,000 rows/s, 1,000 groups'
    """
    rate = {OrdinalKind.TIMESTAMP: f"{known.rows_per_unit * SECOND:,.4g} rows/s",
            OrdinalKind.DATE: f"{known.rows_per_unit:,.4g} rows/day",
            OrdinalKind.INTEGER: f"{known.rows_per_unit:,.4g} rows/step"}.get(unit, "every row")
    if unit is OrdinalKind.TIMESTAMP and known.rows_per_unit * SECOND >= 100:
        rate = f"{known.rows_per_unit * SECOND:,.0f} rows/s"
    groups = f"{known.groups:,.0f} group{'s' * (known.groups != 1)}"
    text = f"{'measured' if known.measured else 'declared'}: {rate}, {groups}"
    if known.disorder:
        text += f", {format_amount(round(known.disorder), unit)} of disorder"
    for name, _, offset in known.sources:
        if offset:
                text += f", {name or 'a source'} {format_amount(round(offset), unit)} behind"
    return text
