"""The ``panewise`` command: reads arguments, hands over to one function per sub-command, turns errors into messages."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any, NoReturn

from panewise.cli import bench, demo, explain, generate, run
from panewise.cli.entry import INTERRUPTED
from panewise.cli.terminal import errors
from panewise.core.errors import PanewiseError, PanewiseWarning, SparkEndedError
from panewise.core.names import did_you_mean

USER_ERROR = 2
SPARK_FAILED = 1


class CommandParser(argparse.ArgumentParser):
    """Arguments written out in full; what is not known names the nearest that is."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Unknown arguments are those of the command, so it says which it has."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            known = getattr(found, "known_arguments", None) or self._option_string_actions
            named = next((one for one in unknown if one.startswith("-")), unknown[0]).partition("=")[0]
            self.error(f"unrecognized arguments: {' '.join(unknown)}{did_you_mean(named, known)}")
        return found

    def error(self, message: str) -> NoReturn:
        """A choice that does not exist names the nearest that does."""
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice is not None:
            message += did_you_mean(choice[1], [part.strip().strip("'") for part in choice[2].split(",")])
        super().error(message)


def build_parser() -> argparse.ArgumentParser:
    """All sub-commands with their options."""
    parser = CommandParser(
        prog="panewise",
        description="Window queries over data streams: every window kind, any disorder, one answer, on Spark.",
    )
    parser.add_argument("--version", action="version", version=f"panewise {version('panewise')}")
    parser.add_argument("--debug", action="store_true", help="show the full traceback of an error")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in (run, explain, generate, demo, bench):
        module.add_command(commands)
    for command in commands.choices.values():
        command.set_defaults(known_arguments=tuple(command._option_string_actions))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, 1 when Spark failed, 2 for a mistake of the user's, 130 if interrupted."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", PanewiseWarning)
            warnings.showwarning = _show_warning
            result: int = options.command(options) or 0
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        _give_up_output()
        return 0
    except PanewiseError as error:
        if options.debug:
            traceback.print_exc()
        _say("error", str(error))
        for note in getattr(error, "__notes__", ()):
            _say("note", note, "bold")
        return SPARK_FAILED if isinstance(error, SparkEndedError) else USER_ERROR
    except (KeyboardInterrupt, Exception) as error:
        if _interrupted(error):  # Spark answers an interrupt with errors of its own
            errors.print("interrupted")
            return INTERRUPTED
        if isinstance(error, OSError) and not options.debug:
            _say("error", _about_os(error))
            _give_up_output()
            return USER_ERROR
        if options.debug or not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        _say("Spark failed", str(error).strip().split("\n", maxsplit=1)[0])
        errors.print("see all of it with: panewise --debug ...", highlight=False)
        return SPARK_FAILED
    return result


def _give_up_output() -> None:
    """What is written from now on, and what Python still holds when it ends, goes nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _about_os(error: OSError) -> str:
    """What the operating system refused: a full disk, a file-size limit, a directory that cannot be entered."""
    name = "" if error.filename is None else f"{error.filename}: "
    return f"{name}{error.strerror or error}: output cannot be written, or a file cannot be read; see where with " \
           "panewise --debug ..."


def _interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt stands somewhere behind an error."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


_plain_warning = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Warnings of panewise as the user's own language, those of libraries as they are."""
    if issubclass(category, PanewiseWarning):
        _say("warning", str(message), "bold yellow")
    else:
        _plain_warning(message, category, *place, **more)


def _say(what: str, text: str, style: str = "bold red") -> None:
    from rich.markup import escape

    errors.print(f"[{style}]{what}:[/] {escape(text)}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
