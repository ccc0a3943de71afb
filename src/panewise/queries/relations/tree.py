"""Operators in the shape of the plan, stepped together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from panewise.kernels.relations.delta import Delta
from panewise.kernels.relations.operator import RelationOperator
from panewise.kernels.relations.stateless import FilterRows, OneZero, ProjectRows, RenameRows, UnionRows
from panewise.plan import nodes as n
from panewise.planner.labels import Label, UpdatePattern

PASSING = (FilterRows, ProjectRows, RenameRows, OneZero)
"""Operators that pass on what is said of rows, whatever it is."""


@dataclass
class Told:
    """How much an operator has put out since the query began."""

    lives: int = 0
    ends: int = 0


@dataclass(frozen=True)
class Stage:
    """One operator, what it reads, and the update pattern of what it puts out."""

    operator: RelationOperator
    inputs: tuple[Stage, ...]
    label: Label
    name: str
    told: Told = field(default_factory=Told)
    node: n.Node | None = None
    """What it runs of the plan, where it is one node."""
    runs: str = ""
    """How, where there was a choice."""

    @property
    def schema(self) -> pa.Schema:
        """The columns it puts out."""
        return self.operator.schema

    def step(self, upto: int) -> Delta:
        """Inputs first, in order, so that the numbers of rows ascend."""
        delta = self.operator.step([stage.step(upto) for stage in self.inputs], upto)
        self.told.lives += len(delta.lives)
        self.told.ends += len(delta.ends)
        return delta

    def name_gone(self) -> bool:
        """Ask for the rows that leave; whether they will be named."""
        if isinstance(self.operator, PASSING):  # what they drop or change, they do twice
            return self.inputs[0].name_gone()
        return self.operator.name_gone()

    def carry_vectors(self) -> bool:
        """Ask for expiry vectors in the place of ends; whether they will come."""
        if isinstance(self.operator, PASSING):
            return self.inputs[0].carry_vectors()
        if isinstance(self.operator, UnionRows):
            carried = [part.carry_vectors() for part in self.inputs]
            if any(carried):
                self.operator.number_strict(part.label.pattern is UpdatePattern.STR for part in self.inputs)
            return any(carried)
        return self.operator.carry_vectors()

    def counters(self) -> dict[str, Any]:
        """What it is, what it keeps and what it has told; ends over lives is the premature fraction (Golab 3.6.4)."""
        how = {"runs": self.runs} if self.runs else {}
        return {"operator": self.name, "pattern": str(self.label), **how, **self.operator.counters(),
                "lives": self.told.lives, "ends": self.told.ends}

    def walk(self) -> Iterator[Stage]:
        """This stage and all below, inputs first."""
        for stage in self.inputs:
            yield from stage.walk()
        yield self


def with_one_zero(below: Stage) -> Stage:
    """The input of an operator that compares whole rows; only floats have two zeros."""
    if not any(pa.types.is_floating(field.type) for field in below.schema):
        return below
    return Stage(OneZero(below.schema), (below,), below.label, "hidden")


def snapshot(root: Stage) -> tuple[list[dict[str, Any]], dict[str, pa.Table]]:
    """The state of all operators, in the order of ``walk``."""
    headers: list[dict[str, Any]] = []
    tables: dict[str, pa.Table] = {}
    for number, stage in enumerate(root.walk()):
        header, own = stage.operator.snapshot()
        headers.append({"told": [stage.told.lives, stage.told.ends], "state": header})
        tables |= {f"{number}:{name}": table for name, table in own.items()}
    return headers, tables


def restore(root: Stage, headers: list[dict[str, Any]], tables: Mapping[str, pa.Table]) -> None:
    """Become what ``snapshot`` saved."""
    for number, (stage, header) in enumerate(zip(root.walk(), headers, strict=True)):
        prefix = f"{number}:"
        own = {name.removeprefix(prefix): table for name, table in tables.items() if name.startswith(prefix)}
        stage.told.lives, stage.told.ends = header["told"]
        stage.operator.restore(header["state"], own)
