"""Comparisons: the operators that give a boolean from two or three values."""

from __future__ import annotations

from functions.cases_operators_types import ORDERED, PAIRS
from functions.catalogue import Case, each

COMPARISON: list[Case] = [
    one
    for sign in ("<=", ">", ">=", "!=")
    for one in each(
        f"a {sign} b",
        ("int", "int"),
        ("double", "double"),
        ("float", "float"),
        ("int", "double"),
        ("int", "string:digits"),
        *[(kind, kind) for kind in ORDERED],
        ("array<int>", "array<int>"),
        ("map<string,int>", "map<string,int>"),
        named=sign,
    )
]
COMPARISON += [
    one
    for sign in ("=", "<", "<=>")
    for one in each(
        f"a {sign} b",
        *PAIRS,
        *[(kind, kind) for kind in ORDERED],
        ("decimal(10,2)", "decimal(38,18)"),
        ("decimal(10,2)", "int"),
        ("decimal(10,2)", "double"),
        ("date", "string:date"),
        ("boolean", "string:boolean"),
        ("int", "boolean"),
        ("date", "int"),
        ("array<int>", "array<int>"),
        ("struct<x:int,y:string>", "struct<x:int,y:string>"),
        ("array<double>", "array<double>"),
        ("map<string,int>", "map<string,int>"),
        named=sign,
    )
]
COMPARISON += [
    one
    for sign in ("=", "<", "<=>")
    for one in each(
        f"a {sign} b",
        ("date", "timestamp"),
        ("timestamp", "timestamp_ntz"),
        ("timestamp", "string:timestamp"),
        ("timestamp_ntz", "string:timestamp"),
        ("date", "timestamp_ntz"),
        named=sign,
        in_zones=True,
    )
]
COMPARISON += [
    *each("a == b", ("int", "int"), named="="),
    *each("a <> b", ("int", "int"), ("string", "string"), named="!="),
]
COMPARISON += each(
    ["a BETWEEN b AND c", "a NOT BETWEEN b AND c"],
    ("int", "int", "int"),
    ("double", "double", "double"),
    ("string:letters", "string:letters", "string:letters"),
    ("date", "date", "date"),
    ("decimal(10,2)", "int", "double"),
    named="between",
)
COMPARISON += each(
    ["a IN (b, c)", "a NOT IN (b, c)"],
    ("int", "int", "int"),
    ("double", "double", "double"),
    ("string:letters", "string:letters", "string:letters"),
    ("int", "bigint", "double"),
    named="in",
)
COMPARISON += each(
    ["a IN (1, 2, null)", "a IN (1, 10)", "a NOT IN (1, null)", "a IN (1.5, 2)"], "int", "double", named="in"
)
COMPARISON += each(["a IN ('a', 'abc', '')"], "string", named="in")
COMPARISON += each("a IN ('1', 2)", "string:digits", "int", named="in")
COMPARISON += each(
    ["a IS NULL", "a IS NOT NULL"], "int", "string", "double", "array<int>", "struct<x:int>", named="is_null"
)
COMPARISON += each(
    ["a IS TRUE", "a IS NOT TRUE", "a IS FALSE", "a IS NOT FALSE", "a IS UNKNOWN", "a IS NOT UNKNOWN"],
    "boolean",
    named="is_true",
)
COMPARISON += each(
    ["a IS DISTINCT FROM b", "a IS NOT DISTINCT FROM b"],
    ("int", "int"),
    ("double", "double"),
    ("string:letters", "string:letters"),
    ("array<int>", "array<int>"),
    named="is_distinct",
)
