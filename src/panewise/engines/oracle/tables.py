"""Relations beside the streams: their contents at an instant, and the two ways a stream meets them (Golab 3.3.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from panewise.core.ages import first_in_table
from panewise.core.beginning import ALWAYS
from panewise.core.errors import SchemaError
from panewise.core.schema import SourceKind
from panewise.engines.oracle import operators
from panewise.engines.oracle.late import kind_of
from panewise.engines.oracle.tuples import Tup, joined, ordinal, value_of
from panewise.plan.nodes import Node, PerRow, Source, Table, TableJoin
from panewise.planner.facts.result_forms import CHANGE, table_of
from panewise.progress.punctuation import Punctuation

if TYPE_CHECKING:
    from panewise.engines.oracle.definition import Definition

@dataclass(frozen=True)
class TableChange:
    """One row that enters or leaves a relation at an instant; an update is both at the same instant."""

    at: int
    row: Mapping[str, Any]
    insert: bool = True


def changes_of(d: Definition, table: Table | Source) -> list[TableChange]:
    """The history of a table: as given, or its rows in the timeline, which come, or go where ``change`` is -1."""
    if table.name in d.tables:
        return checked(table, d.tables[table.name])
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
    return checked(table, found)


def contents(d: Definition, node: Node, tau: int, *, before: bool = False) -> list[Tup]:
    """The rows of a table at an instant, changes of that instant included unless ``before`` it is asked for."""
    if isinstance(node, PerRow):
        return operators.each_row(d, node, contents(d, node.inputs[0], tau, before=before))
    table = table_of(node)
    rows: list[Tup] = []
    first = first_in_table(d.numbers.get(table.name, 0))
    for i, change in enumerate(d.history(table)):
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


def checked(table: Table | Source, changes: Sequence[TableChange]) -> list[TableChange]:
    """Changes in the order of their instants.

    Of a declared key there is one row at most, and a key of an NRR that has left does not come back.

    It would be that of another entity, to which the results of the first would seem to belong (Golab 3.3.1). Without a
    declared key a row as a whole is its own. What counts is what is there after everything of an instant has happened.
    """
    schema, history = table.schema, sorted(changes, key=lambda change: change.at)
    rows: list[Mapping[str, Any]] = []
    there: Counter[Hashable] = Counter()
    left: dict[Hashable, int] = {}
    for at, together in groupby(history, key=lambda change: change.at):
        touched: dict[Hashable, dict[str, Any]] = {}
        for change in together:
            row = change.row if change.insert else next((r for r in rows if change.row.items() <= r.items()), None)
            if row is None:  # what is not there is refused when it is deleted
                continue
            rows.append(row) if change.insert else rows.remove(row)
            key = {c: row.get(c) for c in schema.key or schema.columns or row if c != schema.time}
            touched[value_of(key)] = key
            there[value_of(key)] += 1 if change.insert else -1
        for value, key in touched.items():
            if schema.key and there[value] > 1:
                raise SchemaError(f"table {table.name}: there are two rows with the key {key} at {at}: delete the "
                                  "first at the same instant (change -1), name more columns in key=, or none, so that "
                                  "every row is told apart as a whole")
            if schema.kind is SourceKind.NRR and there[value] > 0 and value in left:
                raise SchemaError(
                    f"table {table.name}: {key} at {at} uses a key that was deleted at {left[value]}; rows already "
                    "joined with it would seem to belong to the new one: use a fresh key, or declare the table a "
                    "retroactive relation")
            if there[value] <= 0:
                left[value] = at
    return history
