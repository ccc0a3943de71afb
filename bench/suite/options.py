"""What can be asked of ``panewise bench``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from panewise.cli.main import CommandParser
from suite.main import command


def run(arguments: Sequence[str]) -> int:
    """Read the arguments, measure, and write the report."""
    options = parser().parse_args(arguments)
    if options.repeat < 1:
        raise LookupError(f"--repeat {options.repeat}: there must be a round")
    return command(options)


def parser() -> CommandParser:
    """The options of ``panewise bench``."""
    found = CommandParser(
        prog="panewise bench",
        description="Run window queries here and in DuckDB, Polars, Bytewax, Pathway, PyFlink and Spark's own windows "
        "on the same data. Results are compared first, then contenders take turns; every measurement is a JSON line, "
        "and the report is Markdown and HTML with pictures. Environments of peers are made when they are first needed, "
        "before the clock starts.")
    size = found.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="the short set, five minutes (default)")
    size.add_argument("--full", action="store_true", help="every comparison, every sweep, and scaling, an hour")
    found.add_argument("--job", action="append", default=[], metavar="NAME", help="only this job; may be repeated")
    found.add_argument("--contender", action="append", default=[], metavar="NAME",
                       help="only this contender, such as duckdb, spark or spark/batch; may be repeated")
    found.add_argument("--repeat", type=int, default=3, metavar="N",
                       help="rounds in which contenders take turns (default: 3)")
    found.add_argument("--minutes", type=float, help="begin no measurement after this time (default: 5 or 60)")
    found.add_argument("--resume", action="store_true", help="go on with the results file: measure what it lacks")
    found.add_argument("--results", type=Path, metavar="FILE",
                       help="a JSON line per measurement (default: out/bench/results.jsonl)")
    found.add_argument("--report", type=Path, metavar="DIR",
                       help="where report.md, report.html and pictures go (default: beside the results)")
    found.add_argument("--environments", type=Path, metavar="DIR",
                       help="where packages of peers are installed (default: .bench-envs)")
    found.add_argument("--only-report", action="store_true",
                       help="write the report of the results file that is there; measure nothing")
    found.add_argument("--list", action="store_true", help="show jobs, points and contenders; measure nothing")
    return found
