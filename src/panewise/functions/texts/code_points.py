"""Sets of characters as ranges of code points, and Unicode's categories as Java 17 knows them.

Java 17 has Unicode 13. Python has a newer one, in which more characters are letters; those that Java does not know are
unassigned here, too.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Sorted, and none touches the next; both ends belong to a range."""
LAST = 0x10FFFF
_CHANGED = {0x1734: "Mn"}
"""Characters whose category is another one since Unicode 13."""
CATEGORIES = ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Zs", "Zl", "Zp", "Cc", "Cf", "Co",
              "Cs", "Cn", "Pd", "Ps", "Pe", "Pc", "Po", "Pi", "Pf", "Sm", "Sc", "Sk", "So")


def union(*sets: Ranges) -> Ranges:
    """Every character of one of the sets.

    >>> union(((97, 99),), ((100, 101), (65, 65)))
    ((65, 65), (97, 101))
    """
    found: list[list[int]] = []
    for first, last in sorted(pair for one in sets for pair in one):
        if found and first <= found[-1][1] + 1:
            found[-1][1] = max(found[-1][1], last)
        else:
            found.append([first, last])
    return tuple((first, last) for first, last in found)


def complement(of: Ranges) -> Ranges:
    """Every other character."""
    found, begin = [], 0
    for first, last in of:
        if first > begin:
            found.append((begin, first - 1))
        begin = last + 1
    return (*found, (begin, LAST)) if begin <= LAST else tuple(found)


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """The characters of both."""
    return complement(union(complement(one), complement(other)))


def class_text(of: Ranges) -> str:
    """As a class of a regular expression; one that matches nothing where there are none."""
    parts = [f"\\U{first:08x}" if first == last else f"\\U{first:08x}-\\U{last:08x}" for first, last in of]
    return f"[{''.join(parts)}]" if parts else "(?!)"


@lru_cache(maxsize=64)
def category(*names: str) -> Ranges:
    """The characters of some of Unicode's two-letter categories."""
    return union(*(_categories().get(name, ()) for name in names))


@lru_cache(maxsize=1)
def _categories() -> dict[str, Ranges]:
    """All of them at once: every character is looked at, which takes about a tenth of a second, once."""
    unassigned = _unassigned()
    ends = dict(unassigned)
    found: dict[str, list[tuple[int, int]]] = {"Cn": list(unassigned)}
    begin, at, current = 0, 0, ""
    while at <= LAST:
        name = "Cn" if at in ends else _CHANGED.get(at) or unicodedata.category(chr(at))
        if name != current:
            if current not in ("", "Cn"):
                found.setdefault(current, []).append((begin, at - 1))
            begin, current = at, name
        at = ends.get(at, at) + 1
    return {name: tuple(ranges) for name, ranges in found.items()}


def _unassigned() -> Ranges:
    found, at = [], 0
    for part in _UNASSIGNED.split():
        gap, _, length = part.partition("+")
        first = at + int(gap, 16)
        at = first + int(length or "0", 16)
        found.append((first, at))
    return tuple(found)


