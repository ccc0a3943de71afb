"""``make fuzz``: break what can be broken, as often as told, with seeds that bring every failure back.

    python tools/fuzz.py texts --count 1000000  query texts: known ones changed, made by the grammar, garbage
    python tools/fuzz.py files --count 2000     malformed NDJSON, CSV and Parquet under every policy for bad rows
    python tools/fuzz.py checkpoints --minutes 5
                                                checkpoints and results damaged at random
    python tools/fuzz.py faults                 every durable call of a run x {kill, ENOSPC, EIO}
    python tools/fuzz.py spark-faults           the same for what Spark's driver writes
    python tools/fuzz.py kills --count 300      random SIGKILLs of embedded runs, each started again until it ends
    python tools/fuzz.py spark-kills --count 40 the same for drivers and workers of Spark
    python tools/fuzz.py nested --count 3000    texts that nest operators of every family, in process beside the oracle
    python tools/fuzz.py spark-nested --count 300 --record nested.jsonl
                                                the same on Spark, static and streaming; goes on where it was stopped

Each prints its figures as one line of JSON. Texts and files go on after a find and list all of them at the end; the
others stop with the seed or the call that shows a failure. ``--seed`` and ``--first`` begin there again. A text that
was refused without a place or broke something is made smaller and kept in ``tests/fuzz/seeds/sql``, where the suite
reads it again.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
SOME = {"texts": 20_000, "files": 300, "checkpoints": 300, "kills": 30, "spark-kills": 4,
        "nested": 100, "spark-nested": 10}
"""How many trials there are where nothing is said."""


def log(text: str) -> None:
    """What happens on the way; figures go to standard output."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def texts(options: argparse.Namespace) -> dict[str, Any]:
    """Query texts through everything that reads them."""
    from fuzz import text_trials

    warnings.simplefilter("ignore")
    return text_trials.trials(count=options.count, seed=options.seed, seconds=options.seconds, first=options.first,
                              keep=text_trials.SEEDS / "sql", say=log)


def files(options: argparse.Namespace) -> dict[str, Any]:
    """Malformed data files."""
    from fuzz import file_trials

    return file_trials.trials(count=options.count, seconds=options.seconds, seed=options.seed, say=log)


def faults(options: argparse.Namespace) -> dict[str, Any]:
    """Every durable call fails, or is never made."""
    from fuzz import storage_trials

    return storage_trials.faults(every=options.every, seed=options.seed)


def spark_faults(options: argparse.Namespace) -> dict[str, Any]:
    """The same on the driver's side of Spark."""
    from fuzz import spark_trials

    return spark_trials.faults(every=options.every, seed=options.seed)


def kills(options: argparse.Namespace) -> dict[str, Any]:
    """Processes are killed at random moments."""
    from fuzz import storage_trials

    return storage_trials.kills(options.count, seed=options.seed)


def spark_kills(options: argparse.Namespace) -> dict[str, Any]:
    """Drivers and Python workers of Spark are killed at random moments."""
    from fuzz import spark_trials

    return spark_trials.kills(options.count, seed=options.seed, say=log)


def checkpoints(options: argparse.Namespace) -> dict[str, Any]:
    """Files of checkpoints and results are damaged."""
    from fuzz import storage_trials

    return storage_trials.checkpoints(seconds=options.seconds, trials=options.count, seed=options.seed)


def nested(options: argparse.Namespace) -> dict[str, Any]:
    """Random texts that nest operators of every family."""
    from fuzz import nested_trials

    return nested_trials.trials(count=options.count, seed=options.seed, record=options.record, spark=None, say=log)


def spark_nested(options: argparse.Namespace) -> dict[str, Any]:
    """The same on Spark."""
    from fuzz import nested_trials
    from panewise.engines.spark.session.session import session

    running = session("local[2]", "panewise trials", **{"spark.sql.shuffle.partitions": 2})
    try:
        return nested_trials.trials(count=options.count, seed=options.seed, record=options.record, spark=running,
                                    say=log)
    finally:
        running.stop()


COMMANDS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "checkpoints": checkpoints, "faults": faults, "kills": kills, "files": files, "texts": texts,
    "spark-faults": spark_faults, "spark-kills": spark_kills, "nested": nested, "spark-nested": spark_nested,
}
"""Those that fork come first: a process that has started threads cannot."""


def main(arguments: list[str] | None = None) -> int:
    """One kind of trial, or all of them one after the other; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[[], *COMMANDS], help="which trials (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="texts: the number of the first")
    parser.add_argument("--seconds", type=float, default=0, help="go on for so long")
    parser.add_argument("--minutes", type=float, default=0, help="the same in minutes")
    parser.add_argument("--count", "--texts", type=int, default=0, help="so many trials")
    parser.add_argument("--every", type=int, default=1, help="faults: only each so many durable calls")
    parser.add_argument("--record", type=Path, help="nested: what became of each, to go on behind the last")
    options = parser.parse_args(arguments)
    options.seconds = options.seconds or 60 * options.minutes
    sys.path[0] = str(TESTS)  # in place of this folder, whose `fuzz` is not the one meant
    asked, found = options.count, False
    for name in options.what or COMMANDS:
        began = monotonic()
        options.count = asked or (0 if options.seconds else SOME.get(name, 0))
        figures = COMMANDS[name](options)
        line = {"trials of": name, "seed": options.seed, **figures, "seconds": round(monotonic() - began, 1)}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        found = found or bool(figures.get("finds"))
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
