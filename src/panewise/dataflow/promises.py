"""What results promise of those still to come: collected while a query runs, and written for their readers.

``{"valid_from": 9}`` says that all before instant 9 is told. Promises about times among the columns of results are
written with ``below``, because a reader may take another column as the one that orders: a slab ``{"a.ts": {"below":
15}}``, a box ``{"a.ts": {"below": 20}, "b.ts": {"below": 18}}``. ``{}``: nothing more comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.planner.facts.result_forms import VALID_FROM
from panewise.progress.notation import ordinal_to_json
from panewise.progress.patterns import Below
from panewise.progress.punctuation import Punctuation


class Promises:
    """The last promise about each set of times; later ones say more."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, ...], Punctuation] = {}

    def __iter__(self) -> Any:
        return iter(self._last.values())

    def note(self, promise: Punctuation) -> bool:
        """Take in what was said; whether it is new. What holds for single keys only is not kept."""
        if not all(isinstance(pattern, Below) for _, pattern in promise.patterns):
            return True
        if promise.covers_everything:
            self._last.clear()
        names = tuple(name for name, _ in promise.patterns)
        if self._last.get(names) == promise:
            return False
        self._last[names] = promise
        return True

    def snapshot(self) -> list[dict[str, Any]]:
        """As data that JSON can hold."""
        return [promise.to_state() for promise in self]

    def restore(self, saved: Iterable[Mapping[str, Any]]) -> None:
        """Become what ``snapshot`` saved."""
        self._last.clear()
        for state in saved:
            self.note(Punctuation.from_state(state))


def as_json(promise: Punctuation, schema: pa.Schema) -> dict[str, Any]:
    """A promise about results with these columns.

    >>> box = Punctuation.of({"a.ts": Below(20), "b.ts": Below(18)})
    >>> as_json(box, pa.schema({"a.ts": pa.int64(), "b.ts": pa.int64()}))
    {'a.ts': {'below': 20}, 'b.ts': {'below': 18}}
    """
    found: dict[str, Any] = {}
    for name, pattern in promise.patterns:
        assert isinstance(pattern, Below), "promises about single keys are not written"
        bound = ordinal_to_json(pattern.bound, OrdinalKind.of(schema.field(name).type, name))
        found[name] = bound if name == VALID_FROM else {"below": bound}
    return found
