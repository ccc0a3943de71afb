"""Functions that read and write JSON, CSV, XML and the like inside a value."""

from __future__ import annotations

from functions.catalogue import Case, case, each

_PATHS = [
    "$",
    "$.a",
    "$.a.b",
    "$.a.b.c",
    "$.a[0]",
    "$.a[*]",
    "$[0]",
    "$[*].a",
    "$.c[2].d",
    "$['a b']",
    "$.ä",
    "$..a",
    "a",
    "",
    "$.a[*].b",
    "$.A",
    "$.*",
    "$[1]",
]

CASES: list[Case] = [
    *each([f'get_json_object(a, "{path}")' for path in _PATHS], "string:json"),
    *each(["json_array_length(a)", "json_object_keys(a)", 'schema_of_json(\'{"a":1,"b":[1.5]}\')'], "string:json"),
    *each(
        [
            "from_json(a, 'a INT')",
            "from_json(a, 'a STRING, b STRING')",
            "from_json(a, 'a DOUBLE')",
            "from_json(a, 'a ARRAY<INT>')",
            "from_json(a, 'ARRAY<INT>')",
            "from_json(a, 'MAP<STRING,STRING>')",
            "from_json(a, 'a STRUCT<b: STRUCT<c: INT>>')",
            "from_json(a, 'a DECIMAL(30,3)')",
            "from_json(a, 'a DATE')",
            "from_json(a, 'a BOOLEAN, b BOOLEAN')",
            "from_json(a, 'a BIGINT')",
            "from_json(a, 'a INT', map('mode', 'FAILFAST'))",
            "from_json(a, 'ARRAY<STRUCT<a: INT>>')",
        ],
        "string:json",
    ),
    *each(
        "to_json(a)",
        "struct<x:int,y:string>",
        "array<int>",
        "map<string,int>",
        "array<struct<x:int,y:string>>",
        "struct<x:double,y:date>",
        "struct<x:decimal(10,2),y:boolean>",
        "struct<x:array<int>,y:map<string,int>>",
        "struct<x:float,y:binary>",
        "map<int,double>",
    ),
    *each("to_json(a)", "struct<x:timestamp,y:timestamp_ntz>", in_zones=True),
    *each(
        ["to_csv(a)", "to_csv(a, map('sep', ';'))"],
        "struct<x:int,y:string>",
        "struct<x:double,y:date>",
        "struct<x:decimal(10,2),y:boolean>",
    ),
    *each(["from_csv(a, 'x INT, y STRING')", "from_csv(a, 'x STRING, y STRING')", "from_csv(a, 'x DOUBLE')"], "string"),
    case("schema_of_csv('1,abc')"),
    *each(
        [
            "xpath(a, 'a/b/text()')",
            "xpath_string(a, 'a/b')",
            "xpath_int(a, 'a/b')",
            "xpath_double(a, 'sum(a/b)')",
            "xpath_boolean(a, 'a/b')",
            "xpath_long(a, 'a/b')",
            "xpath_short(a, 'a/b')",
            "xpath_float(a, 'a/b')",
            "xpath_number(a, 'a/b')",
        ],
        "string:xml",
    ),
    *each(
        ["from_xml(a, 'b STRING')", "from_xml(a, 'b INT')", "from_xml(a, 'b ARRAY<STRING>, c STRING')"], "string:xml"
    ),
    case("schema_of_xml('<p><a>1</a></p>')"),
    *each("to_xml(a)", "struct<x:int,y:string>", "struct<x:double,y:date>"),
]

# Variants have no type in Arrow: their functions are asked through what can be read out of a variant.
_VARIANT = "try_parse_json(a)"
CASES += [
    one
    for name, expressions in {
        "parse_json": ["to_json(parse_json(a))", "cast(parse_json(a) AS STRING)"],
        "try_parse_json": [f"to_json({_VARIANT})", f"cast({_VARIANT} AS STRING)"],
        "variant_get": [
            f"variant_get({_VARIANT}, '$.a', '{of}')"
            for of in ("int", "string", "double", "array<int>", "boolean", "date")
        ]
        + [f"variant_get({_VARIANT}, '$[1]', 'string')"],
        "try_variant_get": [
            f"try_variant_get({_VARIANT}, '$.a', '{of}')"
            for of in ("int", "string", "double", "array<int>", "boolean", "date")
        ],
        "schema_of_variant": [f"schema_of_variant({_VARIANT})"],
        "is_variant_null": [f"is_variant_null({_VARIANT})", f"is_variant_null(variant_get({_VARIANT}, '$.a'))"],
        "is_valid_variant": [f"is_valid_variant({_VARIANT})"],
        "variant_insert": [
            f"to_json(variant_insert({_VARIANT}, '$.z', 1))",
            f"to_json(variant_insert({_VARIANT}, '$[1]', 1))",
        ],
        "try_variant_insert": [f"to_json(try_variant_insert({_VARIANT}, '$.a', 1))"],
        "variant_set": [
            f"to_json(variant_set({_VARIANT}, '$.a', 'x'))",
            f"to_json(variant_set({_VARIANT}, '$.q', 'x', false))",
        ],
        "try_variant_set": [f"to_json(try_variant_set({_VARIANT}, '$[0]', 'x'))"],
        "variant_delete": [
            f"to_json(variant_delete({_VARIANT}, '$.a'))",
            f"to_json(variant_delete({_VARIANT}, '$[0]', '$.b'))",
        ],
        "variant_array_append": [f"to_json(variant_array_append({_VARIANT}, '$', 4))"],
        "try_variant_array_append": [f"to_json(try_variant_array_append({_VARIANT}, '$.a', 4))"],
        "variant_strip_nulls": [f"to_json(variant_strip_nulls({_VARIANT}))"],
    }.items()
    for one in each(expressions, "string:json", named=name)
]
CASES += each(
    "to_json(to_variant_object(a))",
    "struct<x:int,y:string>",
    "array<int>",
    "map<string,int>",
    named="to_variant_object",
)
