"""Trials of query texts: each is refused with its place, or is read, checked, explained and, a share of them, run.

Anything else is a find: an exception that is no ``PanewiseError``, a refusal that does not say where in the text, a
text that takes too long. Finds that end in the same place of the program are one; each is made smaller and kept.
"""

from __future__ import annotations

import hashlib
import re
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import pyarrow as pa

from fuzz.grammar import typed_catalog
from fuzz.texts import Text, texts
from panewise.core.errors import (
    BeyondCalendarError,
    EvaluationError,
    PanewiseError,
    SourceError,
    SqlError,
    TooManyWindowsError,
)
from panewise.core.places import OF_OPTIONS
from panewise.core.schema import Catalog
from panewise.dataflow import open_plan
from panewise.engines.embedded.explaining import explain_streams
from panewise.plan.nodes import Named, Node
from panewise.planner.legal.legal_form import legal_form
from panewise.planner.options import RunOptions
from panewise.sql import parse
from plan_text import render
from sql.sql_cases import catalog

SEEDS = Path(__file__).parent / "seeds"
EXPLAINED, OPENED = 4, 6
"""One text of so many that have a plan is explained, and opened and given rows."""
SECONDS = 60
"""A text that takes longer is a find, too; loops that are compiled for the first time take ten."""
SHRINKING_SECONDS = 5.0


class TooSlowError(BaseException):
    """Raised by the alarm, past every handler."""


@dataclass
class Find:
    """Something that should not be."""

    what: str
    """Its kind, and the place of the program: equal for texts that find the same."""
    text: Text
    number: int
    detail: str
    count: int = 1


@dataclass
class Finds:
    """What a run has found, each kind once."""

    found: dict[str, Find] = field(default_factory=dict)

    def add(self, find: Find) -> bool:
        """Whether it is new."""
        if find.what in self.found:
            self.found[find.what].count += 1
            return False
        self.found[find.what] = find
        return True


def trial(text: Text, number: int) -> str:
    """What became of one text: ``refused`` or how far it came; raises what a user would see otherwise."""
    known = typed_catalog() if text.typed else catalog()
    if number % 16 == 0:
        known = Catalog.anything()
    try:
        plan = planned(text, known)
        if number % OPENED == 1 and not known.open:
            return ran(text, plan, number)
        if number % EXPLAINED:
            return "planned"
        if not explain_streams(plan, options=RunOptions(stats={"rows_per_second": 1000, "groups": 10} if number % 3 == 0
                                                    else None)):
            raise AssertionError("nothing was explained")
        return "explained"
    except SqlError as error:
        if not (error.problem and 0 <= error.start <= len(error.text) and error.line >= 1 and error.column >= 1):
            raise AssertionError(f"a place that is none: {error!r}") from error
        return "refused"


def planned(text: Text, known: Catalog) -> Node:
    """The plan of a text, as every entry point makes it."""
    plan = legal_form(parse(text.sql, known, **text.options)).plan
    if not render(plan):
        raise AssertionError("a plan without text")
    return plan


def ran(text: Text, plan: Node, number: int) -> str:
    """Open it and push some rows: what the rows do not fit may be refused, with a reason that is ours."""
    query = open_plan(plan)
    random = Random(number)
    try:
        for name in query.streams:
            schema = next(n.schema for n in plan.walk() if isinstance(n, Named) and n.name == name)
            query.push(name, rows(schema.columns, random))
        query.finish()
        query.status()
    except (BeyondCalendarError, EvaluationError, SourceError, TooManyWindowsError):
        return "refused rows"
    return "ran"


def rows(columns: Any, random: Random, count: int = 6) -> pa.Table:
    """A few rows, times in order, with nulls."""
    def column(kind: pa.DataType) -> pa.Array:
        values = [_value(kind, random, i) for i in range(count)]
        return pa.array(values, kind)

    return pa.table({name: column(kind) for name, kind in columns.items()})


