"""Signatures that Spark answers and panewise refuses by name, each with the reason.

The key is the expression and the types of its columns. The differential test demands that they are refused as long as
they stand here, and that nothing else is.
"""

from __future__ import annotations

from dataclasses import dataclass

ZONE_NAMES = "names of time zones (z) are those of Java's own locale data"

REFUSED: dict[tuple[str, ...], str] = {
    ("date_format(a, 'z')", "timestamp"): ZONE_NAMES,
    ("date_format(a, 'zzzz')", "timestamp"): ZONE_NAMES,
    ("from_json(a, 'a INT', map('mode', 'FAILFAST'))", "string"): "options of formats are not supported in process",
    ("right(a, b)", "binary", "int"): "Spark counts characters in bytes that are no UTF-8, and reads beyond their end",
}


@dataclass(frozen=True)
class RefusedRows:
    """Rows that fail because of the pattern they bring along; a constant pattern is refused when binding."""

    column: int
    patterns: frozenset[str]
    reason: str


REFUSED_ROWS: dict[tuple[str, ...], RefusedRows] = {
    ("date_format(a, b)", "timestamp", "string"): RefusedRows(1, frozenset({"z", "zzzz"}), ZONE_NAMES),
    ("to_timestamp(a, b)", "string", "string"): RefusedRows(1, frozenset({"z"}), ZONE_NAMES),
}
"""They must fail with the condition UNSUPPORTED_PATTERN, every other row must be as Spark's."""

NOT_FOLLOWED: dict[tuple[str, ...], tuple[list[object], object, str]] = {
    ("element_at(sequence(1, 5), a % 5 + 1)", "int"):
        ([None], None, "a null index of a constant array gives 0 in Spark's interpreter, which is a defect of Spark's: "
                       "the element at null is null everywhere else"),
}
"""Rows (arguments, the answer here) on which Spark answers wrongly by its own rules."""
