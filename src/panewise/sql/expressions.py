"""Scalar expressions: names become columns of the plan, parameters become constants, the rest stays Spark SQL."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import SqlglotError

from panewise.core.errors import SqlError
from panewise.core.names import nearest
from panewise.core.scalar import Scalar
from panewise.core.trees import operands
from panewise.core.user_functions import plain_names
from panewise.sql.functions import unknown_function
from panewise.sql.hints import did_you_mean, listed
from panewise.sql.parameters import Parameters
from panewise.sql.relations import Scope
from panewise.sql.syntax import GENERATOR_CALLS, ExistsQuery, GeneratorCall, Span, StreamCall, placeholder, span_of

_NAME = re.compile(r"[\w-]+")
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.In)


class Expressions:
    """Binds the expressions of one query text."""

    def __init__(self, text: str, parameters: Parameters) -> None:
        self.text, self.parameters = text, parameters

    def error(self, problem: str, span: Span, hint: str = "") -> SqlError:
        """An error at a place of the text."""
        return SqlError(problem, text=self.text, start=span.start, end=span.end, hint=hint)

    def bind(self, tree: exp.Expr, scope: Scope, span: Span, *, first: Scope | None = None) -> exp.Expr:
        """The expression over plan columns; aggregates and sub-queries are refused.

        What one scope does not have, that of a sub-query, is looked up in the other.
        """

        def visit(node: exp.Expr) -> exp.Expr:
            inner = first is not None and isinstance(node, exp.Column) and first.candidates(
                tuple(part.name for part in node.parts))
            replaced = self.leaf(node, first if first is not None and inner else scope, span)
            if replaced is not None:
                return replaced
            self.refuse(node, span)
            return node

        return tree.copy().transform(visit, copy=False)

    def scalar(self, tree: exp.Expr, scope: Scope, span: Span) -> Scalar:
        """The same as a plan expression."""
        return self.written(self.bind(tree, scope, span), span_of(tree, span))

    def written(self, bound: exp.Expr, place: Span) -> Scalar:
        """A bound tree as a plan expression, whose text can be read again, as engines do."""
        found = to_scalar(bound)
        try:
            _ = found.columns
        except SqlglotError:
            raise self.error("this cannot be written as one expression", place,
                             "take it apart, or write it another way") from None
        return found

    def leaf(self, node: exp.Expr, scope: Scope, span: Span) -> exp.Expr | None:
        """What a column or a parameter becomes; nothing for other nodes."""
        if isinstance(node, exp.Column):
            return self._column(node, scope, span)
        if isinstance(node, exp.Placeholder):
            return self.parameters.literal(placeholder(node))
        return None

    def refuse(self, node: exp.Expr, span: Span) -> None:
        """Raise for what cannot stand in a scalar expression."""
        place = span_of(node, span)
        if isinstance(node, StreamCall):
            raise self.error(f"the aggregate {node.this}(...) cannot stand here", place,
                             "aggregates belong in the SELECT list; filter them in a query around this one")
        if isinstance(node, GeneratorCall):
            raise self._generator(node.this, place)
        if isinstance(node, ExistsQuery):
            raise self.error("EXISTS can only stand alone between ANDs in WHERE", place,
                             "write WHERE ... AND [NOT] EXISTS (SELECT ...)")
        if isinstance(node, exp.Window):
            raise self.error("OVER is not part of the language", place,
                             "write the window in brackets behind an aggregate or a source")
        if isinstance(node, exp.Star):
            raise self.error("* can only stand alone in the SELECT list or in count(*)", place, "name a column")
        if isinstance(node, exp.Tuple | exp.In) and not any(node.args.get(part) for part in ("expressions", "query")):
            raise self.error("nothing stands between these brackets", place, "write an expression between them")
        unit = node.args.get("unit") if not isinstance(node, exp.Extract) else node.this
        if isinstance(unit, exp.Expr) and not unit.is_string and not _NAME.fullmatch(unit.name):
            raise self.error(f"{unit.name!r} is no unit of time", place, "write a word such as year, day or hour")
        if isinstance(node, exp.Func):
            written = _NAME.match(self.text, place.start)
            called = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            if called.lower() in GENERATOR_CALLS:
                raise self._generator(called.lower(), place)
            problem = unknown_function(node, written[0] if written else node.sql_name())
            if problem is not None:
                raise self.error(problem[0], place, problem[1])

    def _generator(self, name: str, place: Span) -> SqlError:
        return self.error(f"{name}(...) makes rows and is no value: it stands alone in a SELECT list without "
                          "aggregates, or behind LATERAL VIEW", place,
                          f"write FROM ... LATERAL VIEW {name}(...) t AS x, and x here")

    # -- columns -------------------------------------------------------------------------------------------------

    def _column(self, node: exp.Column, scope: Scope, span: Span) -> exp.Expr:
        parts = tuple(part.name for part in node.parts)
        if isinstance(node.this, exp.Star):
            raise self.error("* can only stand alone in the SELECT list or in count(*)", span_of(node, span),
                             "name a column")
        place = span_of(node, span)
        flat = self.resolve(parts, scope, place)
        if flat is not None:
            return column(flat)
        for split in range(len(parts) - 1, 0, -1):  # a field of a struct column
            base = self.resolve(parts[:split], scope, place)
            if base is not None and not scope.has_fields(base):
                raise self.error(f"column {readable(to_scalar(column(base)))!r} has no fields", place,
                                 "name the column alone")
            if base is not None:
                tree: exp.Expr = column(base)
                for name in parts[split:]:
                    tree = exp.Bracket(this=tree, expressions=[exp.Literal.string(name)])
                return tree
        if self._is_bare_word(node, scope):
            return exp.Literal.string(node.name)
        raise self.no_column(parts, scope, place)

    def resolve(self, parts: tuple[str, ...], scope: Scope, place: Span) -> str | None:
        """The plan column of a dotted name, if there is exactly one."""
        found = scope.candidates(parts)
        if len(found) > 1:
            written = ".".join(parts)
            raise self.error(f"{written!r} is ambiguous", place, f"write {' or '.join(found)}")
        return found[0] if found else None

    def no_column(self, parts: tuple[str, ...], scope: Scope, place: Span) -> SqlError:
        """The error for a name that is no column."""
        written = ".".join(parts)
        if "-" in written and "." not in written and not written.endswith("-"):
            pieces = written.split("-")
            if all(p.isdigit() or scope.candidates((p,)) for p in pieces):
                return self.error(f"no column {written!r}", place,
                                  f"a hyphen belongs to a name; a subtraction needs spaces: {' - '.join(pieces)}")
        if len(parts) > 1 and not scope.has_input(parts[0]):
            return self.error(f"no source {parts[0]!r} in FROM", Span(place.start, place.start + len(parts[0])),
                              did_you_mean(parts[0], scope.aliases(), f"the sources are {listed(scope.aliases())}"))
        return self.error(f"no column {written!r}", place,
                          did_you_mean(written, scope.names, f"the columns are {listed(scope.names)}"))

    def _is_bare_word(self, node: exp.Column, scope: Scope) -> bool:
        """A word that is no column is a string constant, but only where it is compared with a column."""
        parent = node.parent
        while isinstance(parent, exp.Paren):
            parent = parent.parent
        if scope.open or len(node.parts) > 1 or node.this.quoted or not isinstance(parent, COMPARISONS):
            return False
        others = [other for other in parent.find_all(exp.Column) if other is not node]
        if not any(scope.candidates(tuple(p.name for p in other.parts)) for other in others):
            return False
        return nearest(node.name, scope.names, cutoff=0.85) is None


def column(name: str) -> exp.Expr:
    """A reference to a plan column, quoted where the bare word would be read as something else."""
    return Scalar.column(name).tree


def to_scalar(tree: exp.Expr) -> Scalar:
    """A bound tree as a plan expression; comments of the query are not part of it."""
    return Scalar.of(tree)


def readable(scalar: Scalar) -> str:
    """An expression as the name of an output column, as Spark would name it.

    >>> readable(Scalar("`seg-id` + 1")), readable(Scalar("UPPER(a)")), readable(Scalar("window['start']"))
    ('seg-id + 1', 'upper(a)', 'start')
    """
    tree = scalar.tree
    if isinstance(tree, exp.Bracket) and len(tree.expressions) == 1 and tree.expressions[0].is_string:
        return str(tree.expressions[0].name)  # a field of a struct
    return plain_names(tree.sql(dialect="spark", normalize_functions="lower").replace("`", ""))


def conjuncts(tree: exp.Expr | None) -> list[exp.Expr]:
    """The parts of a predicate between its top-level ANDs."""
    return [] if tree is None else list(operands(tree, exp.And, (ExistsQuery,)))
