"""Joins and continuous relations: all of their benchmarks in one run, and what came of each aim.

    python bench/relations_report.py [--quick] [--without-spark] [--json FILE]

Each benchmark is a process of its own, one after the other; all ratios are between contenders of one benchmark. The
table at the end says what was aimed at and what was found. *quick* takes small windows and proves nothing but that
everything runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import load_note, say, table_text

HERE = Path(__file__).parent
Lines = list[dict[str, Any]]


@dataclass(frozen=True)
class Aim:
    """What one benchmark should show."""

    name: str
    aim: str
    command: str
    small: str
    """The options of a quick run; of two of a kind the last counts."""
    found: Callable[[Lines], str]
    spark: bool = False


def _styles(lines: Lines, query: str) -> dict[str, dict[str, Any]]:
    """The styles of one query, at the largest window there is."""
    of_query = [line for line in lines if line["bench"] == "styles" and query in line["query"]]
    largest = max(line["window"] for line in of_query)
    return {line["style"]: line for line in of_query if line["window"] == largest}


def against(style: str, query: str, figure: str = "ms_per_1000_rows") -> Callable[[Lines], str]:
    """A figure of a style over that of the default."""
    def found(lines: Lines) -> str:
        styles = _styles(lines, query)
        return f"{styles[style][figure] / styles['upa'][figure]:.1f} x at {styles['upa']['window']:,}"
    return found


def either_order(lines: Lines) -> str:
    """Both orders of a join and a negation in both styles, the fastest first."""
    shown = {}
    for query, order in (("X3.7 join", "negation up"), ("X3.7 without", "join up")):
        styles = _styles(lines, query)
        shown |= {f"{style} {order}": styles[style]["ms_per_1000_rows"] for style in ("upa", "negative")}
    return " < ".join(f"{name} {shown[name]:.2f}" for name in sorted(shown, key=shown.__getitem__))


def crossover(lines: Lines) -> str:
    """Where a calendar that is searched becomes dearer than negative tuples."""
    dearer = [line["window"] for line in lines if line["searched_us"] > line["negatives_us"]]
    cheaper = [line["window"] for line in lines if line["searched_us"] <= line["negatives_us"]]
    return f"searched: cheaper at {cheaper}, dearer at {dearer} rows"


def catalogues(lines: Lines) -> str:
    """Expiry catalogues, and this engine, against negatives."""
    best = max(lines, key=lambda line: line["times"])
    return (f"{best['times']:,.0f} x as algorithms, {best['engine_times']:,.0f} x the whole engine "
            f"({best['matches']:.0f} partners)")


def mixed(lines: Lines) -> str:
    """The same over windows of several kinds: the least of each, and of the engine where results are kept."""
    least = [min(line[figure] for line in lines) for figure in ("times", "engine_times")]
    kept = min(line["kept_negatives_us"] / line["kept_us"] for line in lines)
    return (f"at least {least[0]:,.0f} x as algorithms, {least[1]:,.0f} x the whole engine; results kept, its own "
            f"negatives {kept:.1f} x")


def counted(join: str, *figures: str) -> Callable[[Lines], str]:
    """Figures of a join in order under Q7-2 over those with OA-Join: the least and the most of all ranges."""
    def found(lines: Lines) -> str:
        of_join = [line for line in lines if line["part"] == "Q7-2" and line["join"] == join]
        said = []
        for figure in figures:
            times = [line[f"{figure}_times"] for line in of_join if line[f"{figure}_times"] is not None]
            said.append(f"{WORDS[figure]} {min(times):.1f} to {max(times):.1f} x" if times else f"no {WORDS[figure]}")
        ranges = [line["range"] for line in of_join]
        return f"{', '.join(said)} at {min(ranges)} to {max(ranges)} s"
    return found


WORDS = {"state_bytes": "state", "process_bytes": "process", "latency_ms": "latency", "latency_cpu_ms": "its CPU",
         "cpu": "time"}


def skewed(lines: Lines) -> str:
    """Memory of merging in order over OA-Join, one input behind."""
    by = {(line["skew"], line["join"]): line["peak_bytes"] for line in lines if line["part"] == "skew"}
    skews = sorted({skew for skew, _ in by})
    return ", ".join(f"{by[s, 'merged'] / by[s, 'OA-Join']:.2f} x at {s} s" for s in skews)


Q7_2_SMALL = "--rate 400 --seconds 62 --ranges 1 --flows 300 --repeat 1"
def who_joins(lines: Lines) -> str:
    """Kernels over Spark's own join, by rows in a micro-batch."""
    said = ", ".join(f"{line['kernels_over_native']:.2f} x at {line['rows']:,} rows" for line in lines)
    return f"kernels take {said}, {sum(line['differences'] for line in lines)} rows differ"


