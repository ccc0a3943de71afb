"""Java's regular expressions and LIKE patterns as Python's.

Python's ``re`` is a backtracking matcher like Java's, so a translated pattern matches alike, groups included. What
Java has and Python has not (scripts and blocks of Unicode, ``\\G``, ``\\X``, flags in the middle, look-behind of
varying length) is refused by name: when binding where the pattern is constant, on the row where it is not.
"""

from __future__ import annotations

import re
from functools import lru_cache

from panewise.functions.binding.by_value import PatternRefusal, ValueFailure
from panewise.functions.texts.character_classes import LINE_ENDS, WORD, CharacterClass, simple_class
from panewise.functions.texts.code_points import category, class_text

INVALID = "INVALID_PARAMETER_VALUE.PATTERN"
_DOT = f"[^{LINE_ENDS}]"
_END = "(?:(?=\\r\\n\\Z)|(?<!\\r)(?=\\n\\Z)|(?=[\\r\\u0085\\u2028\\u2029]\\Z)|\\Z)"
_LINE_BEGIN = "(?:\\A|(?<=[\\n\\u0085\\u2028\\u2029])(?!\\Z)|(?<=\\r)(?!\\n)(?!\\Z))"
_LINE_END = "(?:\\Z|(?<!\\r)(?=\\n)|(?=[\\r\\u0085\\u2028\\u2029]))"
_SIMPLE = frozenset("dDwWAnrtf")
"""Letters behind a backslash that mean the same in both."""


def refused(pattern: str, what: str) -> PatternRefusal:
    """A pattern that cannot be matched as Java matches it."""
    return PatternRefusal(f"the pattern {pattern[:80]!r} has {what}, which is not supported")


