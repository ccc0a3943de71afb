"""Character classes of Java's regular expressions: categories of Unicode, classes inside classes, intersections."""

from __future__ import annotations

import re

from panewise.functions.texts.code_points import (
    CATEGORIES,
    LAST,
    Ranges,
    category,
    class_text,
    complement,
    intersection,
    union,
)

LINE_ENDS = "\\n\\r\\u0085\\u2028\\u2029"
WORD = "(?u:[^\\W" \
    "\\u00b2\\u00b3\\u00b9\\u00bc-\\u00be\\u09f4-\\u09f9\\u0b72-\\u0b77\\u0bf0-\\u0bf2\\u0c78-\\u0c7e\\u0d58-\\u0d5e" \
    "\\u0d70-\\u0d78\\u0f2a-\\u0f33\\u1369-\\u137c\\u16ee-\\u16f0\\u17f0-\\u17f9\\u19da\\u2070\\u2074-\\u2079" \
    "\\u2080-\\u2089\\u2150-\\u2182\\u2185-\\u2189\\u2460-\\u249b\\u24ea-\\u24ff\\u2776-\\u2793\\u2cfd\\u3007" \
    "\\u3021-\\u3029\\u3038-\\u303a\\u3192-\\u3195\\u3220-\\u3229\\u3248-\\u324f\\u3251-\\u325f\\u3280-\\u3289" \
    "\\u32b1-\\u32bf\\ua6e6-\\ua6ef\\ua830-\\ua835])"
"""What \\b calls part of a word: letters and decimal digits of all scripts and _, not other numerals."""

_POSIX = {"Lower": "a-z", "Upper": "A-Z", "ASCII": "\\x00-\\x7F", "Alpha": "a-zA-Z", "Digit": "0-9",
          "Alnum": "a-zA-Z0-9", "Punct": "!-/:-@\\[-`{-~", "Graph": "!-~", "Print": " -~", "Blank": " \\t",
          "Cntrl": "\\x00-\\x1F\\x7F", "XDigit": "0-9a-fA-F", "Space": " \\t\\n\\x0B\\f\\r"}
_SETS = {"s": " \\t\\n\\x0B\\f\\r", "d": "0-9", "w": "a-zA-Z0-9_", "v": LINE_ENDS + "\\x0B\\f",
         "h": " \\t\\xA0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000"}
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "e": 27, "a": 7}
_PLAIN = re.compile(r"\[(\^?)((?:[^\[\]\\]|\\[nrtfdDwW.*+?()\[\]{}|^$\\/&#~!@%=<>:;,\"'` _-])+)\]")
_CODE = re.compile(r"u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|0([0-3]?[0-7]{1,2})")


def simple_class(pattern: str, at: int) -> tuple[str, int] | None:
    """A class that is written the same way in Python, and where it ends; None where it has to be worked out.

    >>> simple_class("[^a-z&]+", 0)
    ('[^a-z\\\\&]', 7)
    """
    found = _PLAIN.match(pattern, at)
    if found is None or "&&" in found[2]:
        return None
    return f"[{found[1]}{_escaped(found[2])}]", found.end()


def _escaped(body: str) -> str:
    """The members of a class with what only Python would take for operators behind a backslash."""
    return re.sub(r"\\.|[&~|]", lambda m: m[0] if len(m[0]) == 2 else "\\" + m[0], body, flags=re.DOTALL)


