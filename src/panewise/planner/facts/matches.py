"""Join predicates as the kernels take them: typed keys that can be hashed, and the rest."""

from __future__ import annotations

import pyarrow as pa

from panewise.core.scalar import Scalar
from panewise.functions import check_condition, type_of
from panewise.kernels.relations.joins.key_codes import key_type
from panewise.kernels.relations.joins.pairing import Match
from panewise.plan.nodes import AntiJoin, SemiJoin
from panewise.planner.facts.equi_keys import join_condition
from panewise.planner.facts.requests import schema_of
from panewise.planner.rewrites.scalars import conjuncts, equalities


def match_of(predicate: Scalar | None, left: pa.Schema, right: pa.Schema) -> Match:
    """Which expressions of both sides must be equal, and what must hold besides.

    >>> schemas = pa.schema({"l.a": pa.int64(), "l.b": pa.int64()}), pa.schema({"r.a": pa.int64()})
    >>> found = match_of(Scalar.parse("`r.a` + 1 = `l.a` AND `l.b` < `r.a`"), *schemas)
    >>> [s.sql for s in (*found.left, *found.right)], found.residual.sql
    (['`l.a`', '`r.a` + 1'], '`l.b` < `r.a`')
    """
    theirs = [name for name in right.names if name not in left.names]  # a name that both have means the left one
    condition = join_condition(predicate, left.names, theirs)
    types = {pair: key_type(type_of(pair.left, left), type_of(pair.right, right)) for pair in condition.keys}
    condition = condition.demoted([pair for pair, found in types.items() if found is None])
    if condition.residual is not None:  # what cannot be computed is refused before a row is read
        check_condition(condition.residual, pa.schema([*left, *(right.field(name) for name in theirs)]))
    keys = pa.schema([pa.field(f"k{i}", types[pair]) for i, pair in enumerate(condition.keys)])
    return Match([pair.left for pair in condition.keys], [pair.right for pair in condition.keys], keys,
                 condition.residual)


def needs_pairs(node: SemiJoin | AntiJoin) -> bool:
    """Whether more than equal keys decides who meets, so that pairs are looked at."""
    if node.predicate is None:
        return False
    left, right = schema_of(node.left), schema_of(node.right)
    if left is not None and right is not None:
        return match_of(node.predicate, left, right).residual is not None
    if not node.left.columns or not node.right.columns:  # not known before the query meets its inputs
        return len(equalities(node.predicate)) < len(conjuncts(node.predicate))
    theirs = [name for name in node.right.columns if name not in node.left.columns]
    return join_condition(node.predicate, node.left.columns, theirs).residual is not None
