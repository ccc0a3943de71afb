"""A sqlglot parser with places: every failure knows where in the text it is and what to write instead.

It also has the small reading steps the window language needs: words, names, parameters, quantities and literals.
"""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.tokenizer_core import Token, TokenType

from panewise.core.errors import SqlError, shortened
from panewise.core.names import nearest
from panewise.core.time import MONTH_UNITS, MOST_DIGITS, ROW_UNITS, TICK_UNITS, TIME_UNITS
from panewise.core.trees import MAX_NESTING, ExpressionParser, too_deep
from panewise.sql.dialect import WindowSpark
from panewise.sql.hints import did_you_mean, listed
from panewise.sql.syntax import Amount, Constant, Name, Parameter, Span, span_of

CALENDAR_UNITS = ("quarter", "quarters", "year", "years")
UNITS = (*TIME_UNITS, *sorted(ROW_UNITS), *sorted(TICK_UNITS), *sorted(MONTH_UNITS), *CALENDAR_UNITS)
SHOWN_UNITS = ("rows", "ticks", "ms", "seconds", "minutes", "hours", "days", "months")
_WORD = re.compile(r"[^\W\d][\w-]*")
_JOINED = re.compile(r"(\d+(?:[eE]\d+)?)([^\W\d]+)")  # 10min: sqlglot reads it as one word
BEHIND_A_COLUMN = frozenset({"FROM", "AS", "IS", "IN", "AND", "OR", "NOT", "LIKE", "ILIKE", "RLIKE", "REGEXP",
                             "BETWEEN", "DIV", "COLLATE"})
"""Words that can follow a column in an expression."""
NO_TOKEN = Token(TokenType.SENTINEL, "")


class PlacedError(ParseError):
    """A failure with its place; a ParseError, so that sqlglot's own attempts and retreats see it."""

    def __init__(self, problem: str, span: Span, hint: str) -> None:
        super().__init__(problem)
        self.problem, self.span, self.hint = problem, span, hint


