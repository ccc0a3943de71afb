"""The state of a running query, for a person and for a program: open windows, what they wait for, late rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.core.time import format_duration, format_timestamp, parse_timestamp
from panewise.dataflow.aggregate import WindowAggregation
from panewise.dataflow.events import ordinals_of, shown
from panewise.dataflow.inputs import StreamInput
from panewise.dataflow.operators.base import Operator
from panewise.dataflow.relations.region import Relation
from panewise.kernels.contract.kernel import WINDOW_END
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.plan.nodes import WindowClause
from panewise.progress.watermarks import FINISHED, NO_BOUND

WINDOWS_LISTED = 20
SCALARS = ("rows", "late", "bad", "watermark", "open_windows", "window_groups", "partials", "buffered", "state_bytes")


class QueryStatus(dict[str, Any]):
    """A dictionary that prints as a page.

    ``rows``, ``late`` (with ``late_policy``, and ``late_forgotten``, those that made room for newer ones), ``bad``,
    ``watermark``, ``open_windows``, ``window_groups`` (window and group pairs), ``partials``, ``buffered`` rows,
    ``state_bytes``; ``streams`` by name; ``windows``, the oldest open ones: ``wid``, ``start``, ``end``, ``groups``,
    ``closes_at`` (the bound that closes it) and ``missing`` (how far the watermark is).
    """

    def __repr__(self) -> str:
        bad = f"{self['bad']:,} bad, " if self.get("bad") else ""
        head = f"{self['rows']:,} rows in, {self._late()}, {bad}watermark {_text(self['watermark'])}"
        state = (f"{self['open_windows']:,} open windows, {self['window_groups']:,} window groups, "
                 f"{self['partials']:,} partials, {self['buffered']:,} buffered rows, {self['state_bytes']:,} bytes")
        parts = [head, state, _grid(*self._streams())]
        if self["windows"]:
            parts.append(_grid(*self._windows()))
        if len(self["windows"]) < self["open_windows"]:
            parts.append(f"… the {len(self['windows'])} oldest of {self['open_windows']:,} open windows")
        return "\n".join(parts)

    def _late(self) -> str:
        """How many rows were late, under which policy, and how many of them are not kept any more."""
        if not self["late"] or "late_policy" not in self:
            return f"{self['late']:,} late"
        gone = f", {self['late_forgotten']:,} of them no longer kept" if self.get("late_forgotten") else ""
        return f"{self['late']:,} late (late={self['late_policy']!r}{gone})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        head = " · ".join(f"<b>{escape(_text(self.get(name, 0)))}</b> {name.replace('_', ' ')}" for name in SCALARS)
        tables = [_html(*self._streams()), *([_html(*self._windows())] if self["windows"] else [])]
        return f"<div><p>{head}</p>{''.join(tables)}</div>"

    def _streams(self) -> tuple[list[str], list[list[str]]]:
        names = ["stream", "rows", "late", "watermark", "progress"]
        rows = [[name, f"{s['rows']:,}", f"{s['late']:,}", _text(s["watermark"]), s["progress"] +
                 (" (ended)" if s["finished"] else " (idle)" if s["idle"] else "")]
                for name, s in self["streams"].items()]
        return names, rows

    def _windows(self) -> tuple[list[str], list[list[str]]]:
        names = ["window", "groups", "closes at", "missing"]
        rows = [[_span(w), f"{w['groups']:,}", _text(w["closes_at"]), _text(w["missing"])] for w in self["windows"]]
        return names, rows


def build_status(operators: Sequence[Operator], streams: Mapping[str, tuple[StreamInput | None, int, int]],
                 top: WindowAggregation | None, relation: Relation | None, *, kind: OrdinalKind, arrived: int,
                 late: int, bad: int, watermark: int, listed: int) -> QueryStatus:
    """Look at everything; listing windows costs a look at every partial, counting them does not.

    ``streams`` are what each has promised, its late rows and its bad ones; ``top`` is the window aggregate whose
    windows are the results, ``relation`` the relation whose changes are.
    """
    kept = [found for operator in operators if operator is not top and (found := operator.counters())]
    if relation is not None:
        kept = [*relation.operators(), *(found for found in kept if "operator" in found), relation.counters()]
    kernel = {} if top is None else top.kernel.counters()
    found = QueryStatus(
        rows=arrived, late=late, bad=bad, watermark=bound_text(watermark, kind),
        open_windows=kernel.get("open_windows", 0), window_groups=kernel.get("window_groups", 0),
        partials=kernel.get("partials", 0) + sum(int(c.get("rows", 0)) for c in kept if "joins" not in c),
        buffered=kernel.get("buffered", 0) + sum(int(c.get("waiting", 0)) for c in kept),
        state_bytes=kernel.get("bytes", 0) + sum(int(c.get("bytes", 0)) for c in kept),
        streams={name: _stream(*said, kind) for name, said in streams.items()},
        windows=_open_windows(top, listed) if top is not None and listed > 0 else [])
    joins = [join for counted in kept for join in counted.get("joins", ())]
    found["buffered"] += sum(join["buffered"] for join in joins if "buffered" in join)
    if relation is not None:
        found["operators"] = [counted for counted in kept if "operator" in counted]
    if joins:
        found["joins"] = joins
    return found


def _stream(source: StreamInput | None, late: int, bad: int, kind: OrdinalKind) -> dict[str, Any]:
    if source is None:
        return {"rows": 0, "late": late, "bad": bad, "finished": False, "idle": False, "watermark": None,
                "groups_ahead": 0, "progress": ""}
    bound = FINISHED if source.finished else source.guard.bounds.linear
    return {"rows": source.rows, "late": late, "bad": bad, "finished": source.finished, "idle": source.generator.idle,
            "watermark": bound_text(bound, kind),
            "groups_ahead": sum(len(table.bounds) for table in source.guard.bounds.groups.values()),
            "progress": source.generator.describe()}


def bound_text(bound: int, kind: OrdinalKind) -> str | None:
    """A bound as text; None before the first, ``end`` after the last."""
    return None if bound == NO_BOUND else "end" if bound == FINISHED else kind.text(bound)


def _open_windows(stage: WindowAggregation, listed: int) -> list[dict[str, Any]]:
    if stage.finished:
        return []
    window = stage.node.window
    now = stage.kernel.peek()
    wids, groups = np.unique(now.column(WINDOW_ID).to_numpy(), return_counts=True)
    watermark, kind = stage.watermark, window.ordinal
    found = []
    for wid, count in zip(wids[:listed].tolist(), groups[:listed].tolist(), strict=True):
        start, end = _extent(window, wid, now)
        missing = None if end is None or watermark == NO_BOUND else max(end - watermark, 0)
        found.append({
            "wid": wid, "start": shown(start, kind), "end": shown(end, kind), "groups": count,
            "closes_at": shown(end, kind),
            "missing": None if missing is None else format_duration(missing) if kind is OrdinalKind.TIMESTAMP
            else missing,
        })
    return found


def _extent(window: WindowClause, wid: int, now: pa.Table) -> tuple[int | None, int | None]:
    if WINDOW_END in now.column_names:  # the rows decide where it ends: the latest of its groups
        ends = now.column(WINDOW_END).to_numpy()[now.column(WINDOW_ID).to_numpy() == wid]
        return wid, int(ends.max())
    return ordinals_of(window, wid)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, datetime):
        return format_timestamp(parse_timestamp(value))
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:,}" if isinstance(value, int) else str(value)


def _span(window: Mapping[str, Any]) -> str:
    if window["start"] is None and window["end"] is None:
        return f"wid {window['wid']}"
    return f"[{_text(window['start'])}, {_text(window['end'])})"


def _grid(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in [names, *rows]) for i in range(len(names))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
                     for row in [names, *rows])


def _html(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
