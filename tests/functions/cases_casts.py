"""Casts between every pair of types, those that Spark refuses included: then the refusal is the answer."""

from __future__ import annotations

from functions.catalogue import Case, case, each

_TYPES = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal(10,2)",
    "decimal(38,18)",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "interval day to second",
    "interval year to month",
]
_OF_TEXT = {
    "boolean": "string:boolean",
    "date": "string:date",
    "timestamp": "string:timestamp",
    "timestamp_ntz": "string:timestamp",
    "interval day to second": "string:interval",
    "interval year to month": "string:interval",
}
_OF_NUMBERS = {("bigint", "timestamp"): "bigint:seconds", ("double", "timestamp"): "double:seconds"}
_ZONED = {"timestamp", "timestamp_ntz", "date"}


def _pair(source: str, target: str, form: str) -> Case:
    pool = _OF_NUMBERS.get((source, target), source)
    if source == "string":
        numeric = target.startswith("decimal") or target in ("tinyint", "smallint", "int", "bigint", "float", "double")
        pool = "string:number" if numeric else _OF_TEXT.get(target, source)
    return case(
        f"{form}(a AS {target.upper()})",
        pool,
        named=form.lower(),
        in_zones=bool({source, target} & _ZONED) and source != target and (form == "CAST" or source == "string"),
    )


CASES: list[Case] = [_pair(source, target, "CAST") for source in _TYPES for target in _TYPES]
CASES += [_pair(source, target, "TRY_CAST") for source in _TYPES for target in _TYPES if source != target]
# A column has no narrower interval type than DAY TO SECOND or YEAR TO MONTH; a cast has.
CASES += [
    case(f"CAST(CAST(a AS INTERVAL {extent}) AS {target})", source, named="cast")
    for source, extents in {
        "interval day to second": ("DAY", "HOUR", "HOUR TO MINUTE", "MINUTE TO SECOND", "SECOND", "DAY TO HOUR"),
        "interval year to month": ("YEAR", "MONTH"),
    }.items()
    for extent in extents
    for target in ("STRING", "INT", "BIGINT", "DECIMAL(20,6)")
]
CASES += [
    one
    for form in ("CAST", "TRY_CAST")
    for one in [
        *[
            case(f"{form}(a AS {target})", source, named=form.lower())
            for source in (
                "decimal(38,18)",
                "decimal(20,10)",
                "decimal(3,0)",
                "double",
                "float",
                "bigint",
                "string:number",
            )
            for target in ("DECIMAL(5,2)", "DECIMAL(20,0)", "DECIMAL(38,38)", "DECIMAL(3,0)", "DECIMAL")
        ],
        *[
            case(f"{form}(a AS {target})", "string:interval", named=form.lower())
            for target in (
                "INTERVAL DAY",
                "INTERVAL HOUR TO SECOND",
                "INTERVAL DAY TO MINUTE",
                "INTERVAL YEAR",
                "INTERVAL MONTH",
                "INTERVAL",
                "INTERVAL SECOND",
            )
        ],
        *[
            case(f"{form}(a AS {target})", source, named=form.lower())
            for source, target in (
                ("interval day to second", "INTERVAL DAY"),
                ("interval day to second", "INTERVAL HOUR TO MINUTE"),
                ("interval year to month", "INTERVAL YEAR"),
                ("int", "INTERVAL DAY"),
                ("int", "INTERVAL YEAR"),
                ("bigint", "INTERVAL SECOND"),
                ("decimal(16,6)", "INTERVAL SECOND"),
                ("array<int>", "ARRAY<BIGINT>"),
                ("array<int>", "ARRAY<STRING>"),
                ("array<string:digits>", "ARRAY<INT>"),
                ("array<double>", "ARRAY<INT>"),
                ("array<int>", "STRING"),
                ("array<string>", "STRING"),
                ("array<double>", "STRING"),
                ("array<array<int>>", "STRING"),
                ("array<date>", "STRING"),
                ("array<decimal(10,2)>", "STRING"),
                ("array<binary>", "STRING"),
                ("array<boolean>", "STRING"),
                ("map<string,int>", "STRING"),
                ("map<string,int>", "MAP<STRING,BIGINT>"),
                ("map<int,double>", "STRING"),
                ("map<string:digits,int>", "MAP<INT,INT>"),
                ("map<int,double>", "MAP<STRING,INT>"),
                ("struct<x:int,y:string>", "STRING"),
                ("struct<x:int,y:string>", "STRUCT<x:BIGINT,y:STRING>"),
                ("struct<x:int,y:string>", "STRUCT<p:STRING,q:STRING>"),
                ("struct<x:int,y:string:digits>", "STRUCT<x:INT,y:INT>"),
                ("struct<x:int,y:string>", "STRUCT<x:INT>"),
                ("struct<x:double,y:array<int>,z:map<string,int>>", "STRING"),
                ("array<int>", "INT"),
                ("int", "ARRAY<INT>"),
                ("map<string,int>", "ARRAY<INT>"),
                ("string", "ARRAY<STRING>"),
                ("struct<x:int>", "INT"),
                ("array<int>", "MAP<INT,INT>"),
                ("string", "STRING"),
                ("string", "VARCHAR(5)"),
                ("string", "CHAR(5)"),
            )
        ],
    ]
]
CASES += each(
    ["CAST(a AS STRING)", "TRY_CAST(a AS STRING)"],
    "array<timestamp>",
    "struct<x:timestamp,y:timestamp_ntz>",
    named="cast",
    in_zones=True,
)
CASES += each(["CAST(null AS INT)", "CAST(null AS ARRAY<INT>)"], (), named="cast")
CASES += [
    *each("a::int", "double", "string:number", "bigint", named="::"),
    *each("a::string", "double", "date", named="::"),
]
_CONVERSIONS = {
    "bigint": ["int", "string:number", "double", "decimal(10,2)", "boolean"],
    "int": ["bigint", "string:number", "double", "boolean"],
    "smallint": ["int", "string:number"],
    "tinyint": ["int", "string:number"],
    "double": ["string:number", "int", "decimal(38,18)"],
    "float": ["string:number", "double", "bigint"],
    "decimal": ["int", "double", "string:number"],
    "string": ["int", "double", "float", "boolean", "decimal(10,2)", "binary"],
    "binary": ["string", "int"],
    "boolean": ["string:boolean", "int", "double"],
}
CASES += [case(f"{name}(a)", source) for name, sources in _CONVERSIONS.items() for source in sources]
CASES += each(
    ["date(a)", "timestamp(a)", "string(a)"], "date", "timestamp", "timestamp_ntz", "string:timestamp", in_zones=True
)
