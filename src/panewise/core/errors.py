"""Every error a user can meet, one base class, each leaf also the fitting builtin.

A message says what was given, what was expected and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

LONGEST = 1_000
"""How long a message may be; of a longer one the beginning and the end are shown."""
SHOWN_OF_A_LINE = 120
"""How much of a line of a query an error shows."""


def abridged(text: str, longest: int = LONGEST) -> str:
    """Text that may hold rows or a query of any length, short enough to read: beginning, what is left out, end.

    >>> abridged("SELECT " + "x" * 5_000 + " FROM s", 40)
    'SELECT xxxxxxxxxxxxxxxxxxx … 4,978 characters … xxx FROM s'
    """
    if len(text) <= longest:
        return text
    end = longest // 4
    left_out = len(text) - longest + 4
    return f"{text[:longest - end - 4]} … {left_out:,} characters … {text[-end:]}"


class PanewiseError(Exception):
    """Base of everything panewise raises on purpose; the command line prints it without a traceback.

    A message quotes rows, values and texts of users, which may be of any length: it is shortened here, once for all.
    """

    def __init__(self, message: object = "", *more: object) -> None:
        super().__init__(abridged(str(message)), *more)


class PanewiseWarning(UserWarning):
    """Something that runs but is hardly meant; the command line prints it beside the results."""


class QuantityError(PanewiseError, ValueError):
    """A duration, timestamp or row count that cannot be read."""


class WindowSpecError(PanewiseError, ValueError):
    """A window specification that contradicts itself."""


class TooManyWindowsError(WindowSpecError):
    """Rows that lie so far apart, for the SLIDE of their windows, that there are more windows than can be listed."""


class BeyondCalendarError(QuantityError):
    """A row that lies outside the years that a calendar window can place, or whose window begins or ends there."""


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


@contextmanager
def telling(what: str) -> Iterator[None]:
    """Errors of the system as errors of an input or output, which say what could not be done."""
    try:
        yield
    except SourceError:
        raise
    except OSError as error:
        raise SourceError(f"{what}: {error.strerror or error}") from error


class BadRowError(SourceError, SchemaError):
    """A row that cannot be read, or has a value that no column or window can take (bad-row policy ``stop``)."""


class CheckpointError(PanewiseError, RuntimeError):
    """A checkpoint that cannot be used with this query or this version."""


class OtherVersionError(CheckpointError):
    """State that another version of panewise has made, whole as it may be."""


class SparkEndedError(PanewiseError, ConnectionError):
    """The Java process of a Spark session has ended: killed, out of memory, or never up. Nothing in it can go on."""


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
        self.problem, self.text, self.hint = abridged(problem, 400), text, abridged(hint, 400)
        self.start = min(max(start, 0), len(text))
        self.end = max(end if end is not None else start + 1, self.start + 1)
        before = text[: self.start]
        self.line = before.count("\n") + 1
        self.column = self.start - (before.rfind("\n") + 1) + 1
        super().__init__(self._render())

    def _render(self) -> str:
        whole = self.text.split("\n")[self.line - 1]
        first = 0 if len(whole) <= SHOWN_OF_A_LINE else \
            min(max(0, self.column - 1 - SHOWN_OF_A_LINE // 2), len(whole) - SHOWN_OF_A_LINE)
        line_text = whole[first:first + SHOWN_OF_A_LINE]
        before, after = "… " if first else "", " …" if first + SHOWN_OF_A_LINE < len(whole) else ""
        at = self.column - 1 - first
        width = max(1, min(self.end - self.start, len(line_text) - at))
        caret = " " * (len(before) + at) + "^" * width
        line_text = before + line_text + after
        message = f"line {self.line}, column {self.column}: {self.problem}\n  {line_text}\n  {caret}"
        return f"{message}\n{self.hint}" if self.hint else message


class EvaluationError(PanewiseError, ValueError):
    """A row on which an expression has no value: a division by zero, text that is no number, an index beyond an array.

    ``condition`` is Spark's name for it, such as ``DIVIDE_BY_ZERO``; ``row`` the number of the row in the batch it was
    computed in, 1-based, until it has a place: in its stream, or the instant at which it came into a relation
    (``born``) with the arrivals of the rows it is ``made_of``, computed by the operator of a node (``over``).

    >>> error = EvaluationError("division by zero, in a / b", condition="DIVIDE_BY_ZERO", row=2)
    >>> print(error.placed("stream 'bids', row 102"))
    [DIVIDE_BY_ZERO] division by zero, in a / b (stream 'bids', row 102)
    """

    def __init__(self, message: str, *, condition: str, row: int | None = None, place: str = "") -> None:
        where = place or ("" if row is None else f"row {row} of its batch")
        super().__init__(f"[{condition}] {message}{f' ({where})' if where else ''}")
        self.message, self.condition, self.row, self.place = message, condition, row, place
        self.born: int | None = None
        self.made_of: tuple[int, ...] = ()
        self.over: object = None

    def placed(self, place: str, *, born: int | None = None, made_of: tuple[int, ...] = ()) -> EvaluationError:
        """The same error, of a row that stands there."""
        found = EvaluationError(self.message, condition=self.condition, place=place)
        found.born, found.made_of = born, made_of
        return found

    def __reduce__(self) -> tuple[object, ...]:
        """Spark's workers send errors to the driver."""
        return partial(EvaluationError, condition=self.condition, row=self.row, place=self.place), (self.message,)


def shortened(text: str, most: int = 80) -> str:
    """Text of a user in a message, cut where it is long.

    >>> shortened("x" * 100, 10)
    'xxxxxxxxxx… (100 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def shown(value: object) -> str:
    """A value of a user in a message; Python writes no integer of thousands of digits.

    >>> shown(1.9), shown(10**5_000)
    ('1.9', 'int of too many digits to be written')
    """
    try:
        return shortened(repr(value), 200)
    except ValueError:
        return f"{type(value).__name__} of too many digits to be written"
