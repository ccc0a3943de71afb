"""The tokens of the query language: Spark SQL's, and what the papers' queries need besides.

Everything is done by sqlglot's tokenizer. Two things are added: a few more spellings (``GROUPBY``, ``∪``, curly
quotes), and names with inner hyphens (``seg-id``, ``row-num``, ``Rstream-restore``), which are put together from the
tokenizer's own tokens, so that ``a - b`` with spaces stays a subtraction.
"""

from __future__ import annotations

import re

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from panewise.core.errors import SqlError

_HYPHENATED = re.compile(r"[^\W\d]\w*(?:-\w++(?!\.\d))+")
"""A word, and words or whole numbers behind hyphens without a space."""
_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_CLOSING = {"'": "'", '"': '"', "`": "`", "‘": "’", "“": "”"}
_OPENED = re.compile("|".join([
    r"--[^\n]*", r"/\*.*?(?:\*/|(\Z))", r"`[^`]*(?:`|(\Z))",
    *(rf"{start}(?:\\.|[^\\{end}])*(?:{end}|\\?(\Z))" for start, end in _CLOSING.items() if start != "`")]), re.DOTALL)
"""Comments, strings and quoted names; what nothing closes has a group at the end of the text."""


class WindowSpark(Spark):
    """Spark SQL with the spellings the window language accepts on top."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens plus ``∪``, ``GROUPBY`` and curly quotes."""

        QUOTES = [*Spark.Tokenizer.QUOTES, ("‘", "’"), ("“", "”")]  # noqa: RUF012 -- sqlglot reads class attributes
        SINGLE_TOKENS = {  # noqa: RUF012
            **Spark.Tokenizer.SINGLE_TOKENS,
            "∪": TokenType.UNION,
            **dict.fromkeys("‘’“”", TokenType.UNKNOWN),  # a quote must not be read as part of a word
        }
        KEYWORDS = {  # noqa: RUF012
            **{k: v for k, v in Spark.Tokenizer.KEYWORDS.items() if v is not TokenType.COMMAND},
            "GROUPBY": TokenType.GROUP_BY,
        }


def tokenize(text: str) -> list[Token]:
    """The tokens of a query, hyphenated names joined.

    >>> [token.text for token in tokenize("SELECT seg-id, a - b FROM Traffic GROUP-BY seg-id")]
    ['SELECT', 'seg-id', ',', 'a', '-', 'b', 'FROM', 'Traffic', 'GROUP-BY', 'seg-id']
    """
    try:
        tokens = WindowSpark().tokenize(text)
    except TokenError as error:
        raise _unfinished(text, error) from error
    for token in tokens:
        if token.token_type is TokenType.NUMBER and not _NUMBER.fullmatch(token.text):
            raise SqlError(f"{token.text!r} is no number", text=text, start=token.start, end=token.end + 1,
                           hint="write digits 0 to 9, with a point or an exponent: 12, 1.5, 1e3")
    return _join_hyphens(text, tokens)


def _join_hyphens(text: str, tokens: list[Token]) -> list[Token]:
    joined: list[Token] = []
    waiting = iter(tokens)
    for first in waiting:
        found = _HYPHENATED.match(text, first.start)
        if found is None:
            joined.append(first)
            continue
        last, comments = first, list(first.comments)
        while last.end + 1 < found.end():
            last = next(waiting)
            comments += last.comments
        kind = TokenType.GROUP_BY if found[0].upper() == "GROUP-BY" else TokenType.VAR
        joined.append(Token(kind, found[0], first.line, first.col, first.start, last.end, comments))
    return joined


def _unfinished(text: str, error: TokenError) -> SqlError:
    """The tokenizer only fails on something that is opened and never closed: point at the opening sign."""
    for found in _OPENED.finditer(text):
        if found.lastindex is not None:  # it goes on to the end of the text
            sign, start = found[0][0], found.start()
            if sign == "/":
                return SqlError("this comment is never closed", text=text, start=start, end=start + 2,
                                hint="close it with */")
            what = "quoted name" if sign == "`" else "string"
            return SqlError(f"this {what} is never closed", text=text, start=start, end=len(text),
                            hint=f"end it with {_CLOSING[sign]}")
    place = error.start or 0
    return SqlError("cannot read the text here", text=text, start=place, end=error.end,
                    hint="look for a quote, an escape or a sign that does not belong")
