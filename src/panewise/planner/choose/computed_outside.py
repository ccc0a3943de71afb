"""Which side computes which expression of a plan that Spark hosts: Spark's JVM, or panewise inside its shards.

A hosted plan runs in Python between two steps of the JVM. What an expression reads decides where it is computed:

- *before*, as a further column of an input, where it reads columns of that input alone: keys and arguments of
  aggregates, keys and conditions of joins that look at one side, WHERE. A condition becomes a column that is true or
  false, and the plan still drops rows where it did: rows that are late are counted as they come, whatever WHERE says.
- *behind*, over the results: projections above the last operator that keeps state, and conditions on its aggregates.
- *inside*, by ``panewise.functions``, what reads rows of two inputs or what operators in between have made.

Nothing is computed on a row that does not reach it, if it could fail there: an expression above WHERE asks for the
condition first, and one above a join that could fail on rows without a partner stays inside. It is computed before the
join all the same where panewise does not know it: only Spark can compute it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from panewise.core.scalar import Scalar
from panewise.core.user_functions import called_in
from panewise.plan import nodes as n
from panewise.planner.facts.derived_times import moved
from panewise.planner.facts.failing import may_fail
from panewise.planner.facts.result_forms import Form, form_of, is_retroactive
from panewise.planner.facts.working_labels import has_internal
from panewise.planner.rewrites.scalars import conjunction, conjuncts, movable, renamed, substituted

COMPUTED, RESULT = "__pw_e", "__pw_r"
"""How columns are called that Spark adds to an input, and those of results that Spark goes on with."""

Types = Callable[[str, Sequence[Scalar]], Sequence[pa.DataType]]
"""The types that expressions over the columns of an input have on Spark."""


@dataclass(frozen=True)
class Inside:
    """An expression that panewise computes, and why."""

    scalar: Scalar
    why: str


@dataclass(frozen=True)
class Divided:
    """A plan with its expressions at the sides that compute them."""

    plan: n.Node
    """What runs in shards; what was computed before is a column of an input, defined in its schema."""
    behind: tuple[n.Project | n.Filter, ...] = ()
    """What Spark does with the results, the lowest first."""
    results: tuple[Scalar, ...] = ()
    """What that computes, as it was written."""
    inside: tuple[Inside, ...] = ()

    @property
    def before(self) -> dict[str, dict[str, Scalar]]:
        """By input the columns that Spark adds to it."""
        return {node.name: dict(node.schema.computed) for node in self.plan.walk() if isinstance(node, n.Named)}

    def lines(self) -> list[str]:
        """For `explain`."""
        before = [f"{name}: {_told(scalar)}" for name, made in sorted(self.before.items()) for scalar in made.values()]
        found = [f"computed by Spark before the shuffle: {'; '.join(before)}"] if before else []
        found += [f"computed by Spark over the results: {'; '.join(map(_told, self.results))}"] \
            if self.results else []
        return found + [f"computed by panewise: {item.scalar} ({item.why})" for item in dict.fromkeys(self.inside)]


def _told(scalar: Scalar) -> str:
    """An expression that Spark computes; with functions of the user it starts Python for that."""
    return f"{scalar} (in Python)" if called_in(scalar.sql) else str(scalar)


def divided(plan: n.Node, types: Types, *, behind: bool = True) -> Divided:
    """The plan with every expression where it is computed; ``behind`` says whether Spark may go on with results."""
    host, above, results = lifted(plan) if behind else (plan, (), ())
    division = _Division()
    moved = division.visit(host, ())[0]
    made = {name: dict(zip(columns.values(), types(name, list(columns)), strict=True))
            for name, columns in division.columns.items()}
    given = {name: {column: scalar for scalar, column in columns.items()} for name, columns in division.columns.items()}
    return Divided(_trimmed(_extended(moved, made, given), list(host.columns)), above, results,
                   tuple(division.inside))


# -- behind --------------------------------------------------------------------------------------------------------


def lifted(plan: n.Node) -> tuple[n.Node, tuple[n.Project | n.Filter, ...], tuple[Scalar, ...]]:
    """The plan without what can be done with its results, that, the lowest first, and what it computes.

    Changes at one instant cancel out by the values that are shown, and results that stay are told apart by the rows
    they come from: such plans keep their projections.
    """
    chain: list[n.Project | n.Filter] = []
    node = plan
    while not has_internal(plan) and form_of(plan) is not Form.CHANGES and (
            isinstance(node, n.Project) or (isinstance(node, n.Filter) and _of_an_aggregate(node))):
        chain.insert(0, node)
        node = node.input
    computed = tuple(scalar for step in chain for scalar in scalars_of(step) if scalar.column_name is None)
    if not computed:
        return plan, (), ()
    first = next((place for place, step in enumerate(chain) if isinstance(step, n.Project)), len(chain))
    read = {column for step in chain[:first + 1] for scalar in scalars_of(step) for column in scalar.columns}
    shown = [c for c in node.columns if first == len(chain) or c in read] or list(node.columns[:1])
    names = {column: f"{RESULT}{number}" for number, column in enumerate(shown)}
    host = n.Project(node, tuple(n.NamedScalar(new, Scalar.column(old)) for old, new in names.items()))
    behind = [step.with_scalars(lambda s: renamed(s, names)) if place <= first else step
              for place, step in enumerate(chain)]
    if first == len(chain):
        behind.append(n.Project(node, tuple(n.NamedScalar(old, Scalar.column(new)) for old, new in names.items())))
    return host, tuple(behind), computed


def _of_an_aggregate(node: n.Filter) -> bool:
    """Whether a condition is on what an aggregate made, and not one that a join could look rows up by."""
    below = node.input
    while isinstance(below, n.Project | n.Filter | n.Qualify):
        below = below.input
    return isinstance(below, n.WindowAggregate | n.GroupAggregate)


def scalars_of(node: n.Node) -> list[Scalar]:
    """The expressions that a node computes itself; of a join those parts of its condition that are no keys."""
    if isinstance(node, _Joining):
        return [part for part in conjuncts(node.predicate) if not _is_key(part)]
    return list(dict.fromkeys([*node.scalars, *([] if node.condition is None else [node.condition])]))


# -- before --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Wanted:
    """An expression over a node's columns that something above asks for."""

    scalar: Scalar
    guard: Scalar | None = None
    """What holds of the rows that reach it."""
    exposed: bool = False
    """Whether rows that never reach it would be computed, too: those without a partner in a join."""

    def over(self, change: Callable[[Scalar], Scalar]) -> _Wanted:
        """The same in other columns."""
        return replace(self, scalar=change(self.scalar), guard=None if self.guard is None else change(self.guard))

    @property
    def columns(self) -> frozenset[str]:
        """All that it reads."""
        return self.scalar.columns | (self.guard.columns if self.guard is not None else frozenset())


