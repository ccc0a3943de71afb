"""Relations beside the streams: their contents at an instant, and the two ways a stream meets them (Golab 3.3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from panewise.core.ages import first_in_table
from panewise.core.beginning import ALWAYS
from panewise.core.errors import SchemaError
from panewise.engines.oracle import operators
from panewise.engines.oracle.late import kind_of
from panewise.engines.oracle.tuples import Tup, joined, ordinal, value_of
from panewise.plan.nodes import Filter, Node, Project, Qualify, Source, Table, TableJoin
from panewise.planner.forms import CHANGE, is_retroactive, table_of
from panewise.progress.punctuation import Punctuation

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition

__all__ = ["TableChange", "changes_of", "contents", "is_retroactive", "join_as_of_birth", "join_current"]


@dataclass(frozen=True)
class TableChange:
    """One row that enters or leaves a relation at an instant; an update is both at the same instant."""

    at: int
    row: Mapping[str, Any]
    insert: bool = True


def changes_of(d: Definition, table: Table | Source) -> list[TableChange]:
    """The history of a table: as given, or its rows in the timeline, which come, or go where ``change`` is -1."""
    if table.name in d.tables:
        return sorted(d.tables[table.name], key=lambda c: c.at)
    column = table.schema.time
    found = []
    for arrival in d.timeline:
        if arrival.stream == table.name and not isinstance(arrival.item, Punctuation):
            row = arrival.item
            at = ALWAYS if column is None else ordinal(row[column], column, kind_of(table.schema, column))
            said = CHANGE not in table.schema.columns and CHANGE in row
            insert = not said or row[CHANGE] != -1
            beside = {CHANGE if said else None, None if insert else column}
            found.append(TableChange(at, {n: v for n, v in row.items() if n not in beside}, insert))
    return sorted(found, key=lambda c: c.at)


def contents(d: Definition, node: Node, tau: int, *, before: bool = False) -> list[Tup]:
    """The rows of a table at an instant, changes of that instant included unless ``before`` it is asked for."""
    if isinstance(node, Filter | Project | Qualify):
        return operators.each_row(d, node, contents(d, node.inputs[0], tau, before=before))
    table = table_of(node)
    rows: list[Tup] = []
    first = first_in_table(d.numbers.get(table.name, 0))
    for i, change in enumerate(changes_of(d, table)):
        if change.at > tau or (before and change.at == tau):
            break
        if change.insert:
            rows.append(Tup(dict(change.row), change.at, (table.name, i), (first + i,)))
        else:
            gone = next((t for t in rows if change.row.items() <= t.values.items()), None)
            if gone is None:
                raise SchemaError(f"table {table.name}: {dict(change.row)} is deleted at {change.at}, "
                                  "but it is not there; delete only what was inserted before")
            rows.remove(gone)
    return rows


def join_as_of_birth(d: Definition, node: TableJoin, rows: Sequence[Tup]) -> list[Tup]:
    """Definition 2: every row meets the table as it was before the row's own instant, and keeps what it met.

    Its results are as old as itself, and in the order of the table's rows.
    """
    refuse_key_reuse(d, node)
    found: list[Tup] = []
    for row in rows:
        met = operators.pairs(d, [row], contents(d, node.table, row.enters, before=True), node.predicate,
                              node.input, node.table)
        found.extend(replace(row, values=t.values, key=t.key, order=t.order) for t in met)
    return found


def join_current(d: Definition, node: TableJoin, rows: Sequence[Tup], tau: int) -> list[Tup]:
    """Definition 1: the current rows with the current table, whichever came first."""
    return [joined(t, r) for t in rows for r in contents(d, node.table, tau)
            if d.expressions.holds(node.predicate, [{**t.values, **r.values}], node.input, node.table)[0]]


def refuse_key_reuse(d: Definition, node: TableJoin) -> None:
    """A key of an NRR that was deleted may not come back for another entity (Golab 3.3.1).

    The key is what the join compares; deleting and inserting at one instant is an update, not a reuse.
    """
    table = table_of(node.table)
    prefix = "".join(f"{n.alias}." for n in node.table.walk() if isinstance(n, Qualify))
    names = node.predicate.columns if node.predicate is not None else frozenset()
    key = [c for c in table.columns if prefix + c in names]
    deleted: dict[object, int] = {}
    for change in changes_of(d, table):
        value = value_of({c: change.row.get(c) for c in key})
        if not change.insert:
            deleted[value] = change.at
        elif key and deleted.get(value, change.at) < change.at:
            raise SchemaError(
                f"table {table.name}: {dict(change.row)} at {change.at} uses a key that was deleted at "
                f"{deleted[value]}; rows already joined with it would seem to belong to the new one. Use a fresh key, "
                "or declare the table a retroactive relation"
            )
