"""docs/functions.md: every one-row function, what it takes and gives, from Spark's recorded answers and the registry.

The types are those of the signatures that the differential test holds against Spark, so that nothing is listed that is
not compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from functions.answers import HERE, Signature, load, recorded_functions
from functions.compared import ALWAYS
from functions.comparison import LAST_PLACE, is_comparable
from functions.not_recorded import GROUPS, NAMES, SPELT_OTHERWISE
from functions.refusals import NOT_FOLLOWED, REFUSED, REFUSED_ROWS
from panewise.engines.oracle.scalar.signatures import FUNCTIONS as OF_THE_ORACLE
from panewise.functions import supported_names
from panewise.functions.binding.registry import declarations

SHOWN = 6
"""Signatures that are written out for one function."""

PAGE = """\
# One-row functions

Every expression of a query (columns, conditions, keys, arguments of aggregates) means what Spark 4 in ANSI mode means,
on every engine. In process it is computed on Arrow columns by `panewise.functions`, without Spark; on Spark by the JVM;
in the oracle by an evaluator of its own. This page is generated (`make docs`) from Spark's recorded answers, which are
the differential test: value bit for bit, type, and error condition of every row.

**Compared with Spark: {functions} functions, {operators} operators and {casts} forms of casts, {signatures} signatures,
{rows} rows of arguments.** `pytest tests/functions` compares again, without Spark; `make functions-ask` asks Spark.

