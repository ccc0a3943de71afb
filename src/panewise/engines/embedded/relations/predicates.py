"""A join's predicate taken apart: equalities between both sides, which can be hashed, and the rest."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from sqlglot import exp

from panewise.core.scalar import Scalar
from panewise.kernels.relations.key_codes import key_type
from panewise.kernels.relations.pairing import Match


def match_of(predicate: Scalar | None, left: pa.Schema, right: pa.Schema) -> Match:
    """Which expressions of both sides must be equal, and what must hold besides.

    >>> schemas = pa.schema({"l.a": pa.int64(), "l.b": pa.int64()}), pa.schema({"r.a": pa.int64()})
    >>> found = match_of(Scalar.parse("`r.a` + 1 = `l.a` AND `l.b` < `r.a`"), *schemas)
    >>> [s.sql for s in (*found.left, *found.right)], found.residual.sql
    (['`l.a`', '`r.a` + 1'], '`l.b` < `r.a`')
    """
    ours: list[Scalar] = []
    theirs: list[Scalar] = []
    types: list[pa.DataType] = []
    rest: list[exp.Expr] = []
    for part in _conjuncts(predicate.tree) if predicate is not None else ():
        found = _equality(part, left, right)
        if found is None:
            rest.append(part)
            continue
        one, other, data_type = found
        ours.append(one)
        theirs.append(other)
        types.append(data_type)
    keys = pa.schema([pa.field(f"k{i}", t) for i, t in enumerate(types)])
    return Match(ours, theirs, keys, Scalar.of(exp.and_(*rest, copy=False)) if rest else None)


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(tree, exp.And):
        yield from _conjuncts(tree.left)
        yield from _conjuncts(tree.right)
    elif isinstance(tree, exp.Paren):
        yield from _conjuncts(tree.this)
    else:
        yield tree


def _equality(part: exp.Expr, left: pa.Schema, right: pa.Schema) -> tuple[Scalar, Scalar, pa.DataType] | None:
    if not isinstance(part, exp.EQ):
        return None
    sides = Scalar.of(part.left), Scalar.of(part.right)
    for one, other in (sides, sides[::-1]):
        foreign = other.columns - set(left.names)
        if one.columns and one.columns <= set(left.names) and foreign == other.columns and other.columns \
                and other.columns <= set(right.names):
            found = key_type(_type(one, left), _type(other, right))
            return None if found is None else (one, other, found)
    return None


def _type(scalar: Scalar, schema: pa.Schema) -> pa.DataType:
    return scalar.evaluate(schema.empty_table()).type