_UNASSIGNED = """
378+1 7+3 8 2 15 18e 27+1 33+1 4 38+7 1c+3 7+a 1e f1 3d+1 66+d 3c+1 32+1 10 1d+1 2 c+34 16 13+a b2 9+1 3+1 17 8
2+2 5+1 a+1 3+1 5+7 2+3 3 6+1 1a+1 4 7+3 3+1 17 8 3 3 3+1 2 6+3 3+1 4+2 2+6 5 2+6 12+9 4 a 4 17 8 3 6+1 b 4 4+1
2+e 5+1 d+6 8 4 9+1 3+1 17 8 3 6+1 a+1 3+1 4+6 4+3 3 6+1 13+9 3 7+2 4 5+2 3 2 3+2 3+2 4+2 d+3 6+2 4 5+1 2+5 2+d
16+4 e 4 18 11+2 9 4 5+6 3 4+4 5+1 b+6 17 4 18 b 6+1 a 4 5+6 3+6 2 5+1 b 3+c e 4 34 4 7+3 11+1 1b 4 13+2 19 a
2+1 8+2 2+3 7 2 9+5 b+1 4+b 3b+3 1e+24 3 2 6 19 2 18+1 6 2 7+1 b+1 5+1f 49 25+3 28 25 10 e+24 c7 2+4 2+1 17a 5+1
8 2 5+1 2a 5+1 22 5+1 8 2 5+1 10 3a 5+1 44+1 21+2 1b+5 57+1 7+1 29e+2 5a+6 e 8+a 18+8 15+b e 4 3+b 5f+1 b+5 b+5
10 b+5 5a+6 2c+4 47+9 20 d+3 d+3 2+2 2b+1 6+a 2d+3 1b+5 c+2 3f+1 42 1e+1 c+5 b+5 f+1 12+3e 4d+3 2e+2 75+7 3d+2
10+2 3d+6 2c+1 c+7 2c+4 fb 11c+1 7+1 27+1 7+1 9 2 2 2 20+1 36 10 f+1 7 14+1 4 a 66 d+1 1c e+2 21+f 22+e 8d+3
298+18 c+14 715+1 21 99 30 95+4 2e 2+4 2+1 39+6 3+d 19+8 8 8 8 8 8 8 8 8 74+2c 1b 5a+b d7+19 d+3 41 57+1 68+4 2c
5f 55+b 30 6dde+2 48e+2 38+8 15d+13 b9+7 c1+1 a+29 39+2 b+5 39+7 47+7 d+5 75+a 1f+2 4f c+3 22 38+8 f+1 b+1 68+17
1d+9 7+1 7+1 7+8 8 8 3d+3 7f+1 b+5 2ba5+b 18+3 32+3 226f+1 6b+25 8+b 6+4 1b 6 2 3 3 7d+10 16e+f 41+1 37+27 f+1
1b+5 34 14 5+3 6 88+1 2 bf+2 7+1 7+1 7+1 4+2 8 8+9 6+1 d 1b 14 3 10+1 f+21 7c+4 4+3 2e+2 59 e+2 2+2e 2f+81 1e+2
32+e 1d+3 25+8 1f+4 2c+4 1f 26+3 f+29 9f+1 b+5 25+3 25+3 29+7 35+a 2+8f 138+8 17+9 9+97 7+1 2 2d 3+2 2+1 18 49+7
a+2f 14 3+4 22+2 1c+4 2+3f 39+3 15+1 33 3+4 9 4 1e+1 4+3 b+6 a+6 41+1f 28+3 d+8 37+2 1e+1 1c+4 1b+6 5+b 8+4f
4a+36 34+c 34+6 2f+7 b+125 20 2b 4+1 3+4d 29+7 2b+55 1d+13 18+8 4f+3 1f+e 44+a 2+1 1a+6 b+5 36 13+7 28+8 61 15+a
13 2d+40 8 2 5 10 c+5 3c+4 b+5 5 9+1 3+1 17 8 3 6 b+1 3+1 4+1 2+5 2+4 8+1 8+2 6+8a 5d 6+1d 49+7 b+a5 37+1 27+21
46+a b+5 e+12 3a+6 b+35 1c+1 10+3 11+bf 3d+63 54+b 9+1 2+1 9 3 1f 3+1 d+8 b+45 9+1 2f+1 c+1a 49+7 54+1c 3a+106 a
2e f+9 1e+2 21+1 17 f+48 8 3 2d+2 2 3 a+7 b+5 7 3 26 3 7+6 b+135 1a+b6 2+e 33+c 39c+65 70 6+a c5+abb 430 a+fc6
248+21b8 23a+6 20 b+3 3+5f 1f+1 7+9 47+9 b 8 16+4 14+2af 5c+64 4c+3 3a+6 12+3f 6+a 3+d 17f9+7 4d7+29 a+22f6
120+30 4+10 5+7 18d+903 6c+4 e+2 a+6 b+1 9+135b f7+9 28+1 c1+16 47+99 15+b 58+8 1a+86 56 48 3+1 2+1 3+1 5 d 2 8
42 5+1 9 8 1d 5 6 2+2 8 155+1 125+1 2bf+e 6 10+54f 8 12+1 8 3 6+d4 2e+2 f+1 b+3 3+16f 3b+4 2+4ff c6+1 11+28 4d+3
b+3 3+310 45+4b 3e+c1 5 1c 3 2+1 2 b 5 2 2+5 2+3 2 2 2 4 3 2+1 2 2 2 2 2 3 2+1 5 8 5 5 2 b 12+4 4 6 12+33 3+10d
2d+3 65+b 10+1 10 10 26+9 af+37 1e+c 2d+3 a+6 3+d 7+99 3d9+7 e+2 e+2 75+b 5a+6 d+13 d+3 39+7 b+5 29+7 1f+1 3+4d
7a 53 88+b f+1 6+2 4+4 8+8 1a+6 8+8 4+c 8+28 94 38+24 b+405 a6df+21 1036+a df+1 1683+d 1d32+c1e 21f+5e1
134c+aecb5 2+1d 61+7f f1+fe0f ffff+1 ffff+1
"""
"""What Unicode 13 has not assigned: the distance from the last range, and how many more follow (hexadecimal)."""
