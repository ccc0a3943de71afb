"""The query language: Spark SQL with window brackets, text to logical plan."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from panewise.core.places import placed
from panewise.core.schema import Catalog
from panewise.core.time import Day
from panewise.core.trees import deep_stack
from panewise.plan.nodes import Node
from panewise.plan.written import written
from panewise.sql.binder import Binder
from panewise.sql.functions import aggregate_names
from panewise.sql.parameters import DeclaredDay, Parameters
from panewise.sql.parser import parse_query
from panewise.sql.user_functions import Given, split
from panewise.sql.windows.snapshots import read_as_relations

__all__ = ["parse"]


def parse(text: str, catalog: Catalog, params: Mapping[str, object] | None = None,
          functions: Mapping[str, Given] | None = None, lenient: bool = False, day: str | date | None = None) -> Node:
    """The logical plan of a query text.

    ``params`` are the values of ``:name`` parameters; they are bound as values and never read as text, except for
    ``[:name]``, whose value is a window (an object, or window text read on its own). ``functions`` are the caller's
    own by name (`sql.user_functions`), or let a placeholder name of the query stand for a function, ``lenient`` groups
    by plain columns that stand beside aggregates. ``day`` is the day of bare times of day.

    >>> from panewise.core.schema import SourceSchema
    >>> import pyarrow as pa
    >>> bids = SourceSchema.of(pa.schema({"ts": pa.timestamp("us"), "item": pa.string(), "price": pa.float64()}))
    >>> plan = parse("SELECT item, max(price) [RANGE 4 minutes, SLIDE :step, WA ts] FROM bids GROUP BY item",
    ...              Catalog.of(bids=bids), params={"step": "1 minute"})
    >>> plan.columns
    ('item', 'window', 'max(price)')
    """
    placeholders, own = split(functions)
    declared = DeclaredDay(None if day is None else Day.parse(day))
    parameters = Parameters(text, params, declared, catalog.zone)
    query, named = parse_query(text, aggregate_names() | placeholders.keys(), own)
    parameters.check(named)
    with deep_stack(), placed(text):
        plan = read_as_relations(Binder(text, catalog, parameters, placeholders, lenient=lenient).query(query).node)
    declared.check_asked()
    return written(plan, text)
