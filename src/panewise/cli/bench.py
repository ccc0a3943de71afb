"""``panewise bench``: this project beside what one would otherwise pick, by the benchmarks of a clone."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from panewise.core.errors import PanewiseError


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The options of ``panewise bench``."""
    parser = commands.add_parser(
        "bench", help="measure this project beside its peers, results compared first",
        description="Run window queries here and in DuckDB, Polars, Bytewax, Pathway, PyFlink and Spark's own windows "
        "on the same data. Results are compared first, then contenders take turns; every measurement is a JSON line, "
        "and the report is Markdown and HTML with pictures. Environments of peers are made when they are first needed, "
        "before the clock starts.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="the short set, five minutes (default)")
    size.add_argument("--full", action="store_true", help="every comparison, every sweep, and scaling, an hour")
    parser.add_argument("--job", action="append", default=[], metavar="NAME", help="only this job; may be repeated")
    parser.add_argument("--contender", action="append", default=[], metavar="NAME",
                        help="only this contender, such as duckdb, spark or spark/batch; may be repeated")
    parser.add_argument("--repeat", type=int, default=3, metavar="N",
                        help="rounds in which contenders take turns (default: 3)")
    parser.add_argument("--minutes", type=float, help="begin no measurement after this time (default: 5 or 60)")
    parser.add_argument("--resume", action="store_true", help="go on with the results file: measure what it lacks")
    parser.add_argument("--results", type=Path, metavar="FILE",
                        help="a JSON line per measurement (default: out/bench/results.jsonl)")
    parser.add_argument("--report", type=Path, metavar="DIR",
                        help="where report.md, report.html and pictures go (default: beside the results)")
    parser.add_argument("--environments", type=Path, metavar="DIR",
                        help="where packages of peers are installed (default: .bench-envs)")
    parser.add_argument("--only-report", action="store_true",
                        help="write the report of the results file that is there; measure nothing")
    parser.add_argument("--list", action="store_true", help="show jobs, points and contenders; measure nothing")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Measure, and write the report."""
    if options.repeat < 1:
        raise PanewiseError(f"--repeat {options.repeat}: there must be a round")
    home = benchmarks()
    if home is None:
        raise PanewiseError("the benchmarks are not part of the installed package: clone the repository and run "
                            "`make bench`, or `panewise bench` in the clone")
    sys.path.insert(0, str(home))
    try:
        done: int = importlib.import_module("suite.main").command(options)
    except LookupError as error:
        raise PanewiseError(str(error.args[0])) from error
    return done


def benchmarks() -> Path | None:
    """The folder ``bench`` of the clone this package is run from, or of the current one."""
    for clone in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (clone / "bench" / "suite" / "main.py").exists():
            return clone / "bench"
    return None