class CharacterClass:
    """The members of a class or of an escape as ranges of code points, and where the text of it ends."""

    def __init__(self, pattern: str, at: int) -> None:
        self.pattern, self.at = pattern, at
        self.members: Ranges = ()
        self.problem: str | None = None
        self.invalid = False
        self.single = False
        """Whether it is one character, which can be compared in either case."""

    def text(self) -> str:
        """The class for Python."""
        return re.escape(chr(self.members[0][0])) if self.single else class_text(self.members)

    def whole(self) -> CharacterClass:
        """A class in brackets."""
        try:
            self.members = self._class()
        except _ProblemError as problem:
            self.problem, self.invalid = str(problem), problem.invalid
        return self

    def escape(self) -> CharacterClass:
        """An escape outside of brackets."""
        try:
            self.members = self._escaped()
        except _ProblemError as problem:
            self.problem, self.invalid = str(problem), problem.invalid
        self.single = len(self.members) == 1 and self.members[0][0] == self.members[0][1]
        return self

    def _class(self) -> Ranges:
        """From the bracket on: unions side by side, intersections between &&, a ^ in front for all of it."""
        self.at += 1
        negated = self._next("^")
        operands: list[Ranges] = [()]
        first = True
        while True:
            if self.at >= len(self.pattern):
                raise _ProblemError("a class is not closed", invalid=True)
            if self.pattern[self.at] == "]" and not first:
                self.at += 1
                break
            if self._next("&&"):
                operands.append(())
                continue
            operands[-1] = union(operands[-1], self._member())
            first = False
        found = operands[0]
        for operand in operands[1:]:
            found = intersection(found, operand)
        return complement(found) if negated else found

    def _next(self, text: str) -> bool:
        there = self.pattern.startswith(text, self.at)
        self.at += len(text) if there else 0
        return there

    def _member(self) -> Ranges:
        if self.pattern[self.at] == "[":
            return self._class()
        first = self._one()
        if len(first) == 1 and first[0][0] == first[0][1] and self.pattern.startswith("-", self.at) and \
                self.pattern[self.at + 1:self.at + 2] not in ("]", "[", "") and \
                not self.pattern.startswith("-&&", self.at):
            self.at += 1
            last = self._one()
            if len(last) != 1 or last[0][0] != last[0][1] or last[0][0] < first[0][0]:
                raise _ProblemError("a range has no end", invalid=True)
            return ((first[0][0], last[0][0]),)
        return first

    def _one(self) -> Ranges:
        if self.pattern[self.at] == "\\":
            return self._escaped()
        code = ord(self.pattern[self.at])
        self.at += 1
        return ((code, code),)

    def _escaped(self) -> Ranges:
        if self.at + 1 >= len(self.pattern):
            raise _ProblemError("it ends with a backslash", invalid=True)
        sign = self.pattern[self.at + 1]
        found = _CODE.match(self.pattern, self.at + 1)
        if found is not None:
            code = int(next(g for g in found.groups()[:3] if g), 16) if found[4] is None else int(found[4], 8)
            self.at = found.end()
            low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(self.pattern, self.at)
            if 0xD800 <= code < 0xDC00 and low is not None:
                code = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
                self.at = low.end()
            if code > LAST:
                raise _ProblemError("a character beyond Unicode", invalid=True)
            return ((code, code),)
        if sign in "pP":
            return self._property(sign == "P")
        self.at += 2
        if sign.lower() in _SETS:
            members = _ranges(_SETS[sign.lower()])
            return complement(members) if sign.isupper() else members
        if sign in _CONTROLS:
            return ((_CONTROLS[sign], _CONTROLS[sign]),)
        if sign == "c" and self.at < len(self.pattern):
            self.at += 1
            code = ord(self.pattern[self.at - 1]) ^ 64
            return ((code, code),)
        if sign.isascii() and sign.isalnum():
            raise _ProblemError(f"the escape \\{sign}", invalid=sign not in "GXNBQE")
        return ((ord(sign), ord(sign)),)

    def _property(self, negated: bool) -> Ranges:
        found = re.compile(r"\\[pP](?:\{(\w+)\}|(\w))").match(self.pattern, self.at)
        name = found and (found[1] or found[2])
        if found is None or not name:
            raise _ProblemError(f"the class {self.pattern[self.at:self.at + 12]!r}")
        self.at = found.end()
        members = _ranges(_POSIX[name]) if name in _POSIX else _of_category(name.removeprefix("Is"))
        if members is None:
            raise _ProblemError(f"the class {found[0]!r}")
        return complement(members) if negated else members


class _ProblemError(Exception):
    def __init__(self, text: str, *, invalid: bool = False) -> None:
        super().__init__(text)
        self.invalid = invalid


def _of_category(name: str) -> Ranges | None:
    if name == "LC":
        return category("Lu", "Ll", "Lt")
    names = [known for known in CATEGORIES if known == name or (len(name) == 1 and known[0] == name)]
    return category(*names) if names else None


def _ranges(members: str) -> Ranges:
    """The members of a class without operators; escapes are those of Python."""
    signs = re.findall(r"\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\.|.", members, re.DOTALL)
    codes = [ord(sign) if len(sign) == 1 else ord(sign.encode().decode("unicode_escape")) if sign[1] in "xutnrf" else
             ord(sign[1]) for sign in signs]
    found, at = [], 0
    while at < len(codes):
        if at + 2 < len(codes) and signs[at + 1] == "-":
            found.append((codes[at], codes[at + 2]))
            at += 3
        else:
            found.append((codes[at], codes[at]))
            at += 1
    return union(tuple(found))
