"""Operators: arithmetic, comparison, logic, bits, text, conditions, and reaching into values."""

from __future__ import annotations

from functions.cases_operators_comparison import COMPARISON
from functions.cases_operators_types import DECIMALS, INTEGERS, NUMBERS, PAIRS, SIGNS
from functions.catalogue import Case, case, each

ARITHMETIC: list[Case] = [one for sign in SIGNS for one in each(f"a {sign} b", *PAIRS, *DECIMALS, named=sign)]
ARITHMETIC += each(
    "a + b",
    ("date", "int:days"),
    ("date", "tinyint"),
    ("date", "bigint"),
    ("int:days", "date"),
    ("boolean", "int"),
    ("binary", "int"),
    ("array<int>", "int"),
    named="+",
)
ARITHMETIC += each("a - b", ("date", "int:days"), ("date", "date"), ("string:date", "date"), named="-")
ARITHMETIC += each(
    "a + b",
    ("date", "interval day to second"),
    ("date", "interval year to month"),
    ("timestamp", "interval day to second"),
    ("timestamp", "interval year to month"),
    ("timestamp_ntz", "interval day to second"),
    ("timestamp_ntz", "interval year to month"),
    ("interval day to second", "timestamp"),
    ("interval day to second", "interval day to second"),
    ("interval year to month", "interval year to month"),
    named="+",
    in_zones=True,
)
ARITHMETIC += each(
    "a - b",
    ("date", "interval day to second"),
    ("date", "interval year to month"),
    ("timestamp", "interval day to second"),
    ("timestamp", "interval year to month"),
    ("timestamp", "timestamp"),
    ("timestamp_ntz", "timestamp_ntz"),
    ("timestamp", "date"),
    ("date", "timestamp"),
    ("timestamp_ntz", "timestamp"),
    ("interval day to second", "interval day to second"),
    ("interval year to month", "interval year to month"),
    named="-",
    in_zones=True,
)
ARITHMETIC += each(
    [
        "a + INTERVAL '1' DAY",
        "a + INTERVAL '2' MONTH",
        "a - INTERVAL '90' MINUTE",
        "a + INTERVAL 1 day",
        "a + INTERVAL '1 2' DAY TO HOUR",
        "a - INTERVAL '1-1' YEAR TO MONTH",
        "a + INTERVAL 3 weeks",
        "a + INTERVAL 1 month 2 days",
    ],
    "date",
    "timestamp",
    "timestamp_ntz",
    named="+",
    in_zones=True,
)
ARITHMETIC += each(
    "a * b",
    ("interval day to second", "int"),
    ("interval year to month", "int"),
    ("interval day to second", "double"),
    ("int", "interval year to month"),
    ("interval year to month", "decimal(10,2)"),
    named="*",
)
ARITHMETIC += each(
    "a / b",
    ("interval day to second", "int"),
    ("interval year to month", "int"),
    ("interval day to second", "double"),
    ("interval year to month", "double"),
    named="/",
)
ARITHMETIC += each(
    "-a",
    *NUMBERS,
    "decimal(10,2)",
    "decimal(38,18)",
    "interval day to second",
    "interval year to month",
    "string:number",
    named="-",
)
ARITHMETIC += each("+a", "int", "double", "decimal(10,2)", "string:digits", named="+")
ARITHMETIC += each(
    "a div b",
    *[(one, one) for one in INTEGERS],
    ("int", "bigint"),
    ("decimal(10,2)", "decimal(10,2)"),
    ("decimal(38,18)", "decimal(10,2)"),
    ("interval day to second", "interval day to second"),
    ("interval year to month", "interval year to month"),
    ("double", "double"),
    ("int", "string:digits"),
    named="div",
)
ARITHMETIC += each("a % b", ("decimal(38,10)", "decimal(38,2)"), named="%")
ARITHMETIC += [
    case("a + 1", "int", named="+"),
    case("a * 1.5", "int", named="*"),
    case("a / 2", "int", named="/"),
    case("a + 0.1", "double", named="+"),
    case("a * 2.50BD", "decimal(10,2)", named="*"),
    case("a + 1e0", "decimal(10,2)", named="+"),
    case("a - 1L", "int", named="-"),
    case("a + '1'", "int", named="+"),
    case("2 * a + b / 4 - 1", "bigint", "double", named="+"),
    case("a + null", "int", named="+"),
    case("a - 1.5F", "double", named="-"),
    case("a + 1Y", "tinyint", named="+"),
    case("a * 10S", "smallint", named="*"),
    case("a / 3", "decimal(10,2)", named="/"),
    case("a % 3", "double", named="%"),
    case("a / 0", "int", named="/"),
    case("a % 0", "double", named="%"),
    case("a + 100", "decimal(38,2)", named="+"),
]

