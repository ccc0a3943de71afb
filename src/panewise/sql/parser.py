"""Text to syntax tree: the statements of the window language, with sqlglot's Spark parser for every expression."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from panewise.core.errors import SqlError
from panewise.core.join_kinds import JoinKind
from panewise.core.names import nearest
from panewise.core.trees import MAX_NESTING, all_of, deep_stack
from panewise.core.user_functions import UserFunction
from panewise.sql import syntax
from panewise.sql.cursor import PlacedError
from panewise.sql.dialect import tokenize
from panewise.sql.windows.brackets import BracketReader

T = TypeVar("T")
OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
STREAM_OPERATORS = frozenset(name.lower() + end for name in syntax.RELATION_TO_STREAM for end in ("", syntax.RESTORE))
AFTER_SOURCE = ("LATERAL VIEW", "WHERE", "GROUP BY", "GROUP", "UNION", "EXCEPT", "LIFETIME", "AS", "SELECT",
                "FROM")
FOREIGN = {
    **dict.fromkeys(("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"),
                    "a join stands behind a source: FROM a [...] JOIN b [...] ON a.x = b.x"),
    "CROSS": "write FROM a [...], b [...]",
    "ON": "it stands behind JOIN: FROM a [...] JOIN b [...] ON a.x = b.x; conditions of a list stand in WHERE",
    "HAVING": "put the query in parentheses and filter outside: SELECT * FROM (SELECT ... GROUP BY ...) WHERE ...",
    "ORDER BY": "results of a stream have no end to sort; sort what the query has written",
    "LIMIT": "results of a stream have no end to cut; use LIFETIME to stop the query after some time",
    "OVER": "write the window in brackets behind the call: max(a) [RANGE 5 minutes, SLIDE 1 minute, WA ts]",
    "INTERSECT": "write WHERE EXISTS (SELECT * FROM ... WHERE ...)",
}

MAX_QUERIES = 64
"""How deep queries may be nested in FROM and EXISTS, and how many sources one FROM may join: levels of the plan."""

JOINS = {
    ("JOIN",): JoinKind.INNER, ("INNER", "JOIN"): JoinKind.INNER,
    **{(kind.name, *outer, "JOIN"): kind for kind in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)
       for outer in ((), ("OUTER",))},
    **{(*left, kind.name, "JOIN"): kind for kind in (JoinKind.SEMI, JoinKind.ANTI) for left in ((), ("LEFT",))},
}
"""What may stand between two sources instead of a comma."""


class QueryParser(BracketReader):
    """One query text."""

    def __init__(self, text: str, calls: Collection[str], own: Mapping[str, UserFunction] | None = None) -> None:
        super().__init__(text, tokenize(text))
        self._own = dict(own or {})
        self._calls = STREAM_OPERATORS | {c.lower() for c in calls}
        self._grouping = False
        self._queries_open = 0

    # -- statements ----------------------------------------------------------------------------------------------

    def query(self) -> syntax.Query:
        """The whole text."""
        if not self._curr:
            raise self.fail("the query is empty", hint="write SELECT ... FROM ...")
        found = self.set_query()
        if self._match(TokenType.SEMICOLON) and self._curr:
            raise self.fail("more than one query in one text", hint="give each query on its own")
        if self._curr:
            raise self._leftover()
        return found

    def set_query(self) -> syntax.Query:
        """Selects with UNION and EXCEPT ALL between them, from left to right."""
        if self._queries_open == MAX_QUERIES:
            raise self.fail(f"queries nested deeper than {MAX_QUERIES} levels", hint="take the query apart")
        self._queries_open += 1
        found = self._set_query()
        self._queries_open -= 1
        return found

    def _set_query(self) -> syntax.Query:
        left: syntax.Query = self.select()
        while self._curr.token_type in {TokenType.UNION, TokenType.EXCEPT}:
            operator = self._curr
            self._advance()
            every = self.match_word("ALL")
            if operator.token_type is TokenType.EXCEPT and not every:
                raise self.fail("EXCEPT needs ALL: the difference of streams counts copies", operator,
                                "write EXCEPT ALL, or NOT EXISTS (SELECT ...) for rows without a match")
            name = "EXCEPT ALL" if operator.token_type is TokenType.EXCEPT else "UNION ALL" if every else "UNION"
            right = self.select()
            left = syntax.SetOperation(name, left, right, self.place(operator))
        return left

    def select(self) -> syntax.Select:
        """One SELECT up to its last clause."""
        start = self._curr
        if not self._match(TokenType.SELECT):
            found = nearest(self.word(), ["SELECT"])
            raise self.fail(f"expected SELECT but found {self.here()}",
                            hint="did you mean 'SELECT'?" if found else "a query starts with SELECT ... FROM ...")
        distinct = self.distinct()
        items = self._items("the SELECT list", end="FROM")
        if not self._match(TokenType.FROM):
            raise self._missing_from()
        sources = [self._source()]
        while True:
            if (join := self._join()) is not None:
                sources.append(join)
                continue
            if not self._match(TokenType.COMMA) or not self._curr or self._curr.token_type in {
                    TokenType.WHERE, TokenType.GROUP_BY, TokenType.R_PAREN, TokenType.SEMICOLON}:
                break  # also behind the comma that some printed queries have at the end of the FROM list
            sources.append(self._source())
        if len(sources) > MAX_QUERIES:
            raise self.fail(f"a join of {len(sources)} sources, of at most {MAX_QUERIES}", sources[MAX_QUERIES].span,
                            "join some of them in a query of its own")
        views = self._lateral_views()
        where, where_span = self._where()
        sources, where, where_span = _inner_in_where(sources, where, where_span)
        group_by, group_bracket = self._group_by()
        lifetime = self._lifetime()
        return syntax.Select(tuple(items), distinct, tuple(sources), tuple(views), where, where_span, tuple(group_by),
                      group_bracket, lifetime, syntax.Span(start.start, self._prev.end + 1))

    # -- SELECT list ---------------------------------------------------------------------------------------------

    def _listed(self, read: Callable[[], T]) -> list[T]:
        """One or several, with commas between them."""
        found = [read()]
        while self._match(TokenType.COMMA):
            found.append(read())
        return found

    def _items(self, what: str, end: str) -> list[syntax.Item]:
        return self._listed(lambda: self._item(what, end))

    def _names(self) -> tuple[str, ...]:
        return tuple(self._listed(lambda: self.simple_name("the name of a column")[0]))

    def _item(self, what: str, end: str) -> syntax.Item:
        token = self._curr
        if self._curr.token_type in {TokenType.FROM, TokenType.COMMA, TokenType.R_PAREN, TokenType.SEMICOLON}:
            raise self.fail(f"{what} lacks an expression before {self.here()}",
                            hint="write a column, an expression or *, and no comma behind the last one")
        tree: exp.Expr | None
        tree = exp.Star().update_positions(token) if self._match(TokenType.STAR) else self.expression_here()
        if tree is None:
            raise self.fail(f"{what} needs an expression but found {self.here()}",
                            hint="write a column, an expression or *")
        span = syntax.Span(token.start, self._prev.end + 1)
        alias: str | None = None
        aliases: tuple[str, ...] = ()
        if isinstance(tree, syntax.GeneratorCall) and self._curr.token_type is TokenType.ALIAS and (
                self._next.token_type is TokenType.L_PAREN):
            self._advance()
            opening = self._curr
            self._advance()
            aliases = self._names()
            self._close(opening)
        elif self._match(TokenType.ALIAS):
            alias, _ = self.simple_name("a name behind AS")
            if self._curr.token_type is TokenType.L_BRACKET and not self._grouping:
                raise self.fail("a window stands before AS", hint="write it behind the call: max(a) [...] AS name")
        elif self._curr.token_type is TokenType.L_BRACKET and not self._grouping:
            raise self._misplaced_window(tree)
        elif self.word() not in {"", *AFTER_SOURCE, *FOREIGN} and not nearest(self.word(), [end], cutoff=0.7):
            raise self.fail(f"unexpected {self.here()}",
                            hint=f"separate columns by commas, or name this one with AS {self._curr.text}")
        return syntax.Item(tree, alias, span, aliases)

    def _missing_from(self) -> Exception:
        if self.word() and nearest(self.word(), ["FROM"], cutoff=0.7):
            return self.fail(f"unexpected {self.here()}", hint="did you mean 'FROM'?")
        if self.word() in FOREIGN:
            return self.fail(f"{self.word()} is not part of the language here", hint=FOREIGN[self.word()])
        if self._curr.token_type is TokenType.R_PAREN:
            return self.fail("this ) closes nothing, or FROM is missing before it", hint="write FROM and a stream")
        return self.fail(f"expected FROM but found {self.here()}", hint="write FROM and the stream the query reads")

    # -- FROM ----------------------------------------------------------------------------------------------------

    def _source(self) -> syntax.From:
        start = self._curr
        parts: list[syntax.NamedSource | syntax.SubQuery | syntax.From] = [self._primary_source()]
        while self._curr.token_type is TokenType.UNION and not self._select_after_union():
            self._advance()
            self.match_word("ALL")
            parts.append(self._primary_source())
        alias, alias_span = None, None
        if self._match(TokenType.ALIAS):
            alias, alias_span = self.simple_name("a name behind AS")
        bracket = self.bracket()
        if bracket is not None and len(parts) == 1 and parts[0].bracket is not None:
            raise self.fail("two windows on one source", bracket.span, "keep one bracket")
        return syntax.From(tuple(parts), alias, syntax.Span(start.start, self._prev.end + 1), bracket, alias_span)

    def _join(self) -> syntax.From | None:
        """A source behind JOIN, with its ON."""
        start = self._curr
        kind = next((kind for words, kind in JOINS.items() if self.match_words(*words)), None)
        if kind is None:
            return None
        source = self._source()
        if not self.match_word("ON"):
            raise self.fail(f"expected ON but found {self.here()}", hint="say what joins: ON a.x = b.x")
        condition = self.condition("ON")
        return replace(source, join=syntax.JoinClause(kind, condition, syntax.Span(start.start, self._prev.end + 1)))

    def _select_after_union(self) -> bool:
        index = self._index + 1
        tokens = self._tokens[index:index + 2]
        if tokens and self.word(tokens[0]) == "ALL":
            tokens = tokens[1:]
        return bool(tokens) and tokens[0].token_type is TokenType.SELECT

    def _primary_source(self) -> syntax.NamedSource | syntax.SubQuery | syntax.From:
        start = self._curr
        if self._match(TokenType.L_PAREN):
            inner: syntax.SubQuery | syntax.From
            if self._curr.token_type is TokenType.SELECT:
                query = self.set_query()
                self._close(start)
                inner = syntax.SubQuery(query, syntax.Span(start.start, self._prev.end + 1), self.bracket())
            else:
                source = self._source()
                self._close(start)
                outer = self.bracket()
                if outer is not None and source.bracket is not None:
                    raise self.fail("two windows on one source", outer.span, "keep one bracket")
                inner = syntax.From(source.parts, source.alias, source.span, outer or source.bracket, source.alias_span)
            return inner
        if self._curr.token_type in {TokenType.WHERE, TokenType.SELECT, TokenType.GROUP_BY, TokenType.FROM}:
            raise self.fail(f"expected a stream but found {self.here()}", hint="write the name of a stream")
        name, span = self.simple_name("the name of a stream")
        if self._curr.token_type is TokenType.DOT:
            raise self.fail("streams have plain names without a dot", hint="give the stream under one name")
        if self._curr.token_type is TokenType.L_PAREN:
            raise self.fail("FROM takes streams, not functions", span, "name a stream, or a query in parentheses")
        return syntax.NamedSource(name, span, self.bracket())

    def _close(self, opening: object) -> None:
        if self._match(TokenType.R_PAREN):
            return
        if self.word() in FOREIGN or (self.word() and self._curr):
            raise self._leftover()
        raise self.fail(f"expected ) but found {self.here()}", hint="close the parenthesis")

    # -- the clauses behind FROM ---------------------------------------------------------------------------------

    def _lateral_views(self) -> list[syntax.LateralView]:
        views: list[syntax.LateralView] = []
        start = self._curr
        while self.match_words("LATERAL", "VIEW"):
            views.append(self._lateral_view(start))
            start = self._curr
        for view in views[:-1]:
            if view.bracket is not None:
                raise self.fail("a window between two LATERAL VIEWs", view.bracket.span,
                                "write it behind the last one, or put the first in a query in FROM")
        return views

    def _lateral_view(self, start: Token) -> syntax.LateralView:
        outer, token = self.match_word("OUTER"), self._curr
        call = self.expression_here()
        if not isinstance(call, syntax.GeneratorCall):
            generators = ", ".join(syntax.GENERATORS)
            raise self.fail(f"LATERAL VIEW takes {generators}, not {self.source(token) or 'nothing'}", token,
                            "write LATERAL VIEW explode(xs) t AS x")
        if self._curr.token_type is TokenType.ALIAS:
            raise self.fail("LATERAL VIEW needs a name before AS", hint="write LATERAL VIEW explode(xs) t AS x")
        alias, _ = self.simple_name("the name of the view")
        names = self._names() if self._match(TokenType.ALIAS) else ()
        span = syntax.Span(start.start, self._prev.end + 1)
        return syntax.LateralView(call, alias, names, outer, span, self.bracket())

    def _where(self) -> tuple[exp.Expr | None, syntax.Span | None]:
        start = self._curr
        if not self._match(TokenType.WHERE):
            return None, None
        return self.condition("WHERE"), syntax.Span(start.start, self._prev.end + 1)

    def _group_by(self) -> tuple[list[syntax.Item], syntax.Bracket | None]:
        if not (self._match(TokenType.GROUP_BY) or self.match_words("GROUP", "BY")):
            return [], None
        self._grouping = True
        try:
            items = self._items("GROUP BY", end="LIFETIME")
        finally:
            self._grouping = False
        return items, self.bracket()

    def _lifetime(self) -> syntax.Clause | None:
        token = self._curr
        if not self.match_word("LIFETIME"):
            return None
        amount = self.quantity("LIFETIME", ("UNION", "EXCEPT"))
        return syntax.Clause("LIFETIME", syntax.Span(token.start, self._prev.end + 1), amount)

    def _leftover(self) -> Exception:
        word = self.word()
        if word in FOREIGN:
            return self.fail(f"{word} is not part of the language here", hint=FOREIGN[word])
        if word in {"WHERE", "GROUP BY", "LIFETIME", "FROM", "SELECT"}:
            return self.fail(f"{word} cannot stand here",
                             hint="the order is SELECT ... FROM ... WHERE ... GROUP BY ... LIFETIME ...")
        if word:
            found = nearest(word, AFTER_SOURCE, cutoff=0.7)
            meant = "GROUP BY" if found == "GROUP" else found
            hint = f"did you mean {meant!r}?" if found else f"write AS {self._curr.text} to name the source"
            return self.fail(f"unexpected {self.here()}", hint=hint)
        if self._curr.token_type is TokenType.R_PAREN:
            return self.fail("this ) closes nothing", hint="remove it")
        if self._curr.token_type is TokenType.L_BRACKET:
            return self.fail("a window cannot stand here", hint="put it behind an aggregate, a source or GROUP BY")
        return self.fail(f"unexpected {self.here()}", hint="the query should end here")

    # -- hooks into sqlglot's expressions ------------------------------------------------------------------------

    def _parse_function_call(self, *args: object, **options: object) -> exp.Expr | None:
        if self._curr and self._next.token_type is TokenType.L_PAREN:
            name = self._curr.text.lower()
            quoted = self._curr.token_type is TokenType.IDENTIFIER
            if self._curr.token_type is TokenType.EXISTS and self._tokens[self._index + 2:self._index + 3] and (
                    self._tokens[self._index + 2].token_type is TokenType.SELECT):
                return self._exists()
            if name in syntax.GENERATOR_CALLS and self._prev.token_type is not TokenType.DOT:
                return self._generator(name)
            if name in self._own and self._prev.token_type is not TokenType.DOT:
                return self._own_function(self._own[name])
            if not quoted and name in self._calls and self._prev.token_type is not TokenType.DOT:
                return self._call(name)
        token = self._curr
        found: exp.Expr | None = super()._parse_function_call(*args, **options)  # type: ignore[arg-type]
        if isinstance(found, exp.Func) and token and self._prev:
            found.meta.update(start=token.start, end=self._prev.end)
        return found

    def _arguments(self, token: Token, *, needed: bool = False) -> list[syntax.Item]:
        """What stands in the brackets behind the name of a call."""
        items = []
        if needed or self._curr.token_type is not TokenType.R_PAREN:
            items = self._items(f"{token.text}(...)", end=")")
        if (several := next((item for item in items if item.aliases), None)) is not None:
            raise self.fail(f"several names inside {token.text}(...)", several.span,
                            "write LATERAL VIEW posexplode(xs) t AS pos, x behind FROM, and name pos and x here")
        self.expect(TokenType.R_PAREN, ")", f"close {token.text}( with )")
        return items

    def _generator(self, name: str) -> exp.Expr:
        token = self._curr
        self._advance(2)
        return self._from(token, syntax.GeneratorCall(
            this=name, expressions=[item.tree for item in self._arguments(token)]))

    def _from(self, token: Token, call: exp.Expr) -> exp.Expr:
        """A call that begins at a token and ends here."""
        call.meta.update(start=token.start, end=self._prev.end)
        return call

    def _own_function(self, function: UserFunction) -> exp.Expr:
        """A call of one of the user's functions, its arguments in the types it takes."""
        token = self._curr
        self._advance(2)
        items = self._arguments(token)
        place = syntax.Span(token.start, self._prev.end + 1)
        if (problem := function.problem_with(len(items))) is not None:
            raise self.fail(problem, place, "give it as many arguments as it takes")
        if (named := next((item for item in items if item.alias), None)) is not None:
            raise self.fail(f"AS cannot stand inside {token.text}(...)", named.span, "write it behind the call")
        given = [item.tree for item in items]
        if function.takes is not None:
            given = [exp.Cast(this=tree, to=exp.DataType.build(of, dialect="spark"))
                     for tree, of in zip(given, function.takes, strict=True)]
        return self._from(token, exp.Anonymous(this=function.key, expressions=given))

    def _exists(self) -> exp.Expr:
        token = self._curr
        self._advance(2)
        query = self.set_query()
        self._close(token)
        return syntax.ExistsQuery(this=query).update_positions(token)

    def _call(self, name: str) -> exp.Expr:
        token = self._curr
        self._advance(2)
        distinct = self.distinct() if name in STREAM_OPERATORS else self._match(TokenType.DISTINCT)
        items = self._arguments(token, needed=bool(distinct))
        end = self._prev.end
        condition = self._filter()
        call = syntax.StreamCall(this=name, expressions=[i.tree for i in items], aliases=[i.alias for i in items],
                          distinct=distinct, bracket=self.bracket(), condition=condition)
        call.meta.update(start=token.start, end=end)
        return call

    def _filter(self) -> exp.Expr | None:
        if not (self.word() == "FILTER" and self._next.token_type is TokenType.L_PAREN):
            return None
        self._advance(2)
        if not self._match(TokenType.WHERE):
            raise self.fail(f"expected WHERE but found {self.here()}", hint="write FILTER (WHERE condition)")
        condition = self.expression_here()
        self.expect(TokenType.R_PAREN, ")", "close FILTER ( with )")
        return condition

    def _misplaced_window(self, before: exp.Expr | None) -> PlacedError:
        """A window behind something that takes none; an unknown function was meant to be an aggregate."""
        if isinstance(before, exp.Anonymous) and (close := nearest(before.name, self._calls, cutoff=0.6)):
            return self.fail(f"a window cannot stand behind {before.name}(...), which is no aggregate",
                             hint=f"did you mean {close!r}?")
        return self.fail("a window cannot stand here", hint="put it behind an aggregate call, a source or GROUP BY")

    def _parse_column_ops(self, this: exp.Expr | None) -> exp.Expr | None:
        if self.bracket_ahead() or (self._grouping and self._curr.token_type is TokenType.L_BRACKET):
            return this  # a window: the caller knows what it belongs to
        return super()._parse_column_ops(this)

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if self._grouping and this is not None and self._curr.token_type is TokenType.L_BRACKET:
            return this  # the window of GROUP BY, behind a name with a dot
        if self.bracket_ahead():
            raise self._misplaced_window(this)
        return super()._parse_bracket(this)

    def _parse_select(self, *args: object, **options: object) -> exp.Expr | None:
        if self._curr.token_type in {TokenType.SELECT, TokenType.WITH}:
            raise self.fail("a query inside an expression is only possible with EXISTS",
                            hint="write [NOT] EXISTS (SELECT * FROM ... WHERE ...), or put the query in FROM")
        return None

    def _parse_placeholder(self) -> exp.Expr | None:
        parameter = self.parameter()
        if parameter is not None:
            node = exp.Placeholder(this=parameter.name)
            node.meta.update(start=parameter.span.start, end=parameter.span.end - 1)
            return node
        if self._curr.token_type in {TokenType.PLACEHOLDER, TokenType.PARAMETER}:
            raise self.fail("parameters have names", hint="write :name and give its value in params")
        return None


