"""``panewise explain``: what a query means and how each engine would run it, without running it."""

from __future__ import annotations

import argparse
from pathlib import Path

from panewise.api.query import ENGINES, plan_of
from panewise.cli.terminal import key_value, output, parameter, query_text, unique
from panewise.core.errors import SourceError
from panewise.files.reader import FileStream
from panewise.plan.nodes import Node
from panewise.planner.capabilities import unsupported
from panewise.planner.explain import explain


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The options of ``panewise explain``."""
    parser = commands.add_parser("explain", help="show the plan of a query, with update patterns and progress")
    parser.add_argument("query", help="SQL text, a file with it, or - for standard input")
    parser.add_argument("--stream", type=key_value, action="append", default=[], metavar="NAME=PATH",
                        help="a stream's files, to know its columns; without any, every name is taken for a column")
    parser.add_argument("--time", type=key_value, action="append", default=[], metavar="NAME=COLUMN",
                        help="the column that orders a stream")
    parser.add_argument("--param", type=key_value, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--format", choices=("text", "svg", "html"), default="text")
    parser.add_argument("--out", metavar="PATH", help="write to a file instead of the terminal")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Explain one query."""
    times = unique(options.time, "the time column of")
    streams = unique(options.stream, "stream")
    schemas = {n: FileStream.open(p, time=times.get(n)).schema for n, p in streams.items()} or None
    params = {n: parameter(v) for n, v in unique(options.param, "parameter").items()}
    plan = plan_of(query_text(options.query), schemas, params)
    text = explain(plan, options.format)
    if options.format == "text":
        text = f"{text}\n\n{engines(plan)}"
    if options.out:
        try:
            Path(options.out).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise SourceError(f"{options.out}: cannot be written: {error.strerror or error}") from error
    else:
        output.out(text, highlight=False)
    return 0


def engines(plan: Node) -> str:
    """Which engines run the plan; for the others, why not."""
    lines = []
    for engine in ENGINES:
        reasons = list(unsupported(plan, engine))
        lines.append(f"{engine:9} {'runs it' if not reasons else 'cannot run it yet: ' + reasons[0]}")
    return "\n".join(lines)
