"""Progress by definition: the bound in force for a row, from the punctuation that came before it.

The bound in force is the largest exclusive bound on the windowing attribute among all earlier punctuation, supplied or
generated, that covers the row's group. A row is late when its value is below it. Nothing is incremental here: every
question goes through the timeline again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from panewise.core.errors import ProgressError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import SourceSchema
from panewise.core.time import MOST_DIGITS, Quantity
from panewise.engines.oracle.tuples import ordinal
from panewise.plan.nodes import Source
from panewise.planner.facts.derived_times import Chosen
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Timeline

NOTHING = -(2**63)
"""The bound before any promise."""
EVERYTHING = 2**63 - 1
"""The bound when nothing more will come."""

TIME = "<time>"
"""The guard that compares with the source's own time column."""
Guard = str | Chosen | None
"""The column whose bounds decide what is late, or the greatest or least of both times of a join; None: nothing is."""


def bounds_after(source: Source, attribute: str, constants: Mapping[str, Any], timeline: Timeline,
                 progress: str) -> list[int]:
    """For every place in the timeline the bound in force after it, for rows of the source that have these constants.

    >>> from panewise.progress.timeline import timeline
    >>> s = Source("s", SourceSchema(time="ts", open=True))
    >>> items = timeline(s=[{"ts": 7}, Punctuation.below("ts", 5), Punctuation.below("ts", 9, k=1), {"ts": 12}])
    >>> bounds_after(s, "ts", {}, items, "source")[-1], bounds_after(s, "ts", {"k": 1}, items, "source")[-1]
    (5, 9)
    >>> bounds_after(s, "ts", {}, items, "late:3")[-1]
    9
    """
    generate = _Generator(progress, attribute, source.schema)
    found: list[int] = []
    bound = NOTHING
    for arrival in timeline:
        if arrival.stream == source.name:
            item = arrival.item
            made = _promised(item, attribute, constants) if isinstance(item, Punctuation) else \
                generate.after(item, constants)
            bound = max(bound, made)
        found.append(bound)
    return found


def _promised(punctuation: Punctuation, attribute: str, constants: Mapping[str, Any]) -> int:
    """What one punctuation says about rows with these constants: nothing, if it may be about other rows."""
    for name, pattern in punctuation.patterns:
        if name != attribute and not (name in constants and pattern.matches(constants[name])):
            return NOTHING
    if attribute not in dict(punctuation.patterns):
        return EVERYTHING  # every row with these constants, whatever its time
    bound = punctuation.bound(attribute)
    return NOTHING if bound is None else bound


class _Generator:
    """The progress policies of a source, row by row in arrival order."""

    def __init__(self, policy: str, attribute: str, schema: SourceSchema) -> None:
        self.name, self.argument = (part.strip() for part in (*policy.split(":", 1), "")[:2])
        self.attribute, self.highest = attribute, [NOTHING]  # the running maximum after each row
        self.kind = kind_of(schema, attribute)
        if self.name == "late":
            self.delay = (self.kind or OrdinalKind.TIMESTAMP).amount(Quantity.parse(_number(self.argument)))
        elif self.name == "rows":
            self.behind = Quantity.parse(_number(self.argument)).amount
        elif self.name == "substream":
            self.reached = dict.fromkeys(substreams(policy)[1], NOTHING)
        elif self.name not in {"source", "ordered", "column"}:
            raise ProgressError(f"the oracle does not know the progress policy {policy!r}: write source, ordered, "
                                "late:<duration>, rows:<n>, column:<name> or substream:<column>=<a>|<b>, without "
                                "options")

    def after(self, row: Mapping[str, Any], constants: Mapping[str, Any]) -> int:
        """What a row promises of rows with these constants."""
        if self.name == "source" or self.attribute not in row:
            return NOTHING
        if self.name == "substream":
            return self._after_substream(row, constants)
        self.highest.append(max(self.highest[-1], ordinal(row[self.attribute], self.attribute, self.kind)))
        if self.name == "ordered":
            return self.highest[-1]
        if self.name == "late":
            return self.highest[-1] - self.delay
        if self.name == "rows":
            return self.highest[max(0, len(self.highest) - 1 - self.behind)]
        said = row.get(self.argument)
        return NOTHING if said is None else ordinal(said, self.argument, self.kind)


    def _after_substream(self, row: Mapping[str, Any], constants: Mapping[str, Any]) -> int:
        """Nothing smaller of the row's own substream comes, and of all rows nothing that all have passed."""
        column = self.argument.partition("=")[0].strip()
        own = _registered(row.get(column), self.reached, column)
        value = ordinal(row[self.attribute], self.attribute, self.kind)
        self.reached[own] = max(self.reached[own], value)
        everywhere = min(self.reached.values())
        if column not in constants or _registered(constants[column], self.reached, column) != own:
            return everywhere
        return max(everywhere, self.reached[own])


def substreams(policy: str) -> tuple[str, list[str]]:
    """The column that distinguishes substreams and the registered ones, as they are written; nothing of others.

    >>> substreams("substream:k=a|b"), substreams("ordered")
    (('k', ['a', 'b']), ('', []))
    """
    name, _, argument = policy.partition(":")
    column, _, listed = argument.partition("=") if name.strip() == "substream" else ("", "", "")
    return column.strip(), [key.strip() for key in listed.split("|") if key.strip()]


def _registered(value: Any, known: Mapping[str, int], column: str) -> str:
    """The registered substream of a value: numbers are written as text, too."""
    for text in known:
        try:
            same = value == (float(text) if isinstance(value, float) else type(value)(text))
        except (TypeError, ValueError):
            same = str(value) == text
        if same:
            return text
    raise ProgressError(f"substream {value!r} of {column!r} is not registered; registered are {', '.join(known)}")


def later(bound: int, by: int) -> int:
    """A bound on what is so much later."""
    return bound if bound in {NOTHING, EVERYTHING} else bound + by


def kind_of(schema: SourceSchema, column: str) -> OrdinalKind | None:
    """What one step of a column is, where the schema knows it."""
    return schema.ordinal_kind(column) if column in schema.columns else None


def _number(text: str) -> str | int:
    return int(text) if text.lstrip("-").isdecimal() and len(text) < MOST_DIGITS else text
