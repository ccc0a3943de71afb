"""What a query may refer to: streams and tables by name, their columns, and the attribute that orders a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import pyarrow as pa

from panewise.core.errors import SchemaError
from panewise.core.names import unknown_name
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar

ROW_NUM = "row-num"  # the implicit arrival position, 1-based; also written row_num, seq-num
ROW_NUM_NAMES = frozenset({"row-num", "row_num", "seq-num", "seq_num"})
DEFAULT_TIME_NAMES = ("ts", "timestamp", "time", "event_time")


class SourceKind(Enum):
    """How a named input changes over time."""

    STREAM = "stream"      # append-only, unbounded
    RELATION = "relation"  # updates reach back to rows that already arrived
    NRR = "nrr"            # non-retroactive relation: an update affects only later stream rows


@dataclass(frozen=True)
class SourceSchema:
    """The columns of one input and the column that orders it.

    An *open* schema takes any column name; it serves ``explain`` without data.
    """

    columns: Mapping[str, pa.DataType] = field(default_factory=dict, hash=False)
    time: str | None = None
    kind: SourceKind = SourceKind.STREAM
    open: bool = False
    zone: str = "UTC"
    """The time zone of the run, in which expressions and brackets read clocks; one for all inputs of a query."""
    key: tuple[str, ...] = ()
    """The columns of a table of whose values there is never more than one row; none are declared: a row as a whole."""
    computed: Mapping[str, Scalar] = field(default_factory=dict, hash=False)
    """Columns that the engine adds before rows come here, each with what it is of the others."""

    @classmethod
    def of(cls, schema: pa.Schema, *, time: str | None = None, kind: SourceKind = SourceKind.STREAM) -> SourceSchema:
        """From an Arrow schema; the time column is guessed by name, then by being the only timestamp.

        >>> SourceSchema.of(pa.schema({"k": pa.string(), "ts": pa.timestamp("us")})).time
        'ts'
        """
        columns = {f.name: f.type for f in schema}
        if time is None:
            named = [n for n in DEFAULT_TIME_NAMES if n in columns]
            stamped = [n for n, t in columns.items() if pa.types.is_timestamp(t)]
            time = named[0] if named else (stamped[0] if len(stamped) == 1 else None)
        elif time not in columns:
            raise SchemaError(unknown_name("time column", time, columns))
        return cls(columns, time, kind)

    def has(self, name: str) -> bool:
        """Whether the input has this column."""
        return self.open or name in self.columns

    def ordinal_kind(self, name: str) -> OrdinalKind:
        """What one step of this column is, for windows over it."""
        if name in ROW_NUM_NAMES:
            return OrdinalKind.ROWS
        if name not in self.columns:
            if self.open:
                return OrdinalKind.TIMESTAMP
            raise SchemaError(f"no column {name!r}; there are {', '.join(self.columns)}")
        return OrdinalKind.of(self.columns[name], name)


@dataclass(frozen=True)
class Catalog:
    """The inputs of a query by name.

    >>> Catalog.of(bids=pa.schema({"ts": pa.int64(), "price": pa.float64()})).get("bids").time
    'ts'
    """

    sources: Mapping[str, SourceSchema] = field(default_factory=dict, hash=False)
    open: bool = False
    declared_zone: str = "UTC"
    """The time zone where there are no sources to say it."""

    @classmethod
    def of(cls, **schemas: pa.Schema | SourceSchema) -> Catalog:
        """From schemas by keyword."""
        return cls({n: s if isinstance(s, SourceSchema) else SourceSchema.of(s) for n, s in schemas.items()})

    @classmethod
    def anything(cls, zone: str = "UTC") -> Catalog:
        """A catalog that knows no schema and accepts every name."""
        return cls(open=True, declared_zone=zone)

    @property
    def zone(self) -> str:
        """The time zone of the run."""
        return next((schema.zone for schema in self.sources.values()), self.declared_zone)

    def get(self, name: str) -> SourceSchema:
        """The schema of one input."""
        if name in self.sources:
            return self.sources[name]
        if self.open:
            return SourceSchema(time="ts", open=True, zone=self.zone)
        known = ", ".join(sorted(self.sources)) or "none"
        raise SchemaError(f"no stream named {name!r}; the streams given are: {known}")
