"""Functions of text: pieces, search, case, padding, regular expressions, codes, hashes."""

from __future__ import annotations

from functions.cases_text_patterns import PATTERNS
from functions.catalogue import Case, case, each

_ONE = "string"
CASES: list[Case] = [
    *each(
        ["substring(a, b, c)", "substr(a, b, c)"],
        ("string", "int:position", "int:position"),
        ("binary", "int:position", "int:position"),
    ),
    *each(["substring(a, b)", "substr(a, b)"], ("string", "int:position"), ("binary", "int:position")),
    *each(["substring(a FROM 2 FOR 3)", "substring(a, 0, 2)", "substring(a, -3)"], "string", named="substring"),
    *each("substring(a, 2, 2)", "int", "date", "double", "boolean"),
    *each(
        [
            "upper(a)",
            "lower(a)",
            "ucase(a)",
            "lcase(a)",
            "initcap(a)",
            "reverse(a)",
            "trim(a)",
            "ltrim(a)",
            "rtrim(a)",
            "btrim(a)",
        ],
        _ONE,
    ),
    *each(["upper(a)", "reverse(a)", "length(a)", "trim(a)"], "int"),
    *each(
        ["length(a)", "len(a)", "char_length(a)", "character_length(a)", "octet_length(a)", "bit_length(a)"],
        _ONE,
        "binary",
    ),
    *each(
        ["trim(BOTH b FROM a)", "trim(LEADING b FROM a)", "trim(TRAILING b FROM a)", "trim(b FROM a)"],
        ("string", "string:short"),
        named="trim",
    ),
    *each("trim(BOTH FROM a)", _ONE, named="trim"),
    *each("btrim(a, b)", ("string", "string:short"), ("binary", "binary")),
    *each(["ltrim(b, a)", "rtrim(b, a)"], ("string", "string:short")),
    *each(
        "concat(a, b)",
        ("string", "string"),
        ("string", "int"),
        ("binary", "binary"),
        ("array<int>", "array<int>"),
        ("int", "int"),
        ("array<string>", "array<int>"),
        ("double", "date"),
    ),
    case("concat(a, b, c)", "string", "string", "string"),
    case("concat(a)", "string"),
    case("concat()"),
    *each("concat_ws(a, b, c)", ("string:short", "string", "string"), ("string:short", "array<string>", "string")),
    *each(["concat_ws(',', a)"], "array<string>", "string"),
    case("concat_ws('-', a, b)", "string", "string"),
    case("concat_ws(a)", "string"),
    *each(
        "replace(a, b, c)",
        ("string", "string:short", "string:short"),
        ("string:letters", "string:letters", "string:short"),
    ),
    case("replace(a, b)", "string", "string:short"),
    *each(
        ["contains(a, b)", "startswith(a, b)", "endswith(a, b)"],
        ("string", "string:short"),
        ("string:letters", "string:letters"),
        ("binary", "binary"),
        ("int", "int"),
    ),
    *each("instr(a, b)", ("string", "string:short"), ("string:letters", "string:letters")),
    *each(
        ["locate(b, a)", "position(b, a)", "position(b IN a)"],
        ("string", "string:short"),
        ("string:letters", "string:letters"),
    ),
    *each(["locate(b, a, c)", "position(b, a, c)"], ("string:letters", "string:letters", "int:position")),
    *each("split(a, ',')", _ONE),
    *each(
        [
            "split(a, '[ab]')",
            "split(a, '')",
            "split(a, ',', 2)",
            "split(a, ',', -1)",
            "split(a, '\\\\s+')",
            "split(a, 'b', 0)",
        ],
        _ONE,
    ),
    case("split(a, b)", "string", "string:short"),
    case("split(a, b, c)", "string:letters", "string:short", "int:few"),
    *each(
        "split_part(a, b, c)", ("string", "string:short", "int:few"), ("string:letters", "string:letters", "int:few")
    ),
    *each(["split_part(a, ',', 1)", "split_part(a, 'b', -1)"], _ONE),
    *each(
        ["lpad(a, b, c)", "rpad(a, b, c)"], ("string", "int:small", "string:short"), ("binary", "int:small", "binary")
    ),
    *each(["lpad(a, b)", "rpad(a, b)"], ("string", "int:small"), ("binary", "int:small")),
    *each("repeat(a, b)", ("string", "int:few"), ("string", "int:small")),
    *each("space(a)", "int:small"),
    *each(["left(a, b)", "right(a, b)"], ("string", "int:position"), ("binary", "int:position")),
    *each(
        "translate(a, b, c)",
        ("string", "string:letters", "string:short"),
        ("string", "string:letters", "string:letters"),
    ),
    *each(["translate(a, 'abc', 'x')", "translate(a, 'aaé', '123')", "translate(a, '', 'x')"], _ONE),
    *each("ascii(a)", _ONE, "int"),
    *each(["chr(a)", "char(a)"], "bigint:codepoint", "int:codepoint"),
    *each(
        "overlay(a, b, c, d)",
        ("string", "string:short", "int:position", "int:position"),
        ("binary", "binary", "int:position", "int:position"),
    ),
    *each(["overlay(a PLACING b FROM c)"], ("string", "string:short", "int:position"), named="overlay"),
    *each(
        "substring_index(a, b, c)",
        ("string", "string:short", "int:few"),
        ("string:letters", "string:letters", "int:few"),
    ),
    *each("substring_index(a, ',', 2)", _ONE),
    *each(
        "elt(a, b, c)",
        ("int:choice", "string", "string"),
        ("int:choice", "binary", "binary"),
        ("int:choice", "string", "int"),
    ),
    *each("find_in_set(a, b)", ("string:letters", "string:letters"), ("string:short", "string")),
    *each("find_in_set(a, 'a,b,,ab,x')", "string:short"),
    *each("levenshtein(a, b)", ("string:words", "string:words"), ("string:letters", "string:letters")),
    *each("levenshtein(a, b, c)", ("string:words", "string:words", "int:few")),
    *each("jaro_winkler_similarity(a, b)", ("string:words", "string:words"), ("string:letters", "string:letters")),
    *each("soundex(a)", "string:words", _ONE),
    *each(
        ["format_string('%s-%s', a, b)", "printf('%s|%s', a, b)"],
        ("string", "string"),
        ("int", "double"),
        ("date", "decimal(10,2)"),
        ("boolean", "bigint"),
    ),
    *each(
        [
            "format_string('%d', a)",
            "format_string('%05d', a)",
            "format_string('%x', a)",
            "format_string('%,d', a)",
            "format_string('%+d', a)",
            "format_string('%10d|%-10d', a, a)",
            "format_string('%c', a)",
            "format_string('%.2f', a)",
        ],
        "int",
        "bigint",
    ),
    *each(
        [
            "format_string('%.2f', a)",
            "format_string('%e', a)",
            "format_string('%10.3f|', a)",
            "format_string('%s', a)",
            "format_string('%g', a)",
            "format_string('%,.1f', a)",
            "format_string('%d', a)",
        ],
        "double",
        "decimal(10,2)",
    ),
    *each(
        [
            "format_string('%10s|%-10s|', a, a)",
            "format_string('%%', a)",
            "format_string('%S', a)",
            "format_string('%.3s', a)",
            "format_string('%2$s %1$s', a, 'x')",
            "format_string('%q', a)",
            "format_string('%s %s', a)",
        ],
        _ONE,
    ),
    *each(
        ["format_number(a, 0)", "format_number(a, 2)", "format_number(a, 5)", "format_number(a, -1)"],
        "double",
        "int",
        "bigint",
        "decimal(38,18)",
        "float",
        "decimal(10,2)",
    ),
    *each(
        ["format_number(a, '#,##0.00')", "format_number(a, '')", "format_number(a, '0000.0')"],
        "double",
        "decimal(10,2)",
        "int",
    ),
    case("format_number(a, b)", "double", "int:few"),
    *each(["base64(a)", "md5(a)", "sha(a)", "sha1(a)", "crc32(a)", "to_base32(a)"], "binary", _ONE),
    *each("unbase64(a)", "string:base64"),
    *each("from_base32(a)", "string:hex", "string"),
    *each(
        ["sha2(a, 256)", "sha2(a, 0)", "sha2(a, 224)", "sha2(a, 384)", "sha2(a, 512)", "sha2(a, 100)"], _ONE, "binary"
    ),
    *each(
        ["hash(a)", "xxhash64(a)"],
        "int",
        "bigint",
        "string",
        "double",
        "float",
        "boolean",
        "date",
        "timestamp",
        "binary",
        "decimal(10,2)",
        "decimal(38,18)",
        "tinyint",
        "smallint",
        "array<int>",
        "struct<x:int,y:string>",
        "array<string>",
        "timestamp_ntz",
        "interval day to second",
        "interval year to month",
        "map<string,int>",
    ),
    *each(["hash(a, b)", "xxhash64(a, b)"], ("int", "string"), ("double", "date")),
    *each(["hmac(a, b)", "hmac(a, b, 'SHA-256')", "hmac(a, b, 'SHA-512')"], ("binary", "binary")),
    *each(
        [
            "encode(a, 'UTF-8')",
            "encode(a, 'US-ASCII')",
            "encode(a, 'ISO-8859-1')",
            "encode(a, 'UTF-16')",
            "encode(a, 'UTF-16BE')",
            "encode(a, 'UTF-16LE')",
            "encode(a, 'UTF-32')",
            "encode(a, 'utf-8')",
            "encode(a, 'windows-1252')",
        ],
        _ONE,
    ),
    *each(
        [
            "decode(a, 'UTF-8')",
            "decode(a, 'US-ASCII')",
            "decode(a, 'ISO-8859-1')",
            "decode(a, 'UTF-16')",
            "decode(a, 'UTF-16BE')",
            "decode(a, 'UTF-16LE')",
            "decode(a, 'UTF-32')",
        ],
        "binary",
    ),
    case("encode(a, b)", "string", "string:charset"),
    case("decode(a, b)", "binary", "string:charset"),
    *each(
        ["decode(a, 1, 'one', 2, 'two', 'other')", "decode(a, 1, 'one', null, 'none')", "decode(a, 0, 1.5, 1, 2)"],
        "int",
    ),
    *each("decode(a, 'a', 1, 'abc', 2)", _ONE),
    *each(["to_binary(a)", "to_binary(a, 'hex')", "try_to_binary(a, 'hex')"], "string:hex"),
    *each(["to_binary(a, 'utf-8')", "try_to_binary(a, 'utf-8')"], _ONE),
    *each(["to_binary(a, 'base64')", "try_to_binary(a, 'base64')"], "string:base64"),
    case("try_to_binary(a)", "string:hex"),
    *each(
        [
            f"{name}(a, {pattern})"
            for name in ("to_number", "try_to_number")
            for pattern in (
                "'999'",
                "'$99.99'",
                "'99,999'",
                "'S99'",
                "'99PR'",
                "'0,000.00'",
                "'MI999'",
                "'999D99'",
                "'G'",
                "'000'",
            )
        ],
        "string:numbered",
    ),
    *each(
        [
            f"{name}(a, {pattern})"
            for name in ("to_char", "to_varchar")
            for pattern in ("'999'", "'$99.99'", "'99,999'", "'S99'", "'99PR'", "'0,000.00'", "'999D99'", "'000'")
        ],
        "decimal(5,2)",
        "decimal(10,2)",
        "int",
    ),
    *each(["to_char(a, 'base64')", "to_char(a, 'hex')", "to_char(a, 'utf-8')", "to_varchar(a, 'hex')"], "binary"),
    *each("luhn_check(a)", "string:luhn"),
    *each("mask(a)", _ONE),
    *each(["mask(a, 'Q')", "mask(a, 'Q', 'q', 'd', 'o')", "mask(a, null, 'q')", "mask(a, 'X', 'x', null, '*')"], _ONE),
    *each("sentences(a)", _ONE),
    *each(["sentences(a, 'en', 'US')", "sentences(a, 'de')"], _ONE),
    *each("quote(a)", _ONE),
    *each(["is_valid_utf8(a)", "make_valid_utf8(a)", "validate_utf8(a)", "try_validate_utf8(a)"], _ONE),
    *each(
        [
            "is_valid_utf8(CAST(a AS STRING))",
            "make_valid_utf8(CAST(a AS STRING))",
            "validate_utf8(CAST(a AS STRING))",
            "try_validate_utf8(CAST(a AS STRING))",
        ],
        "binary",
    ),
    *each(
        [
            "parse_url(a, 'HOST')",
            "parse_url(a, 'PATH')",
            "parse_url(a, 'QUERY')",
            "parse_url(a, 'REF')",
            "parse_url(a, 'PROTOCOL')",
            "parse_url(a, 'FILE')",
            "parse_url(a, 'AUTHORITY')",
            "parse_url(a, 'USERINFO')",
            "parse_url(a, 'QUERY', 'k')",
            "parse_url(a, 'HOST', 'k')",
            "parse_url(a, 'nonsense')",
        ],
        "string:url",
    ),
    *each(["try_parse_url(a, 'HOST')", "try_parse_url(a, 'QUERY', 'k')", "try_parse_url(a, 'PATH')"], "string:url"),
    *each(["url_encode(a)"], _ONE, "string:url"),
    *each(["url_decode(a)", "try_url_decode(a)"], "string:encoded", _ONE),
    *each(
        ["str_to_map(a)", "str_to_map(a, ',')", "str_to_map(a, ',', ':')", "str_to_map(a, ';', '=')"], "string:keyed"
    ),
    *each("collation(a)", _ONE),
    *each(
        [
            f"aes_encrypt(a, '0000111122223333', {mode})"
            for mode in (
                "'ECB', 'PKCS'",
                "'CBC', 'PKCS', X'00000000000000000000000000000000'",
                "'GCM', 'NONE', X'000000000000000000000000'",
                "'XYZ'",
            )
        ],
        "binary",
        "string",
    ),
    *each(
        [
            f"{name}(aes_encrypt(a, '0000111122223333', 'ECB'), {key}, 'ECB')"
            for name in ("aes_decrypt", "try_aes_decrypt")
            for key in ("'0000111122223333'", "'3333222211110000'", "'short'")
        ],
        "binary",
    ),
    *PATTERNS,
]
