"""Errors that happened inside Spark, turned back into the error a user should see.

A failure in the JVM or in a Python worker arrives as a Spark exception with the original buried in its text. Messages
raised on purpose carry their class name, so they can be found again. A JVM that was killed says nothing any more: then
whichever library was talking to it fails in its own way, so it is asked whether it is still there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from panewise.core import errors
from panewise.core.errors import PanewiseError, SchemaError
from panewise.engines.spark.session.connect import server_gone
from panewise.storage.sealed import other_version

MARK = "panewise.core.errors."
LONGEST = 500
"""So much of what Spark says is passed on."""
_PATTERN = re.compile(re.escape(MARK) + r"(\w+): (.*?)(?= SQLSTATE: \w{5}|\n|$)")
_OVERFLOW = re.compile(
    r"\[(ARITHMETIC_OVERFLOW|CAST_OVERFLOW)[\w.]*\] (.*?)(?= SQLSTATE|\n|$)")
_ONE_ROW = re.compile(r"\[(DIVIDE_BY_ZERO|REMAINDER_BY_ZERO|CAST_INVALID_INPUT|INVALID_ARRAY_INDEX(?:_IN_ELEMENT_AT)?"
                      r"|CANNOT_PARSE_TIMESTAMP|DATETIME_FIELD_OUT_OF_BOUNDS)[\w.]*\] (.*?)(?= SQLSTATE|\n|$)")
"""What Spark says of a row on which an expression has no value."""
_SHOWN = re.compile(r"== SQL[^\n]*==\n(.+?)(?: /\* (of|over) (.*?)(?: \*/[^\n]*|(?<=\.\.\.)))?\n *\^")
"""The expression, and the comment that says of which streams its rows are; Spark shows the beginning of a long one."""
ROWS = {"of": "a row of", "over": "a result over"}
_CONDITION = re.compile(r"\[([\w.]+)\] (.*)", re.DOTALL)
_CHECKPOINT = re.compile(
    r"\[(?:CANNOT_LOAD_STATE_STORE|CHECKPOINT_FILE_|STATE_STORE_|STREAMING_STATEFUL_OPERATOR_|STREAMING_CHECKPOINT_)"
    r"[\w.]*\] (.*?)(?= SQLSTATE|\Z)", re.DOTALL)
_UNREADABLE = re.compile(
    r"(?:terminated with exception|JsonEOFException|JsonParseException): "
    r"((?:Unexpected end-of-input|Unexpected character|Unrecognized token|No usable value|Incomplete log file"
    r"|Malformed log file|Log file was malformed|Failed to read log file).*?)(?= SQLSTATE|\n|$)")
"""What Spark says of logs it cannot read, or that another kind of source has written."""

BY_NUMBER = "StructField(chunk,LongType"
"""What Spark says the chunks of a checkpoint are, where a version before 5 has written it: they had numbers."""
_TALKING = ("py4j", "pyspark")
"""The packages that talk to the JVM."""
ENDED = ("the Java process that Spark runs in has ended, killed from outside or out of memory: nothing of this session "
         "can go on, so start the program again. A streaming query goes on from its checkpoint; if memory was short, "
         "give spark.driver.memory more, or read fewer rows in a micro-batch")

SERVER_ENDED = ("the Spark Connect server of this session has ended or cannot be reached: nothing of the session can "
                "go on, so start the program again, with a server that runs. A streaming query goes on from its "
                "checkpoint")


def refuse(kind: type[PanewiseError], message: Column) -> Column:
    """A column that, evaluated on a row, fails the query with this error.

    The mark is put together only when it happens: Spark prints whole plans into other errors' texts.
    """
    return F.raise_error(F.concat(F.lit(MARK), F.lit(f"{kind.__name__}: "), message))


def translate(error: BaseException) -> PanewiseError | None:
    """The panewise error behind a Spark exception, or ``None`` when it is Spark's own.

    >>> translate(RuntimeError("Job aborted: panewise.core.errors.SchemaError: 'ts' is null SQLSTATE: P0001"))
    SchemaError("'ts' is null")
    >>> translate(RuntimeError("panewise.core.errors.EvaluationError: [DIVIDE_BY_ZERO] a / b (row 1)")).condition
    'DIVIDE_BY_ZERO'
    >>> failed = "terminated with exception: [STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] The schemas differ."
    >>> type(translate(RuntimeError(failed))).__name__
    'CheckpointError'
    """
    if isinstance(error, PanewiseError):
        return error
    text = str(error)
    found = _PATTERN.search(text)
    if found is not None:
        kind = getattr(errors, found[1], PanewiseError)
        if kind is errors.EvaluationError:
            return _evaluation_error(found[2].strip())
        if isinstance(kind, type) and issubclass(kind, PanewiseError) and kind is not errors.SqlError:
            return kind(found[2].strip())
        return PanewiseError(found[2].strip())
    one_row = _ONE_ROW.search(text)
    if one_row is not None:
        return _of_the_jvm(one_row[2].strip(), one_row[1], text)
    arithmetic = _OVERFLOW.search(text)
    if arithmetic is not None:
        return errors.AggregateError(arithmetic[2].strip())
    foreign = _CHECKPOINT.search(text) or _UNREADABLE.search(text)
    if foreign is not None and BY_NUMBER in foreign[1]:
        return other_version(None, "the checkpoint")
    if foreign is not None:
        said = " ".join(foreign[1].split())[:LONGEST]
        return errors.CheckpointError(f"the checkpoint is damaged or belongs to another query ({said}): "
                                      "go on with the query it was made with, restore the folder from a copy, or "
                                      "start with a new one")
    if isinstance(error, AnalysisException) and not server_gone(error):
        return SchemaError(text.split("\n", 1)[0])
    return _ended(error)


def _ended(error: BaseException) -> PanewiseError | None:
    """What to say of a JVM that is not there any more, or never came up."""
    if isinstance(error, PySparkException) and error.getCondition() == "JAVA_GATEWAY_EXITED":
        return errors.SparkEndedError("the Java process that Spark runs in ended before it could be used, killed from "
                                      "outside or refused by the system: see what it wrote with session(log=PATH), "
                                      "then start again")
    if server_gone(error):
        return errors.SparkEndedError(SERVER_ENDED)
    return errors.SparkEndedError(ENDED) if _while_talking(error) and not jvm_answers() else None


def jvm_answers() -> bool:
    """Whether the JVM of this process can be asked something, or there is none to ask."""
    try:
        SparkSession.getActiveSession()
    except (Py4JError, OSError):
        return False
    return True


def _while_talking(error: BaseException | None) -> bool:
    """Whether an error, or one it followed from, came out of what talks to the JVM, and not of a user's own code."""
    while error is not None:
        frame = error.__traceback__
        while frame is not None:
            if frame.tb_frame.f_globals.get("__name__", "").split(".")[0] in _TALKING:
                return True
            frame = frame.tb_next
        error = error.__cause__ or error.__context__
    return False


