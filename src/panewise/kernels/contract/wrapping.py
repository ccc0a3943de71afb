"""A kernel around another one: what it does not change is the inner kernel's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from panewise.kernels.contract.kernel import WindowKernel
from panewise.kernels.contract.state_file import Saved, part_of, together

INNER = "inner"


class WrappingKernel(WindowKernel):
    """Delegates all but rows, promises and its own part of the state."""

    def __init__(self, inner: WindowKernel) -> None:
        super().__init__(inner.spec, inner.keys, inner.aggregates, attribute=inner.attribute, late=inner.late,
                         partition=inner.partition)
        self.inner = inner

    @property
    def result_schema(self) -> pa.Schema:
        """As the kernel inside."""
        return self.inner.result_schema

    @property
    def closed_below(self) -> int:
        """As the kernel inside."""
        return self.inner.closed_below

    def open_windows(self) -> list[int]:
        """As the kernel inside."""
        return self.inner.open_windows()

    def counters(self) -> dict[str, int]:
        """As the kernel inside."""
        return self.inner.counters()

    def peek(self) -> pa.Table:
        """As the kernel inside."""
        return self.inner.peek()

    def _inner_saved(self) -> Saved:
        return together({INNER: self.inner.save()})

    def _load_inner(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self.inner.load(*part_of((header, tables), INNER))
