"""Progress policies as text: what a user writes after ``--progress``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import pyarrow as pa

from panewise.core.errors import PlanError, ProgressError, QuantityError
from panewise.core.names import did_you_mean
from panewise.core.ordinals import OrdinalKind
from panewise.core.time import Domain, Quantity
from panewise.progress.clocks import Heartbeat, IdleSource, Timer
from panewise.progress.generators import Generator, SourceSupplied
from panewise.progress.jumps import JumpGuard
from panewise.progress.lateness import ColumnSupplied, Ordered, RowsLate, TimeLate
from panewise.progress.notation import constant_reader
from panewise.progress.substreams import PerSubstream

Types = Mapping[str, pa.DataType]
FORMS = {
    "source": "source",
    "ordered": "ordered",
    "late": "late:10s",
    "rows": "rows:100",
    "column": "column:watermark",
    "substream": "substream:sensor=a|b|c",
    "heartbeat": "heartbeat:10s",
}
OPTIONS = {
    "max_jump": "rows further ahead than this do not move the bound",
    "patience": "so many such rows in a row do",
    "every": "publish at this interval of the wall clock only",
    "lull": "without rows for this long, follow the wall clock at this distance",
    "idle": "without rows for this long, other inputs do not wait for it",
}


def parse_progress(text: str, kind: OrdinalKind, types: Types | None = None) -> Generator:
    """The generator a policy names: a form, its argument after a colon, and options after commas.

    Durations are amounts of the windowing attribute, so plain numbers for an integer. With the stream's column
    ``types`` the columns a policy names are checked at once.

    >>> parse_progress("late:10s", OrdinalKind.TIMESTAMP).describe()
    'at most 10000000 late'
    >>> parse_progress("rows:100, max_jump=1h, idle=1min", OrdinalKind.TIMESTAMP).describe()
    'at most 100 rows late, idle after 60000000'
    """
    form, *settings = [part.strip() for part in text.split(",")]
    name, _, argument = form.partition(":")
    options = _options(text, settings)
    try:
        return _with_clock(_build(text, (name.strip().lower(), argument.strip()), options, kind, types), options, kind)
    except QuantityError as error:
        raise ProgressError(f"progress policy {text!r}: {error}") from error


def check_policies(progress: str | Mapping[str, str], streams: Collection[str]) -> None:
    """Policies by stream name streams that the query reads."""
    for name in () if isinstance(progress, str) else progress:
        if name not in streams:
            raise PlanError(f"a progress policy for {name!r}, which the query does not read; it reads "
                            f"{', '.join(streams)}{did_you_mean(name, streams)}")


def _build(text: str, form: tuple[str, str], options: dict[str, str], kind: OrdinalKind,
           types: Types | None) -> Generator:
    name, argument = form
    if name not in FORMS:
        raise ProgressError(f"no progress policy {text!r}: write one of {', '.join(FORMS.values())}"
                            f"{did_you_mean(name, FORMS)}")
    wants_argument = ":" in FORMS[name]
    if wants_argument and not argument:
        raise ProgressError(f"progress policy {text!r} needs an argument: write for example {FORMS[name]!r}")
    if argument and not wants_argument:
        raise ProgressError(f"progress policy {name!r} takes no argument, it was given {argument!r}")
    guard = _guard(text, options, kind, allowed=name not in ("source", "heartbeat"))
    match name:
        case "ordered":
            return Ordered(guard=guard)
        case "late":
            return TimeLate(_amount(argument, kind), guard=guard)
        case "rows":
            return RowsLate(_rows(text, argument), guard=guard)
        case "column":
            return ColumnSupplied(_known_column(argument, kind, types), kind, guard=guard)
        case "substream":
            column, keys = _substreams(text, argument, types)
            return PerSubstream(column, keys, guard=guard)
        case "heartbeat":
            return Heartbeat(_amount(argument, kind))
    return SourceSupplied()


def _with_clock(generator: Generator, options: dict[str, str], kind: OrdinalKind) -> Generator:
    if "every" in options or "lull" in options:
        interval = _amount(options["every"], kind) if "every" in options else 0
        lull = _amount(options["lull"], kind) if "lull" in options else None
        generator = Timer(generator, interval=interval, lull=lull)
    return IdleSource(generator, timeout=_amount(options["idle"], kind)) if "idle" in options else generator


def _guard(text: str, options: dict[str, str], kind: OrdinalKind, *, allowed: bool) -> JumpGuard | None:
    if "max_jump" not in options:
        if "patience" in options:
            raise ProgressError(f"progress policy {text!r}: patience means something only together with max_jump")
        return None
    if not allowed:
        raise ProgressError(f"progress policy {text!r}: max_jump is for policies that look at rows")
    patience = {"patience": _rows(text, options["patience"])} if "patience" in options else {}
    return JumpGuard(_amount(options["max_jump"], kind), **patience)


def _options(text: str, settings: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for setting in settings:
        name, equals, value = (part.strip() for part in setting.partition("="))
        if name not in OPTIONS:
            known = "; ".join(f"{option}: {meaning}" for option, meaning in OPTIONS.items())
            raise ProgressError(f"progress policy {text!r} has no option {name!r}; there are {known}"
                                f"{did_you_mean(name, OPTIONS)}")
        if not equals or not value:
            raise ProgressError(f"progress policy {text!r}: write {name}=VALUE")
        if name in options:
            raise ProgressError(f"progress policy {text!r} gives {name} twice")
        options[name] = value
    return options


def _amount(text: str, kind: OrdinalKind) -> int:
    return kind.amount(Quantity.parse(text))


def _rows(text: str, number: str) -> int:
    quantity = Quantity.parse(number)
    if quantity.domain not in (Domain.TICKS, Domain.ROWS):
        raise ProgressError(f"progress policy {text!r}: {number!r} is not a number of rows")
    return quantity.amount


def _known_column(name: str, kind: OrdinalKind, types: Types | None) -> str:
    if types is None:
        return name
    _check_column(name, types)
    found = OrdinalKind.of(types[name], name)
    if found is not kind and not (kind is OrdinalKind.ROWS and found is OrdinalKind.INTEGER):
        raise ProgressError(f"progress column {name!r} is {types[name]}, but the windowing attribute is a {kind.value}")
    return name


def _substreams(text: str, argument: str, types: Types | None) -> tuple[str, list[Any]]:
    column, _, listed = (part.strip() for part in argument.partition("="))
    keys = [key.strip() for key in listed.split("|") if key.strip()]
    if not column or not keys:
        raise ProgressError(
            f"progress policy {text!r}: register every substream, for example {FORMS['substream']!r}; "
            "the stream's bound waits for all of them"
        )
    if types is not None:
        _check_column(column, types)
    read: Callable[[Any], Any] = constant_reader(column, types[column] if types is not None else None)
    return column, [read(key) for key in keys]


def _check_column(name: str, types: Types) -> None:
    if name not in types:
        raise ProgressError(f"progress policy names the column {name!r}; there are {', '.join(types) or 'none'}"
                            f"{did_you_mean(name, types)}")
