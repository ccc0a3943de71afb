"""``panewise explain``: what a query means and how each engine would run it; with ``--analyze`` also how it ran."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from panewise.aggregates.sql_form import sql_form
from panewise.api.explaining import analyze_streams, explain_streams
from panewise.api.naming import check_read
from panewise.api.query import ENGINES, written_plan
from panewise.cli.terminal import (
    add_exact,
    add_input_rules,
    input_rules,
    key_value,
    known_streams,
    output,
    parameter,
    query_text,
    unique,
)
from panewise.core.errors import PlanError, SourceError
from panewise.files.reader import FileStream
from panewise.plan.nodes import Filter, Node, Project, WindowAggregate
from panewise.planner.capabilities import unsupported
from panewise.planner.legal_form import legal_form
from panewise.planner.requests import request_of
from panewise.planner.structures import STYLES
from panewise.progress.late import DEFAULT_LATE, LatePolicy
from panewise.windows.base import Clock
from panewise.windows.sliding import SlidingWindow


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The options of ``panewise explain``."""
    parser = commands.add_parser("explain", help="show the plan of a query, with update patterns and progress")
    parser.add_argument("query", help="SQL text, a file with it, or - for standard input")
    parser.add_argument("--stream", type=key_value, action="append", default=[], metavar="NAME=PATH",
                        help="a stream's files, to know its columns; without any, every name is taken for a column")
    parser.add_argument("--time", type=key_value, action="append", default=[], metavar="NAME=COLUMN",
                        help="the column that orders a stream")
    parser.add_argument("--param", type=key_value, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--stats", metavar="NAME=VALUE,...",
                        help="what the streams are like, such as rows_per_second=5000,groups=1000, for joins and other "
                        "relations by input, S.rows_per_second=100,S.column=50, or 'measure' to look at the files: "
                        "shows what each strategy or plan would cost")
    parser.add_argument("--strategy", default="auto", metavar="KERNEL", help="how to run it, instead of the best way")
    parser.add_argument("--style", choices=STYLES, default="upa",
                        help="how expiry travels through a relational plan: by update pattern, as negatives, or by "
                        "searching lists")
    parser.add_argument("--joins", default="auto", metavar="WAY",
                        help="how windows are joined, instead of the best way: 'by twos', 'at once', 'at once: lazy'")
    parser.add_argument("--analyze", action="store_true",
                        help="run it on the embedded engine and show what happened: state, windows, late rows, time")
    parser.add_argument("--progress", default="source", metavar="POLICY", help="as for run, with --analyze")
    parser.add_argument("--late", choices=[p.value for p in LatePolicy], default=DEFAULT_LATE.value,
                        help="as for run, with --analyze")
    add_exact(parser)
    add_input_rules(parser)
    parser.add_argument("--format", choices=("text", "svg", "html"), default="text")
    parser.add_argument("--out", metavar="PATH", help="write to a file instead of the terminal")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Explain one query."""
    times = unique(options.time, "the time column of")
    streams = unique(options.stream, "stream")
    known_streams("--time", times, streams)
    rules = input_rules(options)
    opened = {n: FileStream.open(p, time=times.get(n), tolerant=not rules.bad_rows.stops, max_line=options.max_line)
              for n, p in streams.items()}
    params = {n: parameter(v) for n, v in unique(options.param, "parameter").items()}
    plan = written_plan(query_text(options.query), {n: s.schema for n, s in opened.items()} or None, params,
                        lenient=options.lenient, day=options.day, zone=options.zone,
                        suppress_partial=options.suppress_partial)
    check_read(plan, opened)
    if options.analyze:
        text = analyzed(plan, opened, options)
    else:
        text = explain_streams(plan, opened, options.format, stats=options.stats, strategy=options.strategy,
                               style=options.style, joins=options.joins)
        if options.format == "text":
            text = f"{text}\n\n{engines(legal_form(plan).plan, options.exact)}"
    if options.out:
        try:
            Path(options.out).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise SourceError(f"{options.out}: cannot be written: {error.strerror or error}") from error
    else:
        output.out(text, highlight=False)
    return 0


def analyzed(plan: Node, streams: Mapping[str, FileStream], options: argparse.Namespace) -> str:
    """Run it, and say how it went."""
    if options.format != "text":
        raise PlanError(f"--analyze writes text: leave out --format {options.format}")
    if not streams:
        raise PlanError("--analyze runs the query: name the files of its streams with --stream NAME=PATH")
    return analyze_streams(plan, streams, stats=options.stats, strategy=options.strategy, late=options.late,
                           progress=options.progress, rules=input_rules(options))


def engines(plan: Node, exact: bool = False) -> str:
    """Which engines run the plan; for the others, why not, and where Spark's sums of floats are not exact."""
    lines = []
    for engine in ENGINES:
        reasons = list(unsupported(plan, engine))
        rounds = "; it adds floats itself in batch jobs, which rounds every addition: --exact adds them in kernels" \
            if engine == "spark" and not exact and adds_floats(plan) else ""
        lines.append(f"{engine:9} {'runs it' + rounds if not reasons else 'cannot run it yet: ' + reasons[0]}")
    return "\n".join(lines)


def adds_floats(plan: Node) -> bool:
    """Whether Spark would add floats in a batch job: panes of values, and aggregates that all have a form in SQL."""
    node = plan
    while isinstance(node, Project | Filter):
        node = node.input
    request = request_of(node) if isinstance(node, WindowAggregate) else None
    if request is None or not isinstance(request.spec, SlidingWindow) or request.spec.clock is not Clock.TIME:
        return False
    forms = [sql_form(a.function, a.inputs) for a in request.aggregates]
    return None not in forms and not all(form.exact for form in forms if form is not None)
