"""Every option of every kernel is reached by ``strategy=``, is printed, and changes no answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import panewise as pw
from embedded.held import assert_runs_as_printed
from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.kernels.catalog import KERNELS, SAYS

OTHERS: dict[str, Any] = {"unit": "pane", "estimate": "model", "hysteresis": 0.5, "wed_since": "low", "slots": 64,
                          "differential": True, "slack": 7, "flush": "slow", "m": 1, "i": 9}
"""Of each a value that is not the default."""
EVERY = [(entry.name, option) for entry in KERNELS for option in entry.options.values()]
WINDOW = "[RANGE 10, SLIDE 5, WA ts]"
TEXT = f"SELECT k, count(*) {WINDOW} AS n, sum(v) {WINDOW} AS total FROM s GROUP BY k"
SCHEMA = SourceSchema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}, time="ts")
ROWS = [{"ts": ts, "k": "abc"[ts * ts % 3], "v": ts % 7} for ts in range(0, 90, 2)]
OPTIONS_PAGE = Path(__file__).parents[2] / "docs" / "options.md"


def test_every_option_has_a_value_here_and_a_meaning() -> None:
    assert {option.name for _, option in EVERY} == OTHERS.keys() == SAYS.keys()
    assert all(OTHERS[option.name] != option.default for _, option in EVERY)


@pytest.mark.parametrize(("kernel", "option"), EVERY, ids=lambda part: part if isinstance(part, str) else part.name)
def test_an_option_is_reached_printed_and_changes_no_answer(kernel: str, option: Any) -> None:
    value = OTHERS[option.name]
    given = f"{kernel}: {option.name}={str(value).lower()}"
    query = open_plan(plan_of(TEXT, {"s": SCHEMA}), strategy=given)
    plan = assert_runs_as_printed(query, strategy=given)  # looks into the kernel
    assert plan.windows is not None
    assert plan.steps[plan.windows].choice.options == {option.name: value}  # type: ignore[attr-defined]
    assert f"({option.name}={value})" in pw.explain(TEXT, s=ROWS, strategy={"kernel": kernel, option.name: value})
    assert list(pw.sql(TEXT, s=ROWS, strategy=given)) == list(pw.sql(TEXT, s=ROWS))


@pytest.mark.parametrize(("kernel", "option"), EVERY, ids=lambda part: part if isinstance(part, str) else part.name)
def test_the_page_of_options_has_it(kernel: str, option: Any) -> None:
    [line] = [line for line in OPTIONS_PAGE.read_text().splitlines()
              if line.startswith(f"| `{kernel}` |") and f"| `{option.name}` |" in line]
    assert option.says in line
    assert option.expected in line