LOGIC: list[Case] = [
    *each("a AND b", ("boolean", "boolean"), ("int", "boolean"), ("string:boolean", "boolean"), named="and"),
    *each("a OR b", ("boolean", "boolean"), ("string:boolean", "boolean"), named="or"),
    *each(["NOT a", "!a"], "boolean", "int", "string:boolean", named="not"),
    case("a AND b OR NOT c", "boolean", "boolean", "boolean", named="and"),
    case("a > 0 AND 10 / a > 1", "int", named="and"),
    case("a = 0 OR 10 / a > 1", "int", named="or"),
]

BITS: list[Case] = [
    one
    for sign in "&|^"
    for one in each(
        f"a {sign} b",
        *[(kind, kind) for kind in INTEGERS],
        ("tinyint", "bigint"),
        ("double", "int"),
        ("boolean", "boolean"),
        named=sign,
    )
]
BITS += each("~a", *INTEGERS, "double", named="~")
BITS += [
    one
    for sign in ("<<", ">>", ">>>")
    for one in each(
        f"a {sign} b",
        ("int", "int:shift"),
        ("bigint", "int:shift"),
        ("tinyint", "int:shift"),
        ("int", "bigint"),
        named=sign,
    )
]

TEXT: list[Case] = each(
    "a || b",
    ("string", "string"),
    ("string", "int"),
    ("binary", "binary"),
    ("array<int>", "array<int>"),
    ("string", "date"),
    ("string", "double"),
    ("int", "int"),
    ("string", "boolean"),
    ("string", "binary"),
    ("array<int>", "array<bigint>"),
    ("string", "decimal(10,2)"),
    ("string", "float"),
    named="||",
)
TEXT += each("a || b", ("string:letters", "timestamp"), ("timestamp_ntz", "string:letters"), named="||", in_zones=True)
_PATTERNS = [
    "'%'",
    "'_'",
    "'a%'",
    "'%b%'",
    "'%c'",
    "'a_c'",
    "'abc'",
    "''",
    "'%\\\\%%'",
    "'a\\\\_c'",
    "'__'",
    "'%o w%'",
    "'ä%'",
    "'_b_'",
    "'%\\n%'",
]
TEXT += each([f"a LIKE {pattern}" for pattern in _PATTERNS], "string", named="like")
TEXT += each(
    [
        "a LIKE '%!%%' ESCAPE '!'",
        "a NOT LIKE 'a%'",
        "a LIKE 'a!_c%' ESCAPE '!'",
        "a LIKE ANY ('a%', '%c')",
        "a LIKE ALL ('a%', '%c')",
        "a NOT LIKE ALL ('a%', '%c')",
        "a LIKE SOME ('%b%', '_')",
        "a NOT LIKE ANY ('a%', '%c')",
    ],
    "string",
    named="like",
)
TEXT += each(["a LIKE b", "a NOT LIKE b"], ("string", "string:like"), named="like")
TEXT += each(["a LIKE b ESCAPE '!'"], ("string", "string:like"), named="like")
TEXT += each(
    [
        "a ILIKE 'A%'",
        "a ILIKE '%B%'",
        "a ILIKE 'ä%'",
        "a NOT ILIKE '%c'",
        "a ILIKE '%!%%' ESCAPE '!'",
        "a ILIKE ANY ('A%', '%C')",
    ],
    "string",
    named="ilike",
)
TEXT += each("a ILIKE b", ("string", "string:like"), named="ilike")
_REGEXES = [
    "'a'",
    "'^a.*'",
    "'[0-9]+'",
    "'[ab]+$'",
    "'\\\\d{2}'",
    "'\\\\bhello\\\\b'",
    "'(?i)HELLO'",
    "'\\\\p{Lu}'",
    "'^$'",
    "'.'",
    "'ä|ö'",
    "'[^\\\\x00-\\\\x7F]'",
    "'\\\\s'",
    "'\\\\w+\\\\W\\\\w+'",
    "'.😀.'",
    "'(a)\\\\1'",
]
TEXT += each([f"a RLIKE {pattern}" for pattern in _REGEXES], "string", named="rlike")
TEXT += each(["a NOT RLIKE 'a'", "a REGEXP '[a-c]{3}'"], "string", named="rlike")
TEXT += each("a RLIKE b", ("string", "string:pattern"), named="rlike")

