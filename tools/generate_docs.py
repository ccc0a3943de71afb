"""Write the generated pages of docs/: what each engine runs, every query of the list, aggregates and functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from panewise.aggregates.base import Aggregate
from panewise.aggregates.moments import VarSamp
from panewise.aggregates.registry import BUILT_IN, REQUIRED_PARAMETERS
from panewise.aggregates.sums import Sum
from panewise.kernels.catalog import KERNELS
from panewise.plan.nodes import WindowAggregate
from panewise.planner.facts.result_forms import form_of
from panewise.planner.legal import refusals
from panewise.planner.legal.capabilities import ENGINES as ENGINE_NAMES
from panewise.planner.legal.capabilities import docs_table, supports
from panewise.planner.legal.relational import is_relational
from panewise.planner.options import OPTIONS, Mode, PlanKind
from panewise.sql import parse

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]

from function_page import page as function_page  # noqa: E402 -- reads the answers that the tests hold

from sql.sql_cases import catalog, load, options, variants  # noqa: E402 (the list of queries is that of the tests)

ENGINES = """\
# Which engine runs what

One plan, three engines. The **oracle** evaluates every plan by definition, slowly; it is what the others are tested
against. The **embedded** engine and **Spark** run the plans marked here and refuse the others by name, before they read
a row: there is no silent difference. This page is generated (`make docs`) from the table that
`panewise.planner.legal.capabilities.check` enforces.

{table}
Plans that mean nothing, or nothing that can be told while the inputs go on, are refused with a reason:
[every refusal](refusals.md).
"""

REFUSALS = """\
# What is refused, and why

Every plan that is refused, by the reason. A text that the language does not know is another matter: its error says
where and what to write instead. This page is generated (`make docs`) from the one table that all refusals are made by
(`planner/legal/refusals.py`); a test tries every example on every engine. In the examples `s` and `t` are streams with
a time `ts`, `days` is one by dates and `dated` by timestamps, `names` is a table whose rows meet later rows, `cities`
one whose changes reach back. Where the oracle is not among those that refuse, it answers, over inputs that end.

{table}"""

OPTIONS_PAGE = """\
# The options of a run

Every option is declared once (`planner/options/run_options.py`); this page, the keywords of `pw.sql`, `pw.run`,
`pw.open_query`, `pw.explain` and `pw.stream`, and the flags of `panewise run` and `panewise explain` are made from the
declarations (`make docs`). An engine that cannot do what an option asks refuses it by name. *Spark batch* and *Spark
stream* are static and streaming DataFrames, *Spark files* is `panewise run --engine spark` over files; *in part* means
that some values, or some kinds of queries, are refused with their reason, as listed below.

| option | default | what it says | given to | flag | {modes} |
|---|---|---|---|---|{lines}
{rows}

## The kernels that `strategy=` names, and their options

