"""Functions of text that take a pattern."""

from __future__ import annotations

from functions.catalogue import Case, case, each

_ONE = "string"
_REGEX = [
    "'a'",
    "'[a-c]+'",
    "'(\\\\w+) (\\\\w+)'",
    "'\\\\d+'",
    "'^.'",
    "'(a)(b)?'",
    "'\\\\s+'",
    "'(?i)h(e)l'",
    "'ä|ö|ü'",
    "''",
    "'\\\\p{L}'",
    "'o'",
    "'(.)\\\\1'",
]

PATTERNS: list[Case] = [
    *each([f"regexp_replace(a, {one}, '<$0>')" for one in _REGEX], _ONE),
    *each(
        [
            "regexp_replace(a, '(\\\\w)(\\\\w)', '$2$1')",
            "regexp_replace(a, 'a', '\\\\\\\\')",
            "regexp_replace(a, 'b', '')",
            "regexp_replace(a, 'a', 'x', 2)",
            "regexp_replace(a, 'a', '$')",
            "regexp_replace(a, 'a', '$3')",
        ],
        _ONE,
    ),
    case("regexp_replace(a, b, c)", "string", "string:pattern", "string:short"),
    case("regexp_replace(a, 'a', 'x', b)", "string", "int:position"),
    *each([f"regexp_extract(a, {one}, 0)" for one in _REGEX], _ONE),
    *each(
        [
            "regexp_extract(a, '(\\\\w+) (\\\\w+)')",
            "regexp_extract(a, '(\\\\w+) (\\\\w+)', 2)",
            "regexp_extract(a, '(\\\\w+) (\\\\w+)', 3)",
            "regexp_extract(a, '(a)|(b)', 2)",
            "regexp_extract(a, 'a', -1)",
        ],
        _ONE,
    ),
    case("regexp_extract(a, b, 0)", "string", "string:pattern"),
    case("regexp_extract(a, '(a)(b)?', b)", "string", "int:few"),
    *each([f"regexp_extract_all(a, {one}, 0)" for one in _REGEX], _ONE),
    *each(
        ["regexp_extract_all(a, '(\\\\w)(\\\\w)', 2)", "regexp_extract_all(a, '(a)|b')", "regexp_extract_all(a, 'a')"],
        _ONE,
    ),
    *each([f"regexp_count(a, {one})" for one in _REGEX], _ONE),
    *each([f"regexp_instr(a, {one})" for one in _REGEX], _ONE),
    *each([f"regexp_substr(a, {one})" for one in _REGEX], _ONE),
    *each(
        [
            "regexp_like(a, b)",
            "regexp(a, b)",
            "rlike(a, b)",
            "regexp_count(a, b)",
            "regexp_instr(a, b)",
            "regexp_substr(a, b)",
        ],
        ("string", "string:pattern"),
    ),
    *each(["like(a, b)", "ilike(a, b)"], ("string", "string:like")),
    *each(["like(a, b, '!')", "ilike(a, b, '!')"], ("string", "string:like")),
]
