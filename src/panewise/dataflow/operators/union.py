"""The union without order: rows pass at once, and a promise holds when every input has made it (Meld, Li 8.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from panewise.dataflow.batch import Batch
from panewise.dataflow.operators.base import Item, Keeping
from panewise.functions.unions import in_types
from panewise.kernels.contract.state_file import Saved
from panewise.progress.meld import Meld
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED


class Merged(Keeping):
    """Rows of several inputs under one set of columns; ``attribute`` is the one that progress is asked about."""

    def __init__(self, schema: pa.Schema, inputs: Sequence[Sequence[str]], attribute: str | None) -> None:
        self.schema, self._names = schema, [list(names) for names in inputs]
        self._renamed = [dict(zip(names, schema.names, strict=True)) if names != schema.names else None
                         for names in self._names]
        self.meld = Meld(len(inputs), attribute or "")

    def take(self, port: int, batch: Batch) -> Batch:
        """Nothing is held."""
        table = batch.table if self._names[port] == self.schema.names else batch.table.select(self._names[port])
        typed = in_types(table, self.schema)
        return batch if typed is batch.table else batch.with_table(typed)

    def advance(self, port: int, promise: Punctuation) -> Sequence[Punctuation]:
        """What all inputs promise now that they did not before."""
        names = self._renamed[port]
        return self.meld.punctuate(port, promise if names is None else promise.rename(names))

    def silence(self, port: int, silent: bool) -> Iterable[Item]:
        """An input that fell silent holds no other back."""
        return self.meld.set_idle(port, silent)

    def is_silent(self, port: int, silent: bool) -> bool:
        """A union is silent when all its inputs are, or have ended."""
        del port
        return silent and all(name in self.meld.idle or table.linear == FINISHED
                              for name, table in self.meld.tables.items())

    def saved(self) -> Saved:
        """What each input has promised."""
        return {"meld": self.meld.snapshot()}, {}

    def become(self, header: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        self.meld.restore(header["meld"])
