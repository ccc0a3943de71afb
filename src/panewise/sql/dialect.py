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

_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WORD_OR_NUMBER = re.compile(r"\w+")


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
    i = 0
    while i < len(tokens):
        first = tokens[i]
        last = i
        if _WORD.fullmatch(text[first.start:first.end + 1]):
            while last + 2 < len(tokens) and _continues(text, tokens[last:last + 3]):
                last += 2
        if last > i:
            name = text[first.start:tokens[last].end + 1]
            kind = TokenType.GROUP_BY if name.upper() == "GROUP-BY" else TokenType.VAR
            comments = [c for token in tokens[i:last + 1] for c in token.comments]
            joined.append(Token(kind, name, first.line, first.col, first.start, tokens[last].end, comments))
        else:
            joined.append(first)
        i = last + 1
    return joined


def _continues(text: str, three: list[Token]) -> bool:
    """Whether a word, a hyphen and a word or whole number stand together without a space."""
    left, dash, right = three
    return (
        dash.token_type is TokenType.DASH
        and left.end + 1 == dash.start
        and dash.end + 1 == right.start
        and _WORD_OR_NUMBER.fullmatch(text[right.start:right.end + 1]) is not None
    )


def _unfinished(text: str, error: TokenError) -> SqlError:
    """The tokenizer only fails on something that is opened and never closed: point at the opening sign."""
    closing = {"'": "'", '"': '"', "`": "`", "‘": "’", "“": "”"}
    i = 0
    while i < len(text):
        if text.startswith("--", i):
            i = _after(text, "\n", i)
        elif text.startswith("/*", i):
            end = text.find("*/", i + 2)
            if end < 0:
                return SqlError("this comment is never closed", text=text, start=i, end=i + 2, hint="close it with */")
            i = end + 2
        elif text[i] in closing:
            end = _closing(text, closing[text[i]], i + 1)
            if end < 0:
                what = "quoted name" if text[i] == "`" else "string"
                return SqlError(f"this {what} is never closed", text=text, start=i, end=len(text),
                                hint=f"end it with {closing[text[i]]}")
            i = end + 1
        else:
            i += 1
    place = error.start or 0
    return SqlError("cannot read the text here", text=text, start=place, end=error.end,
                    hint="look for a quote, an escape or a sign that does not belong")


def _after(text: str, sign: str, start: int) -> int:
    end = text.find(sign, start)
    return len(text) if end < 0 else end + 1


def _closing(text: str, quote: str, start: int) -> int:
    i = start
    while i < len(text):
        if text[i] == "\\" and quote != "`":
            i += 2
            continue
        if text[i] == quote:
            return i
        i += 1
    return -1
