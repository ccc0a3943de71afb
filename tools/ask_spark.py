"""Ask Spark what its one-row functions answer, and keep the answers under tests/functions/answers/.

    python tools/ask_spark.py                    every case
    python tools/ask_spark.py substring abs      these functions only
    python tools/ask_spark.py --check            compare with jobs: optimizer and generated code, as a user's query runs

Expressions are evaluated row by row by Spark's own interpreter (`RowAnswers.java`), so that each row has an answer or
an error condition of its own. Of the optimizer only the rules that an expression needs to be evaluable run. Same cases,
same Spark: same files.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from functions.answers import HERE, file_of, write  # noqa: E402 (cases and files are those of the tests)
from functions.catalogue import Case, cases  # noqa: E402
from functions.codec import dumps, is_error, shorten  # noqa: E402
from functions.rows import argument_rows, spark_type  # noqa: E402

ZONES = ("UTC", "America/New_York")
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
}
AS_QUERIES_RUN = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
                  # the answer of a job, not one that the optimizer computes beforehand
                  "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"}


class Asker:
    """A local Spark session with the helper class loaded into it."""

    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").appName("ask_spark")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("OFF")
        jvm = self.session._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        compiler.cook((Path(__file__).parent / "RowAnswers.java").read_text())
        self.helper = compiler.getClassLoader().loadClass("RowAnswers").newInstance()
        self.interpreted = {**SETTINGS, "spark.sql.optimizer.excludedRules": ",".join(self._optimizer_rules())}

    def _optimizer_rules(self) -> list[str]:
        """Every rule; Spark itself keeps those that may not be left out."""
        names = set()
        batches = self.session._jsparkSession.sessionState().optimizer().batches().iterator()
        while batches.hasNext():
            rules = batches.next().rules().iterator()
            while rules.hasNext():
                names.add(rules.next().ruleName())
        return sorted(names)

    def functions(self) -> dict[str, str]:
        """Every function of this Spark with its group."""
        catalog = self.session._jsparkSession.sessionState().catalog()
        identifier = self.session._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
        found = {}
        for (name,) in self.session.sql("SHOW SYSTEM FUNCTIONS").collect():
            try:
                found[name] = str(catalog.lookupFunctionInfo(identifier(name)).getGroup())
            except Exception:  # operators that the parser alone knows: !=, <>, case, ||
                found[name] = "operator"
        return found

    def ask(self, case: Case, rows: list[list[Any]], zone: str, *, as_job: bool = False) -> dict[str, Any]:
        """Type and answers of one signature, as the helper gives them."""
        for name, value in (AS_QUERIES_RUN if as_job else self.interpreted).items():
            if not name.startswith("spark.ui"):
                self.session.conf.set(name, value)
        self.session.conf.set("spark.sql.session.timeZone", zone)
        ddl = ", ".join(f"{name} {spark_type(spec)}" for name, spec in case.columns.items())
        if not ddl:  # a relation without columns has no type text
            ddl, rows = "none int", [[None] for _ in rows]
        text = self.helper.answer(self.session._jsparkSession, case.expression, ddl, json.dumps(rows), as_job)
        return json.loads(text)


def record(asker: Asker, case: Case, zone: str) -> dict[str, Any]:
    """One signature as it is written to its file."""
    rows = argument_rows(case)
    found = asker.ask(case, rows, zone)
    signature: dict[str, Any] = {
        "expression": case.expression,
        "columns": {name: spark_type(spec) for name, spec in case.columns.items()},
        "zone": zone,
    }
    if "type" not in found:
        return {**signature, "condition": found["condition"]}
    answers = found["rows"]
    return {**signature, "type": found["type"],
            "rows": [shorten([*row, answer]) for row, answer in zip(rows, answers, strict=True)]}


def differences(asker: Asker, case: Case, zone: str) -> list[str]:
    """Where a job (optimizer, generated code) answers otherwise than the row-by-row evaluation."""
    rows = argument_rows(case)
    alone = asker.ask(case, rows, zone)
    if "type" not in alone:
        return []
    found = []
    fine = [at for at, answer in enumerate(alone["rows"]) if not is_error(answer)]
    job = asker.ask(case, [rows[at] for at in fine], zone, as_job=True)
    if "condition" in job:
        found.append(f"{case.expression} {case.columns} {zone}: the job fails with {job['condition']}")
    else:
        found += [f"{case.expression} {case.columns} {zone}: {dumps(shorten(rows[at]))} gives "
                  f"{dumps(alone['rows'][at])} by row, {dumps(answer)} in a job"
                  for at, answer in zip(fine, job["rows"], strict=True) if answer != alone["rows"][at]]
    for at in [at for at, answer in enumerate(alone["rows"]) if is_error(answer)][:2]:
        failing = asker.ask(case, [rows[at]], zone, as_job=True)
        if failing.get("condition") != alone["rows"][at]["error"]:
            found.append(f"{case.expression} {case.columns} {zone}: {dumps(shorten(rows[at]))} fails with "
                         f"{alone['rows'][at]['error']} by row, in a job: {dumps(failing)[:200]}")
    return found


def main() -> None:
    """Ask, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", help="only these; default: all")
    parser.add_argument("--family", action="append", help="only these families of cases")
    parser.add_argument("--check", action="store_true", help="compare with jobs, write nothing")
    chosen = parser.parse_args()
    wanted: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for family, case in cases():
        if (not chosen.functions or case.function in chosen.functions) and \
                (not chosen.family or family in chosen.family):
            wanted[family, case.function].append(case)
    asker = Asker()
    if chosen.check:
        for group in wanted.values():
            for case in group:
                for zone in ZONES if case.in_zones else ZONES[:1]:
                    for difference in differences(asker, case, zone):
                        print(difference, flush=True)
        return
    everything = not chosen.functions and not chosen.family
    if everything:
        (HERE / "spark_functions.json").write_text(json.dumps(
            {"version": asker.session.version, "functions": asker.functions()}, indent=0) + "\n")
    written, unanswered = set(), []
    for (family, function), group in wanted.items():
        signatures = []
        for case in group:
            try:
                signatures += [record(asker, case, zone) for zone in (ZONES if case.in_zones else ZONES[:1])]
            except Exception as problem:
                unanswered.append(f"{case.expression} {case.columns}: {problem}")
        write(family, function, signatures)
        written.add(file_of(family, function))
    if everything:
        for old in set(HERE.glob("*/*.json")) - written:
            old.unlink()
    print(f"{len(written)} functions, {sum(path.stat().st_size for path in written) / 1e6:.1f} MB")
    if unanswered:
        raise SystemExit("no form for these answers:\n" + "\n".join(unanswered))


if __name__ == "__main__":
    main()
