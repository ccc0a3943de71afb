"""Write the generated pages of docs/: what each engine runs, and the aggregate functions."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from panewise.aggregates.base import Aggregate
from panewise.aggregates.registry import BUILT_IN, REQUIRED_PARAMETERS
from panewise.aggregates.sums import Avg, Sum
from panewise.planner.capabilities import docs_table

DOCS = Path(__file__).parent.parent / "docs"

ENGINES = """\
# Which engine runs what

One plan, three engines. The **oracle** evaluates every plan by definition, slowly; it is what the others are tested
against. The **embedded** engine and **Spark** run the plans marked here and refuse the others by name, before they read
a row: there is no silent difference. This page is generated from the table that `panewise.planner.capabilities.check`
enforces (`make docs`).

{table}
"""

AGGREGATES = """\
# Aggregate functions

Generated from the registry (`make docs`). *Class* is how large a partial state is: distributive and algebraic states
are a few numbers, holistic ones grow with the data. *Inverse* says whether rows can be taken out of a state again
exactly; for sums of floats they cannot, because subtraction drifts. Nulls are ignored as in Spark SQL, an aggregate of
nulls only is null, `count` counts zero. Your own function joins by the same contract: subclass `panewise.Aggregate`,
then `panewise.register` it.

| function | class | inverse | what it gives |
|---|---|---|---|
{rows}
"""


def aggregate_rows() -> str:
    """One line per function."""
    lines = []
    for kind, names in BUILT_IN.items():
        example = REQUIRED_PARAMETERS.get(kind, (0, ""))[1]
        shown = f"`{example or names[0]}`" + "".join(f", `{name}`" for name in names[1:])
        what = (kind.__doc__ or "").strip().split("\n", maxsplit=1)[0]
        lines.append(f"| {shown} | {kind.agg_class.value} | {_inverse(kind)} | {what} |")
    return "\n".join(lines)


def _inverse(kind: type[Aggregate]) -> str:
    """For which arguments rows can be taken out again."""
    if kind.invertible:
        return "yes"
    function = kind()
    inputs = [pa.int64()] * kind.arity
    return "integers, decimals" if kind in {Sum, Avg} and function.is_invertible(inputs) else ""


def pages() -> dict[Path, str]:
    """Every generated page and its text."""
    return {
        DOCS / "engines.md": ENGINES.format(table=docs_table()),
        DOCS / "aggregates.md": AGGREGATES.format(rows=aggregate_rows()),
    }


def main() -> int:
    """Write them."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(DOCS.parent)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
