"""What the states of an aggregate allow: whether rows can be subtracted again, and whether many can be kept."""

from __future__ import annotations

import pyarrow as pa

from panewise.aggregates.base import AggClass
from panewise.kernels.partials import BoundAggregate


def is_subtractable(aggregate: BoundAggregate) -> bool:
    """Whether a row's state can be taken away again, column by column, without a trace."""
    merges = aggregate.function.elementwise(aggregate.inputs)
    plain = all(field.type == pa.int64() and not field.nullable for field in aggregate.state_schema)
    return merges is not None and plain and set(merges) == {"sum"} and \
        aggregate.function.is_invertible(aggregate.inputs)


def has_small_states(aggregate: BoundAggregate) -> bool:
    """Whether a state is a few values, so that one may be kept for every few rows; lists and sketches are not."""
    if aggregate.function.short_lists:
        return True
    large = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary)
    return aggregate.function.agg_class is not AggClass.HOLISTIC and \
        not any(kind(field.type) for field in aggregate.state_schema for kind in large)
