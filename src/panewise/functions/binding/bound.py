"""Typed expressions: what the binder makes of a text, and what is computed.

Every node has its Spark type before a row is read. A node is computed once per frame, however often it is used.
Branches (CASE, IF, COALESCE, AND, OR) are computed only on the rows that reach them, because a row that does not reach
a branch must not fail in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.errors import EvaluationError
from panewise.core.user_functions import plain_names
from panewise.functions.binding.frame import Datum, Frame, Here, as_array, scattered
from panewise.functions.binding.spans import Span


@dataclass(frozen=True, eq=False)
class Bound:
    """A typed expression."""

    type: pa.DataType
    tree: Any
    """The syntax it was made from, for messages; or that text itself."""
    span: Span | None = field(default=None, kw_only=True)
    """The fields of an interval, where they are not all of them."""

    @property
    def sql(self) -> str:
        """The text it was made from."""
        return plain_names(self.tree if isinstance(self.tree, str) else str(self.tree.sql(dialect="spark")))

    @property
    def children(self) -> Sequence[Bound]:
        """The expressions it reads."""
        return ()

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns it reads."""
        return frozenset().union(*(child.columns for child in self.children))

    @cached_property
    def constant(self) -> bool:
        """Whether it has one value for all rows."""
        return all(child.constant for child in self.children)

    def compute(self, frame: Frame) -> Datum:
        """A value per row, or one for all."""
        found = frame.known.get(self)
        if found is None:
            found = frame.known[self] = self._computed(frame)
        return found

    def array(self, frame: Frame) -> pa.Array:
        """A value per row."""
        return frame.array(self.compute(frame))

    def _computed(self, frame: Frame) -> Datum:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Constant(Bound):
    """A literal."""

    value: pa.Scalar

    def _computed(self, frame: Frame) -> Datum:
        return self.value


@dataclass(frozen=True, eq=False)
class ColumnOf(Bound):
    """A column of the input."""

    name: str

    @cached_property
    def columns(self) -> frozenset[str]:
        """Itself."""
        return frozenset({self.name})

    @cached_property
    def constant(self) -> bool:
        """Never."""
        return False

    def _computed(self, frame: Frame) -> Datum:
        column = frame.columns[self.name]
        return column if column.type == self.type else column.cast(self.type)


@dataclass(frozen=True, eq=False)
class Parameter(Bound):
    """A parameter of a lambda, inside it."""

    name: str

    @cached_property
    def constant(self) -> bool:
        """Never: it has another value for every element."""
        return False

    def _computed(self, frame: Frame) -> Datum:
        return frame.bound[self.name]


@dataclass(frozen=True, eq=False)
class Lambda(Bound):
    """``(x, y) -> body``: computed by the function it is given to."""

    parameters: tuple[str, ...]
    body: Bound

    @property
    def children(self) -> Sequence[Bound]:
        """Its body."""
        return (self.body,)

    def _computed(self, frame: Frame) -> Datum:
        return pa.nulls(frame.rows)  # it has no value of its own


@dataclass(frozen=True, eq=False)
class Call(Bound):
    """A function on its computed arguments."""

    arguments: tuple[Bound, ...]
    run: Callable[..., Datum]
    zone: str = "UTC"
    needs_here: bool = False
    needs_arrays: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    strict: bool = False
    """Null where an argument is null: arguments behind that one are not computed on the row, so cannot fail there."""
    order: tuple[int, ...] = ()
    """In which order, where not from left to right: divisions read the divisor first."""

    @property
    def children(self) -> Sequence[Bound]:
        """Its arguments."""
        return self.arguments

    def _operands(self, frame: Frame) -> list[Datum]:
        if not self.strict:
            return [child.compute(frame) for child in self.arguments]
        found: dict[int, Datum] = {}
        for number in self.order or range(len(self.arguments)):
            try:
                found[number] = self.arguments[number].compute(frame)
            except EvaluationError:
                if not found:
                    raise
                there = [frame.array(datum).is_valid() for datum in found.values()]
                mask = reduce(pc.and_, there)
                found[number] = scattered(self.arguments[number].array(frame.select(mask)), mask)
        return [found[number] for number in range(len(found))]

    def _computed(self, frame: Frame) -> Datum:
        if not frame.rows:
            return pa.nulls(0, self.type)
        data = self._operands(frame)
        rows = frame
        once = all(isinstance(d, pa.Scalar) for d in data)
        if once:  # one value for all rows: computed once, as a column of one row
            numbers = None if frame.numbers is None else frame.numbers.slice(0, 1)
            rows = frame if frame.rows == 1 else Frame(frame.columns, 1, numbers)
            data = [as_array(d, 1) for d in data]
        elif self.needs_arrays:
            data = [frame.array(d) for d in data]
        options = {"here": Here(rows, self.type, self.zone, self), **self.options} if self.needs_here else self.options
        found = self.run(*data, **options)
        if not once:
            return frame.array(found) if isinstance(found, pa.Scalar) else found
        return found if isinstance(found, pa.Scalar) else found[0]


@dataclass(frozen=True, eq=False)
class Lazy(Bound):
    """Arguments that are computed only on the rows that reach them."""

    arguments: tuple[Bound, ...]
    run: Callable[[Frame, tuple[Bound, ...], pa.DataType], Datum]

    @property
    def children(self) -> Sequence[Bound]:
        """Its arguments."""
        return self.arguments

    def _computed(self, frame: Frame) -> Datum:
        if not frame.rows:
            return pa.nulls(0, self.type)
        return self.run(frame, self.arguments, self.type)
