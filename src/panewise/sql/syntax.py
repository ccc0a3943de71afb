"""The syntax tree of a query: what was written and where, before anything is looked up.

Scalar expressions are sqlglot trees; everything the window language adds is one of the small classes below. Offsets
are half-open positions in the query text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from panewise.core.join_kinds import JoinKind

RELATION_TO_STREAM = ("Istream", "Dstream", "Rstream", "Wstream")
RESTORE = "-restore"


@dataclass(frozen=True)
class Span:
    """A half-open piece of the text."""

    start: int
    end: int


@dataclass(frozen=True)
class Name:
    """An attribute, ``ts`` or ``M1.ts``."""

    parts: tuple[str, ...]
    span: Span

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class Parameter:
    """``:name``."""

    name: str
    span: Span


@dataclass(frozen=True)
class Amount:
    """A number and a unit as written."""

    number: str
    unit: str
    span: Span
    unit_span: Span


@dataclass(frozen=True)
class Constant:
    """A literal of a bracket, such as the time of ``START AT``."""

    value: str | int
    span: Span


@dataclass(frozen=True)
class Clause:
    """One parameter of a bracket; which of the fields are set depends on the keyword."""

    keyword: str
    """In one spelling: ``WA`` for WATTR, ``PA`` for PATTR and PARTITION BY."""
    span: Span
    amount: Amount | Parameter | None = None
    names: tuple[Name, ...] = ()
    constant: Constant | Parameter | None = None
    condition: exp.Expr | None = None
    rank: bool = False
    """``SATTR rank(ts)``: the slide counts rows in the order of the attribute."""


@dataclass(frozen=True)
class Bracket:
    """``[...]``: a whole signature as a parameter, or clauses."""

    span: Span
    signature: Parameter | None = None
    clauses: tuple[Clause, ...] = ()

    def get(self, keyword: str) -> Clause | None:
        """The clause with this keyword."""
        return next((c for c in self.clauses if c.keyword == keyword), None)


class StreamCall(exp.Expression, exp.Func):
    """An aggregate or a relation-to-stream operator inside an expression.

    sqlglot's own classes for aggregates differ in how they keep their arguments; this one keeps what was written.
    ``this`` is the function name in lower case.
    """

    arg_types = {"this": True, "expressions": False, "aliases": False, "distinct": False, "bracket": False,  # noqa: RUF012
                 "condition": False}
    is_var_len_args = True

    @property
    def bracket(self) -> Bracket | None:
        """The window written behind the call."""
        found: Bracket | None = self.args.get("bracket")
        return found

    @property
    def condition(self) -> exp.Expr | None:
        """The predicate of ``FILTER (WHERE ...)``."""
        found: exp.Expr | None = self.args.get("condition")
        return found


GENERATORS = ("explode", "posexplode", "inline")
OUTER = "_outer"
GENERATOR_CALLS = frozenset(name + outer for name in GENERATORS for outer in ("", OUTER))


class GeneratorCall(exp.Expression, exp.Func):
    """``explode(xs)`` and its kin: no value but rows. ``this`` is the name in lower case."""

    arg_types = {"this": True, "expressions": False}  # noqa: RUF012
    is_var_len_args = True


class ExistsQuery(exp.Expression, exp.Predicate):
    """``EXISTS (query)`` as part of a predicate."""

    arg_types = {"this": True}  # noqa: RUF012

    @property
    def query(self) -> Query:
        """The query inside."""
        found: Query = self.args["this"]
        return found


@dataclass(frozen=True)
class Item:
    """One entry of a SELECT list."""

    tree: exp.Expr
    alias: str | None
    span: Span
    aliases: tuple[str, ...] = ()
    """Of several columns: ``posexplode(xs) AS (pos, x)``."""


@dataclass(frozen=True)
class LateralView:
    """``LATERAL VIEW [OUTER] explode(xs) t AS x`` behind FROM, perhaps with a window over what it makes."""

    call: GeneratorCall
    alias: str
    names: tuple[str, ...]
    outer: bool
    span: Span
    bracket: Bracket | None = None


@dataclass(frozen=True)
class NamedSource:
    """A stream or table by name."""

    name: str
    span: Span
    bracket: Bracket | None = None


@dataclass(frozen=True)
class SubQuery:
    """A parenthesised query in FROM."""

    query: Query
    span: Span
    bracket: Bracket | None = None


@dataclass(frozen=True)
class JoinClause:
    """How a source is joined to the one before it, if not as one of a list: the word before JOIN, and what is ON."""

    kind: JoinKind
    condition: exp.Expr
    span: Span


@dataclass(frozen=True)
class From:
    """One entry of the FROM list: a source or a union of sources, its name and its window."""

    parts: tuple[NamedSource | SubQuery | From, ...]
    alias: str | None
    span: Span
    bracket: Bracket | None = None
    alias_span: Span | None = None
    join: JoinClause | None = None


@dataclass(frozen=True)
class Select:
    """One SELECT."""

    items: tuple[Item, ...]
    distinct: str
    """The policy of DISTINCT, or nothing."""
    sources: tuple[From, ...]
    views: tuple[LateralView, ...]
    where: exp.Expr | None
    where_span: Span | None
    group_by: tuple[Item, ...]
    group_bracket: Bracket | None
    lifetime: Clause | None
    span: Span


@dataclass(frozen=True)
class SetOperation:
    """Two queries and UNION, UNION ALL or EXCEPT ALL between them."""

    operator: str
    left: Query
    right: Query
    span: Span


Query = Select | SetOperation


def chain_of(query: Query) -> tuple[Select, list[SetOperation]]:
    """The first SELECT of a chain, and its set operations from left to right; they may be many."""
    steps: list[SetOperation] = []
    while isinstance(query, SetOperation):
        steps.append(query)
        query = query.left
    return query, steps[::-1]


def span_of(tree: exp.Expr, fallback: Span) -> Span:
    """Where an expression stands: from the positions of its own tokens and those of its parts."""
    places = [n.meta for n in tree.walk() if n.meta.get("start") is not None]
    if not places:
        return fallback
    return Span(min(m["start"] for m in places), max(m["end"] for m in places) + 1)


def placeholder(node: exp.Expr) -> Parameter:
    """The parameter a sqlglot placeholder stands for."""
    meta: dict[str, Any] = node.meta
    return Parameter(node.name, Span(meta.get("start", 0), meta.get("end", 0) + 1))