def _value(kind: pa.DataType, random: Random, number: int) -> Any:
    if pa.types.is_timestamp(kind):
        return number * 1_000_000 * random.randint(1, 40)
    if random.random() < 0.1 and not pa.types.is_int64(kind):
        return None
    if pa.types.is_integer(kind):
        return random.choice((0, 1, 2, 3, 100))
    if pa.types.is_floating(kind):
        return random.choice((0.0, -0.0, 1.5, float("nan"), float("inf"), 1e300))
    if pa.types.is_boolean(kind):
        return random.random() < 0.5
    if pa.types.is_date(kind):
        return random.randint(-1000, 20_000)
    if pa.types.is_decimal(kind):
        from decimal import Decimal

        return Decimal(random.choice(("0", "1.50", "-99.99")))
    if pa.types.is_binary(kind):
        return random.choice((b"", b"\x00\xff"))
    if pa.types.is_list(kind):
        return [_value(kind.value_type, random, number) for _ in range(random.randint(0, 3))]
    if pa.types.is_struct(kind):
        return {f.name: _value(f.type, random, number) for f in kind}
    if pa.types.is_map(kind):
        return [("a", 1)]
    return random.choice(("a", "b", "TCP", "", "12", "2026-01-01", "é"))


# -- finding ----------------------------------------------------------------------------------------------------------


def verdict(text: Text, number: int, seconds: float = SECONDS) -> tuple[str, Find | None]:
    """What became of a text, and what it has found."""
    try:
        with alarm(seconds):
            return trial(text, number), None
    except PanewiseError as error:
        if OF_OPTIONS.match(str(error)):
            return "refused option", None
        shape = re.sub(r"'[^']*'|\d[\d,.]*|:\w+", "…", str(error))[:60]
        return "no place", Find(f"no place: {type(error).__name__} {origin(error)} {shape}", text, number, str(error))
    except TooSlowError as error:
        return "slow", Find(f"slow: {origin(error)}", text, number, f"longer than {seconds} s")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        trace = "".join(traceback.format_exception(error)[-6:])
        return "foreign", Find(f"foreign: {type(error).__name__} {origin(error)}", text, number, trace)


def origin(error: BaseException) -> str:
    """The deepest place of ours in the trace."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/panewise/" in f.filename]
    if not frames:
        return "elsewhere"
    last = frames[-1]
    return f"{last.filename.split('/panewise/')[-1]}:{last.name}"


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """End what takes longer, in seconds of computing: a machine that is busy with other things finds nothing."""
    def ring(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def smaller(find: Find) -> Text:
    """A shorter text that finds the same."""
    from fuzz.texts import PIECE

    end = monotonic() + SHRINKING_SECONDS
    best = find.text
    pieces = PIECE.findall(best.sql)
    size = max(len(pieces) // 2, 1)
    while size >= 1 and monotonic() < end:
        at, shorter = 0, False
        while at < len(pieces) and monotonic() < end:
            fewer = [*pieces[:at], *pieces[at + size:]]
            other = Text("".join(fewer), best.options, best.typed)
            found = verdict(other, find.number, 2)[1]
            if found is not None and found.what == find.what:
                pieces, best, shorter = fewer, other, True
            else:
                at += size
        size = size // 2 if not shorter or size > 1 else size
    return best


def trials(*, count: int, seed: int, seconds: float = 0, first: int = 0, keep: Path | None = None,
           say: Callable[[str], object] = print) -> dict[str, object]:
    """So many texts, or for so long; what became of them, and every find with a text."""
    began, done = monotonic(), 0
    outcomes: Counter[str] = Counter()
    finds = Finds()
    for number, text in islice(texts(seed, first), count or None):
        if seconds and monotonic() - began > seconds:
            break
        done += 1
        outcome, find = verdict(text, number)
        outcomes[outcome] += 1
        if find is not None and finds.add(find):
            find.text = smaller(find)
            say(f"seed {seed}, text {number}: {find.what}\n  {find.text.sql[:400]!r}\n  {find.detail[-1500:]}")
            if keep is not None:
                kept(find, keep)
        if done % 20_000 == 0:
            say(f"seed {seed}: {done:,} texts in {monotonic() - began:,.0f} s: {dict(outcomes)}")
    return {"texts": done, "outcomes": dict(outcomes), "finds": {f.what: f.count for f in finds.found.values()}}


def kept(find: Find, folder: Path) -> Path:
    """The text as a file, for the suite."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(find.what.encode()).hexdigest()[:10]}.sql"
    path.write_bytes(find.text.sql.encode("utf-8", "surrogatepass"))
    return path
