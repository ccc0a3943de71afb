"""``panewise demo``: real flights, out of order, through a sliding window on local Spark, with a picture at the end."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from panewise.api.query import plan_of
from panewise.cli.generate import write_stream
from panewise.cli.picture import draw, most_disordered_day, scene_of
from panewise.cli.terminal import output, result_table
from panewise.cli.watch import Watch
from panewise.core.ordinals import to_ordinals
from panewise.core.time import DAY, HOUR, MINUTE, SECOND
from panewise.datasets.disorder import disorder_summary
from panewise.datasets.flights import flights
from panewise.engines.contract import Around
from panewise.files.reader import FileStream
from panewise.files.writer import ResultFile
from panewise.planner.options import RunOptions
from panewise.progress.late import LatePolicy

QUERY = """\
SELECT origin, count(*) [RANGE 3 hours, SLIDE 15 minutes, WA ts] AS flights,
       avg(dep_delay) AS mean_delay, max(dep_delay) AS worst
FROM flights
GROUP BY origin"""
ALLOWED = "2 h"
RANGE, SLIDE = 3 * HOUR, 15 * MINUTE


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The options of ``panewise demo``."""
    parser = commands.add_parser("demo", help="real flights through a sliding window on local Spark, with a picture")
    parser.add_argument("--out", default="out/demo", metavar="DIR", help="where data, results and picture go")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--rows", type=int, default=None, help="only the first rows")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Run the demo."""
    from panewise.engines.spark.files.run import run_files

    out = Path(options.out)
    table = flights(options.rows)
    facts = disorder_summary(to_ordinals(table.column("ts"), "ts"))
    output.rule("[bold]panewise demo")
    output.print(
        f"{table.num_rows:,} flights from New York in 2013. A flight is reported when it leaves, not when it should:\n"
        f"{facts['out_of_order']:.0%} of the rows come out of order, the worst by "
        f"{facts['largest'] / HOUR:.1f} hours.\n",
        highlight=False,
    )
    output.print(QUERY + "\n", style="cyan", highlight=False)
    output.print(f"The source promises that rows are at most {ALLOWED} late; rows that break it are kept aside.\n",
                 highlight=False)
    path = write_stream(table, out, "flights", "parquet", every=SECOND, files=8 if table.num_rows > 50_000 else 2)
    streams = {"flights": FileStream.open(path)}
    plan = plan_of(QUERY, {"flights": streams["flights"].schema})
    with Watch(streams) as watch:
        watch.say("starting Spark")
        run = run_files(plan, streams, RunOptions(late=LatePolicy.SIDE, progress=f"late:{ALLOWED}"),
                        Around(watch, master=options.master, rows_per_batch=50_000))
        tables = []
        for part in run.tables:
            watch.results(part.num_rows)
            tables.append(part)
    results = pa.concat_tables(tables) if tables else run.empty
    late, status = run.finish()
    results = results.sort_by([("mean_delay", "descending")])
    results_path = out / "windows.parquet"
    pq.write_table(results, results_path)
    worst = results.filter(pc.greater_equal(results.column("flights"), 20))
    output.print(result_table(worst.slice(0, 8), limit=8, title="The eight worst windows with 20 flights or more"))
    late_path = None
    if late is not None:
        late_path = str(out / "late-rows.ndjson")
        with ResultFile(late_path, late.schema) as file:
            file.write(late)
    watch.summary(status, str(results_path), late_path)
    picture = _picture(table, results, out)
    output.print(f"\nPicture: [bold]{picture}[/]  (rows by arrival and event time, the punctuation line, the windows)")
    output.print("\nTwo commands to try next:", style="bold")
    for line in (
        f'.venv/bin/panewise explain "{" ".join(QUERY.split())}" --stream flights={path}',
        f'.venv/bin/panewise run "SELECT carrier, count(*) [RANGE 1 day, SLIDE 1 hour, WA ts] AS n FROM flights '
        f'WHERE dep_delay > 60 GROUP BY carrier" --stream flights={path} --progress late:1d --out {out}/late.csv',
    ):
        output.print(f"  {line}", highlight=False, soft_wrap=True)
    return 0


def _picture(table: pa.Table, results: pa.Table, out: Path) -> Path:
    delays = np.nan_to_num(table.column("dep_delay").to_numpy(), nan=0.0).astype(np.int64) * MINUTE
    scene = scene_of(table, "ts", delays, 2 * HOUR)
    start = most_disordered_day(scene, DAY) + 9 * HOUR  # five in the morning in New York
    path = out / "flights.png"
    draw(scene, results, path, start=start, end=start + DAY, value="mean_delay", group="origin", reach=RANGE,
         slide=SLIDE, title="The most disordered day: flights by arrival of the report and scheduled departure")
    return path
