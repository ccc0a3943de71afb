"""FROM: named streams and tables, unions and sub-queries, each with its window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from panewise.core.errors import SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import Catalog, SourceKind, SourceSchema
from panewise.plan.nodes import Named, Source, Table, Union, Window
from panewise.sql.hints import did_you_mean, listed
from panewise.sql.relations import BoundWindow, Relation, match_name
from panewise.sql.set_operations import types_of
from panewise.sql.syntax import Bracket, From, JoinClause, NamedSource, Query, Span, SubQuery
from panewise.sql.windows.bracket_windows import WindowBinder


@dataclass(frozen=True)
class BoundSource:
    """One entry of a FROM list; the window is not applied yet, because an aggregate may take it over."""

    relation: Relation
    window: BoundWindow | None
    alias: str | None
    span: Span
    join: JoinClause | None = None

    def windowed(self) -> Relation:
        """The relation with its window applied."""
        return self.relation if self.window is None else apply_window(self.relation, self.window)


def apply_window(relation: Relation, window: BoundWindow) -> Relation:
    """The changing contents of a window over a stream."""
    clause = window.clause
    if window.no_relation is not None:
        raise window.no_relation
    slide = getattr(clause.spec, "slide", None)
    return replace(
        relation, node=Window(relation.node, clause), changing=not clause.internal,
        internal=window.span if clause.internal else None,
        slides=(*relation.slides, *((slide,) if isinstance(slide, int) else ())),
    )


class SourceBinder:
    """Binds FROM entries of one query text."""

    def __init__(self, catalog: Catalog, windows: WindowBinder, query: Callable[[Query], Relation]) -> None:
        self.catalog, self.windows, self.query, self.error = catalog, windows, query, windows.error

    def bind(self, source: From, *, internal: bool = False) -> BoundSource:
        """One entry; ``internal`` makes its windows append-only, as Wstream implies (rule 8)."""
        bound = [self._part(part, internal) for part in source.parts]
        if len(bound) == 1:
            only = bound[0]
            window = self._window(source.bracket, only.relation, internal) or only.window
            if only.window is not None and source.bracket is not None:
                raise self.error("two windows on one source", source.bracket.span, "keep one bracket")
            return BoundSource(only.relation, window, source.alias or only.alias, source.span, source.join)
        union = self._union(bound, source)
        return BoundSource(union, self._window(source.bracket, union, internal), source.alias, source.span, source.join)

    def _part(self, part: NamedSource | SubQuery | From, internal: bool) -> BoundSource:
        if isinstance(part, From):
            return self.bind(part, internal=internal)
        relation = self._named(part) if isinstance(part, NamedSource) else self.query(part.query)
        alias = relation.node.name if isinstance(relation.node, Named) and isinstance(part, NamedSource) else None
        return BoundSource(relation, self._window(part.bracket, relation, internal), alias, part.span)

    def _named(self, source: NamedSource) -> Relation:
        name = match_name(source.name, self.catalog.sources) or source.name
        try:
            schema = self.catalog.get(name)
        except SchemaError as error:
            names = sorted(self.catalog.sources)
            hint = did_you_mean(source.name, names,
                                f"the streams are {listed(names)}" if names else "give the stream to the query")
            raise self.error(f"no stream named {source.name!r}", source.span, hint) from error
        is_table = schema.kind is not SourceKind.STREAM
        node = (Table if is_table else Source)(name, schema)
        return Relation(node, tuple(schema.columns), schema.columns, schema.time, _clock(schema), schema.open, is_table)

    def _window(self, bracket: Bracket | None, relation: Relation, internal: bool) -> BoundWindow | None:
        if bracket is None:
            return None
        if relation.table:
            raise self.error("a table has no window", bracket.span, "windows are for streams: remove the bracket")
        if relation.changing and relation.aggregated:
            raise self.error("a window over a query whose one row changes", bracket.span,
                             "write INTERNAL in the inner window, so that every value is kept")
        if relation.changing:
            raise self.error("a window over a relation whose rows leave again", bracket.span,
                             "write INTERNAL in the inner window, or Istream(...) in the inner query")
        window = self.windows.bind(bracket, relation)
        if internal and not window.clause.internal:
            window = replace(window, clause=replace(window.clause, internal=True))
        return window

    def _union(self, parts: list[BoundSource], source: From) -> Relation:
        windowed = [p for p in parts if p.window is not None]
        if windowed and len(windowed) < len(parts):
            raise self.error("the window belongs to this source of the union alone", windowed[-1].span,
                             "to window the union write (A UNION B) [...] or A UNION B AS name [...]")
        relations = [p.windowed() for p in parts]
        first = relations[0]
        for part, relation in zip(parts[1:], relations[1:], strict=True):
            if relation.table or first.table:
                raise self.error("a table cannot be part of a union of streams", part.span, "name streams only")
            if not (relation.open or first.open) and len(relation.columns) != len(first.columns):
                raise self.error(
                    f"a union of {len(first.columns)} and {len(relation.columns)} columns", part.span,
                    f"select the same columns from both: {listed(first.columns)} and {listed(relation.columns)}")
            self._same_types(first, relation, part.span)
        return replace(
            first, node=Union(tuple(r.node for r in relations)), changing=any(r.changing for r in relations),
            internal=next((r.internal for r in relations if r.internal), None),
            slides=tuple(s for r in relations for s in r.slides), open=any(r.open for r in relations),
        )

    def _same_types(self, first: Relation, other: Relation, span: Span) -> None:
        ours, theirs = types_of(first), types_of(other)
        for a, b in zip(first.columns, other.columns, strict=False):
            one, two = ours.get(a), theirs.get(b)
            if one is not None and two is not None and _family(one) != _family(two):
                raise self.error(f"a union of {a} ({one}) and {b} ({two})", span,
                                 "columns are matched by position: select them in the same order, or cast")


def _family(data_type: pa.DataType) -> str:
    for name in ("integer", "floating", "decimal"):
        if getattr(pa.types, f"is_{name}")(data_type):
            return "number"
    return "text" if pa.types.is_string(data_type) or pa.types.is_large_string(data_type) else str(data_type.id)


def _clock(schema: SourceSchema) -> OrdinalKind:
    try:
        return schema.ordinal_kind(schema.time) if schema.time is not None else OrdinalKind.TIMESTAMP
    except SchemaError:
        return OrdinalKind.TIMESTAMP
