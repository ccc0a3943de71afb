"""``panewise explain``: what a query means and how each engine would run it; with ``--analyze`` also how it ran."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from panewise.aggregates.sql_form import sql_form
from panewise.api.engines import ENGINES
from panewise.api.naming import check_read
from panewise.api.query import written_plan
from panewise.cli.options import add_options, run_options
from panewise.cli.terminal import add_inputs, open_files, output, query_text
from panewise.core.errors import PlanError, telling
from panewise.engines.embedded.explaining import analyze_streams, explain_streams
from panewise.plan.nodes import Node, WindowAggregate, below_selections
from panewise.planner.explain.plan_text import Format
from panewise.planner.facts.requests import request_of
from panewise.planner.legal.capabilities import unsupported
from panewise.planner.legal.legal_form import legal_form
from panewise.windows.base import Clock
from panewise.windows.sliding import SlidingWindow


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The options of ``panewise explain``."""
    parser = commands.add_parser("explain", help="show the plan of a query, with update patterns and progress")
    parser.add_argument("query", help="SQL text, a file with it, or - for standard input")
    add_inputs(parser, "a stream's files, to know its columns; without any, every name is taken for a column")
    add_options(parser, "explain")
    parser.add_argument("--format", choices=get_args(Format), default="text")
    parser.add_argument("--out", metavar="PATH", help="write to a file instead of the terminal")
    parser.set_defaults(command=command)


def command(given: argparse.Namespace) -> int:
    """Explain one query."""
    options = run_options(given, "explain")
    opened = open_files(given, options)
    plan = written_plan(query_text(given.query), {n: s.schema for n, s in opened.items()} or None, options)
    check_read(plan, opened)
    if options.analyze:
        if not opened:
            raise PlanError("--analyze runs the query: name the files of its streams with --stream NAME=PATH")
        text = analyze_streams(plan, opened, options, given.format)
    else:
        text = explain_streams(plan, opened, given.format, options)
        if given.format == "text":
            text = f"{text}\n\n{engines(legal_form(plan).plan, options.exact)}"
    if given.out:
        with telling(f"{given.out}: cannot be written"):
            Path(given.out).write_text(text + "\n", encoding="utf-8")
    else:
        output.out(text, highlight=False)
    return 0


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
    node = below_selections(plan)
    request = request_of(node) if isinstance(node, WindowAggregate) else None
    if request is None or not isinstance(request.spec, SlidingWindow) or request.spec.clock is not Clock.TIME:
        return False
    forms = [sql_form(a.function, a.inputs) for a in request.aggregates]
    return None not in forms and not all(form.exact for form in forms if form is not None)
