"""The demo's picture: rows by arrival and event time, the punctuation line, the windows and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.errors import SourceError
from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.core.time import EPOCH, HOUR, format_duration

ON_TIME, LATE, LINE, WINDOW = "#3d7ea6", "#d1495b", "#1b1b1e", "#edae49"


@dataclass(frozen=True)
class Scene:
    """A stretch of a stream: event times in arrival order, when each row arrived, the bound in force, what was late."""

    events: Ordinals
    arrivals: Ordinals
    bounds: Ordinals
    late: npt.NDArray[np.bool_]

    def between(self, start: int, end: int) -> Scene:
        """The rows that arrived in a time span."""
        keep = (self.arrivals >= start) & (self.arrivals < end)
        return Scene(self.events[keep], self.arrivals[keep], self.bounds[keep], self.late[keep])


def most_disordered_day(scene: Scene, day: int) -> int:
    """The start of the day of arrival with the most late rows."""
    days, counts = np.unique(scene.arrivals[scene.late] // day, return_counts=True)
    return int(days[np.argmax(counts)]) * day if len(days) else int(scene.arrivals[0]) // day * day


def draw(scene: Scene, results: pa.Table, path: Path, *, start: int, end: int, value: str, group: str,
         reach: int, slide: int, title: str) -> None:
    """Two panels: the stream as it arrived, and what the windows say about the same hours."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt
        from matplotlib import dates
    except ImportError as error:
        raise SourceError("the picture needs matplotlib: pip install 'panewise[demo]'") from error
    formatter: Any = dates.ConciseDateFormatter
    date_formatter: Any = dates.DateFormatter
    shown = scene.between(start, end)
    figure, (stream, windows) = plt.subplots(2, 1, figsize=(11, 9), height_ratios=(3, 2), layout="constrained")
    on_time = ~shown.late
    x, y = _dates(shown.arrivals), _dates(shown.events)
    stream.scatter(x[on_time], y[on_time], s=7, color=ON_TIME, label=f"on time ({on_time.sum():,})", lw=0)
    stream.scatter(x[shown.late], y[shown.late], s=16, color=LATE, marker="x", lw=0.9,
                   label=f"late ({shown.late.sum():,})")
    stream.step(x, _dates(shown.bounds), where="post", color=LINE, lw=1.2,
                label="punctuation: nothing below this line may come")
    for closes, wid in _closings(shown, slide, every=max(1, HOUR // slide)):
        bottom, top = _date((wid + 1) * slide - reach), _date((wid + 1) * slide)
        stream.plot([closes, closes], [bottom, top], color=WINDOW, lw=2.5, alpha=0.85, solid_capstyle="butt", zorder=0)
    stream.plot([], [], color=WINDOW, lw=2.5, label=f"windows of {format_duration(reach)}, drawn where they close")
    stream.set(title=title, xlabel="arrives", ylabel="belongs to (event time)")
    stream.set_ylim(_date(int(shown.bounds.min(initial=start)) - reach), _date(end - 2 * HOUR))
    stream.legend(loc="upper left", frameon=False)
    ends = pc.struct_field(results.column("window"), 1)
    inside = pc.and_(pc.greater(ends, _date(start)), pc.less_equal(ends, _date(end)))
    chosen = results.append_column("end", ends).filter(inside).sort_by("end")
    for name in sorted(pc.unique(chosen.column(group)).to_pylist()):
        rows = chosen.filter(pc.equal(chosen.column(group), name))
        windows.plot(rows.column("end").to_pylist(), rows.column(value).to_pylist(), label=name, lw=1.4)
    windows.set(xlabel="end of the window", ylabel=f"{value.replace('_', ' ')} (minutes)")
    windows.legend(frameon=False)
    for axis in (stream, windows):
        axis.xaxis.set_major_formatter(formatter(axis.xaxis.get_major_locator()))
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_xlim(_date(start), _date(end))
    stream.yaxis.set_major_formatter(date_formatter("%d %b %H:%M"))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _closings(scene: Scene, slide: int, *, every: int) -> Iterator[tuple[Any, int]]:
    """When the punctuation line reaches the end of every so-many-th window."""
    if not len(scene.bounds):
        return
    for wid in range(int(scene.bounds[0]) // slide, int(scene.bounds[-1]) // slide, every):
        first = int(np.searchsorted(scene.bounds, (wid + 1) * slide))
        yield _date(int(scene.arrivals[min(first, len(scene.arrivals) - 1)])), wid


def scene_of(table: pa.Table, time: str, delays: Ordinals, allowed: int) -> Scene:
    """What a stream with at most ``allowed`` lateness looks like: the bound at every row, and the late rows."""
    events = to_ordinals(table.column(time), time)
    arrivals = events + delays
    newest = np.maximum.accumulate(events)
    bounds = np.concatenate([[events.min(initial=0) - allowed], newest[:-1] - allowed])
    return Scene(events, arrivals, bounds, events < bounds)


def _date(micros: int) -> Any:
    return EPOCH + timedelta(microseconds=int(micros))


def _dates(micros: Ordinals) -> Any:
    return micros.astype("datetime64[us]")
