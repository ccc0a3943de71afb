"""Functions that take a function: over arrays and maps."""

from __future__ import annotations

from functions.catalogue import Case, case, each

CASES: list[Case] = [
    *each(
        [
            "transform(a, x -> x * 2)",
            "transform(a, x -> x IS NULL)",
            "transform(a, (x, i) -> i)",
            "transform(a, (x, i) -> x - i)",
            "transform(a, x -> 10 / x)",
            "transform(a, x -> cast(x AS STRING))",
        ],
        "array<int:small>",
        "array<double:unit>",
    ),
    *each(["transform(a, x -> upper(x))", "transform(a, x -> concat(x, '!'))"], "array<string>"),
    *each("transform(a, x -> x + b)", ("array<int:small>", "int:small")),
    *each(
        [
            "transform(a, x -> size(x))",
            "transform(a, x -> transform(x, y -> y + 1))",
            "transform(a, x -> transform(x, y -> y + size(x)))",
        ],
        "array<array<int:small>>",
    ),
    *each(
        [
            "filter(a, x -> x > 0)",
            "filter(a, x -> x IS NOT NULL)",
            "filter(a, (x, i) -> i % 2 = 0)",
            "filter(a, x -> x = 1 OR x IS NULL)",
        ],
        "array<int:small>",
        "array<double:unit>",
    ),
    *each(
        [
            "exists(a, x -> x > 2)",
            "exists(a, x -> x IS NULL)",
            "forall(a, x -> x > 0)",
            "forall(a, x -> x IS NOT NULL)",
            "exists(a, x -> 10 / x > 1)",
        ],
        "array<int:small>",
    ),
    *each(
        [
            "aggregate(a, 0, (s, x) -> s + x)",
            "reduce(a, 0, (s, x) -> s + coalesce(x, 0))",
            "aggregate(a, 0, (s, x) -> s + coalesce(x, 0), s -> s * 10)",
            "aggregate(a, named_struct('n', 0, 's', 0), "
            "(s, x) -> named_struct('n', s.n + 1, 's', s.s + coalesce(x, 0)), s -> s.s / s.n)",
            "aggregate(a, 1, (s, x) -> s * coalesce(x, 1))",
            "aggregate(a, 0L, (s, x) -> s + x)",
            "aggregate(a, 0.0, (s, x) -> s + x)",
        ],
        "array<int:small>",
    ),
    *each("aggregate(a, '', (s, x) -> concat(s, coalesce(x, '')))", "array<string:short>"),
    *each(
        [
            "array_sort(a, (x, y) -> CASE WHEN x < y THEN 1 WHEN x > y THEN -1 ELSE 0 END)",
            "array_sort(a, (x, y) -> coalesce(x, 0) - coalesce(y, 0))",
        ],
        "array<int:small>",
    ),
    *each("array_sort(a, (x, y) -> coalesce(length(x), 0) - coalesce(length(y), 0))", "array<string>"),
    *each("array_sort(a, (x, y) -> null)", "array<int:small>"),
    *each(
        [
            "zip_with(a, b, (x, y) -> x + y)",
            "zip_with(a, b, (x, y) -> struct(x, y))",
            "zip_with(a, b, (x, y) -> coalesce(x, y))",
        ],
        ("array<int:small>", "array<int:small>"),
    ),
    *each(
        [
            "map_filter(a, (k, v) -> v > 0)",
            "map_filter(a, (k, v) -> k = 'a' OR v IS NULL)",
            "transform_keys(a, (k, v) -> upper(k))",
            "transform_keys(a, (k, v) -> concat(k, cast(v AS STRING)))",
            "transform_keys(a, (k, v) -> 1)",
            "transform_values(a, (k, v) -> v + 1)",
            "transform_values(a, (k, v) -> concat(k, '=', cast(v AS STRING)))",
        ],
        "map<string:letters,int:small>",
    ),
    *each(
        "map_zip_with(a, b, (k, x, y) -> coalesce(x, 0) + coalesce(y, 0))",
        ("map<string:letters,int:small>", "map<string:letters,int:small>"),
    ),
    *each(
        "map_zip_with(a, b, (k, x, y) -> concat(k, x, y))", ("map<string:letters,string>", "map<string:letters,string>")
    ),
    case("transform(a, x -> b)", "array<int>", "string"),
    case("transform(a, x -> a)", "array<int:few>"),
]
