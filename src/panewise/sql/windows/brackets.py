"""Reading one window bracket, ``[RANGE 10 minutes, SLIDE 1 minute, WA ts]``."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from panewise.sql.cursor import Cursor
from panewise.sql.hints import did_you_mean, listed
from panewise.sql.syntax import Bracket, Clause, Constant, Name, Parameter, Span

EXTENTS = ("RANGE", "WINDOW", "ROWS", "NOW", "UNBOUNDED", "SESSION", "CALENDAR")
SPELLINGS = {"WATTR": "WA", "PATTR": "PA", "PARTITION BY": "PA"}
KEYWORDS = (*EXTENTS, "SLIDE", "LAG", "WA", "WATTR", "RATTR", "SATTR", "PA", "PATTR", "PARTITION BY", "PARTITION",
            "INTERNAL", "WHERE", "ORIGIN", "ZONE", "GROWING")
SHOWN = tuple(k for k in KEYWORDS if k not in {"PARTITION"})
RANGE_KINDS = ("RANGE ALL", "RANGE TUMBLING")
_FOLLOWING = (*KEYWORDS, "START", "END")


class BracketReader(Cursor):
    """Adds brackets to the cursor."""

    def bracket_ahead(self) -> bool:
        """Whether a bracket stands here that starts like a window and not like an array index."""
        return self._curr.token_type is TokenType.L_BRACKET and self.word(self._next) in KEYWORDS

    def bracket(self) -> Bracket | None:
        """A window if a bracket stands here."""
        opening = self._curr
        if not self._match(TokenType.L_BRACKET):
            return None
        body = self.bracket_body(opening.start)
        if not self._match(TokenType.R_BRACKET):
            raise self._unexpected()
        return Bracket(Span(opening.start, self._prev.end + 1), body.signature, body.clauses)

    def bracket_body(self, start: int) -> Bracket:
        """What stands between the brackets; also used for windows given as parameter text."""
        signature = self.parameter()
        if signature is not None:
            return Bracket(signature.span, signature)
        clauses: list[Clause] = []
        while True:
            if self._curr.token_type is TokenType.R_BRACKET and not clauses:
                raise self.fail("the window is empty", hint="write what it holds, such as RANGE 10 minutes or ROWS 100")
            for clause in self._clauses():
                if any(c.keyword == clause.keyword for c in clauses) and clause.keyword not in EXTENTS:
                    raise self.fail(f"{clause.keyword} is given twice in one window", clause.span, "keep one of them")
                clauses.append(clause)
            if self._match(TokenType.COMMA):
                continue
            if not self._curr or self.word() not in KEYWORDS:
                break
        end = self._prev.end + 1
        self._check_extents(clauses, Span(start, end))
        return Bracket(Span(start, end), None, tuple(clauses))

    def _check_extents(self, clauses: list[Clause], span: Span) -> None:
        extents = [c for c in clauses if c.keyword in (*EXTENTS, *RANGE_KINDS)]
        if len(extents) > 1:
            raise self.fail(f"two extents in one window: {extents[0].keyword} and {extents[1].keyword}",
                            extents[1].span, f"keep one of {listed(EXTENTS)}")
        if not extents:
            raise self.fail("the window has no extent", span,
                            f"say how much it holds with one of {listed(EXTENTS)}, such as RANGE 10 minutes")

    def _unexpected(self) -> Exception:
        if not self._curr:
            return self.fail("the window is not closed", hint="close it with ]")
        word = self.word()
        if word:
            hint = did_you_mean(word, SHOWN, f"a window takes {listed(SHOWN, 30)}")
            return self.fail(f"unknown word {self.here()} in the window", hint=hint)
        return self.fail(f"expected ] but found {self.here()}", hint="close the window with ]")

    def _clauses(self) -> list[Clause]:
        token, word = self._curr, self.word()
        if word == "PARTITION" and self.word(self._next) == "BY":
            word = "PARTITION BY"
            self._advance()
        if word not in KEYWORDS or word == "PARTITION":
            raise self._unexpected()
        self._advance()
        keyword = SPELLINGS.get(word, word)

        def clause(name: str = keyword, **parts: object) -> Clause:
            return Clause(name, Span(token.start, self._prev.end + 1), **parts)  # type: ignore[arg-type]

        if keyword == "RANGE":
            if self.match_word("ALL"):
                return [clause("RANGE ALL")]
            if self.match_word("TUMBLING"):
                return [clause("RANGE TUMBLING", amount=self.quantity("RANGE TUMBLING", _FOLLOWING))]
        if keyword in {"RANGE", "WINDOW", "ROWS", "SLIDE", "LAG", "SESSION", "CALENDAR"}:
            return [clause(amount=self.quantity(keyword, _FOLLOWING))]
        if keyword == "UNBOUNDED":
            return [clause(), *self._bounds()]
        match keyword:
            case "WA" | "RATTR":
                return [clause(names=(self.attribute(f"the column of {word}"),))]
            case "SATTR":
                return [self._slide_attribute(token.start)]
            case "PA":
                return [clause(names=self._partition(word))]
            case "WHERE":
                return [clause(condition=self.condition("WHERE"))]
            case "ORIGIN":
                return [clause(constant=self.constant("the origin of the windows"))]
            case "ZONE":
                return [clause(constant=self._zone())]
        return [clause()]  # NOW, INTERNAL, GROWING

    def _slide_attribute(self, start: int) -> Clause:
        rank = self.word() == "RANK" and self._next.token_type is TokenType.L_PAREN
        if rank:
            self._advance(2)
        name = self.attribute("the column of SATTR")
        if rank:
            self.expect(TokenType.R_PAREN, ")", "write rank(ts)")
        return Clause("SATTR", Span(start, self._prev.end + 1), names=(name,), rank=rank)

    def _partition(self, word: str) -> tuple[Name, ...]:
        names = [self.attribute(f"a column of {word}")]
        while self._curr.token_type is TokenType.COMMA and self.word(self._next) not in KEYWORDS:
            self._advance()
            names.append(self.attribute(f"a column of {word}"))
        return tuple(names)

    def _zone(self) -> Constant | Parameter:
        zone = self.constant("a time zone")
        if isinstance(zone, Constant) and not isinstance(zone.value, str):
            raise self.fail("a time zone is a name in quotes", zone.span, "write one such as ZONE 'Europe/Berlin'")
        return zone

    def _bounds(self) -> list[Clause]:
        found: list[Clause] = []
        for first in ("START", "END"):
            start = self._curr.start if self._curr else 0
            if self.match_words(first, "AT"):
                constant = self.constant("a time")
                found.append(Clause(f"{first} AT", Span(start, self._prev.end + 1), constant=constant))
            elif self.word() == first:
                raise self.fail(f"{first} needs AT and a time", hint=f"write {first} AT '07:00:00'")
        return found
