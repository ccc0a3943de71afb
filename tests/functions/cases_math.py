"""Functions of numbers and of bits."""

from __future__ import annotations

from functions.catalogue import Case, case, each

_INTEGERS = ["tinyint", "smallint", "int", "bigint"]
_NUMBERS = ["int", "bigint", "double", "float", "tinyint", "smallint"]
_DECIMALS = ["decimal(10,2)", "decimal(38,18)", "decimal(20,10)", "decimal(5,0)", "decimal(38,0)"]

CASES: list[Case] = [
    *each(["greatest(a, b, c)", "least(a, b, c)"], ("double:edge",) * 3, ("float:edge",) * 3),
    *each(["pmod(a, b)", "mod(a, b)", "nanvl(a, b)", "pow(a, b)", "atan2(a, b)"], ("double:edge",) * 2),
    *each("abs(a)", *_NUMBERS, *_DECIMALS, "string:number", "interval day to second", "interval year to month"),
    *each(["ceil(a)", "floor(a)"], "double", "float", "int", "bigint", *_DECIMALS, "string:number", "tinyint"),
    *each("ceiling(a)", "double", "decimal(10,2)"),
    *each(
        ["ceil(a, 1)", "floor(a, 1)", "ceil(a, -1)", "floor(a, -1)", "ceil(a, 0)", "floor(a, 2)"],
        "double",
        "decimal(10,2)",
        "int",
        "decimal(38,18)",
        "bigint",
    ),
    *each(
        ["round(a)", "round(a, 0)", "round(a, 1)", "round(a, 2)", "round(a, -1)", "round(a, -3)", "round(a, 10)"],
        *_NUMBERS,
        *_DECIMALS,
    ),
    *each(["bround(a)", "bround(a, 1)", "bround(a, 2)", "bround(a, -1)", "bround(a, -3)"], *_NUMBERS, *_DECIMALS),
    case("round(a)", "string:number"),
    case("round(a, b)", "double", "int:scale"),
    *each("sqrt(a)", "double", "int", "decimal(10,2)", "string:number", "float"),
    *each(["pow(a, b)", "power(a, b)"], ("double", "double"), ("int", "int:small"), ("decimal(10,2)", "double:unit")),
    *each("mod(a, b)", ("int", "int"), ("double", "double"), ("decimal(10,2)", "decimal(10,2)"), ("bigint", "int")),
    *each(
        "pmod(a, b)",
        *[(one, one) for one in _NUMBERS],
        ("decimal(10,2)", "decimal(10,2)"),
        ("decimal(38,18)", "decimal(38,18)"),
        ("int", "bigint"),
        ("decimal(10,2)", "int"),
        ("int", "double"),
    ),
    *each(
        ["greatest(a, b, c)", "least(a, b, c)"],
        ("int", "int", "int"),
        ("double", "double", "double"),
        ("float", "float", "float"),
        ("string", "string", "string"),
        ("date", "date", "date"),
        ("int", "bigint", "double"),
        ("decimal(10,2)", "decimal(5,4)", "int"),
        ("boolean", "boolean", "boolean"),
        ("binary", "binary", "binary"),
        ("timestamp", "timestamp", "timestamp"),
        ("array<int>", "array<int>", "array<int>"),
        ("string:number", "int", "int"),
    ),
    *each(
        ["sign(a)", "signum(a)"], "double", "int", "decimal(10,2)", "interval day to second", "string:number", "float"
    ),
    *each("negative(a)", *_NUMBERS, "decimal(10,2)", "interval year to month"),
    *each("positive(a)", "int", "double", "decimal(10,2)", "string:number"),
    *each(["exp(a)", "expm1(a)"], "double:angle", "int:small", "decimal(10,2)", "double"),
    *each(["ln(a)", "log10(a)", "log2(a)", "log1p(a)", "log(a)"], "double", "int", "decimal(10,2)", "double:unit"),
    *each("log(a, b)", ("double", "double"), ("int", "int"), ("decimal(10,2)", "double:unit")),
    *each(
        [
            f"{name}(a)"
            for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "cot", "sec", "csc", "asinh", "atan", "acosh")
        ],
        "double:angle",
        "int",
        "double",
    ),
    *each([f"{name}(a)" for name in ("asin", "acos", "atanh")], "double:unit", "double", "int:few"),
    *each("atan2(a, b)", ("double", "double"), ("double:unit", "double:unit"), ("int", "int")),
    *each(["degrees(a)", "radians(a)"], "double", "int", "double:angle"),
    *each(["rint(a)", "cbrt(a)"], "double", "int", "decimal(10,2)"),
    *each("hypot(a, b)", ("double", "double"), ("int", "int"), ("double:unit", "double:unit")),
    *each("factorial(a)", "int:small", "int", "bigint"),
    *each("bin(a)", "bigint", "int"),
    *each("hex(a)", "bigint", "int", "string", "binary", "double"),
    *each("unhex(a)", "string:hex", "string"),
    *each(
        [
            "conv(a, 16, 10)",
            "conv(a, 10, 2)",
            "conv(a, 10, 16)",
            "conv(a, 36, -10)",
            "conv(a, 10, -36)",
            "conv(a, 1, 10)",
        ],
        "string:hex",
        "string:number",
    ),
    case("conv(a, b, c)", "string:hex", "int:shift", "int:shift"),
    case("conv(a, 10, 2)", "bigint"),
    *each(
        ["width_bucket(a, b, c, d)"],
        ("double", "double:unit", "double:unit", "bigint:buckets"),
        ("int", "int:few", "int:position", "bigint:buckets"),
        ("interval day to second",) * 3 + ("bigint:buckets",),
    ),
    *each(["width_bucket(a, 0, 10, 5)", "width_bucket(a, 10, 0, 4)"], "double", "int"),
    *each("bit_count(a)", *_INTEGERS, "boolean"),
    *each(["bit_get(a, b)", "getbit(a, b)"], ("bigint", "int:bit"), ("int", "int:bit"), ("tinyint", "int:bit")),
    *each(
        ["shiftleft(a, b)", "shiftright(a, b)", "shiftrightunsigned(a, b)"],
        ("int", "int:shift"),
        ("bigint", "int:shift"),
        ("tinyint", "int:shift"),
    ),
    *each(
        ["try_add(a, b)", "try_subtract(a, b)", "try_multiply(a, b)", "try_divide(a, b)", "try_mod(a, b)"],
        *[(one, one) for one in _NUMBERS],
        ("decimal(10,2)", "decimal(10,2)"),
        ("decimal(38,18)", "decimal(38,18)"),
        ("int", "bigint"),
        ("int", "double"),
        ("decimal(38,0)", "int"),
        ("string:number", "int"),
    ),
    *each(
        "try_add(a, b)",
        ("interval day to second", "interval day to second"),
        ("interval year to month", "interval year to month"),
        ("date", "int:days"),
        ("date", "interval day to second"),
        ("timestamp", "interval year to month"),
    ),
    *each(
        "try_subtract(a, b)",
        ("interval day to second", "interval day to second"),
        ("date", "int:days"),
        ("timestamp", "interval day to second"),
        ("timestamp", "timestamp"),
    ),
    *each("try_multiply(a, b)", ("interval year to month", "int"), ("interval day to second", "double")),
    *each("try_divide(a, b)", ("interval year to month", "int"), ("interval day to second", "double")),
    case("e()"),
    case("pi()"),
    *each("nanvl(a, b)", ("double", "double"), ("float", "float"), ("int", "double")),
    *each("isnan(a)", "double", "float", "int", "string:number"),
]