def _inner_in_where(sources: list[syntax.From], where: exp.Expr | None, span: syntax.Span | None,
                    ) -> tuple[list[syntax.From], exp.Expr | None, syntax.Span | None]:
    """``a JOIN b ON c`` is ``a, b WHERE c``."""
    plain, conditions = [], [] if where is None else [where]
    for source in sources:
        if source.join is not None and source.join.kind is JoinKind.INNER:
            conditions.insert(len(conditions) - (where is not None), source.join.condition)
            span = span or source.join.span
            source = replace(source, join=None)  # noqa: PLW2901 (the same source, read another way)
        plain.append(source)
    return plain, all_of(conditions) if conditions else None, span


def parse_query(text: str, calls: Collection[str], own: Mapping[str, UserFunction] | None = None,
                ) -> tuple[syntax.Query, list[syntax.Parameter]]:
    """The syntax tree of a query and its parameters, from left to right.

    ``calls`` are the names of aggregate functions, ``own`` the user's by their names.

    >>> query, parameters = parse_query("SELECT count(*) FROM S [ROWS :n]", {"count"})
    >>> query.sources[0].parts[0].name, [parameter.name for parameter in parameters]
    ('S', ['n'])
    """
    parser = QueryParser(text, calls, own)
    found = _guarded(parser, parser.query)
    return found, [parser.parameters[at] for at in sorted(parser.parameters)]