CONDITIONS: list[Case] = [
    *each(
        "CASE WHEN a > b THEN a ELSE b END",
        ("int", "int"),
        ("double", "double"),
        ("int", "double"),
        ("date", "date"),
        named="case",
    ),
    *each("CASE a WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'many' END", "int", "double", named="case"),
    *each("CASE WHEN a IS NULL THEN 0 WHEN a > 10 THEN 1.5 END", "int", named="case"),
    *each("CASE WHEN a <> 0 THEN 10 / a ELSE 0 END", "int", "double", named="case"),
    *each(
        "CASE a WHEN b THEN b ELSE c END",
        ("int", "bigint", "decimal(10,2)"),
        ("string:letters", "string:letters", "string"),
        named="case",
    ),
    *each("CASE WHEN a THEN b WHEN c THEN null END", ("boolean", "string", "boolean"), named="case"),
]

ACCESS: list[Case] = [
    *each(
        "a[b]",
        ("array<int>", "int:few"),
        ("array<string>", "int:few"),
        ("array<array<int>>", "int:few"),
        ("array<int>", "bigint:buckets"),
        ("map<string,int>", "string:letters"),
        ("map<int,string>", "int"),
        ("map<double,int>", "double"),
        ("array<int>", "string:digits"),
        ("struct<x:int>", "int"),
        named="[]",
    ),
    *each(["a[0]", "a[1]", "a[-1]"], "array<int>", "array<struct<x:int,y:string>>", named="[]"),
    *each(["a['a']", "a['abc']", "a['']"], "map<string,int>", named="[]"),
    *each(["a.x", "a.y", "a['x']", "a.z", "a.X"], "struct<x:int,y:string>", named="."),
    *each(["a.x", "a.x[0]", "a[0].x"], "array<struct<x:int,y:string>>", named="."),
    *each("a.x.y", "struct<x:struct<y:int>>", named="."),
    *each("a.abc", "map<string,int>", named="."),
]

EDGES: list[Case] = [
    one
    for sign in ("+", "-", "*", "/", "%", "=", "<", "<=", ">", ">=", "<=>", "!=")
    for one in each(f"a {sign} b", ("double:edge", "double:edge"), ("float:edge", "float:edge"), named=sign)
]
EDGES += each("a IN (b, c)", ("double:edge",) * 3, named="in")
EDGES += each("a BETWEEN b AND c", ("double:edge",) * 3, named="between")
EDGES += each("a IS DISTINCT FROM b", ("double:edge",) * 2, named="is_distinct")
EDGES += each("CASE a WHEN b THEN 1 ELSE 2 END", ("double:edge",) * 2, named="case")

CASES = [*ARITHMETIC, *COMPARISON, *LOGIC, *BITS, *TEXT, *CONDITIONS, *ACCESS, *EDGES]
