"""Which types are asked for the one they meet in, and Spark's recorded answers (tools/ask_common_types.py)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "common_types.json"
FORMS = ("union", "except", "coalesce", "case", "array")
SET_OPERATIONS = {"union": "UNION ALL", "except": "EXCEPT ALL"}
ATOMS = ("void", "boolean", "tinyint", "smallint", "int", "bigint", "decimal(1,1)", "decimal(5,4)", "decimal(10,2)",
         "decimal(19,0)", "decimal(20,0)", "decimal(30,10)", "decimal(37,30)", "decimal(38,0)", "decimal(38,6)",
         "decimal(38,18)", "decimal(38,37)", "decimal(38,38)", "float", "double", "string", "binary", "date",
         "timestamp", "timestamp_ntz")
NESTED = ("array<int>", "array<bigint>", "array<float>", "array<decimal(38,38)>", "array<string>", "array<date>",
          "array<timestamp>", "array<array<int>>", "array<array<string>>", "map<string,int>",
          "map<string,decimal(10,2)>", "map<int,string>", "map<bigint,int>", "map<date,int>", "map<timestamp,int>",
          "map<timestamp_ntz,int>", "map<float,int>", "map<double,int>", "map<boolean,int>", "map<decimal(10,2),int>",
          "map<decimal(38,6),int>", "map<decimal(38,38),int>", "map<array<int>,int>", "map<array<string>,int>",
          "map<binary,int>", "array<struct<x:int>>", "array<struct<y:int>>", "array<struct<y:bigint>>",
          "struct<x:int>", "struct<x:bigint>", "struct<X:int>",
          "struct<x:string>", "struct<x:decimal(38,38)>", "struct<y:int>", "struct<x:int,y:int>")
TYPES = (*ATOMS, *NESTED)
LISTS = tuple(kinds for trio in (("int", "string", "date"), ("int", "float", "bigint"), ("int", "double", "string"),
                                 ("bigint", "decimal(38,38)", "double"), ("bigint", "decimal(38,38)", "decimal(38,0)"),
                                 ("date", "timestamp", "timestamp_ntz"), ("date", "timestamp", "string"),
                                 ("tinyint", "decimal(5,4)", "decimal(20,0)"), ("void", "float", "int"),
                                 ("array<int>", "array<string>", "array<bigint>"),
                                 ("array<string>", "array<date>", "array<timestamp>"))
              for kinds in permutations(trio))
"""Types of three at once, in every order."""
VALUES = ((("bigint", "decimal(38,38)"), ("1", "0.5")), (("bigint", "decimal(38,38)"), ("0", "0.123456789")),
          (("bigint", "decimal(38,18)"), ("1", "0.123456789012345678")),
          (("bigint", "decimal(38,18)"), ("9223372036854775807", "0.1")),
          (("decimal(38,0)", "decimal(38,38)"), ("10", "0.5")), (("int", "float"), ("16777217", "0.5")),
          (("bigint", "float"), ("9007199254740993", "0.5")), (("decimal(38,18)", "double"), ("1.5", "0.25")),
          (("date", "timestamp"), ("DATE '2024-01-02'", "TIMESTAMP '2024-01-02 03:04:05'")),
          (("int", "string"), ("1", "'2'")), (("int", "string"), ("1", "'x'")))


def expression(form: str, names: list[str]) -> str:
    """What is asked of columns.

    >>> expression("case", ["a", "b"])
    'CASE WHEN true THEN a WHEN true THEN b END'
    """
    if form == "case":
        return f"CASE {' '.join(f'WHEN true THEN {name}' for name in names)} END"
    return f"{form}({', '.join(names)})"


@dataclass(frozen=True)
class Asked:
    """Some types, and for every form the type they meet in; None where Spark refuses it."""

    kinds: tuple[str, ...]
    said: dict[str, str | None]


def written(asked: list[Asked]) -> list[list[Any]]:
    """Those that meet in some form: one type where all forms have the same, else one by form.

    >>> written([Asked(("int", "date"), dict.fromkeys(FORMS)), Asked(("int", "void"), dict.fromkeys(FORMS, "int"))])
    [['int', 'void', 'int']]
    """
    found: list[list[Any]] = []
    for one in asked:
        kinds = set(one.said.values())
        if kinds != {None}:
            found.append([*one.kinds, kinds.pop() if len(kinds) == 1 else one.said])
    return found


def recorded() -> tuple[list[Asked], list[list[Any]]]:
    """What Spark said of all types, and of rows."""
    data = json.loads(FILE.read_text())
    said = {tuple(kinds): found for *kinds, found in data["types"]}
    every = [*((one, other) for one in TYPES for other in TYPES), *LISTS]
    found = [(kinds, said.get(kinds)) for kinds in every]
    return [Asked(kinds, one if isinstance(one, dict) else dict.fromkeys(FORMS, one)) for kinds, one in found], \
        data["values"]