def parse_bracket(text: str, calls: Collection[str]) -> syntax.Bracket:
    """A window on its own, with or without the brackets around it."""
    parser = QueryParser(text, calls)

    def read() -> syntax.Bracket:
        found = parser.bracket() or parser.bracket_body(0)
        if parser._curr:
            raise parser._unexpected()
        return found

    return _guarded(parser, read)


def _guarded(parser: QueryParser, read: Callable[[], T]) -> T:
    opened: list[Token] = []
    try:
        for token in parser._tokens:
            if token.token_type in OPENING:
                opened.append(token)
            elif token.token_type in CLOSING and opened:
                opened.pop()
            if len(opened) > MAX_NESTING:  # found before anything recursive reads it
                raise parser.too_nested(token)
        with deep_stack():
            found = read()
        if opened:  # some calls sqlglot reads as closed at the end of what stands in them
            raise parser.fail(f"this {parser.source(opened[-1])} is never closed", opened[-1],
                              f"write {')' if opened[-1].token_type is TokenType.L_PAREN else ']'} where it ends")
        return found
    except PlacedError as error:
        raise parser.as_error(error) from None
    except RecursionError:
        raise parser.as_error(parser.fail("the query is nested too deeply", hint="take it apart")) from None
    except (ParseError, AttributeError, TypeError, ValueError, ArithmeticError, LookupError, AssertionError) as error:
        # sqlglot's expression parser is not written for arbitrary garbage and may trip over its own assumptions
        if isinstance(error, SqlError):
            raise
        raise parser.as_error(parser.fail(f"cannot read the expression before {parser.here()}",
                                          hint="check the expression here")) from error
