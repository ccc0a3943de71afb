"""The query language: Spark SQL with window brackets, text to logical plan."""

from __future__ import annotations

from collections.abc import Mapping

from panewise.core.schema import Catalog
from panewise.plan.nodes import Node
from panewise.sql.binder import Binder
from panewise.sql.functions import aggregate_names
from panewise.sql.parameters import Parameters
from panewise.sql.parser import parse_query
from panewise.sql.snapshots import read_as_relations

__all__ = ["parse"]


def parse(text: str, catalog: Catalog, params: Mapping[str, object] | None = None,
          functions: Mapping[str, str] | None = None, lenient: bool = False) -> Node:
    """The logical plan of a query text.

    ``params`` are the values of ``:name`` parameters; they are bound as values and never read as text, except for
    ``[:name]``, whose value is a window (an object, or window text read on its own). ``functions`` lets a placeholder
    name of the query stand for a function, ``lenient`` groups by plain columns that stand beside aggregates.

    >>> from panewise.core.schema import SourceSchema
    >>> import pyarrow as pa
    >>> bids = SourceSchema.of(pa.schema({"ts": pa.timestamp("us"), "item": pa.string(), "price": pa.float64()}))
    >>> plan = parse("SELECT item, max(price) [RANGE 4 minutes, SLIDE :step, WA ts] FROM bids GROUP BY item",
    ...              Catalog.of(bids=bids), params={"step": "1 minute"})
    >>> plan.columns
    ('item', 'window', 'max(price)')
    """
    placeholders = dict(functions or {})
    parameters = Parameters(text, params)
    query = parse_query(text, aggregate_names() | placeholders.keys())
    parameters.check(query)
    return read_as_relations(Binder(text, catalog, parameters, placeholders, lenient=lenient).query(query).node)