@lru_cache(maxsize=512)
def java_pattern(pattern: str, marks: bool = False) -> re.Pattern[str]:
    """A compiled pattern that matches as Java's does; with ``marks``, in texts that have combining marks.

    >>> bool(java_pattern(r"^a\\.[\\p{Alpha}]+$").search("a.bc")), java_pattern("(?<x>.)b").search("ab")["x"]
    (True, 'a')
    """
    try:
        return re.compile(_Translation(pattern, marks).text(), re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        message = str(error)
        if "look-behind" in message:
            raise refused(pattern, "a look-behind of varying length") from error
        if "open group" in message:
            raise refused(pattern, "a group that refers to itself") from error
        if "multiple repeat" in message and re.search(r"\}[?+]?\{", pattern):
            raise refused(pattern, "a repetition of a repetition") from error
        raise ValueFailure(INVALID, f"{pattern[:80]!r} is no pattern: {error}") from error


class _Translation:
    """One pass over a pattern."""

    def __init__(self, pattern: str, marks: bool) -> None:
        self.pattern, self.at, self.out = pattern, 0, list[str]()
        self.word = f"(?:{WORD}|{class_text(category('Mn'))})" if marks else WORD
        self.groups = 0
        self.signs = {".": _DOT, "$": _END}
        self.folds = re.search(r"\(\?[a-zA-Z]*i", pattern) is not None

    def text(self) -> str:
        """The pattern for Python."""
        flags = re.match(r"\(\?([a-zA-Z]+)\)", self.pattern)
        if flags:
            self._flags(flags[1])
            self.at = flags.end()
        while self.at < len(self.pattern):
            sign = self.pattern[self.at]
            if sign == "\\":
                self.out.append(self._escape())
            elif sign == "[":
                self.out.append(self._class())
            elif sign == "(":
                self.out.append(self._group())
            elif sign == "{" and not re.compile(r"\{\d+(,\d*)?\}").match(self.pattern, self.at):
                raise ValueFailure(INVALID, f"{self.pattern[:80]!r} is no pattern: a brace is no repetition")
            else:
                self.at += 1
                self.out.append(self.signs.get(sign, sign))
        return "".join(self.out)

    def _flags(self, letters: str) -> None:
        if set(letters) - set("ism"):
            raise refused(self.pattern, f"the flags (?{letters})")
        if "s" in letters:
            self.signs["."] = "(?s:.)"
        if "m" in letters:
            self.signs |= {"^": _LINE_BEGIN, "$": _LINE_END}
        if "i" in letters:
            self.out.append("(?i)")

    def _group(self) -> str:
        rest = self.pattern[self.at:]
        for known in ("(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:"):
            if rest.startswith(known):
                self.at += len(known)
                return known
        named = re.match(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>", rest)
        if named is None and rest.startswith("(?"):
            raise refused(self.pattern, f"the group {rest[:4]!r}")
        self.groups += 1
        if named:
            self.at += named.end()
            return f"(?P<{named[1]}>"
        self.at += 1
        return "("

    def _escape(self) -> str:
        if self.at + 1 >= len(self.pattern):
            raise ValueFailure(INVALID, f"{self.pattern[:80]!r} is no pattern: it ends with a backslash")
        sign = self.pattern[self.at + 1]
        if sign == "Q":
            end = self.pattern.find("\\E", self.at + 2)
            quoted = self.pattern[self.at + 2:end if end >= 0 else None]
            self.at = end + 2 if end >= 0 else len(self.pattern)
            return re.escape(quoted)
        if sign in "123456789":
            return self._reference()
        rest = self.pattern[self.at + 2:]
        if sign == "k" and (named := re.match(r"<([a-zA-Z][a-zA-Z0-9]*)>", rest)):
            self.at += 2 + named.end()
            return f"(?P={named[1]})"
        if sign == "b" and rest.startswith("{"):
            raise refused(self.pattern, "the boundary \\b{…}")
        word = self.word
        plain = {"z": "\\Z", "Z": _END, "R": f"(?:\\r\\n|[{LINE_ENDS}\\x0B\\f])",
                 "b": f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))",
                 "B": f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"}.get(sign)
        if plain is None and sign in _SIMPLE:
            plain = "\\" + sign
        if plain is not None:
            self.at += 2
            return plain
        return self._characters(CharacterClass(self.pattern, self.at).escape())

    def _class(self) -> str:
        plain = simple_class(self.pattern, self.at)
        if plain is not None:
            text, self.at = plain
            return text
        return self._characters(CharacterClass(self.pattern, self.at).whole())

    def _characters(self, found: CharacterClass) -> str:
        """A class whose members were worked out; letters in either case are another matter."""
        if found.problem is not None:
            if found.invalid:
                raise ValueFailure(INVALID, f"{self.pattern[:80]!r} is no pattern: {found.problem}")
            raise refused(self.pattern, found.problem)
        if self.folds and not found.single:
            raise refused(self.pattern, "a class of Unicode or a class inside a class beside the flag (?i)")
        self.at = found.at
        return found.text()

    def _reference(self) -> str:
        """\\1: as many digits as make a group that is there; a group that is not there never matches."""
        number, self.at = int(self.pattern[self.at + 1]), self.at + 2
        while self.at < len(self.pattern) and self.pattern[self.at] in "0123456789" and \
                number * 10 + int(self.pattern[self.at]) <= self.groups:
            number = number * 10 + int(self.pattern[self.at])
            self.at += 1
        return f"(?:\\{number})" if number <= self.groups else "(?!)"


@lru_cache(maxsize=512)
def like_pattern(pattern: str, escape: str, fold: bool) -> re.Pattern[str]:
    """A LIKE pattern: % is any text, _ any character.

    >>> bool(like_pattern("a\\\\%_", "\\\\", False).fullmatch("a%x"))
    True
    """
    out, at = [], 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == escape:
            if at + 1 >= len(pattern) or pattern[at + 1] not in ("%", "_", escape):
                raise ValueFailure("INVALID_FORMAT.ESC_AT_THE_END" if at + 1 >= len(pattern) else
                                   "INVALID_FORMAT.ESC_IN_THE_MIDDLE",
                                   f"{pattern[:80]!r}: the escape stands before {pattern[at + 1:at + 2]!r}")
            out.append(re.escape(pattern[at + 1]))
            at += 2
            continue
        out.append({"%": ".*", "_": "."}.get(sign) or re.escape(sign))
        at += 1
    return re.compile("".join(out), re.DOTALL | (re.IGNORECASE if fold else 0))


def java_replacement(pattern: re.Pattern[str], text: str) -> list[str | int]:
    """A replacement with $1, ${name} and escapes as a list of texts and groups."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign == "\\" and at + 1 < len(text):
            parts.append(text[at + 1])
            at += 2
        elif sign == "$":
            named = re.match(r"\$\{([a-zA-Z][a-zA-Z0-9]*)\}", text[at:])
            digits = re.match(r"\$(\d)", text[at:])
            if named and named[1] in pattern.groupindex:
                parts.append(pattern.groupindex[named[1]])
                at += named.end()
            elif digits and int(digits[1]) <= pattern.groups:
                group = int(digits[1])
                at += 2
                while at < len(text) and text[at].isdigit() and group * 10 + int(text[at]) <= pattern.groups:
                    group = group * 10 + int(text[at])
                    at += 1
                parts.append(group)
            else:
                raise ValueFailure("INVALID_REGEXP_REPLACE", f"no group {text[at:at + 3]!r} in the replacement")
        elif sign == "\\":
            raise ValueFailure("INVALID_REGEXP_REPLACE", "the replacement ends with a backslash")
        else:
            parts.append(sign)
            at += 1
    return parts