_Joining = n.Join | n.BandJoin | n.TumblingJoin | n.SemiJoin | n.AntiJoin | n.TableJoin
_Answer = Scalar | str
"""The column that has it, or why no column does."""
_TWO = "rows of two inputs"
_BETWEEN = "what an operator in between has made"
_FAILS = "it could fail on rows that never come there"
_SAME = "it gives another answer each time"


@dataclass
class _Division:
    """Goes down a plan with what is asked for above; notes the columns that inputs get."""

    columns: dict[str, dict[Scalar, str]] = field(default_factory=dict)
    inside: list[Inside] = field(default_factory=list)

    def visit(self, node: n.Node, wanted: Sequence[_Wanted]) -> tuple[n.Node, list[_Answer]]:
        """The node over columns that are computed below, and an answer to everything that was asked for."""
        match node:
            case n.Relayed():
                return node, [_BETWEEN] * len(wanted)
            case n.Named():
                return node, [self._column(node, item) for item in wanted]
            case n.Join() | n.BandJoin() | n.TumblingJoin() | n.SemiJoin() | n.AntiJoin() | n.TableJoin():
                return self._pairs(node, wanted)
            case n.Filter() | n.Project() | n.Window() | n.Explode() | n.Qualify() | n.Lifetime() | n.Computed():
                return self._over(node, wanted)
        inputs = [self.visit(below, ())[0] for below in node.inputs]
        return node.with_inputs(*inputs), [_BETWEEN] * len(wanted)

    def _over(self, node: n.Node, wanted: Sequence[_Wanted]) -> tuple[n.Node, list[_Answer]]:
        """A node with one input: its own expressions and what is wanted of it are asked for below."""
        own = [scalar for scalar in scalars_of(node) if _is_computed(scalar)]
        tested = node.condition if isinstance(node, n.WindowAggregate) else None
        asked = [_below(node, item) for item in wanted]
        below, found = self.visit(node.inputs[0], [
            *(_Wanted(scalar, None if scalar == tested else tested) for scalar in own),
            *(item for item in asked if item is not None)])
        answers = {scalar: self._chosen(scalar, answer) for scalar, answer in zip(own, found, strict=False)}
        made = node.with_inputs(below).with_scalars(lambda scalar: answers.get(scalar, scalar))
        left = iter(found[len(own):])
        told = [_BETWEEN if item is None else next(left) for item in asked]
        if isinstance(node, n.Qualify):
            return made, [_prefixed(answer, f"{node.alias}.") for answer in told]
        if isinstance(made, n.Project):
            items = {item.name: item for item in made.items}
            for answer in told:
                if isinstance(answer, Scalar):
                    items.setdefault(str(answer.column_name), n.NamedScalar(str(answer.column_name), answer))
            return n.Project(below, tuple(items.values())), told
        return made, told

    def _column(self, node: n.Named, item: _Wanted) -> _Answer:
        scalar = item.scalar
        if not movable(scalar) or (item.guard is not None and not movable(item.guard)):
            return _SAME
        fails = may_fail(scalar, node)
        if fails and item.exposed:
            return _FAILS
        if fails is not False and item.guard is not None:
            scalar = Scalar.parse(f"CASE WHEN {item.guard} THEN {scalar} END")
        known = self.columns.setdefault(node.name, {})
        return Scalar.column(known.setdefault(scalar, f"{COMPUTED}{len(known)}"))

    def _pairs(self, node: _Joining, wanted: Sequence[_Wanted]) -> tuple[n.Node, list[_Answer]]:
        sides = list(node.inputs)
        whole = node.kind.whole if isinstance(node, n.TimePairs) else \
            frozenset({0}) if isinstance(node, n.SemiJoin | n.AntiJoin) else frozenset({0, 1})
        owners = [_owner(w.columns, sides) for w in wanted]
        parts = {part: _of_one_side(part, sides) for part in conjuncts(node.predicate)}
        if isinstance(node, n.TableJoin) and not is_retroactive(node):  # its key is what the condition names
            parts = {part: [one for one in found if one.side == 0] for part, found in parts.items()}
        below: list[n.Node] = []
        columns: dict[Scalar, _Answer] = {}
        left: list[Iterator[_Answer]] = []
        for number, side in enumerate(sides):
            own = [one for found in parts.values() for one in found if one.side == number]
            asked = [replace(w, exposed=True) for w, owner in zip(wanted, owners, strict=True)
                     if owner == number and number in whole]
            made, answers = self.visit(side, [*(_Wanted(one.scalar, exposed=one.exposed) for one in own), *asked])
            below.append(made)
            columns |= dict(zip((one.scalar for one in own), answers, strict=False))
            left.append(iter(answers[len(own):]))
        told = [_TWO if owner is None else next(left[owner]) if owner in whole else _BETWEEN for owner in owners]
        predicate = conjunction([self._compared(part, found, columns) for part, found in parts.items()])
        return replace(node.with_inputs(*below), predicate=predicate), told

    def _compared(self, part: Scalar, found: Sequence[_OneSide], columns: Mapping[Scalar, _Answer]) -> Scalar:
        """One part of a join's condition over columns that were computed before; what is left is noted."""
        made = {one.scalar: answer for one in found if isinstance(answer := columns[one.scalar], Scalar)}
        changed = made.get(part) or _replaced(part, made)
        if not _is_key(changed):
            failing = any(columns[one.scalar] == _FAILS for one in found if one.scalar == part)
            self.inside.append(Inside(part, _FAILS if failing else _TWO))
        return changed

    def _chosen(self, scalar: Scalar, answer: _Answer) -> Scalar:
        """The column that has it, or itself, which is noted."""
        if isinstance(answer, Scalar):
            return answer
        self.inside.append(Inside(scalar, answer))
        return scalar


