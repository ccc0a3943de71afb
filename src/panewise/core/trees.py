"""Syntax trees of expressions that stay shallow: long chains are balanced, deep nesting has a stated limit.

sqlglot reads ``a AND b AND c AND …`` as a tree as deep as the chain is long, and most of what is done with trees is
recursive. AND and OR are associative also with nulls, so a chain of them becomes a balanced tree here: ten thousand
terms are fourteen levels. Written out again it is the same text: sqlglot puts no parentheses into a chain.

Every parser of expressions is an :class:`ExpressionParser`; chains are put together by :func:`connected` and taken
apart by :func:`operands`, nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

MAX_NESTING = 500
"""How deep an expression may be nested: parentheses, calls, CASE, casts, and terms of a chain of ``+`` or ``||``."""
FRAMES = 30
"""Frames of Python that one level of nesting costs at most, in sqlglot's parser."""


_BITS: tuple[tuple[TokenType, type[exp.Binary]], ...] = (
    (TokenType.PIPE, exp.BitwiseOr), (TokenType.CARET, exp.BitwiseXor), (TokenType.AMP, exp.BitwiseAnd))
"""Spark's precedence, the weakest first; sqlglot has one level for all of them, and for shifts."""
_WRITTEN_TIMES = (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ,
                  exp.DType.TIMESTAMPNTZ)


WITH_A_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR", "OVERLAY")
"""Calls whose arguments are not a plain list."""


class ExpressionParser(SparkParser):
    """Spark's expressions where sqlglot reads them otherwise, and chains of AND and OR balanced.

    sqlglot knows some seven hundred functions and turns many of them into others that mean nearly the same. Here a call
    is its name and its arguments; what it means is decided by ``panewise.functions`` in process and by Spark on Spark.
    """

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS = {n: p for n, p in SparkParser.FUNCTION_PARSERS.items() if n in WITH_A_SYNTAX}  # noqa: RUF012
    NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
        n: p for n, p in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if n in ("CASE", "IF")}
    ARRAY_CONSTRUCTORS = {}  # noqa: RUF012 -- array(a)[0] is an element, not a constructor
    TERM = {**SparkParser.TERM, TokenType.DPIPE: exp.DPipe}  # noqa: RUF012 -- sqlglot's own form
    UNARY_PARSERS = {**SparkParser.UNARY_PARSERS, TokenType.PLUS: lambda self: self._positive()}  # noqa: RUF012

    def _positive(self) -> exp.Expr | None:
        """A plus before text makes a number of it, so it is kept."""
        operand = self._parse_unary()
        if operand is None or operand.is_number:
            return operand
        return self.expression(exp.Anonymous(this="positive", expressions=[operand]))

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._bits(0)

    def _bits(self, level: int) -> exp.Expr | None:
        if level == len(_BITS):
            return self._shifts()
        sign, kind = _BITS[level]
        this = self._bits(level + 1)
        while self._match(sign):
            this = self.expression(kind(this=this, expression=self._bits(level + 1)))
        return this

    def _shifts(self) -> exp.Expr | None:
        """<<, >> and >>>, which are no tokens of their own."""
        this = self._parse_term()
        while True:
            if self._match_pair(TokenType.LT, TokenType.LT):
                this = self.expression(exp.BitwiseLeftShift(this=this, expression=self._parse_term()))
            elif self._match_pair(TokenType.GT, TokenType.GT):
                if self._match(TokenType.GT):
                    pair = [this, self._parse_term()]
                    this = self.expression(exp.Anonymous(this="shiftrightunsigned", expressions=pair))
                else:
                    this = self.expression(exp.BitwiseRightShift(this=this, expression=self._parse_term()))
            else:
                return this

    def _parse_interval(  # type: ignore[override]
            self, match_interval: bool = True, **options: bool) -> exp.Expr | None:
        """An interval of several units is one operand: sqlglot makes a sum of it, which is put into parentheses.

        A number with an exponent is no amount, as in Spark; sqlglot would take the exponent for a unit.
        """
        if match_interval and self._curr and self._curr.token_type == TokenType.INTERVAL:
            amount = next((token for token in self._tokens[self._index + 1 : self._index + 3]
                           if token.token_type != TokenType.DASH), None)
            if amount is not None and amount.token_type == TokenType.NUMBER and "e" in amount.text.lower():
                self.raise_error("the amount of an INTERVAL is a number without an exponent", amount)
        found = super()._parse_interval(match_interval, **options)
        return exp.paren(found, copy=False) if match_interval and isinstance(found, exp.Add) else found

    def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> exp.Expr | None:
        """DATE '2024-02-29' stays a literal (it is no cast: one that is wrong is refused, not a failing row).

        And ``array(a)[0]`` is an element of an array, where sqlglot would read a type with a constructor.
        """
        if self._curr and self._next and self._next.token_type == TokenType.L_PAREN and \
                self._curr.token_type in (TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT):
            return self._parse_column()
        found = super()._parse_type(parse_interval, fallback_to_identifier)
        if type(found) is exp.Cast and isinstance(found.this, exp.Literal) and found.this.is_string \
                and found.to.this in _WRITTEN_TIMES:
            name = "DATE" if found.to.this == exp.DType.DATE else \
                "TIMESTAMP_NTZ" if found.to.this == exp.DType.TIMESTAMPNTZ else "TIMESTAMP"
            return self.expression(exp.Introducer(this=exp.var(name), expression=found.this))
        return found

    def _parse_disjunction(self) -> exp.Expr | None:
        return self._chain(exp.Or, self.DISJUNCTION, self._parse_conjunction)

    def _parse_conjunction(self) -> exp.Expr | None:
        return self._chain(exp.And, self.CONJUNCTION, self._parse_equality)

    def _chain(self, kind: type[exp.Connector], signs: Any, term: Callable[[], exp.Expr | None]) -> exp.Expr | None:
        """A term, or a chain of terms with one of the signs between them."""
        terms = [term()]
        while self._match_set(signs):
            terms.append(term())
        if len(terms) == 1:
            return terms[0]
        present = [term for term in terms if term is not None]
        if len(present) < len(terms):  # as sqlglot reports it: by the connector that lacks a term
            return self.expression(kind(this=terms[0], expression=None))
        return connected(kind, present)