*In process* is yes for all functions listed here; *oracle* says whether the oracle computes it, too (what it does not
compute it refuses, and Spark's answers are the check). On Spark all of them are computed by the JVM.

| function | takes → gives | oracle | notes |
|---|---|---|---|
{table}

## Operators

| operator | takes → gives |
|---|---|
{operator_table}

Precedence is Spark's: unary signs, `* / % div`, `+ - ||`, shifts, `&`, `^`, `|`, comparisons, `NOT`, `AND`, `OR`. AND,
OR, CASE, IF, COALESCE and IN evaluate only what a row reaches.

## Casts

`CAST`, `TRY_CAST` and `::` between these types; any other pair is refused, as in Spark.

| from | to |
|---|---|
{cast_table}

## One unit in the last place

These may differ from Java's in the last place, because every library of mathematics rounds them in its own way; all
others are equal bit for bit: {last_place}.

## How much a function makes

A function whose arguments say how large its result is makes values of at most 256 MiB (2^28 bytes of text; an element
of an array counts with 8 bytes or more), in process and in the oracle: `array_insert`, `array_join`, `array_repeat`,
`concat`, `concat_ws`, `format_number`, `format_string`, `lpad`, `mask`, `regexp_replace`, `repeat`, `replace`, `rpad`,
`sequence`, `space`. The rows of one batch share this limit, or 4 KiB a row up to 2 GiB where that is more. What is
larger is refused before it is made, with `RESULT_TOO_LARGE`, the function, the size, the limit and the row. On Spark
the limit is the memory of the JVM.

## What is refused, and why

| expression | types | why |
|---|---|---|
{refused}

Regular expressions are those of Java 17 (`java.util.regex`): what Python cannot match alike is refused by name when the
query is bound, or on the row that brings the pattern along (`UNSUPPORTED_PATTERN`): scripts and blocks of Unicode
(`\\p{{IsGreek}}`, `\\p{{InGreek}}`), `\\G`, `\\X`, `\\b{{g}}`, flags in the middle, look-behind of varying length,
classes of Unicode beside `(?i)`. Categories (`\\p{{L}}`, `\\p{{Lu}}`) are those of Unicode 13, as in Java 17.

Spark's answer is not followed where it is a defect of Spark's:

| expression | row | here | why |
|---|---|---|---|
{not_followed}

One-row functions of Spark {version} that are not computed in process, so far: {missing}.

Others are no functions of one row, or their value is no value of the row:

| functions | why |
|---|---|
{elsewhere}
"""


def page() -> str:
    """The text of the page."""
    named = recorded_functions()
    spark = json.loads((HERE / "spark_functions.json").read_text())
    names = supported_names()
    tables: dict[str, list[Signature]] = {}
    operators: dict[str, list[Signature]] = {}
    casts: list[Signature] = []
    compared: list[Signature] = []
    for family, functions in named.items():
        for name in functions:
            is_operator = family == "operators"
            if not (is_operator or name in ALWAYS or name in names or family == "compositions"):
                continue
            signatures = [one for one in load(family, name) if is_comparable(one)]
            compared += signatures
            if name in ALWAYS:
                casts += signatures
            elif is_operator:
                operators.setdefault(name, []).extend(signatures)
            elif name in names:
                tables.setdefault(name, []).extend(signatures)
    recorded = {name for functions in named.values() for name in functions}
    missing = sorted(name for name in spark["functions"] if name in recorded and name not in names
                     and name.isidentifier() and name not in operators and name not in ALWAYS)
    return PAGE.format(
        functions=len(tables), operators=len(operators), casts=len({_cast(one) for one in casts if one.spark_type}),
        signatures=f"{len(compared):,}", rows=f"{sum(len(one.rows) for one in compared):,}",
        table="\n".join(_row(name, tables[name]) for name in sorted(tables)),
        operator_table="\n".join(f"| {_code(name)} | {_signatures(operators[name])} |" for name in sorted(operators)),
        cast_table=_casts(casts), last_place=", ".join(_code(name) for name in sorted(LAST_PLACE)),
        refused=_refused(), version=spark["version"], missing=", ".join(map(_code, missing)),
        elsewhere=_elsewhere(spark),
        not_followed="\n".join(f"| {_code(key[0])} | {row[0]} | {row[1]} | {row[2]} |"
                               for key, row in sorted(NOT_FOLLOWED.items())).replace("None", "null"))


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _row(name: str, signatures: list[Signature]) -> str:
    notes = list(dict.fromkeys(one.note for one in declarations(name) if one.note))
    if any(one.by_value for one in declarations(name)):
        notes.append("once per distinct value")
    if name in LAST_PLACE:
        notes = ["may differ in the last place"]
    oracle = "yes" if name in OF_THE_ORACLE else ""
    return f"| {_code(name)} | {_signatures(signatures)} | {oracle} | {'; '.join(notes)} |"


def _signatures(signatures: Iterable[Signature]) -> str:
    found = list(dict.fromkeys(f"{', '.join(one.columns.values()) or 'nothing'} → {one.spark_type}"
                               for one in signatures if one.spark_type is not None))
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "; ".join(map(_code, found[:SHOWN])) + more


def _cast(signature: Signature) -> tuple[str, str]:
    return next(iter(signature.columns.values()), "nothing"), signature.spark_type or ""


def _casts(signatures: list[Signature]) -> str:
    found: dict[str, dict[str, None]] = {}
    for given, to in dict.fromkeys(_cast(one) for one in signatures if one.spark_type is not None):
        found.setdefault(given, {})[to] = None
    return "\n".join(f"| {_code(given)} | {', '.join(_code(to) for to in sorted(kinds))} |"
                     for given, kinds in sorted(found.items()))


def _refused() -> str:
    whole = [(key, reason) for key, reason in REFUSED.items()]
    rows = [(key, f"{row.reason}: rows with the pattern {', '.join(map(_code, sorted(row.patterns)))}")
            for key, row in REFUSED_ROWS.items()]
    return "\n".join(f"| {_code(key[0])} | {', '.join(key[1:])} | {reason} |" for key, reason in sorted(whole + rows))


def _elsewhere(spark: dict[str, dict[str, str]]) -> str:
    reasons: dict[str, list[str]] = {}
    for name, group in spark["functions"].items():
        reason = NAMES.get(name) or GROUPS.get(group)
        if reason is not None and name not in SPELT_OTHERWISE:
            reasons.setdefault(reason, []).append(name)
    return "\n".join(f"| {', '.join(map(_code, sorted(names)))} | {reason} |"
                     for reason, names in sorted(reasons.items()))