def _below(node: n.Node, item: _Wanted) -> _Wanted | None:
    """What is wanted of a node in the columns of its input; None where the node itself has made it."""
    match node:
        case n.Filter() | n.Window():
            hidden = isinstance(node, n.Window) and n.POSITION_COLUMN in item.columns
            return None if hidden else replace(item, guard=conjunction([item.guard, node.condition]))
        case n.Project():
            made = {column.name: column.scalar for column in node.items}
            return item.over(lambda scalar: substituted(scalar, made))
        case n.Qualify():
            names = {column: column.removeprefix(f"{node.alias}.") for column in item.columns}
            return item.over(lambda scalar: renamed(scalar, names))
        case n.Explode() if item.columns & set(node.names):
            return None
        case n.Explode() | n.Lifetime():
            return replace(item, exposed=True)
    return None


@dataclass(frozen=True)
class _OneSide:
    """An expression in the condition of a join that reads one side only."""

    scalar: Scalar
    side: int
    exposed: bool
    """Whether pairs are looked up before it is computed; keys and whole conditions are computed on all rows."""


def _of_one_side(part: Scalar, sides: Sequence[n.Node]) -> list[_OneSide]:
    """What one part of a condition computes of single sides."""
    from sqlglot import exp

    owner = _owner(part.columns, sides)
    if owner is not None:
        return [_OneSide(part, owner, exposed=False)] if _is_computed(part) else []
    tree = part.tree
    is_key = isinstance(tree, exp.EQ) and None not in {
        _owner(Scalar.of(operand).columns, sides) for operand in (tree.this, tree.expression)}
    found: dict[Scalar, _OneSide] = {}

    def visit(node: exp.Expr) -> None:
        if isinstance(node, exp.Case | exp.Lambda | exp.If | exp.Interval):
            return
        names = frozenset(column.name for column in node.find_all(exp.Column))
        side = _owner(names, sides) if names else None
        if side is not None and isinstance(node, exp.Binary | exp.Func | exp.Cast | exp.Neg):
            scalar = Scalar.of(node)
            found[scalar] = _OneSide(scalar, side, exposed=not is_key)
        elif names:
            for below in node.iter_expressions():
                visit(below)

    visit(tree)
    return list(found.values())


