"""Operators in the shape of the plan, stepped together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from panewise.core.errors import EvaluationError
from panewise.kernels.relations.edges.delta import Delta
from panewise.kernels.relations.edges.operator import RelationOperator
from panewise.plan import nodes as n
from panewise.plan.physical import AtOnce, PhysicalNode


@dataclass
class Told:
    """How much an operator has put out since the query began."""

    lives: int = 0
    ends: int = 0


@dataclass(frozen=True)
class Stage:
    """One operator that runs, what it reads, and the node of the physical plan that it obeys."""

    operator: RelationOperator
    inputs: tuple[Stage, ...]
    plan: PhysicalNode
    told: Told = field(default_factory=Told)

    @property
    def schema(self) -> pa.Schema:
        """The columns it puts out."""
        return self.operator.schema

    def step(self, upto: int) -> Delta:
        """Inputs first, in order, so that the numbers of rows ascend."""
        below = [stage.step(upto) for stage in self.inputs]
        try:
            delta = self.operator.step(below, upto)
        except EvaluationError as error:
            error.over = self.plan.node
            raise
        self.told.lives += len(delta.lives)
        self.told.ends += len(delta.ends)
        return delta

    @property
    def node(self) -> n.Node | None:
        """What it runs of the plan, where it is no helper."""
        return None if self.plan.helps else self.plan.node

    def counters(self) -> dict[str, Any]:
        """What it is, what it keeps and what it has told; ends over lives is the premature fraction (Golab 3.6.4)."""
        how = {"runs": str(self.plan.algorithm)} if isinstance(self.plan.algorithm, AtOnce) else {}
        return {"operator": self.plan.title, "pattern": self.plan.pattern, **how, **self.operator.counters(),
                "lives": self.told.lives, "ends": self.told.ends}

    def walk(self) -> Iterator[Stage]:
        """This stage and all below, inputs first."""
        for stage in self.inputs:
            yield from stage.walk()
        yield self


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
