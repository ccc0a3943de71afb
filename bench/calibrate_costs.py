"""The constants of the cost formulas, measured on the kernels themselves, one core.

    python bench/calibrate_costs.py [--rows 50000] [--write]

Runs every kernel that the planner has a model of over a grid of groups, RANGE/SLIDE and rows per slide, and finds the
nanoseconds per step that explain the times best (least squares of relative errors, nothing below zero). Prints them
with the error they leave; ``--write`` puts them into ``src/panewise/planner/cost/constants.py``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.aggregates.registry import resolve
from panewise.kernels.catalog import Request, able, make_kernel
from panewise.kernels.contract.partials import bind
from panewise.planner.cost import constants
from panewise.planner.cost.constants import Constants
from panewise.planner.cost.estimates import MODELS, Workload
from panewise.planner.statistics.declared import Statistics
from panewise.progress.punctuation import Punctuation
from panewise.windows.sliding import SlidingWindow

SLIDE = 1_000_000
GROUPS = (10, 1_000, 20_000)
RATIOS = (1, 6, 60)
PER_SLIDE = (300, 3_000, 30_000)
BATCHES = (1_000, 10_000)
MOST = 200_000
"""Rows of the largest window."""
WARM = 60_000
"""Rows before the first that is measured: kernels may begin in another form."""
STEPS = tuple(vars(Constants()))
AGGREGATES = {
    "simple": (("count", "count", False), ("max", "max", False), ("avg", "avg", False)),
    "holistic": (("different", "count", True),),
}
HOME = Path(constants.__file__)


def request(kind: str, ratio: int) -> Request:
    calls = [(name, resolve(function, (), distinct)) for name, function, distinct in AGGREGATES[kind]]
    inputs = [[] if name == "count" else [pa.float64()] for name, _ in calls]
    return Request(SlidingWindow(ratio * SLIDE, SLIDE), pa.schema({"k": pa.int64()}), tuple(bind(calls, inputs)))


def seconds_of(asked: Request, kernel: str, rows: int, groups: int, per_slide: int,
               batch: int) -> tuple[float, int]:
    """CPU seconds per window, once the first window is full, and the bytes of state in the end."""
    ratio = asked.spec.ratio  # type: ignore[attr-defined]
    before = max(ratio * per_slide, WARM)
    total = -(-(before + max(rows, 4 * per_slide, 6 * batch)) // batch) * batch
    rng = np.random.default_rng(1)
    values = np.sort(rng.integers(0, total * SLIDE // per_slide, total))
    keys, price = rng.integers(0, groups, total), pa.array(rng.integers(0, 1000, total).astype(float))
    running = make_kernel(asked, kernel, attribute="ts")
    busy, first = time.process_time(), 0
    for at in range(0, total, batch):
        if at >= before and not first:
            busy, first = time.process_time(), int(values[at])
        part = slice(at, at + batch)
        arguments = [[price[at : at + batch]] if a.inputs else [] for a in asked.aggregates]
        running.process(values[part], pa.table({"k": pa.array(keys[part])}), arguments)
        if at + batch < total:
            running.advance(Punctuation.below("ts", int(values[part][-1])))
    busy = time.process_time() - busy
    return busy / ((int(values[-1]) - first) / SLIDE), running.counters()["bytes"]


def observed(kind: str, kernel: str, rows: int, case: tuple[int, int, int, int]) -> tuple[list[float], float, float]:
    """How often each step was taken per window, the nanoseconds per window, and the state over its estimate."""
    groups, ratio, per_slide, batch = case
    asked, work = request(kind, ratio), workload(kind, case)
    steps = MODELS[kernel].steps(work)
    seconds, size = seconds_of(asked, kernel, rows, groups, per_slide, batch)
    return [steps.get(step, 0.0) for step in STEPS], 1e9 * seconds, size / MODELS[kernel].memory(work)


def workload(kind: str, case: tuple[int, int, int, int]) -> Workload:
    groups, ratio, per_slide, batch = case
    work = Workload.of(request(kind, ratio), Statistics(per_slide / SLIDE, groups=groups, batch_rows=batch))
    assert work is not None
    return work


def holds(kind: str, kernel: str, case: tuple[int, int, int, int]) -> bool:
    """Whether the kernel works in its own way on this case."""
    return MODELS[kernel].holds(workload(kind, case))


def fit(cases: Sequence[tuple[list[float], float, float]]) -> tuple[np.ndarray[Any, Any], float]:
    """Non-negative constants with the least relative error, and the mean of that error."""
    times = np.array([t for _, t, _ in cases])
    matrix = np.array([steps for steps, _, _ in cases]) / times[:, None]
    found = np.zeros(matrix.shape[1])
    active = matrix.any(axis=0)
    while active.any():  # leave out the most negative one until none is
        solved = np.linalg.lstsq(matrix[:, active], np.ones(len(times)), rcond=None)[0]
        if (solved >= 0).all():
            found[active] = solved
            break
        active[np.flatnonzero(active)[solved.argmin()]] = False
    return found, float(np.abs(matrix @ found - 1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--write", action="store_true", help="put the constants into the planner")
    parser.add_argument("--cases", action="store_true", help="show every case")
    parser.add_argument("--kernel", help="only this one")
    options = parser.parse_args()
    pa.set_cpu_count(1)
    lines = []
    for kind in AGGREGATES:
        rows = options.rows if kind == "simple" else options.rows // 5
        lines.append(f'    "{kind}": {{')
        for kernel in [entry.name for entry in able(request(kind, 6)) if entry.name in MODELS
                       and options.kernel in (None, entry.name)]:
            seconds_of(request(kind, 6), kernel, rows, 100, 2_000, 10_000)  # code is loaded and compiled
            grid = [case for case in itertools.product(GROUPS, RATIOS, PER_SLIDE, BATCHES) if case[1] * case[2] <= MOST]
            grid = [case for case in grid if holds(kind, kernel, case)]
            cases = [observed(kind, kernel, rows, case) for case in grid]
            found, error = fit(cases)
            if options.cases:
                for case, (steps, real, memory) in zip(grid, cases, strict=True):
                    print(case, f"{real / 1e3:,.0f} µs measured, {np.dot(steps, found) / 1e3:,.0f} µs by the formula, "
                          f"{memory:.2f} of the memory")
            shown = ", ".join(f"{step}={value:.4g}" for step, value in zip(STEPS, found, strict=True) if value)
            lines.append(f'        "{kernel}": Constants({shown}),')
            print(f"{kind:9} {kernel:22} {shown}  (mean error {100 * error:.0f} %; state is "
                  f"{np.median([memory for _, _, memory in cases]):.2f} times its estimate in the middle, "
                  f"{min(m for _, _, m in cases):.2f} to {max(m for _, _, m in cases):.2f} in all)")
            print(json.dumps({"bench": "calibrate_costs", "aggregates": kind, "kernel": kernel, "error": error,
                              **dict(zip(STEPS, found.tolist(), strict=True))}))
        lines.append("    },")
    if options.write:
        text = HOME.read_text(encoding="utf-8")
        table = "CONSTANTS: dict[str, dict[str, Constants]] = {\n" + "\n".join(lines) + "\n}\n"
        HOME.write_text(re.sub(r"CONSTANTS: .*?\n}\n", lambda _: table, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