def _replaced(part: Scalar, columns: Mapping[Scalar, Scalar]) -> Scalar:
    """A part with some of its expressions replaced by columns."""
    from sqlglot import exp

    if not columns:
        return part
    kinds = {type(scalar.tree) for scalar in columns}

    def visit(node: exp.Expr) -> exp.Expr:
        found = columns.get(Scalar.of(node)) if type(node) in kinds else None
        return node if found is None else found.tree

    return Scalar.of(part.tree.transform(visit))


def _is_key(part: Scalar) -> bool:
    """Whether a part is a column, or two that are equal: nothing is computed."""
    from sqlglot import exp

    tree = part.shared_tree
    return isinstance(tree, exp.Column) or (
        isinstance(tree, exp.EQ) and isinstance(tree.this, exp.Column) and isinstance(tree.expression, exp.Column))


def _owner(columns: frozenset[str], sides: Sequence[n.Node]) -> int | None:
    """The side that has all of these columns; a name that both have means the left one."""
    left, right = frozenset(sides[0].columns), frozenset(sides[1].columns)
    if columns and columns <= left:
        return 0
    return 1 if columns and columns <= right - left else None


def _is_computed(scalar: Scalar) -> bool:
    return scalar.column_name is None and bool(scalar.columns) and moved(scalar) is None  # a time stays one


def _prefixed(answer: _Answer, prefix: str) -> _Answer:
    return Scalar.column(f"{prefix}{answer.column_name}") if isinstance(answer, Scalar) else answer


# -- columns in the plan -------------------------------------------------------------------------------------------


def _extended(node: n.Node, types: Mapping[str, Mapping[str, pa.DataType]],
              made: Mapping[str, Mapping[str, Scalar]]) -> n.Node:
    """The plan with inputs that have their computed columns, and no other operator that sees them who should not."""
    if isinstance(node, n.Named):
        if not types.get(node.name):
            return node
        schema = replace(node.schema, columns={**node.schema.columns, **types[node.name]}, computed=made[node.name])
        return replace(node, schema=schema)
    inputs = [_extended(below, types, made) for below in node.inputs]
    if isinstance(node, n.Distinct | n.Union | n.BagDifference | n.RelationToStream):
        inputs = [_trimmed(below, [c for c in below.columns if not is_computed_column(c)]) for below in inputs]
    return node.with_inputs(*inputs) if inputs else node


def is_computed_column(name: str) -> bool:
    """Whether a column, under whatever alias, is one that Spark has added."""
    return name.rpartition(".")[2].startswith(COMPUTED)


def _trimmed(node: n.Node, columns: list[str]) -> n.Node:
    """The node with these columns only."""
    return node if list(node.columns) == columns else n.Project(node, tuple(map(n.NamedScalar.column, columns)))
