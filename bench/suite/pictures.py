"""Pictures of a job: throughput along its axis, or bars where there is only one point or no axis of numbers."""

from __future__ import annotations

import io
from collections.abc import Sequence

from suite.document import Picture
from suite.figures import Outcome
from suite.jobs import Job


def picture(job: Job, found: Sequence[tuple[object, Sequence[Outcome]]]) -> Picture | None:
    """The outcomes of all points of a job; None when nothing was measured or matplotlib is not installed."""
    measured = [(label, one) for label, outcomes in found for one in _with_most_rows(outcomes) if _figure(job, one)]
    try:
        import matplotlib
    except ImportError:
        return None
    if not measured:
        return None
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "panewise"  # the same figures give the same file
    numbers = len(found) > 1 and all(isinstance(label, int | float) for label, _ in found)
    drawing, axes = plt.subplots(figsize=(8, 4 if numbers else 1 + 0.35 * len(measured)))
    (_lines if numbers else _bars)(axes, job, measured)
    axes.grid(alpha=0.3)
    text = io.StringIO()
    drawing.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(drawing)
    return Picture(job.name, f"{job.title}: {_named(job)} by {job.axis}", text.getvalue())


def _named(job: Job) -> str:
    return {"rate": "rows per second", "latency_ms": "latency in milliseconds (median)"}.get(job.measure, job.measure)


def _figure(job: Job, one: Outcome) -> float | None:
    return one.rate if job.measure == "rate" else one.middle(job.measure)


def _with_most_rows(present: Sequence[Outcome]) -> list[Outcome]:
    """Each contender once; ours was also run on the few rows of slow ones."""
    most: dict[str, Outcome] = {}
    for one in present:
        if one.contender not in most or most[one.contender].first["rows"] < one.first["rows"]:
            most[one.contender] = one
    return list(most.values())


def _lines(axes, job: Job, measured: Sequence[tuple[object, Outcome]]) -> None:  # type: ignore[no-untyped-def]
    for name in dict.fromkeys(one.contender for _, one in measured):
        mine = [(label, one) for label, one in measured if one.contender == name]
        axes.plot([label for label, _ in mine], [_figure(job, one) for _, one in mine], marker="o",
                  label=mine[0][1].title)
    labels = list(dict.fromkeys(label for label, _ in measured))
    axes.set(xlabel=job.axis, ylabel=_named(job), yscale="log", xscale="symlog" if 0 in labels else "log")
    axes.set_xticks(labels, [f"{label:,}" for label in labels])
    axes.minorticks_off()
    axes.legend()


def _bars(axes, job: Job, measured: Sequence[tuple[object, Outcome]]) -> None:  # type: ignore[no-untyped-def]
    several = len({label for label, _ in measured}) > 1
    names = [f"{one.title}, {label}" if several else one.title for label, one in measured][::-1]
    colours = ["tab:blue" if one.ours else "tab:gray" for _, one in measured][::-1]
    axes.barh(range(len(names)), [_figure(job, one) for _, one in measured][::-1], color=colours, tick_label=names)
    axes.set(xlabel=_named(job), xscale="log")
