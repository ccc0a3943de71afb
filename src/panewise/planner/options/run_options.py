"""The options of a run, each declared in one place."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

from panewise.core.bad_rows import MAX_LINE, BadRowPolicy
from panewise.core.errors import PlanError, UnsupportedError
from panewise.core.time import AmountGiven
from panewise.plan.nodes import Node
from panewise.planner.choose.join_manner import Joins, known_way
from panewise.planner.choose.strategies import Strategy
from panewise.planner.options.declaring import (
    FRAMES,
    NO_RELATION,
    PLAIN,
    SPARK,
    WITHOUT_WINDOWS,
    Flag,
    Mode,
    Option,
    PlanKind,
    Refusal,
    option,
)
from panewise.planner.options.kinds import kind_of
from panewise.planner.statistics.declared import Statistics
from panewise.planner.statistics.relation_statistics import RelationStatistics
from panewise.progress.late import LATE_KEEP, LatePolicy, checked_keep

NOTHING = type(None)
EVERYWHERE = "sql run open_query explain stream"
RUNS = "sql run open_query stream"
READS = "sql run explain stream"
"""The functions that read streams; rows are pushed into a query that is open."""
TEXTS = "sql run open_query explain"
"""The functions that take a text."""
PUNCTUATED = "punctuated"
"""How results are put out together with punctuation that says how far they are."""
MEASURE = "measure"
"""Given as statistics: look at the first rows of the streams."""
ORACLE = frozenset({Mode.ORACLE})
EMBEDDED = frozenset({Mode.EMBEDDED})
YES_OR_NO = "True or False"


def _by_definition(name: str) -> Refusal:
    return Refusal(name + "={given!r}: the oracle computes by definition, and there is nothing to choose; leave out "
                   + name, ORACLE)


def _in_process(name: str, what: str) -> tuple[Refusal, Refusal]:
    return (Refusal(f"{name}=: {what}, and the oracle looks at complete inputs: leave it out, or use engine='embedded'",
                    ORACLE),
            Refusal(f"{name}=: {what}, which queries on Spark do not do: leave it out, or run the query in process",
                    SPARK))


def _no_windows(name: str) -> Refusal:
    return Refusal(f"{name}= is about window aggregates, and this query has none: leave it out", kinds=WITHOUT_WINDOWS)


def emission_mode(emit: str) -> str:
    """The first word of an emission policy."""
    return emit.partition(":")[0].strip().lower()


def _line_length(given: int) -> int:
    if given < 1:
        raise PlanError(f"max_line={given}: a line has at least one byte")
    return given


def _is_derived(progress: str | Mapping[str, str]) -> bool:
    policies = {progress} if isinstance(progress, str) else set(progress.values())
    return bool(policies - {"source"})


@dataclass(frozen=True)
class RunOptions:
    """Everything a user says about how a text is read and a query runs; values are checked when it is made.

    >>> RunOptions(late="side").late
    <LatePolicy.SIDE: 'side'>
    >>> RunOptions(late=5)
    Traceback (most recent call last):
    panewise.core.errors.PlanError: late=5: give a policy, such as 'generous'; ...
    """

    # -- what the text means

    params: Mapping[str, object] | None = option(
        None, Mapping, NOTHING, meant="values by the names of parameters", entries=TEXTS,
        help="values of the text's parameters (:name) by name", flag=Flag("NAME=VALUE", name="--param", pairs=True))
    functions: Mapping[str, Any] | None = option(
        None, Mapping, NOTHING, meant="functions by their names", entries=EVERYWHERE,
        help="functions of your own by name (pw.function), or what a name stands for")
    lenient: bool = option(
        False, bool, meant=YES_OR_NO, entries=TEXTS, flag=Flag(),
        help="group by plain columns that stand beside aggregates")
    suppress_partial: bool = option(
        False, bool, meant=YES_OR_NO, entries=EVERYWHERE, flag=Flag(),
        help="leave out windows that begin before their ORIGIN")
    day: str | date | None = option(
        None, str, date, NOTHING, meant="a date, such as '2026-01-01'", entries=EVERYWHERE, flag=Flag("DATE"),
        help="the day of bare times of day, as in START AT '07:00:00': 2026-01-01")
    zone: str | None = option(
        None, str, NOTHING, meant="a time zone, such as 'Europe/Berlin'", entries=EVERYWHERE, flag=Flag("NAME"),
        help="the time zone in which expressions and brackets read clocks, such as Europe/Berlin (default: UTC, on "
             "Spark that of the session)")
    now: datetime | None = option(
        None, datetime, NOTHING, meant="a datetime with its time zone", entries=RUNS,
        help="what now() gives (default: the instant the run began); a query over streaming DataFrames has to be given "
             "the same whenever it is started (pw.kept_instant)")

    # -- what comes in

    columns: Mapping[str, Any] | None = option(
        None, Mapping, NOTHING, meant="columns by the names of streams, such as {'s': 'ts bigint'}",
        entries="run", flag=Flag("NAME=COLUMNS", pairs=True, commands=frozenset({"run"})),
        help="declare a stream that is still to come: bids='ts timestamp, price double'")
    time: str | Mapping[str, str | None] | None = option(
        None, str, Mapping, NOTHING, meant="a column, or one for each stream by its name", entries=EVERYWHERE,
        of_each=((str, NOTHING), "a column"), flag=Flag("NAME=COLUMN", pairs=True),
        help="the column that orders a stream (default: ts, timestamp, or the only timestamp), or says when rows of a "
             "table come and go (default: a table is static)")
    bad_rows: BadRowPolicy = option(
        "stop", str, BadRowPolicy, meant="a policy, such as 'skip'", entries=EVERYWHERE, read=BadRowPolicy.parse,
        flag=Flag("POLICY"),
        help="what becomes of rows that cannot be read or have no time: stop, skip (and count them), aside (keep "
             "them), aside:PATH (write them to an NDJSON file with place and reason; of a live stream on Spark, to a "
             "folder of them)",
        refusals=(Refusal("bad_rows='aside:PATH' of a streaming DataFrame: the query is started after this call, where "
                          "nobody could write the file once for each micro-batch: give bad_rows='aside', which puts "
                          "bad rows beside the results, and take them apart with pw.split_bad in foreachBatch",
                          {Mode.SPARK_STREAM}, values=lambda given: given.path is not None, error=UnsupportedError),))
    max_jump: AmountGiven | None = option(
        None, int, str, timedelta, NOTHING, meant="a number of ticks or a duration, such as '1 hour'",
        entries=EVERYWHERE, flag=Flag("DURATION"),
        help="how far a row's time may be ahead of the newest so far; further ones are bad rows",
        refusals=(Refusal("max_jump= compares each row with the newest before it, and a DataFrame has no order of "
                          "rows: read files and sockets with max_jump= in read_stream, read_batch or read_socket, "
                          "whose rows are in order, run the query in process, or leave out future rows with WHERE",
                          FRAMES, error=UnsupportedError),))
    max_line: int = option(
        MAX_LINE, int, meant="a number of bytes, such as 1_000_000", entries=READS, read=_line_length,
        flag=Flag("BYTES"), help=f"the longest row of NDJSON (default: {MAX_LINE:,} bytes)",
        refusals=(Refusal("max_line= is about lines that are read, and a DataFrame is read already: give it to "
                          "read_stream, read_batch or read_socket", FRAMES),))

    # -- progress and late rows

    progress: str | Mapping[str, str] = option(
        "source", str, Mapping, meant="a policy, such as 'late:10s', or one for each stream by its name",
        entries=EVERYWHERE, of_each=((str,), "a policy"), flag=Flag("POLICY"),
        help="ordered | late:10s | rows:100 | column:NAME | source (punctuation in the data)",
        refusals=(Refusal("a static DataFrame is complete and has no order of arrival, so a progress policy says "
                          "nothing: leave it out, or read the data as a stream", {Mode.SPARK_BATCH},
                          values=_is_derived),))
    late: LatePolicy = option(
        "generous", str, Enum, meant="a policy, such as 'generous'", entries=EVERYWHERE, read=LatePolicy.parse,
        flag=Flag(choices=tuple(policy.value for policy in LatePolicy)),
        help="what becomes of rows behind the watermark (default: generous, they count in windows that are still open "
             "and are reported if they missed one)")
    late_keep: int = option(
        LATE_KEEP, object, meant="a number of rows", entries=EVERYWHERE, read=checked_keep, flag=Flag("ROWS"),
        help=f"so many late rows are kept, the newest; all are counted (default: {LATE_KEEP:,})",
        refusals=(Refusal("late_keep= is how many late rows are kept in memory, and a DataFrame keeps none: they leave "
                          "beside the results (late='side'); leave it out", FRAMES),))

    # -- results

    emit: str = option(
        "final", str, meant="'final' or a policy, such as 'early:10s'", entries=RUNS,
        flag=Flag("POLICY", commands=frozenset({"run"})),
        help="final | change | early:10s (of progress) | clock:5s: early results are corrected by rows with change -1 "
             "(on Spark the trigger is the clock; there punctuated adds punctuation to relations and joins)",
        refusals=(
            Refusal("early results (emit={given!r}) come from the embedded engine and from streams on Spark; the "
                    "oracle gives final ones", ORACLE),
            Refusal("emit={given!r} shows results before they are final, and those of a static DataFrame are final at "
                    "once: leave it out, or read the data as a stream", {Mode.SPARK_BATCH}),
            Refusal("emit={given!r} is for streams on Spark: in process the same is told to the listeners of "
                    "on_punctuation", EMBEDDED, values=lambda given: emission_mode(given) == PUNCTUATED),
            Refusal("early results (emit={given!r}) are for window aggregates: a relation tells every change when its "
                    "instant is complete", EMBEDDED, {PlanKind.RELATION}),
            Refusal("early results (emit={given!r}) are for window aggregates: pairs of a join are final when they are "
                    "found", EMBEDDED, {PlanKind.PAIRS}),
            Refusal("emit={given!r} is for relations over windows and pairs of streams: other results say by their "
                    "window when they are complete, or need not say it", SPARK, PLAIN,
                    lambda given: emission_mode(given) == PUNCTUATED),
            Refusal("emit={given!r}: on Spark the trigger is the clock. Use emit='change', which shows after every "
                    "micro-batch what has changed, with .trigger(processingTime='5 seconds')", SPARK,
                    {PlanKind.WINDOWS, PlanKind.NESTED},
                    lambda given: emission_mode(given) == "clock", UnsupportedError),
            Refusal("early results (emit={given!r}) are for window aggregates: pairs of a join are final when they are "
                    "found, and a relation tells every change when its instant is complete; emit='punctuated' says how "
                    "far it is", SPARK, {PlanKind.PAIRS, PlanKind.RELATION},
                    lambda given: emission_mode(given) != PUNCTUATED),
            _no_windows("emit")))
    empty_windows: bool = option(
        False, bool, meant=YES_OR_NO, entries=RUNS, flag=Flag(commands=frozenset({"run"})),
        help="a group that was seen has a result for windows without rows, too",
        refusals=(*_in_process("empty_windows", "groups that were seen are kept, to show windows without rows"),
                  Refusal("empty_windows is for window aggregates: the windows of this query are relations, which "
                          "neither open nor close; leave it out", EMBEDDED, {PlanKind.RELATION}),
                  _no_windows("empty_windows")))
    events: bool = option(
        False, bool, meant=YES_OR_NO, entries="open_query",
        help="windows tell listeners (on_window) when they open and close from the first row on",
        refusals=(*_in_process("events", "listeners are told when windows open and close"),
                  Refusal("events is for window aggregates: the windows of this query are relations, which neither "
                          "open nor close; leave it out", EMBEDDED, {PlanKind.RELATION}),
                  _no_windows("events")))
    current: bool = option(
        False, bool, meant=YES_OR_NO, entries="open_query",
        help="a query that is a relation keeps it: query.current() is the relation at the last complete instant",
        refusals=(*_in_process("current", "the relation is kept as it is now"),
                  Refusal("current=True keeps a continuous relation as it is now, and the results of this query are no "
                          "relation but come once, for ever: leave it out", EMBEDDED, NO_RELATION)))
    checkpoint: str | Path | None = option(
        None, str, os.PathLike, NOTHING, meant="the path of a directory", entries="run",
        flag=Flag("DIR", commands=frozenset({"run"})), help="go on from here after a restart",
        refusals=(Refusal("the oracle keeps no checkpoint: it reads everything each time; leave the checkpoint out",
                          ORACLE),
                  Refusal("checkpoint=: Spark is told where to keep the checkpoint of a DataFrame when it is started, "
                          "by .option('checkpointLocation', …): leave it out", FRAMES)))
    checkpoint_seconds: float | None = option(
        None, int, float, NOTHING, meant="a number of seconds", entries="run",
        help="how often a checkpoint is saved, beside every million rows",
        refusals=(*_in_process("checkpoint_seconds", "a checkpoint is saved by the clock"),))

    # -- how

    engine: str | None = option(
        None, str, NOTHING, meant="a name, such as 'embedded'", entries="sql stream",
        help="embedded, oracle or spark (default: embedded; of DataFrames Spark)")
    strategy: Strategy = option(
        "auto", str, Enum, Mapping, Strategy, meant="a name, such as 'auto', or a mapping", entries=EVERYWHERE,
        read=Strategy.parse, flag=Flag("KERNEL"),
        help="how the embedded engine runs window aggregates, instead of the best way: a kernel, 'wid', also with "
             "options, 'buffering: slack=100'; or how expiry travels through relations: upa (by update pattern), "
             "negative (as negatives), direct (lists are searched)",
        refusals=(_by_definition("strategy"),
                  Refusal("strategy= chooses how a query runs in process; on Spark that is chosen by rule, as "
                          "explain() shows: leave it out", SPARK)))
    joins: str | Joins = option(
        "auto", str, Enum, Joins, meant="a name, such as 'auto'", entries=EVERYWHERE, read=known_way,
        flag=Flag("WAY"),
        help="how windows are joined, instead of the best way: 'by twos', 'at once', 'at once: lazy'; who joins "
             "streaming DataFrames: 'kernels', or 'native' for Spark itself",
        refusals=(_by_definition("joins"),
                  Refusal("joins={given!r} chooses how streams are joined, and static DataFrames are none: leave it "
                          "out", {Mode.SPARK_BATCH}),
                  Refusal("joins={given!r} chooses how windows are joined in process, and live streams on Spark; files "
                          "are joined by kernels there: leave it out, or give stats=", {Mode.SPARK_FILES}),
                  Refusal("joins={given!r} chooses how streams are joined, and this query joins none: leave it out",
                          {Mode.SPARK_STREAM}, PLAIN),
                  Refusal("joins= says how the windows of a relation are joined, and this query joins none: leave it "
                          "out", EMBEDDED, NO_RELATION)))
    stats: Any = option(
        None, str, Mapping, Statistics, RelationStatistics, NOTHING,
        meant="statistics by their names, such as {'groups': 10}",
        entries=EVERYWHERE, flag=Flag("NAME=VALUE,..."),
        help="what the streams are like, to choose by cost: rows_per_second=5000,groups=1000, for joins and other "
             "relations by input, S.rows_per_second=100,S.column=50; explain also takes 'measure', which looks at the "
             "inputs",
        refusals=(_by_definition("stats"),
                  Refusal("how a window aggregate runs on Spark is chosen by rule, as explain() shows: leave stats= "
                          "out; it chooses among the plans of joins and changing relations", SPARK, PLAIN)))
    analyze: bool = option(
        False, bool, meant=YES_OR_NO, entries="explain", flag=Flag(commands=frozenset({"explain"})),
        help="run it on the embedded engine and show what happened: state, windows, late rows, time")
    exact: bool = option(
        False, bool, meant=YES_OR_NO, entries="sql explain stream", flag=Flag(),
        help="add floats of static DataFrames in kernels where Spark would add them and round every addition; other "
             "engines always do")

    def __post_init__(self) -> None:
        for declared in OPTIONS.values():
            object.__setattr__(self, declared.name, declared.checked(getattr(self, declared.name)))

    def given(self) -> list[Option]:
        """The options that say something else than their defaults."""
        return [declared for name, declared in OPTIONS.items() if getattr(self, name) != getattr(DEFAULTS, name)]

    def refuse_for(self, plan: Node, mode: Mode) -> None:
        """What is given and cannot be done for a plan there is refused by name."""
        kind = kind_of(plan)
        for declared in self.given():
            declared.refuse(getattr(self, declared.name), mode, kind)

    def without(self, names: Collection[str]) -> RunOptions:
        """The same with some options as they are by default."""
        return replace(self, **{name: getattr(DEFAULTS, name) for name in names})

    @property
    def early(self) -> bool:
        """Whether results are asked for in another way than once and final."""
        return emission_mode(self.emit) != "final"


def after_reading(options: RunOptions) -> RunOptions:
    """What is left to a query whose inputs panewise opens for Spark: the readers have seen to lines and jumps, late and
    bad rows that go to files leave beside the results.
    """
    return replace(options.without(("max_line", "max_jump", "late_keep", "checkpoint")),
                   bad_rows=BadRowPolicy(options.bad_rows.action))


def _declared(of: Any) -> dict[str, Option]:
    return {one.name: replace(one.metadata["option"], name=one.name) for one in fields(of)}


OPTIONS: dict[str, Option] = _declared(RunOptions)
"""Every option by its name, in the order of their declaration."""
DEFAULTS = RunOptions()


def options_of(entry: str) -> list[str]:
    """The options that an entry point takes as keywords."""
    return [name for name, declared in OPTIONS.items() if entry in declared.entries]