A kernel is named as `strategy="buffering"`, with its options as `"buffering: slack=100, differential"` or
`{{"kernel": "buffering", "slack": 100}}`;
[which of them runs what](planner.md#how-a-window-aggregate-is-run), and which is taken where none is named.

| strategy | keeps | option | values | default | what it says |
|---|---|---|---|---|---|
{strategies}

## What is refused, and what to do instead

| option | where | for | words |
|---|---|---|---|
{refusals}
"""


AGGREGATES = """\
# Aggregate functions

Generated from the registry (`make docs`). *Class* is how large a partial state is: distributive and algebraic states
are a few numbers, holistic ones grow with the data. *Inverse* says whether rows can be taken out of a state again
exactly; of sums of floats they cannot, because a NaN or an infinity would stay. Nulls are ignored as in Spark SQL, an
aggregate of nulls only is null, `count` counts zero. Your own function joins by the same contract: subclass
`panewise.Aggregate`, then `panewise.register` it.

| function | class | inverse | what it gives |
|---|---|---|---|
{rows}

## Floats

A sum of floats has one answer, whatever the order of rows, the batches, the kernel and the merges:

| | answer |
|---|---|
| `sum` | the float nearest to the exact sum, ties to even; one that passes the largest float may come back |
| `avg` | that sum by the count, one division |
| `var_samp`, `var_pop` | the float nearest to the exact value, also of numbers whose squares are no floats |
| `stddev`, `stddev_pop` | the square root of that variance |
| a NaN, or both infinities | NaN; of variances any of them |
| beyond the largest float | infinity |
| a sum of zero | `+0.0`, also of `-0.0` alone |

An aggregate of your own answers as its `merge` does. One whose state is a float that is merged by `sum` is refused:
kernels would add it in an order of their own. Let `elementwise` return None, or keep the sum exactly (`EXACT_SUM`).
The buffering kernel with `differential=True` takes rows away from sums, and refuses those of floats by name.

`float` columns are added as doubles. Kernels add floats as integers: each float is cut at multiples of 32 bits, and
the pieces are summed one by one, so nothing is rounded before a result leaves. Ordinary data has three or four such
digits to a sum; data of every magnitude has more, as many as it needs.

```pycon
>>> import panewise as pw
>>> rows = [{{"ts": 58, "f": -1e6}}, {{"ts": 67, "f": 1e6}}, {{"ts": 77, "f": 19.99}}]
>>> text = "SELECT sum(f) [RANGE 20, SLIDE 3, WA ts] AS total FROM s"
>>> [row["total"] for row in pw.sql(text, s=rows)][3:8]
[0.0, 0.0, 0.0, 19.99, 1000019.99]

```

On Spark the same holds in streams, in changing relations and wherever kernels run. Only one job adds in the JVM:
`count`, `sum`, `min`, `max` and `avg` in sliding windows of a static DataFrame. Spark rounds every addition there, so
its sums of floats depend on the order in which partitions arrive and are off by up to n units in the last place of
the sum of magnitudes. `explain` says so; `exact=True` in `pw.sql`, `pw.stream` and `pw.explain` (`--exact` on the
command line) takes kernels instead, which give the answer above to the last bit. In process `exact` changes nothing.

## Frequent items from lists

`frequent_items(x, k)` is for long windows of many values. Of every pane (a piece of gcd(RANGE, SLIDE), counted from the
windows' origin) only the k most frequent values are kept once it is complete, ties by the smaller value. A value that
is on no list can hide at most the last count of every full list; a window reports the values whose listed counts exceed
the sum of these. So no value is reported that is not that frequent and no count is too large, but a value may be
missing: use `heavy_hitters` where the counts of a window fit in memory.

| windows | panes |
|---|---|
| `[RANGE 10 min, SLIDE 1 min, WA ts]` | of the values of a column, whatever the order of rows |
| `[RANGE 100000 rows, SLIDE 100 rows, WA row-num]` | of rows, by position; a list is made with its pane's last row |
| the same with `PA k` | of the rows of each `k`, which count by themselves |
| `[ROWS 100000 SLIDE 100]`, also `PARTITION BY k` | the same as a [relation](relations.md), which keeps its rows |

Sessions, calendars, landmarks and windows that slide by tuple have no panes of one length and are refused. So are
relations whose rows do not leave in the order in which they came (joins, DISTINCT, sub-queries over windows), windows
of time as relations, whose rows come and go one by one, and partitions that are not in GROUP BY: a pane would be there
in part. `bench/frequent_items.py`, windows of 100,000 rows, 1,647 sources by Zipf's law, panes of b rows; windows of
time and windows by rows that begin at the same row give the same lists:

```
    b   k  threshold  above  found  error  in order  entries
   20   3       8.1%    2.0   100%   2.3%      100%   15,000
   20   5       5.1%    3.0   100%   0.3%      100%   25,000
   20   7       5.0%    3.0   100%   0.0%      100%   35,000
  100   3       6.5%    2.0   100%   0.6%      100%    3,000
  100   5       3.6%    4.0   100%   3.3%      100%    5,000
  100   7       2.4%    6.0    83%   2.5%      100%    7,000
  500   3       6.2%    2.0   100%   0.0%      100%      600
  500   5       3.2%    4.0   100%   0.7%      100%    1,000
  500   7       2.1%    6.0    99%   2.4%      100%    1,400
```
"""


QUERIES = """\
# The queries of the list, and who runs them

The queries of the papers this project builds on, in our dialect, and examples of everything else the language has
(`tests/sql/queries.yaml`, `examples.yaml`). *Results* is the form of the answer ([relations.md](relations.md)). Every
engine's answer is compared with the oracle's, over rows that every query has an answer for: in process by
`tests/embedded/test_query_texts.py` and `tests/relations/test_query_texts.py`, on Spark, in batch and as a stream, by
`tests/spark/test_query_texts.py` (`make soak`), its shards also without Spark by `tests/spark/test_query_shards.py`.
Texts with a bare time of day (`START AT '07:00:00'`) run with `day="2026-01-01"`.
Generated by `make docs`; an engine that refused a query would say so here.

| query | results | {engines} |
|---|---|{lines}
{rows}

Functions of Spark that take a lambda are parsed, and have no counterpart in the expressions that all engines share:
{parsed}.
"""


WAYS = {"spark, batch": ("spark", False), "spark, streaming": ("spark", True),
        **{name: (name, False) for name in ENGINE_NAMES if name != "spark"}}
"""The columns of the list of queries: an engine, and whether its inputs go on."""


def all_queries() -> list[dict[str, Any]]:
    """Those of the papers, then our own."""
    return [*load("queries.yaml"), *load("examples.yaml")]


def only_parsed() -> str:
    """The queries that no engine runs."""
    return ", ".join(f"`{case['text']}`" for case in all_queries() if "parsed_only" in case)


def query_rows() -> str:
    """One line per query of the list that engines run."""
    lines = []
    for case in all_queries():
        if "parsed_only" in case:
            continue
        plan = parse(case["text"], catalog(), **options(case))
        marks = " | ".join("yes" if supports(plan, engine, streaming=streaming) else "refused"
                           for engine, streaming in WAYS.values())
        text = " ".join(case["text"].split()).replace("|", "\\|")
        windows = any(isinstance(node, WindowAggregate) for node in plan.walk()) and not is_relational(plan)
        form = "a row per window and group" if windows else form_of(plan).value
        lines.append(f"| `{case['id']}` {_shortened(text)}{_also(case)} | {form} | {marks} |")
    return "\n".join(lines)


def _also(case: dict[str, Any]) -> str:
    """Words and values with which a query runs as well."""
    others = [parse(other["text"], catalog(), **options(other)) for other in variants(case)]
    if not all(supports(other, engine) for other in others for engine in ENGINE_NAMES):
        raise ValueError(f"{case['id']}: an engine refuses what it lists under `also`; give that a line of its own")
    found = [value for part in case.get("also", {}).values() for values in part.values() for value in values]
    return f"; also with {', '.join(f'`{value}`' for value in found)}" if found else ""


def _shortened(text: str, width: int = 150) -> str:
    return f"`{text}`" if len(text) <= width else f"`{text[:width].rsplit(' ', 1)[0]} …`"


def option_rows() -> str:
    """One line per option."""
    lines = []
    for name, declared in OPTIONS.items():
        flag = "" if declared.flag is None else f"`{declared.flag.written(name)}`"
        default = "" if declared.default is None else f"`{declared.default!r}`"
        marks = " | ".join(declared.taken_by(mode) for mode in Mode)
        given = ", ".join(f"`{entry}`" for entry in sorted(declared.entries))
        lines.append(f"| `{name}` | {default} | {_cell(declared.help)} | {given} | {flag} | {marks} |")
    return "\n".join(lines)


def refusal_rows() -> str:
    """One line per reason for which an option is refused."""
    lines = []
    for name, declared in OPTIONS.items():
        for refusal in declared.refusals:
            where = ", ".join(mode.value for mode in Mode if mode in refusal.modes)
            kinds = [kind.value for kind in PlanKind if kind in refusal.kinds]
            what = "every query" if len(kinds) == len(PlanKind) else ", ".join(kinds)
            lines.append(f"| `{name}` | {where} | {what} | {_cell(refusal.why.replace('{given!r}', '…'))} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def strategy_rows() -> Iterator[str]:
    """By kernel, its options."""
    for entry in KERNELS:
        for option in entry.options.values():
            default = "" if option.default is None else f"`{str(option.default).lower()}`"
            cells = [f"`{entry.name}`", entry.keeps, f"`{option.name}`", option.expected, default, option.says]
            yield f"| {' | '.join(cells)} |"
        if not entry.options:
            yield f"| `{entry.name}` | {entry.keeps} | | | | |"


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
    return "integers, decimals" if issubclass(kind, Sum | VarSamp) and function.is_invertible(inputs) else ""


def pages() -> dict[Path, str]:
    """Every generated page and its text."""
    return {
        DOCS / "engines.md": ENGINES.format(table=docs_table()),
        DOCS / "refusals.md": REFUSALS.format(table=refusals.docs_table()),
        DOCS / "functions.md": function_page(),
        DOCS / "options.md": OPTIONS_PAGE.format(modes=" | ".join(mode.value for mode in Mode),
                                                 lines="---|" * len(Mode), rows=option_rows(),
                                                 strategies="\n".join(strategy_rows()),
                                                 refusals=refusal_rows()),
        DOCS / "aggregates.md": AGGREGATES.format(rows=aggregate_rows()),
        DOCS / "queries.md": QUERIES.format(engines=" | ".join(WAYS), lines="---|" * len(WAYS),
                                            rows=query_rows(), parsed=only_parsed()),
    }


def main() -> int:
    """Write them."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(DOCS.parent)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
