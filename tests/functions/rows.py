"""Argument rows of a signature, drawn from the pools with a seed made of the signature: they never change by chance."""

from __future__ import annotations

import random
from typing import Any

from functions.catalogue import Case
from functions.pools import POOLS, decimals
from functions.spark_types import SparkType, decimal_of, parse

FEWEST = 50
"""Rows of every signature, at least."""
USUAL = 64
"""Rows of a signature of several arguments."""


EQUAL = 6
"""Rows whose arguments are all the same, where their types are."""


def argument_rows(case: Case) -> list[list[Any]]:
    """All rows of a signature: every value of the longest pool once, the others drawn; a null in every place.

    >>> from functions.catalogue import Case
    >>> rows = argument_rows(Case("abs(a)", {"a": "tinyint"}))
    >>> len(rows) >= 50, rows[0], [None] in rows, [-128] in rows
    (True, [0], True, True)
    """
    draw = random.Random(f"{case.expression}|{sorted(case.columns.items())}")
    pools = [values(spec, draw) for spec in case.columns.values()]
    if not pools:
        return [[] for _ in range(1)]
    if len(pools) == 1:
        rows = [[value] for value in pools[0]] + [[None]]
        rows += [[draw.choice(pools[0])] for _ in range(FEWEST - len(rows))]
        return rows
    rows = []
    order = [draw.sample(pool, len(pool)) for pool in pools]
    for at in range(USUAL):
        # Each column walks its own pool; the others are drawn, so that edges meet ordinary values and each other.
        leading = at % len(pools)
        rows.append([own[(at // len(pools)) % len(own)] if place == leading else draw.choice(pool)
                     for place, (pool, own) in enumerate(zip(pools, order, strict=True))])
    for place in range(len(pools)):
        nulled = [draw.choice(pool) for pool in pools]
        nulled[place] = None
        rows.append(nulled)
    if len(set(case.columns.values())) == 1:  # few draws of large pools are equal
        rows += [[value] * len(pools) for value in draw.sample(pools[0], min(EQUAL, len(pools[0])))]
    rows.append([None] * len(pools))
    return rows


def values(spec: str, draw: random.Random) -> list[Any]:
    """The pool of a type, or the one named after it (``string:json``); made up for arrays, maps and structs."""
    if spec in POOLS:
        return POOLS[spec]
    return _made(parse(spec), draw)


def spark_type(spec: str) -> str:
    """The type alone of ``type:pool``. Inside arrays pools are named the same way: ``array<string:number>``.

    >>> spark_type("array<string:number>"), spark_type("map<string,int:few>"), spark_type("struct<x:int,y:string>")
    ('array<string>', 'map<string,int>', 'struct<x:int,y:string>')
    """
    return _bare(parse(spec))


def _bare(of: SparkType) -> str:
    if of.name == "struct":
        return f"struct<{','.join(f'{name}:{_bare(one)}' for name, one in zip(of.fields, of.of, strict=True))}>"
    if of.of:
        return f"{of.name}<{','.join(_bare(one) for one in of.of)}>"
    return of.name.split(":", maxsplit=1)[0]


def _made(of: SparkType, draw: random.Random) -> list[Any]:
    if of.name in POOLS:
        return POOLS[of.name]
    if of.name.startswith("decimal"):
        return decimals(*decimal_of(of.name))
    if of.is_months or of.is_days:
        return POOLS["interval year to month" if of.is_months else "interval day to second"]
    if of.name == "array":
        return _arrays(_made(of.of[0], draw), draw)
    if of.name == "map":
        return _maps(_made(of.of[0], draw), _made(of.of[1], draw), draw)
    if of.name == "struct":
        inside = [[*_made(one, draw), None] for one in of.of]
        return [[draw.choice(pool) for pool in inside] for _ in range(FEWEST)] + [[None] * len(inside)]
    raise KeyError(f"no pool for {of.name}")


def _arrays(inside: list[Any], draw: random.Random) -> list[Any]:
    few = draw.sample(inside, min(6, len(inside)))
    made: list[Any] = [[], [None], [None, None], [inside[0]], [inside[0], inside[0]], [inside[0], None, inside[0]]]
    for size in range(FEWEST - len(made)):
        # Half of the arrays hold few different values, so that doubles, overlaps and hits occur.
        source = few if size % 2 else inside
        made.append([draw.choice(source) if draw.random() > 0.15 else None for _ in range(1 + size % 7)])
    return made


def _maps(keys: list[Any], items: list[Any], draw: random.Random) -> list[Any]:
    few = keys[: max(4, len(keys) // 5)]
    made: list[Any] = [[]]
    for size in range(FEWEST - len(made)):
        source = few if size % 2 else keys
        chosen = draw.sample(source, min(1 + size % 5, len(source)))
        # Spark's maps have no key -0.0.
        distinct = dict.fromkeys(0.0 if key == 0.0 and isinstance(key, float) else key for key in chosen)
        made.append([[key, draw.choice(items) if draw.random() > 0.15 else None] for key in distinct])
    return made
