"""The options of a run on the command line, from their declarations."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from panewise.cli.terminal import inputs_of, key_value, parameter, unique
from panewise.core.bad_rows import BadRowAction
from panewise.core.errors import PlanError
from panewise.core.names import did_you_mean
from panewise.planner.options import OPTIONS, Option, RunOptions


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """The flags that a command has."""
    for declared in _of(command):
        flag = declared.flag
        assert flag is not None
        if declared.types == (bool,):
            parser.add_argument(_written(declared), dest=declared.name, action="store_true", help=declared.help)
            continue
        settings: dict[str, Any] = {"choices": flag.choices} if flag.choices else {"metavar": flag.metavar}
        if flag.pairs:
            settings |= {"type": key_value, "action": "append", "default": []}
        elif isinstance(declared.default, int):
            settings["type"] = int
        parser.add_argument(_written(declared), dest=declared.name, help=declared.help, **settings)


def run_options(given: argparse.Namespace, command: str) -> RunOptions:
    """What the flags say; those that were not given are left to their defaults."""
    found: dict[str, Any] = {}
    for declared in _of(command):
        value = getattr(given, declared.name)
        if declared.flag is not None and declared.flag.pairs:
            value = unique(value, f"{_written(declared)} of")
            if declared.name == "params":
                value = {name: parameter(text) for name, text in value.items()}
            else:
                _known_streams(_written(declared), value, inputs_of(given))
        if value not in (None, {}):
            found[declared.name] = value
    options = RunOptions(**found)
    if options.bad_rows.action is BadRowAction.ASIDE and options.bad_rows.path is None:
        raise PlanError("--bad-rows aside needs a file for the rows: --bad-rows aside:bad.ndjson")
    return options


def _of(command: str) -> list[Option]:
    return [one for one in OPTIONS.values() if one.flag is not None and command in one.flag.commands]


def _written(declared: Option) -> str:
    """The flag as a user writes it."""
    assert declared.flag is not None
    return declared.flag.written(declared.name)


def _known_streams(what: str, named: Mapping[str, object], given: Mapping[str, object]) -> None:
    """Every name that an option gives is that of a stream."""
    for name in named:
        if name not in given:
            raise PlanError(f"{what} names {name!r}, but there is no such --stream or --table; there are "
                            f"{', '.join(given) or 'none'}{did_you_mean(name, given)}")
