"""What a function that binds its own call may ask of the binder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from panewise.functions.binding.bound import Bound, Lambda
from panewise.functions.binding.spans import Span

if TYPE_CHECKING:
    from sqlglot import exp


class Binding(Protocol):
    """The binder, as functions see it."""

    zone: str

    def bind(self, tree: exp.Expr) -> Bound:
        """The typed expression of a syntax tree."""

    def call(self, name: str, arguments: Sequence[Bound], tree: exp.Expr, **options: Any) -> Bound:
        """A declared function on bound arguments, cast as they must be."""

    def made(self, gives: pa.DataType, tree: exp.Expr, arguments: Sequence[Bound], run: Callable[..., Any],
             needs_here: bool = True, needs_arrays: bool = False, options: dict[str, Any] | None = None,
             strict: bool = False, order: tuple[int, ...] = (), span: Span | None = None) -> Bound:
        """A call of a Python function on arguments that have their types already."""

    def cast(self, bound: Bound, to: pa.DataType) -> Bound:
        """A bound expression in another type."""

    def together(self, parts: Sequence[Bound], tree: exp.Expr) -> tuple[Bound, ...]:
        """Branches in the type they have in common."""

    def branches(self, conditions: Sequence[Bound], values: Sequence[Bound], tree: exp.Expr) -> Bound:
        """The value of the first condition that holds, else the last one."""

    def condition(self, tree: exp.Expr) -> Bound:
        """An expression that must be true or false."""

    def comparable(self, pair: Sequence[Bound], tree: exp.Expr) -> list[Bound]:
        """Two operands in one type."""

    def lambda_of(self, tree: exp.Expr, types: Sequence[pa.DataType]) -> Lambda:
        """A lambda whose parameters have these types."""

    def error(self, problem: str, tree: exp.Expr, hint: str = "") -> Exception:
        """An error at a part of the expression."""