def _of_the_jvm(message: str, condition: str, text: str) -> errors.EvaluationError:
    """An error of an expression that the JVM computed: Spark shows its text, and in that what the rows are."""
    found = _SHOWN.search(text)
    if found is None:
        return errors.EvaluationError(message, condition=condition)
    place = "" if found[2] is None else f"{ROWS[found[2]]} {found[3]}"
    return errors.EvaluationError(f"{message.rstrip('.')}, in {found[1]}", condition=condition, place=place)


def _evaluation_error(text: str) -> errors.EvaluationError:
    """An error of a Python stage, which begins with Spark's name for it."""
    found = _CONDITION.match(text)
    return errors.EvaluationError(text if found is None else found[2], condition="" if found is None else found[1])


@contextmanager
def plain_errors() -> Iterator[None]:
    """Run Spark actions so that what a user can mend arrives as a :class:`PanewiseError` without Spark's stack."""
    try:
        yield
    except Exception as error:  # a folder that cannot be read fails before Spark wraps its errors
        plain = translate(error)
        if plain is None:
            raise
        raise plain from None


@contextmanager
def while_it_lives() -> Iterator[None]:
    """Build queries so that a JVM that has ended is told; everything else Spark says of them stays as it is."""
    try:
        yield
    except PanewiseError:
        raise
    except Exception as error:
        ended = _ended(error)
        if ended is None:
            raise
        raise ended from None
