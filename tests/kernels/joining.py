"""Joins by definition, and random streams for them: what the join kernels are compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.join_kinds import LEFT, RIGHT, JoinKind
from panewise.core.scalar import Scalar
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.joins.pairing import Band, Buckets, Pairing
from panewise.kernels.joins.progress import JoinProgress
from panewise.kernels.joins.sides import JoinSide, JoinSpec
from panewise.progress.patterns import Constant
from panewise.progress.punctuation import END, Punctuation

Row = tuple[int, str | None, int]
"""Time, key, value."""
SCHEMAS = tuple(pa.schema({f"{p}.ts": pa.int64(), f"{p}.k": pa.string(), f"{p}.v": pa.int64()}) for p in "lr")


@dataclass(frozen=True)
class Arriving:
    """Rows of one side, or a promise about it."""

    side: int
    rows: tuple[Row, ...] = ()
    promise: Punctuation | None = None


def spec_of(pairing: Pairing, *, keyed: bool = True, residual: bool = False,
            kind: JoinKind = JoinKind.INNER) -> JoinSpec:
    sides = [JoinSide(schema, f"{p}.ts", (f"{p}.k",) if keyed else ()) for p, schema in zip("lr", SCHEMAS, strict=True)]
    return JoinSpec(sides[LEFT], sides[RIGHT], pairing, Scalar.parse("`l.v` < `r.v`") if residual else None, kind)


def table_of(side: int, rows: Sequence[Row]) -> tuple[pa.Table, Any]:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMAS[side], strict=True)], schema=SCHEMAS[side])
    return table, np.array(columns[0], np.int64)


def random_pairing(random: Random) -> Pairing:
    low, high = sorted((random.randint(-6, 6), random.randint(-6, 6)))
    return Buckets(random.randint(1, 9), random.randint(0, 8)) if random.random() < 0.4 else Band(low, high)


def random_streams(random: Random, *, rows: int = 25, batch: int = 3, grouped: bool = True) -> list[Arriving]:
    """Rows of both sides in any order, cut into batches, with promises that are kept."""
    found: list[tuple[int, Row]] = []
    skew, mess = random.choice((0, 0, 10)), random.choice((0, 4, 40))
    for i in range(random.randint(0, rows)):
        side = random.randint(LEFT, RIGHT)
        time = i + skew * side + random.randint(-mess, mess)
        found.append((side, (time, random.choice(("a", "b", None)), random.randint(0, 3))))
    arriving: list[Arriving] = []
    at = 0
    while at < len(found):
        side, end = found[at][0], at + 1
        while end < len(found) and found[end][0] == side and end - at < batch:
            end += 1
        arriving.append(Arriving(side, tuple(row for _, row in found[at:end])))
        at = end
        if random.random() < 0.6:
            about = random.randint(LEFT, RIGHT)
            key = random.choice("ab") if grouped and random.random() < 0.4 else None
            ahead = [row[0] for s, row in found[at:] if s == about and (key is None or row[1] == key)]
            arriving.append(Arriving(about, promise=promise(about, min(ahead, default=None), key)))
    return arriving


def promise(side: int, bound: int | None, key: str | None = None) -> Punctuation:
    """A bound on a side's time; None: nothing more comes."""
    name, constants = "lr"[side], {} if key is None else {f"{'lr'[side]}.k": key}
    if bound is None:
        return Punctuation.of({n: Constant(v) for n, v in constants.items()}) if constants else END
    return Punctuation.below(f"{name}.ts", bound, **constants)


def by_definition(spec: JoinSpec, arriving: Iterable[Arriving]) -> Counter[tuple[Any, ...]]:
    """The result as a bag, from the predicate alone."""
    rows: tuple[list[Row], list[Row]] = ([], [])
    for item in arriving:
        rows[item.side].extend(item.rows)
    pairs = [(i, j) for i, one in enumerate(rows[LEFT]) for j, other in enumerate(rows[RIGHT])
             if meets(spec, one, other)]
    with_partner = ({i for i, _ in pairs}, {j for _, j in pairs})
    alone = [[row for i, row in enumerate(rows[side]) if i not in with_partner[side]] for side in (LEFT, RIGHT)]
    found = [] if spec.kind.left_only else [rows[LEFT][i] + rows[RIGHT][j] for i, j in pairs]
    nulls = (None, None, None)
    if spec.kind is JoinKind.SEMI:
        found += [rows[LEFT][i] for i in with_partner[LEFT]]
    elif spec.kind is JoinKind.ANTI:
        found += alone[LEFT]
    else:
        found += [row + nulls for row in alone[LEFT] if LEFT in spec.kind.preserved]
        found += [nulls + row for row in alone[RIGHT] if RIGHT in spec.kind.preserved]
    return Counter(found)


def meets(spec: JoinSpec, left: Row, right: Row) -> bool:
    same = not spec.left.keys or (left[1] is not None and left[1] == right[1])
    return same and spec.pairing.joins(left[0], right[0]) and (spec.residual is None or left[2] < right[2])


def run(join: Any, arriving: Iterable[Arriving]) -> list[tuple[Any, ...]]:
    """Everything through a join to the end of both streams; a result after a promise that rules it out fails."""
    results: list[tuple[Any, ...]] = []
    made: list[Punctuation] = []
    ends = [Arriving(side, promise=END) for side in (LEFT, RIGHT)]
    for item in [*arriving, *ends]:
        if item.promise is None:
            tables, news = [join.process(item.side, *table_of(item.side, item.rows))], []
        else:
            table, news = join.advance(item.side, item.promise)
            tables = [table]
        for row in (row for table in tables for row in table.to_pylist()):
            broken = [str(p) for p in made if p.attributes <= row.keys() and p.matches(row)]
            assert not broken, (row, broken)
            results.append(tuple(row.values()))
        made += news
    return results


def stored(join: OAJoin) -> int:
    return sum(store.rows for store in join.stores)


def promised(progress: JoinProgress, side: int, bound: int) -> list[Punctuation]:
    """What a join promises when an input has promised a bound."""
    return progress.news() if progress.punctuate(side, Punctuation.below(progress.times[side], bound)) else []
