"""Bucket: from here on windows are data, ids that rows and promises carry (Li 6.1.3).

Ids stay ranges, so that no row is copied RANGE/SLIDE times. What reads the rows still hears promises about the
attribute, because it judges late rows by them; bounds on ids are fewer: finer ones than the windows say nothing new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from panewise.core.ordinals import to_ordinals
from panewise.dataflow.batch import Batch, Tags
from panewise.dataflow.operators.base import Item, Keeping
from panewise.kernels.contract.state_file import Saved
from panewise.kernels.window_ids.context_free import wids_of
from panewise.progress.bounds import BoundTable
from panewise.progress.patterns import Below
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.windows.base import WindowSpec

WID = "<wid>"
"""The column that bounds on ids are about."""


class Ids:
    """Bounds on an attribute as bounds on the ids of windows, each said once."""

    def __init__(self, spec: WindowSpec, attribute: str) -> None:
        self.spec, self.attribute = spec, attribute
        self.said = BoundTable(WID)

    def news(self, promise: Punctuation) -> Punctuation | None:
        """What a bound on the attribute says of ids, if that is new; for the groups that the promise names."""
        bound = promise.bound(self.attribute)
        if bound is None:
            return None
        below = bound if bound in {NO_BOUND, FINISHED} else self.spec.closed_below(bound)
        others = {name: pattern for name, pattern in promise.patterns if name != self.attribute}
        found = Punctuation.of({**others, WID: Below(min(max(below, NO_BOUND), FINISHED))})
        return found if self.said.advance(found) else None

    @property
    def first(self) -> int:
        """No row to come, of whatever group, is in a window with a smaller id."""
        return self.said.linear


class Bucket(Keeping):
    """Tags rows with the ids of windows on an attribute; one serves all that have these windows over its input."""

    def __init__(self, spec: WindowSpec, attribute: str, schema: pa.Schema) -> None:
        self.schema, self.spec, self.attribute = schema, spec, attribute
        self.ids = Ids(spec, attribute)

    def take(self, port: int, batch: Batch) -> Batch:
        """The same rows with their ids."""
        del port
        values = batch.values
        if values is None:
            first_row = int(batch.rows[0]) if len(batch.rows) else 1
            values = to_ordinals(batch.table.column(self.attribute), self.attribute, first_row=first_row)
        return replace(batch, tags=Tags(values, *wids_of(self.spec, values)))

    def advance(self, port: int, promise: Punctuation) -> Iterator[Item]:
        """The promise as it came, then what it says of ids."""
        del port
        yield promise
        if (news := self.ids.news(promise)) is not None:
            yield news

    def saved(self) -> Saved:
        """The bounds on ids so far."""
        return {"ids": self.ids.said.snapshot()}, {}

    def become(self, header: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        del tables
        self.ids.said.restore(header["ids"])
