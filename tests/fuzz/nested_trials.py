"""Trials of random texts that nest operators of every family: each engine must give the oracle's answer.

A trial is a seed. What became of it is a line of a record, so that a run that was stopped goes on behind the last one.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count as numbers
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.nested_texts import case_of, families_of, nesting
from conformance.runners import embedded, spark_batch, spark_streaming
from panewise.core.errors import PanewiseError
from panewise.planner.legal.capabilities import supports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEPTH = 4
"""At least so many operators stand over each other."""
BUSY = "failed to connect back"
"""What Spark says when the machine has no time for its workers; it says nothing about the answer."""
PATIENCE = 3


def drawn(first: int) -> Iterator[tuple[int, Case]]:
    """Cases that nest deep enough and that every engine runs, from a seed on."""
    for seed in numbers(first):
        try:
            case = case_of(seed, DEPTH + seed % 2)
            if nesting(case.plan) >= DEPTH and supports(case.plan, "embedded") and supports(case.plan, "spark"):
                case.expected()
                yield seed, case
        except PanewiseError:
            continue


def trials(*, count: int, seed: int, record: Path | None, spark: SparkSession | None,
           say: Callable[[str], None]) -> dict[str, Any]:
    """So many trials from a seed on: in process, or on Spark, static and streaming with a restart."""
    known = _recorded(record)
    families: Counter[str] = Counter()
    depths: Counter[int] = Counter()
    done: Counter[str] = Counter()
    finds: list[str] = []
    for number, (at, case) in enumerate(drawn(seed)):
        if number == count:
            break
        found = known.get(at)
        if found is None:
            found = _tried(at, case, spark)
            if record is not None:
                with record.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"seed": at, "found": found}) + "\n")
            say(f"{number + 1} of {count}: seed {at} {found or 'as the oracle'}")
        done["failed" if found else "as the oracle"] += 1
        done["with results"] += bool(case.expected())
        finds += [f"seed {at}: {found}"] if found else []
        families.update(dict.fromkeys(families_of(case.plan), 1))
        depths[nesting(case.plan)] += 1
    return {**done, "engines": "Spark batch, Spark streaming with a restart" if spark else "in process with restarts",
            "depths": dict(sorted(depths.items())), "families": dict(families.most_common()), "finds": finds}


def _recorded(record: Path | None) -> dict[int, str]:
    if record is None or not record.exists():
        return {}
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return {line["seed"]: line["found"] for line in lines}


def _tried(seed: int, case: Case, spark: SparkSession | None) -> str:
    """What is wrong with the answers, in words; nothing if they are right."""
    draw, expected = Random(seed), case.expected()
    try:
        if spark is None:
            assert_same_rows(embedded(case, batch_rows=draw.randint(1, 7), restarts=draw.sample(range(1, 25), 3)),
                             expected)
            return ""
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            _patiently(lambda: assert_same_rows(spark_batch(case, spark=spark, folder=_fresh(one)), expected))
            _patiently(lambda: assert_same_rows(
                spark_streaming(case, spark=spark, folder=_fresh(other), batch_rows=9, fail_at=1), expected))
    except Exception as error:  # whatever it is, it is a find
        return f"{type(error).__name__}: {error}"[:400]
    return ""


def _fresh(folder: str) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


def _patiently(attempt: Callable[[], None]) -> None:
    for left in range(PATIENCE - 1, -1, -1):
        try:
            attempt()
        except Exception as error:
            if BUSY not in str(error) or not left:
                raise
        else:
            return
