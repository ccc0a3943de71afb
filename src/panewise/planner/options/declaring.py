"""How an option is declared: what it may be, where it can be given, and who refuses it with which words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from panewise.core.errors import PanewiseError, PlanError, shortened


class Mode(Enum):
    """Who runs a plan, and over what."""

    EMBEDDED = "embedded"
    ORACLE = "oracle"
    SPARK_BATCH = "Spark batch"        # static DataFrames
    SPARK_STREAM = "Spark stream"      # streaming DataFrames
    SPARK_FILES = "Spark files"        # files that panewise opens, from the command line


FRAMES = frozenset({Mode.SPARK_BATCH, Mode.SPARK_STREAM})
SPARK = FRAMES | {Mode.SPARK_FILES}


class PlanKind(Enum):
    """What a plan's results are, as far as options differ by it."""

    ROWS = "rows of streams"
    WINDOWS = "window aggregates"
    NESTED = "window aggregates over others"
    PAIRS = "joins of streams"
    RELATION = "changing relations"


WITHOUT_WINDOWS = frozenset({PlanKind.ROWS})
PLAIN = frozenset({PlanKind.ROWS, PlanKind.WINDOWS})
JOINED = frozenset(PlanKind) - PLAIN
NO_RELATION = frozenset(PlanKind) - {PlanKind.ROWS, PlanKind.RELATION}


def every_value(_: Any) -> bool:
    """Whatever is given is refused."""
    return True


@dataclass(frozen=True)
class Refusal:
    """Words for a value of an option where an engine cannot do what it asks; ``{given!r}`` stands for the value."""

    why: str
    modes: Collection[Mode] = frozenset(Mode)
    kinds: Collection[PlanKind] = frozenset(PlanKind)
    values: Callable[[Any], bool] = every_value
    """Which values, beside the default, which is never refused."""
    error: type[PanewiseError] = PlanError


@dataclass(frozen=True)
class Flag:
    """An option on the command line."""

    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    name: str | None = None
    """Where it is not the option's own name with hyphens."""
    pairs: bool = False
    """Whether it is given as NAME=VALUE, any number of times."""
    commands: frozenset[str] = frozenset({"run", "explain"})

    def written(self, option: str) -> str:
        """As a user writes it."""
        return self.name or f"--{option.replace('_', '-')}"


@dataclass(frozen=True)
class Option:
    """One option of a run."""

    name: str
    default: Any
    types: tuple[type, ...]
    meant: str
    """What a value is, for the error about one of another type."""
    help: str
    entries: frozenset[str]
    """The functions that take it as a keyword."""
    refusals: tuple[Refusal, ...] = ()
    flag: Flag | None = None
    read: Callable[[Any], Any] | None = None
    """Makes the value that engines see of one that a user gives, or refuses it."""
    of_each: tuple[tuple[type, ...], str] | None = None
    """What may stand for one stream, where an option may be given for each."""

    def checked(self, given: Any) -> Any:
        """The value that engines see; one of another type is refused by the option's name."""
        if not isinstance(given, self.types) or (isinstance(given, bool) and bool not in self.types):
            raise PlanError(f"{self.name}={shortened(repr(given))}: give {self.meant}; an input of this name goes into "
                            f"streams={{{self.name!r}: ...}}")
        if isinstance(given, Mapping) and self.name != "stats":
            self._check_each(given)
        return given if self.read is None else self.read(given)

    def _check_each(self, given: Mapping[Any, Any]) -> None:
        for key, one in given.items():
            if not isinstance(key, str):
                raise PlanError(f"{self.name}={shortened(repr(given))}: {key!r} is no name")
            if self.of_each is not None and not isinstance(one, self.of_each[0]):
                raise PlanError(f"{self.name}={shortened(repr(given))}: {one!r} of {key!r} is not {self.of_each[1]}")

    def refuse(self, value: Any, mode: Mode, kind: PlanKind) -> None:
        """Raise the words for a value that is not taken here."""
        for refusal in self.refusals:
            if mode in refusal.modes and kind in refusal.kinds and refusal.values(value):
                raise refusal.error(refusal.why.format(given=value))

    def taken_by(self, mode: Mode) -> str:
        """For the page of options: yes, refused, or what is taken."""
        mine = [refusal for refusal in self.refusals if mode in refusal.modes]
        if any(len(refusal.kinds) == len(PlanKind) and refusal.values is every_value for refusal in mine):
            return "refused"
        return "in part" if mine else "yes"


def option(default: Any, *types: type, meant: str, help: str, entries: str, refusals: tuple[Refusal, ...] = (),
           flag: Flag | None = None, read: Callable[[Any], Any] | None = None,
           of_each: tuple[tuple[type, ...], str] | None = None) -> Any:
    """A field of ``RunOptions``: ``entries`` are the functions that take it, ``read`` what engines see of a value."""
    declared = Option("", default, types, meant, help, frozenset(entries.split()), refusals, flag, read, of_each)
    return field(default=default if read is None or default is None else read(default), metadata={"option": declared})
