"""``panewise bench``: this project beside what one would otherwise pick, by the benchmarks of a clone."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from panewise.core.errors import PanewiseError


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """All that is written behind ``panewise bench`` is for the benchmarks to read (``bench/suite/options.py``)."""
    parser = commands.add_parser("bench", help="measure this project beside its peers, results compared first",
                                 add_help=False, prefix_chars="\0")
    parser.add_argument("arguments", nargs="*")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Measure, and write the report."""
    home = benchmarks()
    if home is None:
        raise PanewiseError("the benchmarks are not part of the installed package: clone the repository and run "
                            "`make bench`, or `panewise bench` in the clone")
    sys.path.insert(0, str(home))
    try:
        done: int = importlib.import_module("suite.options").run(options.arguments)
    except LookupError as error:
        raise PanewiseError(str(error.args[0])) from error
    return done


def benchmarks() -> Path | None:
    """The folder ``bench`` of the clone this package is run from, or of the current one."""
    for clone in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (clone / "bench" / "suite" / "main.py").exists():
            return clone / "bench"
    return None