class Cursor(ExpressionParser):
    """Reads tokens one after the other; subclasses add the grammar."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        super().__init__(error_level=ErrorLevel.IMMEDIATE, dialect=WindowSpark)
        self.reset()
        self.sql = text
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self.parameters: dict[int, Parameter] = {}
        """Every ``:name``, by where it stands; one that was read twice is there once."""
        self._index = -1
        self._advance()

    # -- failing -------------------------------------------------------------------------------------------------

    def raise_error(self, message: str, token: Token = NO_TOKEN) -> None:
        """What sqlglot reports when it cannot go on, in our words."""
        place = self.place(token if token and token is not self._prev else self._curr)
        here = self.here()
        if message.startswith("Required"):
            raise PlacedError(f"an expression is missing before {here}", place,
                              "write a column, a value or a call here")
        if message.startswith("Expecting )") or message.startswith("Expected )"):
            raise PlacedError(f"expected ) but found {here}", place,
                              "close the parenthesis, or remove what stands here")
        raise PlacedError(f"{message[0].lower()}{message[1:]}, found {here}", place, "check the expression here")

    def fail(self, problem: str, at: Token | Span | None = None, hint: str = "") -> PlacedError:
        """An error to raise, at a token, a span or the current token."""
        span = at if isinstance(at, Span) else self.place(at if at is not None else self._curr)
        return PlacedError(problem, span, hint)

    def place(self, token: Token) -> Span:
        """Where a token stands; the end of the text for no token."""
        if token:
            return Span(token.start, token.end + 1)
        end = len(self.sql.rstrip())
        return Span(end, end + 1)

    def here(self) -> str:
        """The current token for a message."""
        return repr(self.source(self._curr)) if self._curr else "the end of the query"

    def source(self, token: Token) -> str:
        """A token as written."""
        return self.sql[token.start:token.end + 1]

    def as_error(self, error: PlacedError) -> SqlError:
        """The error a user gets."""
        return SqlError(error.problem, text=self.sql, start=error.span.start, end=error.span.end, hint=error.hint)

    # -- words ---------------------------------------------------------------------------------------------------

    def word(self, token: Token | None = None) -> str:
        """The token in capitals if it is an unquoted word, else nothing."""
        token = self._curr if token is None else token
        if not token or not _WORD.match(self.source(token)):
            return ""
        return token.text.upper()

    def match_word(self, *words: str) -> bool:
        """Step over one of these words."""
        if self.word() in words:
            self._advance()
            return True
        return False

    def match_words(self, *words: str) -> bool:
        """Step over several words; two of them sqlglot may have made one token of."""
        if self.word() == " ".join(words):
            self._advance()
            return True
        tokens = self._tokens[self._index:self._index + len(words)]
        if [self.word(token) for token in tokens] != list(words):
            return False
        self._advance(len(words))
        return True

    def expect(self, kind: TokenType, sign: str, hint: str) -> None:
        """Step over a sign that must be here."""
        if not self._match(kind):
            raise self.fail(f"expected {sign} but found {self.here()}", hint=hint)

    # -- expressions ---------------------------------------------------------------------------------------------

    def expression_here(self) -> exp.Expr | None:
        """A whole expression; None where none begins."""
        start = self._curr
        found = self._parse_disjunction()
        if found is not None and (part := too_deep(found)) is not None:
            raise self.too_nested(span_of(part, self.place(start)))
        return found

    def condition(self, word: str) -> exp.Expr:
        """The condition behind a word."""
        found = self.expression_here()
        if found is None:
            example = "ON a.x = b.x" if word == "ON" else f"{word} a > 3"
            raise self.fail(f"{word} needs a condition but found {self.here()}", hint=f"write one such as {example}")
        return found

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        """sqlglot reads BETWEEN also without its AND."""
        first = self._index
        found = super()._parse_between(this)
        if not any(token.token_type is TokenType.AND for token in self._tokens[first:self._index]):
            raise self.fail("BETWEEN lacks its AND", self._tokens[first - 1], "write BETWEEN 1 AND 2")
        return found

    def _parse_case(self) -> exp.Expr | None:
        """sqlglot reads WHEN also without its THEN."""
        first = self._index
        found = super()._parse_case()
        kinds = [token.token_type for token in self._tokens[first:self._index]]
        if kinds.count(TokenType.WHEN) > kinds.count(TokenType.THEN):
            raise self.fail("a WHEN of this CASE lacks its THEN", self._tokens[first - 1],
                            "write CASE WHEN condition THEN value ELSE value END")
        return found

    def too_nested(self, at: Token | Span) -> PlacedError:
        """The error for an expression that is too deep for what reads it."""
        return self.fail(f"an expression nested deeper than {MAX_NESTING} levels", at,
                         "compute a part of it in a query in FROM, or shorten the chain of operators")

    # -- small pieces --------------------------------------------------------------------------------------------

    def simple_name(self, what: str) -> tuple[str, Span]:
        """One name without dots."""
        token = self._curr
        if token and (token.token_type is TokenType.IDENTIFIER or self.word()):
            self._advance()
            return token.text, self.place(token)
        raise self.fail(f"expected {what} but found {self.here()}", hint=f"write {what}")

    def attribute(self, what: str) -> Name:
        """``ts`` or ``M1.ts``."""
        name, span = self.simple_name(what)
        parts = [name]
        while self._match(TokenType.DOT):
            name, last = self.simple_name("the column after the dot")
            parts.append(name)
            span = Span(span.start, last.end)
        return Name(tuple(parts), span)

    def parameter(self) -> Parameter | None:
        """``:name`` if it stands here."""
        if self._curr.token_type is not TokenType.COLON:
            return None
        colon = self._curr
        self._advance()
        if not self.word() or self._curr.start != colon.end + 1:
            raise self.fail("a parameter needs a name right behind the colon", colon, "write it as :name")
        token = self._curr
        self._advance()
        found = Parameter(token.text, Span(colon.start, token.end + 1))
        return self.parameters.setdefault(colon.start, found)

    def quantity(self, keyword: str, following: tuple[str, ...]) -> Amount | Parameter:
        """A number with an optional unit, or a parameter; ``following`` are the words that may come next."""
        parameter = self.parameter()
        if parameter is not None:
            return parameter
        first = self._curr
        sign = "-" if self._match(TokenType.DASH) else ""
        number = self._curr
        joined = _JOINED.fullmatch(self.source(number)) if number else None
        if joined is not None and number.token_type is not TokenType.STRING:
            self._skip_number()
            unit_span = Span(number.start + joined.start(2), number.end + 1)
            self._check_unit(joined[2], unit_span, following)
            return Amount(sign + joined[1], joined[2], Span(first.start, number.end + 1), unit_span)
        if not number or number.token_type is not TokenType.NUMBER:
            raise self.fail(f"{keyword} needs a quantity but found {self.here()}",
                            hint=f"write a number and a unit, such as {keyword} 10 minutes")
        self._advance()
        unit = self._curr
        span = Span(first.start, number.end + 1)
        numbered = self._next.token_type in {TokenType.NUMBER, TokenType.COLON}
        is_unit = self.word().lower() in UNITS and not numbered  # ROWS is a unit and a keyword
        if not self.word() or (self.word() in following and not is_unit):
            return Amount(sign + number.text, "", span, span)
        self._check_unit(unit.text, self.place(unit), following)
        self._advance()
        return Amount(sign + number.text, unit.text, Span(first.start, unit.end + 1), self.place(unit))

    def _skip_number(self) -> None:
        """Step over ``10s``, which sqlglot turns into a cast: several tokens in one place."""
        start = self._curr.start
        while self._curr and self._curr.start == start:
            self._advance()

    def _check_unit(self, unit: str, span: Span, following: tuple[str, ...]) -> None:
        if unit.lower() in UNITS:
            return
        found = nearest(unit, (*UNITS, *following))
        if found is not None and found.upper() in following:
            raise self.fail(f"unknown word {unit!r} in the window", span, did_you_mean(unit, following))
        raise self.fail(f"unknown unit {unit!r}", span, did_you_mean(unit, UNITS, f"use one of {listed(SHOWN_UNITS)}"))

    def distinct(self) -> str:
        """DISTINCT, DISTINCT KEEP or DISTINCT RECENT: the policy; nothing without it.

        A word that no item follows is the name of a column: ``SELECT DISTINCT recent, a``.
        """
        if not self._match(TokenType.DISTINCT):
            return ""
        if self.word() not in {"KEEP", "RECENT"}:
            return "keep"
        after = self._tokens[self._index + 2] if self._index + 2 < len(self._tokens) else NO_TOKEN
        everything = self._next.token_type is TokenType.STAR and \
            after.token_type in {TokenType.FROM, TokenType.COMMA, TokenType.R_PAREN}
        item = self._next.token_type in {TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING} or (
            self.word(self._next) not in {"", *BEHIND_A_COLUMN})
        if not everything and not item:
            return "keep"
        policy = self.word().lower()
        self._advance()
        return policy

    def constant(self, what: str) -> Constant | Parameter:
        """A string, an integer or a parameter."""
        parameter = self.parameter()
        if parameter is not None:
            return parameter
        if self.word() in {"TIMESTAMP", "DATE"} and self._next.token_type is TokenType.STRING:
            self._advance()
        token = self._curr
        negative = self._match(TokenType.DASH)
        if self._match(TokenType.STRING) and not negative:
            return Constant(token.text, self.place(token))
        if self._match(TokenType.NUMBER) and self._prev.text.isdecimal():
            if len(self._prev.text) > MOST_DIGITS:
                raise self.fail(f"{shortened(self._prev.text)} is more than 64 bits can hold", token,
                                f"write {what} as an integer between -2**62 and 2**62")
            value = int(self._prev.text)
            return Constant(-value if negative else value, Span(token.start, self._prev.end + 1))
        raise self.fail(f"expected {what} but found {self.here()}", token,
                        "write a time in quotes such as '2026-01-01T07:00:00Z', an integer, or :name")
