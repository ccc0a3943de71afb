"""``explode`` and its kin: in the SELECT list, where there may be one, and behind LATERAL VIEW."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from panewise.core.errors import PanewiseError, SchemaError
from panewise.core.generators import Generator
from panewise.core.scalar import Scalar
from panewise.plan.nodes import Explode, NamedScalar, Project
from panewise.planner.facts.requests import schema_of
from panewise.sql.expressions import Expressions, column
from panewise.sql.relations import Relation, Scope, Visible, match_name
from panewise.sql.syntax import OUTER, GeneratorCall, Item, LateralView, Span, span_of


class GeneratorBinder:
    """Binds the generators of one query text; each has a number of its own."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions, self.error = expressions, expressions.error
        self._bound = 0

    # -- LATERAL VIEW --------------------------------------------------------------------------------------------

    def viewed(self, relation: Relation, scope: Scope, view: LateralView) -> tuple[Relation, Scope]:
        """A view over what stands before it; its columns go by their names, or by the view's where these are taken."""
        if scope.has_input(view.alias):
            raise self.error(f"two sources are named {view.alias!r}", view.span, "name the view otherwise")
        taken = any(match_name(name, relation.columns) for name in view.names or ("col", "key", "value", "pos"))
        prefix = f"{view.alias}." if taken else ""
        made, names, flat = self._made(relation, scope, view.call, view.names, view.span, outer=view.outer,
                                       named=lambda name: prefix + name)
        return made, Scope((*scope.inputs, Visible(view.alias, names, prefix, flat=flat)))

    # -- SELECT --------------------------------------------------------------------------------------------------

    def selected(self, relation: Relation, scope: Scope, items: Sequence[Item]) -> tuple[Relation, Scope, list[Item]]:
        """A SELECT list with its generator, if it has one, bound; what it makes are plain columns of the list."""
        places = [place for place, item in enumerate(items) if isinstance(item.tree, GeneratorCall)]
        if not places:
            return relation, scope, list(items)
        if len(places) > 1:
            second = items[places[1]]
            raise self.error("two generators in one SELECT list: which rows of the one belong to which of the other?",
                             second.span, "write one of them as LATERAL VIEW explode(xs) t AS x behind FROM")
        place, item = places[0], items[places[0]]
        call = item.tree
        assert isinstance(call, GeneratorCall)
        written = item.aliases or ((item.alias,) if item.alias is not None else ())
        made, names, _ = self._made(relation, scope, call, written, item.span, outer=False,
                                    named=lambda name: f"<{name}>")
        columns = [Item(column(f"<{name}>"), name, item.span) for name in names]
        hidden = Visible(None, tuple(f"<{name}>" for name in names), hidden=True)
        return made, Scope((*scope.inputs, hidden)), [*items[:place], *columns, *items[place + 1:]]

    # -- both ----------------------------------------------------------------------------------------------------

    def _made(self, relation: Relation, scope: Scope, call: GeneratorCall, written: Sequence[str], span: Span, *,
              outer: bool, named: Callable[[str], str]) -> tuple[Relation, tuple[str, ...], frozenset[str]]:
        """A generator over its input, and the columns it adds under the names of the text; which have no fields."""
        name = call.this.removesuffix(OUTER)
        generator, place = Generator(name), span_of(call, span)
        if len(call.expressions) != 1:
            raise self.error(f"{call.this} takes one array or map, not {len(call.expressions)} arguments", place,
                             f"write {call.this}(xs)")
        collection = self.expressions.scalar(call.expressions[0], scope, span)
        fields = self._fields(relation, generator, collection, written, place)
        if written and len(written) != len(fields):
            raise self.error(f"{call.this} makes {len(fields)} columns ({', '.join(f.name for f in fields)}), and "
                             f"{len(written)} are named", span, "name all of them, or none")
        names = tuple(written) or tuple(field.name for field in fields)
        twice = next((one for i, one in enumerate(names) if match_name(one, names[:i])), None)
        if twice is not None:
            raise self.error(f"two columns named {twice!r}", span, "name them otherwise behind AS")
        self._bound += 1
        node = Explode(relation.node, generator, collection, tuple(named(n) for n in names),
                       outer or call.this.endswith(OUTER), self._bound)
        types = {named(n): field.type for n, field in zip(names, fields, strict=True) if field.type != pa.null()}
        flat = frozenset(n for n in names if named(n) in types and not pa.types.is_nested(types[named(n)]))
        made = replace(relation, node=node, columns=(*relation.columns, *node.names), types={**relation.types, **types})
        return made, names, flat

    def _fields(self, relation: Relation, generator: Generator, collection: Scalar, written: Sequence[str],
                place: Span) -> list[pa.Field]:
        """The columns a generator makes; as many as are named where the type of the collection is not known yet."""
        try:
            known = schema_of(Project(relation.node, (NamedScalar("collection", collection),)))
            if known is not None:
                return generator.fields(known.field(0).type)
        except SchemaError as error:
            raise self.error(str(error), place, "give it a column of arrays or maps") from error
        except PanewiseError:
            pass  # reported when the query meets its inputs
        if generator is Generator.INLINE and not written:
            raise self.error("the fields of the structs are not known here", place, "name them: inline(xs) AS (a, b)")
        shown = ["pos", "col"] if generator is Generator.POSEXPLODE else ["col"]
        return [pa.field(name, pa.null()) for name in (written or shown)]

