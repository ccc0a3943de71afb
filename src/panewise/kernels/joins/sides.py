"""What a join is of: the columns of each input, and which of them it needs for what."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from panewise.core.errors import PlanError, SchemaError
from panewise.core.join_kinds import LEFT, RIGHT, JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.functions import check_condition
from panewise.kernels.joins.keys import comes_back, common_type
from panewise.kernels.joins.pairing import Pairing


@dataclass(frozen=True)
class JoinSide:
    """One input: its columns, the time, the equi-key, and the columns that leave (all unless said)."""

    schema: pa.Schema
    time: str
    keys: tuple[str, ...] = ()
    output: tuple[str, ...] | None = None

    @property
    def leaving(self) -> tuple[str, ...]:
        """The columns of results."""
        return tuple(self.schema.names) if self.output is None else self.output

    def __post_init__(self) -> None:
        for name in (self.time, *self.keys, *self.leaving):
            if name not in self.schema.names:
                raise SchemaError(f"a join needs the column {name!r}; there are {', '.join(self.schema.names)}")


@dataclass(frozen=True)
class JoinSpec:
    """A window join: pairs of rows of equal keys whose times meet and for which the residual predicate holds.

    Times are ordinals beside the rows; ``residual`` reads the columns of both sides by their names, which differ.
    """

    left: JoinSide
    right: JoinSide
    pairing: Pairing
    residual: Scalar | None = None
    kind: JoinKind = JoinKind.INNER

    def __post_init__(self) -> None:
        if len(self.left.keys) != len(self.right.keys):
            raise PlanError(f"a join on {len(self.left.keys)} left and {len(self.right.keys)} right columns: "
                            "every key column needs its partner")
        twice = set(self.left.schema.names) & set(self.right.schema.names)
        if twice:
            raise PlanError(f"both sides of a join have a column {sorted(twice)[0]!r}: give each side an alias")
        if self.residual is not None:  # what cannot be computed is refused before a row is read
            check_condition(self.residual, pa.schema([*self.left.schema, *self.right.schema]))
        for left, right in zip(self.left.keys, self.right.keys, strict=True):
            types = self.left.schema.field(left).type, self.right.schema.field(right).type
            if common_type(*types) is None:
                raise SchemaError(f"{left!r} is {types[LEFT]} and {right!r} is {types[RIGHT]}: columns of these types "
                                  "cannot be a join key; compare them in the residual predicate")

    @property
    def sides(self) -> tuple[JoinSide, JoinSide]:
        """Both inputs."""
        return self.left, self.right

    @property
    def key_types(self) -> list[pa.DataType]:
        """The types in which keys are compared."""
        found = [common_type(self.left.schema.field(left).type, self.right.schema.field(right).type)
                 for left, right in zip(self.left.keys, self.right.keys, strict=True)]
        return [t for t in found if t is not None]

    def read_of(self, side: int) -> list[str]:
        """The columns of a stored row that something reads."""
        wanted = set() if self.kind.left_only and side == RIGHT else set(self.sides[side].leaving)
        wanted |= self.residual.columns if self.residual is not None else frozenset()
        return [name for name in self.sides[side].schema.names if name in wanted]

    def from_time(self, side: int, name: str) -> bool:
        """Whether a column can be made again from the time of a row."""
        if name != self.sides[side].time:
            return False
        data_type = self.sides[side].schema.field(name).type
        return data_type == pa.int64() or (pa.types.is_timestamp(data_type) and data_type.unit == "us") \
            or OrdinalKind.of(data_type, name) is OrdinalKind.DATE

    def from_key(self, side: int, name: str) -> int | None:
        """The place of a column in the key, if it can be made again from there."""
        keys = self.sides[side].keys
        if name not in keys:
            return None
        place = keys.index(name)
        return place if comes_back(self.sides[side].schema.field(name).type, self.key_types[place]) else None

    def stored(self, side: int) -> pa.Schema:
        """The columns a stored row keeps beside its time and key."""
        schema = self.sides[side].schema
        return pa.schema([schema.field(name) for name in self.read_of(side)
                          if not self.from_time(side, name) and self.from_key(side, name) is None])

    @property
    def output_schema(self) -> pa.Schema:
        """The columns of results: left, then right."""
        fields = [self.left.schema.field(name) for name in self.left.leaving]
        if not self.kind.left_only:
            fields += [self.right.schema.field(name) for name in self.right.leaving]
        return pa.schema(fields)
