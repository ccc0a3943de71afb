"""Where in a query text a refusal belongs that speaks of the plan: the words it names are looked up in the text.

Plans, kernels and types know nothing of texts, and a text is refused by all of them. What they refuse has words of the
query in it: an expression, the name of a stream or a column, a clause in capitals. The place is where those stand, and
the beginning of the query where none of them does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from panewise.core import errors
from panewise.core.errors import PanewiseError, SqlError

if TYPE_CHECKING:
    from sqlglot import exp

WORD = re.compile(r"[^\W\d][\w.-]*|\d+(?:\.\d+)?|[^\s\w]")
QUOTED = re.compile(r"'([^']{1,200})'|`([^`]{1,200})`")
CLAUSE = re.compile(r"\b[A-Z]{2,}(?:[ -][A-Z]{2,})*\b")
CALL = re.compile(r"\b[A-Za-z_]\w*(?=\()")
NAME = re.compile(r"\b[^\W\d]\w*(?:\.\w+)*\b")
OPTIONS = "stats|statistics|joins|current|emit|late|progress|strategy|events|empty_windows|bad_rows|max_jump|params|day"
OF_OPTIONS = re.compile(rf"({OPTIONS})\b|.*\b({OPTIONS})=|.*progress policy|.*execution style|run_\w+ needs", re.DOTALL)
"""Refusals of options: what is wrong with them does not stand in the text."""
COMMON = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "cannot", "each", "for", "from", "has", "have", "in", "into",
    "is", "it", "its", "no", "not", "of", "on", "one", "or", "rows", "row", "select", "that", "the", "them", "then",
    "there", "this", "to", "two", "use", "what", "when", "where", "which", "with", "write", "query", "window",
    "windows", "table", "stream", "streams", "join", "time", "column", "columns", "all", "any", "was",
})
"""Words of sentences, which say nothing of a query that has them by chance."""
NOT_OF_TEXTS = (SqlError, errors.EvaluationError, errors.SourceError, errors.CheckpointError, errors.ProgressError,
                errors.LateRowError)


@contextmanager
def placed(text: str | None) -> Iterator[None]:
    """Refusals of a query text that come without a place get one; those of rows, files and options stay as they are."""
    try:
        yield
    except PanewiseError as error:
        if text is None or isinstance(error, NOT_OF_TEXTS) or OF_OPTIONS.match(str(error)):
            raise
        problem, hint = getattr(error, "problem", str(error)), getattr(error, "hint", "")
        start, end = place_of(text, problem, getattr(error, "tree", None))
        raise _placed_kind(_plain_kind(type(error)))(problem, text=text, start=start, end=end, hint=hint) from error


def place_of(text: str, message: str, tree: exp.Expr | None = None) -> tuple[int, int]:
    """Begin and end of what a message is about.

    >>> text = "SELECT DISTINCT k, upper(v) FROM s [RANGE 5 INTERNAL]"
    >>> [text[slice(*place_of(text, message))] for message in
    ...  ("an INTERNAL window under DISTINCT", "upper() has no value", "no column 'k' is there", "it is wrong")]
    ['INTERNAL', 'upper', 'k', 'SELECT']
    """
    words = [(match[0].lower(), match.start(), match.end()) for match in WORD.finditer(text.replace("`", " "))]
    for wanted in (*_parts(tree), *_named(message)):
        found = _found(words, [match[0].lower() for match in WORD.finditer(wanted.replace("`", " "))])
        if found is not None:
            return found
    first = next((found for found in words if found[0].isalpha()), None)
    return (0, 1) if first is None else first[1:]


def _parts(tree: exp.Expr | None) -> Iterator[str]:
    """The expression and what it is made of, the larger first."""
    for node in tree.walk() if tree is not None else ():
        yield node.sql(dialect="spark", comments=False)


def _named(message: str) -> Iterator[str]:
    """What a message quotes, then calls, clauses and names in it, the longer first; its remedy comes last."""
    problem, _, remedy = message.rpartition(": ")
    for part in (problem, remedy):
        yield from (one or other for one, other in QUOTED.findall(part))
        yield from CLAUSE.findall(part)
        yield from CALL.findall(part)
        yield from sorted((name for name in NAME.findall(part) if name.lower() not in COMMON), key=len, reverse=True)


def _found(words: list[tuple[str, int, int]], wanted: list[str]) -> tuple[int, int] | None:
    """The first run of these words."""
    if not wanted:
        return None
    texts = [word for word, _, _ in words]
    at = -1
    while wanted[0] in texts[at + 1:]:
        at = texts.index(wanted[0], at + 1)
        if texts[at:at + len(wanted)] == wanted:
            return words[at][1], words[at + len(wanted) - 1][2]
    return None


def _plain_kind(kind: type[PanewiseError]) -> Any:
    """The kind of error that users know."""
    return next(one for one in kind.__mro__ if one.__module__ == errors.__name__ and issubclass(one, PanewiseError))


@cache
def _placed_kind(kind: Any) -> Any:
    """An error of this kind that has a place."""
    return type(kind.__name__, (SqlError, kind), {"__module__": kind.__module__, "__doc__": kind.__doc__})