class PlainSpark(Spark):
    """Spark SQL in which every function call stays the call that was written."""

    Parser = ExpressionParser


def connected(kind: type[exp.Connector], terms: Sequence[exp.Expr]) -> exp.Expr:
    """Terms with AND or OR between them, in their order, as a tree of the least depth.

    >>> connected(exp.And, [exp.column(name) for name in "abcd"]).sql()
    'a AND b AND c AND d'
    """
    level = list(terms)
    while len(level) > 1:
        pairs = [kind(this=level[i], expression=level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = [*pairs, level[-1]] if len(level) % 2 else [*pairs]
    return level[0]


def all_of(terms: Iterable[exp.Expr]) -> exp.Expr:
    """Terms with AND between them; those that are chains themselves stand in parentheses.

    >>> all_of([exp.column("a"), exp.or_("b", "c")]).sql()
    'a AND (b OR c)'
    """
    every = list(terms)
    if len(every) == 1:
        return every[0]
    return connected(exp.And, [exp.paren(term, copy=False) if isinstance(term, exp.Connector) else term
                               for term in every])


def operands(tree: exp.Expr, kind: type[exp.Connector], through: tuple[type[exp.Expr], ...] = ()) -> Iterator[exp.Expr]:
    """The terms of a chain from left to right; parentheses around a chain or around ``through`` are opened.

    >>> tree = parse_expression("a AND (b AND (c OR d)) AND (e)")
    >>> [term.sql() for term in operands(tree, exp.And)]
    ['a', 'b', '(c OR d)', '(e)']
    """
    waiting: list[exp.Expr] = [tree]
    while waiting:
        node = waiting.pop()
        inner = node.this if isinstance(node, exp.Paren) else None
        if isinstance(node, kind):
            waiting += (node.right, node.left)
        elif isinstance(inner, exp.Expr) and isinstance(inner, (kind, exp.Paren, *through)):
            waiting.append(inner)
        else:
            yield node


def parse_expression(text: str) -> exp.Expr:
    """The tree of Spark SQL text that is one expression."""
    with deep_stack():
        return sqlglot.parse_one(text, read=PlainSpark)


def too_deep(tree: exp.Expr, limit: int = MAX_NESTING) -> exp.Expr | None:
    """A part of an expression that is nested deeper than the limit; None if there is none.

    >>> too_deep(parse_expression("abs(abs(abs(a)))"), 2).sql()
    'ABS(a)'
    """
    waiting: list[tuple[exp.Expr, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth == limit and not isinstance(node, exp.Column | exp.Literal | exp.Identifier):
            return node
        waiting += ((below, depth + 1) for below in node.iter_expressions())
    return None


_lock = Lock()
_inside = [0, 0]
"""How many calls need a deep stack now, and the limit to go back to."""


@contextmanager
def deep_stack() -> Iterator[None]:
    """Room for expressions as deep as they may be, however deep the caller stands.

    Python's limit on recursion holds for all threads, so it is put back when the last one leaves.
    """
    with _lock:
        _inside[0] += 1
        if _inside[0] == 1:
            _inside[1] = sys.getrecursionlimit()
            sys.setrecursionlimit(_inside[1] + MAX_NESTING * FRAMES)
    try:
        yield
    finally:
        with _lock:
            _inside[0] -= 1
            if _inside[0] == 0:
                sys.setrecursionlimit(_inside[1])
