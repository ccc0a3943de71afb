"""The types that operators are asked with."""

from __future__ import annotations

INTEGERS = ["tinyint", "smallint", "int", "bigint"]
NUMBERS = [*INTEGERS, "float", "double"]
PAIRS = [(one, one) for one in NUMBERS] + [
    ("int", "bigint"),
    ("tinyint", "int"),
    ("int", "double"),
    ("bigint", "float"),
    ("int", "float"),
    ("float", "double"),
    ("int", "string:digits"),
    ("double", "string:digits"),
    ("string:digits", "string:digits"),
    ("string:number", "int"),
]
DECIMALS = [
    ("decimal(10,2)", "decimal(10,2)"),
    ("decimal(5,2)", "decimal(18,6)"),
    ("decimal(38,0)", "decimal(38,0)"),
    ("decimal(38,18)", "decimal(38,18)"),
    ("decimal(38,10)", "decimal(20,2)"),
    ("decimal(38,38)", "decimal(10,0)"),
    ("decimal(10,2)", "int"),
    ("bigint", "decimal(10,2)"),
    ("tinyint", "decimal(3,0)"),
    ("decimal(10,2)", "double"),
    ("float", "decimal(10,2)"),
    ("decimal(20,10)", "decimal(1,1)"),
    ("decimal(10,2)", "string:digits"),
]
SIGNS = ["+", "-", "*", "/", "%"]
ORDERED = [
    "boolean",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "interval day to second",
    "interval year to month",
    "decimal(10,2)",
]
