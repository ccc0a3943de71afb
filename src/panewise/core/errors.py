"""Every error a user can meet, one base class, each leaf also the fitting builtin.

A message says what was given, what was expected and what to do about it.
"""

from __future__ import annotations


class PanewiseError(Exception):
    """Base of everything panewise raises on purpose; the command line prints it without a traceback."""


class PanewiseWarning(UserWarning):
    """Something that runs but is hardly meant; the command line prints it beside the results."""


class QuantityError(PanewiseError, ValueError):
    """A duration, timestamp or row count that cannot be read."""


class WindowSpecError(PanewiseError, ValueError):
    """A window specification that contradicts itself."""


class AggregateError(PanewiseError, ValueError):
    """An aggregate function used with a type or parameter it does not take, or one that overflowed."""


class ProgressError(PanewiseError, ValueError):
    """A punctuation that cannot be understood, or one that goes backwards."""


class LateRowError(PanewiseError, ValueError):
    """A row arrived that an earlier punctuation had promised would not come (late policy ``error``)."""


class SchemaError(PanewiseError, ValueError):
    """A column that is missing, of the wrong type, or null where it must not be."""


class PlanError(PanewiseError, ValueError):
    """A query that is well-formed text but has no meaning (static rules)."""


class SourceError(PanewiseError, OSError):
    """An input or output that cannot be read or written."""


class CheckpointError(PanewiseError, RuntimeError):
    """A checkpoint that cannot be used with this query or this version."""


class UnsupportedError(PanewiseError, NotImplementedError):
    """A legal query that the chosen engine cannot run; names the engine that can."""


class SqlError(PanewiseError, ValueError):
    """A query text that is wrong, with the place and what to write instead.

    >>> print(SqlError("unknown unit 'minuts'", text="SELECT 1 [RANGE 5 minuts]", start=18, end=24,
    ...                hint="write 'minutes'"))
    line 1, column 19: unknown unit 'minuts'
      SELECT 1 [RANGE 5 minuts]
                        ^^^^^^
    write 'minutes'
    """

    def __init__(self, problem: str, *, text: str, start: int, end: int | None = None, hint: str = "") -> None:
        self.problem, self.text, self.hint = problem, text, hint
        self.start = min(max(start, 0), len(text))
        self.end = max(end if end is not None else start + 1, self.start + 1)
        before = text[: self.start]
        self.line = before.count("\n") + 1
        self.column = self.start - (before.rfind("\n") + 1) + 1
        super().__init__(self._render())

    def _render(self) -> str:
        line_text = self.text.split("\n")[self.line - 1]
        width = max(1, min(self.end - self.start, len(line_text) - self.column + 1))
        caret = " " * (self.column - 1) + "^" * width
        message = f"line {self.line}, column {self.column}: {self.problem}\n  {line_text}\n  {caret}"
        return f"{message}\n{self.hint}" if self.hint else message