STYLES, SMALL = "relations_styles.py styles", "--windows 2000 --timed 5 --repeat 1"
AIMS = (
    Aim("X3.1 join, ftp", "negatives nearly 2 x", f"{STYLES} --windows 200000 --batch 1000 --queries X3.1", SMALL,
        against("negative", "X3.1")),
    Aim("X3.2 join, telnet", "negatives up to 10 x",
        f"{STYLES} --windows 300000 --batch 1000 --timed 50 --repeat 1 --queries X3.2", SMALL,
        against("negative", "X3.2")),
    Aim("X3.2 results kept", "direct by far the slowest",
        f"{STYLES} --windows 100000 --batch 100 --timed 200 --kept --queries X3.2", SMALL, against("direct", "X3.2")),
    Aim("X3.3 distinct sources", "negatives about 10 x",
        f"{STYLES} --windows 200000 --batch 20000 --timed 100 --repeat 5 --queries X3.3", SMALL,
        against("negative", "X3.3")),
    Aim("X3.3 distinct sources", "direct about 10 x",
        f"{STYLES} --windows 200000 --batch 20000 --timed 100 --repeat 5 --queries X3.3", SMALL,
        against("direct", "X3.3")),
    Aim("X3.4 distinct pairs", "negatives about 2 x",
        f"{STYLES} --windows 200000 --batch 20000 --timed 10 --queries X3.4", SMALL, against("negative", "X3.4")),
    Aim("X3.5 space", "negatives up to 100 x",
        f"{STYLES} --windows 200000 --batch 20000 --timed 100 --repeat 5 --queries X3.3", SMALL,
        against("negative", "X3.3", "state_bytes")),
    Aim("X3.6 negation", "a crossover", "negation_crossover.py --windows 3000 10000 30000 100000",
        "--windows 100 300 --repeat 1", crossover),
    Aim("X3.7 either order", "upa, negation up, before negatives",
        f"{STYLES} --windows 200000 --batch 20000 --timed 10 --repeat 5 --queries X3.7", SMALL, either_order),
    Aim("ORD", "negatives 100 x", "count_joins.py --windows 100000 --matches 316 --rows 1000 --repeat 1",
        "--windows 1000 --matches 10", catalogues),
    Aim("ORD, hosts by Zipf's law", "negatives 100 x",
        "count_joins.py trace --windows 100000 --exponents 0.5 --rows 1000 --negative-rows 200 --repeat 1",
        "--windows 1000", catalogues),
    Aim("expiry vectors, mixed windows", "negatives more",
        "count_joins.py mixed --windows 100000 --matches 100 --rows 1000 --repeat 1",
        "--windows 1000 --matches 10", mixed),
    Aim("X7 Q7-2, output buffered", "far above 1 x", "counted_joins.py --repeat 1", Q7_2_SMALL,
        counted("output buffered", "state_bytes", "process_bytes", "latency_ms", "latency_cpu_ms", "cpu")),
    Aim("X7 Q7-2, flows repeat more", "far above 1 x",
        "counted_joins.py --repeat 1 --ranges 1 5 9 --flows 512 --seconds 75", Q7_2_SMALL,
        counted("output buffered", "state_bytes", "process_bytes", "latency_ms", "latency_cpu_ms", "cpu")),
    Aim("X8 Q7-2, input buffered", "above 1 x for every range", "counted_joins.py --repeat 1", Q7_2_SMALL,
        counted("input buffered", "state_bytes", "process_bytes")),
    Aim("X7 Q7-2, flows are new", "above 1 x", "counted_joins.py --repeat 1 --ranges 1 9 --flows 1000000", Q7_2_SMALL,
        counted("output buffered", "state_bytes", "process_bytes", "latency_ms", "latency_cpu_ms", "cpu")),
    Aim("X11 one input behind, flows repeat", "merging at least 1 x",
        "stream_joins.py skew --rate 10000 --skews 0 20 50 100",
        "--rate 200 --seconds 4 --skews 0 10 --flows 300 --repeat 1", skewed),
    Aim("X11 one input behind, flows are new", "merging at least 1 x",
        "stream_joins.py skew --rate 10000 --skews 0 20 50 100 --flows 10000000",
        "--rate 200 --seconds 4 --skews 0 10 --flows 100000 --repeat 1", skewed),
    Aim("join in process", "500,000 rows/s", "relations_styles.py throughput", "--rows 40000 --repeat 1",
        lambda lines: f"{max(x['rows_per_second'] for x in lines if x['bench'] == 'throughput'):,.0f} rows/s"),
    Aim("join on Spark", "Spark's own at least 1 x", "spark_joins.py --rows 200000 --batches 4 --repeat 3",
        "--rows 20000 --repeat 1", lambda lines: f"{lines[-1]['times_as_fast']:.2f} x, {lines[-1]['differences']} rows "
                                                 "differ", spark=True),
    Aim("join on Spark, small batches", "whoever is faster",
        "spark_native_joins.py --rows 100 1000 3000 10000 --batches 8 --repeat 1", "--rows 100 --batches 3", who_joins,
        spark=True),
)


def measured(command: str) -> Lines:
    """What one benchmark wrote."""
    script, *options = command.split()
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.jsonl"
        done = subprocess.run([sys.executable, str(HERE / script), *options, "--json", str(figures)],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{command} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return [json.loads(line) for line in figures.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small windows: everything runs, nothing is proved")
    parser.add_argument("--without-spark", action="store_true")
    parser.add_argument("--json", type=Path, help="all measurements, a line each")
    options = parser.parse_args()
    note = load_note()
    rows, known, started = [], dict[str, Lines](), time.monotonic()
    for aim in AIMS:
        if aim.spark and options.without_spark:
            continue
        command = f"{aim.command} {aim.small}" if options.quick else aim.command
        if command not in known:
            known[command] = measured(command)
            say(f"{aim.name}: {time.monotonic() - started:.0f} s since the start")
        rows.append((aim.name, aim.aim, aim.found(known[command])))
    print(table_text(("what", "aim", "found"), rows) + note)
    print("\nby", *(f"  bench/{command}" for command in known), sep="\n")
    if options.json:
        with options.json.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for lines in known.values() for line in lines)


if __name__ == "__main__":
    main()
