"""Functions of arrays, maps and structs (those with lambdas are a family of their own)."""

from __future__ import annotations

from functions.catalogue import Case, case, each

_ARRAYS = [
    "array<int>",
    "array<string:letters>",
    "array<double:unit>",
    "array<array<int:few>>",
    "array<decimal(10,2)>",
    "array<date>",
    "array<struct<x:int:few,y:string:short>>",
]
_MAPS = ["map<string:letters,int>", "map<int:few,string>", "map<double:unit,array<int>>"]

CASES: list[Case] = [
    *each(
        ["array_distinct(a)", "array_max(a)", "array_min(a)", "sort_array(a)", "array_sort(a)"], "array<double:edge>"
    ),
    *each(
        ["array_contains(a, b)", "array_position(a, b)", "array_remove(a, b)"], ("array<double:edge>", "double:edge")
    ),
    *each(
        ["array_union(a, b)", "array_intersect(a, b)", "array_except(a, b)", "arrays_overlap(a, b)"],
        ("array<double:edge>", "array<double:edge>"),
    ),
    *each(["size(a)", "cardinality(a)"], *_ARRAYS[:3], *_MAPS[:2], "int"),
    *each("array_size(a)", *_ARRAYS[:3], "map<string,int>"),
    *each(
        "array(a, b)",
        ("int", "int"),
        ("int", "double"),
        ("string", "string"),
        ("int", "string:digits"),
        ("array<int>", "array<int>"),
        ("date", "timestamp"),
    ),
    case("array()"),
    case("array(a)", "int"),
    *each(
        "array_contains(a, b)",
        ("array<int:few>", "int:few"),
        ("array<string:letters>", "string:letters"),
        ("array<double:unit>", "double:unit"),
        ("array<int:few>", "bigint:buckets"),
        ("array<array<int:few>>", "array<int:few>"),
        ("array<int>", "string"),
        ("array<decimal(10,2)>", "int:few"),
    ),
    *each(
        "array_position(a, b)",
        ("array<int:few>", "int:few"),
        ("array<string:letters>", "string:letters"),
        ("array<double:unit>", "double:unit"),
    ),
    *each(
        "array_remove(a, b)",
        ("array<int:few>", "int:few"),
        ("array<string:letters>", "string:letters"),
        ("array<double:unit>", "double:unit"),
    ),
    *each(
        ["array_append(a, b)", "array_prepend(a, b)"],
        ("array<int>", "int"),
        ("array<string>", "string"),
        ("array<int>", "double"),
        ("array<double>", "int"),
    ),
    *each("array_insert(a, b, c)", ("array<int>", "int:few", "int"), ("array<string>", "int:position", "string")),
    *each(["array_insert(a, 1, 9)", "array_insert(a, -1, 9)"], "array<int>"),
    *each("array_repeat(a, b)", ("int", "int:few"), ("string", "int:few"), ("array<int>", "int:few")),
    *each("array_distinct(a)", *_ARRAYS),
    *each("array_compact(a)", *_ARRAYS[:4]),
    *each(["array_max(a)", "array_min(a)"], *_ARRAYS, "array<boolean>", "array<map<int,int>>"),
    *each(
        ["array_union(a, b)", "array_intersect(a, b)", "array_except(a, b)", "arrays_overlap(a, b)"],
        ("array<int:few>", "array<int:few>"),
        ("array<string:letters>", "array<string:letters>"),
        ("array<double:unit>", "array<double:unit>"),
        ("array<int:few>", "array<bigint:buckets>"),
        ("array<array<int:few>>", "array<array<int:few>>"),
        ("array<date>", "array<date>"),
    ),
    *each("arrays_zip(a, b)", ("array<int>", "array<string>"), ("array<double>", "array<int>")),
    case("arrays_zip(a)", "array<int>"),
    case("arrays_zip(a, b, c)", "array<int>", "array<int>", "array<int>"),
    *each(
        ["array_join(a, ',')", "array_join(a, '', 'NULL')", "array_join(a, '-', '')"],
        "array<string>",
        "array<int>",
        "array<date>",
    ),
    case("array_join(a, b)", "array<string>", "string:short"),
    case("array_join(a, b, c)", "array<string>", "string:short", "string:short"),
    *each("flatten(a)", "array<array<int>>", "array<array<string>>", "array<int>"),
    *each("reverse(a)", *_ARRAYS[:4]),
    *each(["sort_array(a)", "sort_array(a, true)", "sort_array(a, false)"], *_ARRAYS, "array<boolean>"),
    *each("array_sort(a)", *_ARRAYS),
    *each("slice(a, b, c)", ("array<int>", "int:few", "int:few"), ("array<string>", "int:position", "int:position")),
    *each(["slice(a, 1, 2)", "slice(a, -2, 2)", "slice(a, 0, 1)", "slice(a, 1, -1)"], "array<int>"),
    *each(
        "element_at(a, b)",
        ("array<int>", "int:few"),
        ("array<string>", "int:position"),
        ("map<string:letters,int>", "string:letters"),
        ("map<int:few,string>", "int:few"),
        ("map<double:unit,int>", "double:unit"),
        ("array<int>", "bigint:buckets"),
    ),
    *each(
        "try_element_at(a, b)",
        ("array<int>", "int:few"),
        ("array<string>", "int:position"),
        ("map<string:letters,int>", "string:letters"),
        ("map<int:few,string>", "int:few"),
    ),
    *each("get(a, b)", ("array<int>", "int:few"), ("array<string>", "int:position"), ("array<array<int>>", "int:few")),
    *each("sequence(a, b)", ("int:few", "int:few"), ("bigint:buckets", "int:small"), ("tinyint", "tinyint")),
    *each("sequence(a, b, c)", ("int:few", "int:few", "int:few"), ("int:small", "int:small", "int:small")),
    *each(
        [
            "sequence(a, date_add(a, b), INTERVAL '1' MONTH)",
            "sequence(a, date_add(a, b), INTERVAL '7' DAY)",
            "sequence(a, date_add(a, b))",
            "sequence(a, date_sub(a, b), INTERVAL '-1' DAY)",
        ],
        ("date", "int:small"),
        named="sequence",
    ),
    *each(
        [
            "sequence(a, a + INTERVAL '5' HOUR, INTERVAL '1' HOUR)",
            "sequence(a, a + INTERVAL '3' DAY)",
            "sequence(a, a + INTERVAL '4' MONTH, INTERVAL '1' MONTH)",
            "sequence(a, a - INTERVAL '4' HOUR, INTERVAL '-90' MINUTE)",
        ],
        "timestamp",
        "timestamp_ntz",
        named="sequence",
        in_zones=True,
    ),
    *each(
        "map(a, b)",
        ("string", "int"),
        ("int", "string"),
        ("double", "int"),
        ("int", "array<int>"),
        ("map<int,int>", "int"),
    ),
    *each("map(a, b, c, d)", ("int:few", "string", "int:few", "string"), ("double:unit", "int", "double:unit", "int")),
    *each("map_keys(a)", *_MAPS),
    *each("map_values(a)", *_MAPS),
    *each("map_entries(a)", *_MAPS),
    *each(
        "map_contains_key(a, b)",
        ("map<string:letters,int>", "string:letters"),
        ("map<int:few,string>", "int:few"),
        ("map<double:unit,int>", "double:unit"),
    ),
    *each(
        "map_concat(a, b)",
        ("map<string:letters,int>", "map<string:letters,int>"),
        ("map<int:few,string>", "map<int,string>"),
        ("map<int,int>", "map<int,double>"),
    ),
    case("map_concat(a)", "map<string,int>"),
    *each("map_from_arrays(a, b)", ("array<int>", "array<string>"), ("array<string:letters>", "array<int>")),
    *each("map_from_arrays(array(a, b), array(c, d))", ("int:few", "int:few", "string", "string")),
    *each("map_from_entries(a)", "array<struct<x:int,y:string>>", "array<struct<x:string:letters,y:int>>"),
    *each("map_from_entries(map_entries(a))", "map<string,int>"),
    *each("map_from_entries(array(struct(a, b), struct(c, d)))", ("int:few", "string", "int:few", "string")),
    *each("struct(a, b)", ("int", "string"), ("double", "array<int>")),
    *each(["named_struct('x', a, 'y', b)", "named_struct('x', a, 'x', b)"], ("int", "string")),
    *each("struct(a AS p, b + 1 AS q, 'z')", ("int", "int:few")),
    *each("vector_inner_product(a, b)", ("array<float>", "array<float>")),
    *each("vector_l2_distance(a, b)", ("array<float>", "array<float>")),
    *each("vector_cosine_similarity(a, b)", ("array<float>", "array<float>")),
    *each(
        [
            "vector_norm(a)",
            "vector_norm(a, 1.0F)",
            "vector_norm(a, float('inf'))",
            "vector_norm(a, 3.0F)",
            "vector_normalize(a)",
            "vector_normalize(a, 1.0F)",
        ],
        "array<float>",
    ),
    *each(
        [
            f"{name}(array(a, b), array(c, d))"
            for name in ("vector_inner_product", "vector_l2_distance", "vector_cosine_similarity")
        ],
        ("float",) * 4,
    ),
]
