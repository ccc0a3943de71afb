"""How a whole query runs: from a logical plan to the graph of operators, from the streams upwards.

The only place where it is decided which operators there are, on which kernels, and what they tell each other. What
stands above says by which column it orders rows and tells groups apart; equal sub-plans become one step.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TypeVar

from panewise.core.errors import PlanError
from panewise.core.schema import ROW_NUM_NAMES
from panewise.kernels.catalog import bucket_of
from panewise.kernels.contract.emission import Emission
from panewise.plan import nodes as n
from panewise.plan.dataflow import (
    BucketStep,
    Describe,
    Entry,
    Guard,
    Judge,
    KernelChoice,
    Outlet,
    PhysicalPlan,
    Port,
    RelationStep,
    Stateless,
    Step,
    StreamJoinStep,
    UnionStep,
    WindowAggregateStep,
)
from panewise.plan.physical import Path, PhysicalNode, RelationPlan, Style
from panewise.planner.choose.choices import Choices, statistics_for
from panewise.planner.choose.join_manner import AUTO, Joins
from panewise.planner.choose.optimizer import Optimized, candidate, optimize
from panewise.planner.choose.optimizer import is_relational as worth_optimizing
from panewise.planner.choose.physical import relation_plan
from panewise.planner.choose.relation_plan import TIME
from panewise.planner.choose.window_kernel import choose
from panewise.planner.facts.ages_known import check_counted
from panewise.planner.facts.closing import promised
from panewise.planner.facts.demand import Wanted, demanded
from panewise.planner.facts.derived_times import Chosen, Moved
from panewise.planner.facts.derived_times import below as derived_below
from panewise.planner.facts.equi_keys import compared
from panewise.planner.facts.labels import label
from panewise.planner.facts.progress import progress
from panewise.planner.facts.requests import request_of
from panewise.planner.facts.result_forms import CHANGE, VALID_FROM, Form, form_of
from panewise.planner.facts.result_order import ordered_results
from panewise.planner.facts.stream_joins import is_pairs
from panewise.planner.legal.relational import is_relational
from panewise.planner.rewrites.closure import Rewritten
from panewise.planner.statistics.relation_statistics import RelationStatistics, known_inputs
from panewise.progress.late import LatePolicy
from panewise.progress.policy import parse_progress
from panewise.windows.base import WindowSpec

Keys = frozenset[str]
NO_KEYS: Keys = frozenset()
Attribute = str | Chosen | None
"""What something above orders rows by: a column, or the greatest or least of both times of a join."""
S = TypeVar("S", bound=Step)


def physical_plan(plan: n.Node, choices: Choices | None = None) -> PhysicalPlan:
    """How a plan runs in process.

    >>> from panewise.core.scalar import Scalar
    >>> from panewise.core.schema import SourceSchema
    >>> source = n.Source("bids", SourceSchema(time="ts", open=True))
    >>> for step in physical_plan(n.Filter(source, Scalar.parse("price > 10"))).steps:
    ...     print(step.operator, step.inputs)
    StreamInput ()
    Relation (0,)
    Outlet (1,)
    """
    return GraphPlanner(plan, choices or Choices()).whole()


@dataclass(frozen=True)
class Made:
    """A part of the graph that rows come out of."""

    step: int
    path: Path
    joins: frozenset[int | None] = frozenset({None})
    """The joins that make its rows; None among them for rows of streams."""
    entries: tuple[tuple[int, bool, int], ...] = ()
    """The streams whose rows come out as they came in, whether some of them are left out on the way, and how much later
    the column that orders them here is than where they came in."""


class GraphPlanner:
    """Makes the steps of one plan."""

    def __init__(self, plan: n.Node, choices: Choices) -> None:
        self.plan, self.choices, self.options = plan, choices, choices.options
        self.steps: list[Step] = []
        self.places: dict[Path, int] = {}
        self._entries: dict[tuple[str, str | None], int] = {}
        self._made: dict[tuple[n.Node, Attribute, Keys, bool], Made] = {}
        self._buckets: dict[tuple[int, str, WindowSpec], int] = {}
        self._wanted, self._in_order = demanded(plan), ordered_results(plan)
        self._relations: dict[Path, n.Node] = {}
        """By place what runs instead of a relation."""
        relation = is_relational(plan) and not is_pairs(plan)
        self._result = plan if relation else n.below_selections(plan)
        self._aggregates = [node for node in plan.walk() if isinstance(node, n.WindowAggregate)]
        given = choices.stats
        self._known = given if isinstance(given, RelationStatistics) else \
            known_inputs(given) if relation or self._has_relation(plan) else None
        self._relation_asked = relation

    @staticmethod
    def _has_relation(plan: n.Node) -> bool:
        return any(isinstance(node, n.Window) for node in plan.walk())

    def whole(self) -> PhysicalPlan:
        """The whole plan, with an outlet for its results."""
        plan = self.plan
        made = self._relation(plan, (), inside=False) if self._relation_asked else self.stream(plan, (), None)
        self._check_strategy()
        windows = next((number for number, step in enumerate(self.steps)
                        if isinstance(step, WindowAggregateStep) and step.node is self._result), None)
        form = form_of(plan)
        said = [", ".join(promise.attributes) for promise in promised(plan, 0)]
        if self._relation_asked and form is not Form.STREAM:
            said.insert(0, VALID_FROM)
        added = form.added if self._relation_asked else (CHANGE,) if windows is not None and self._early() else ()
        columns = (*plan.columns, *added)
        self._add(Outlet(plan, (made.step,), columns, form.value, tuple(dict.fromkeys(said))))
        self._hear()
        running = self._as_it_runs(plan, ())
        labels = label(running)
        return PhysicalPlan(plan, running, tuple(self.steps), self.places, labels, progress(running, labels), windows,
                            made.step if self._relation_asked else None)

    def _early(self) -> bool:
        """Whether windows show results before they are complete, each with its sign."""
        assert isinstance(self._result, n.WindowAggregate)
        early = Emission.parse(self.options.emit, self._result.window.ordinal).early
        if early and CHANGE in self.plan.columns:
            raise PlanError(f"early results have a column {CHANGE!r}, and the query names one so: give it another name")
        return early

    def _hear(self) -> None:
        """Window aggregates whose results another operator reads say what they promise."""
        read = {number for step in self.steps if not isinstance(step, Outlet) for number in step.inputs}
        for number, step in enumerate(self.steps):
            if isinstance(step, WindowAggregateStep) and (number in read or step.dated):
                self.steps[number] = replace(step, tells=True)

    def _as_it_runs(self, node: n.Node, path: Path) -> n.Node:
        node = self._relations.get(path, node)
        return node.with_inputs(*(self._as_it_runs(below, (*path, i)) for i, below in enumerate(node.inputs))) \
            if node.inputs else node

    def _add(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _change(self, number: int, kind: type[S], **changes: object) -> None:
        assert isinstance(self.steps[number], kind)
        self.steps[number] = replace(self.steps[number], **changes)  # type: ignore[arg-type]

    # -- streams

    def stream(self, node: n.Node, path: Path, attribute: Attribute, keys: Keys = NO_KEYS, *,
               dated: bool = False) -> Made:
        """What puts out the rows of a node, which something above orders by ``attribute``, with their births.

        ``keys`` are the columns by which that tells groups apart, beside the attribute.
        """
        at = (node, attribute, keys, dated)
        if at in self._made:
            self._same(node, self._made[at].path, path)
        else:
            self._made[at] = replace(self._stream(node, path, attribute, keys, dated), path=path)
            self.places[path] = self._made[at].step
        return self._made[at]

    def _same(self, node: n.Node, there: Path, here: Path) -> None:
        """A part of the plan is made once, and found at two places."""
        for below, _ in self._as_it_runs(node, there).paths():
            old, new = (*there, *below), (*here, *below)
            if old in self.places:
                self.places[new] = self.places[old]
            if old in self._relations:
                self._relations[new] = self._relations[old]

    def _stream(self, node: n.Node, path: Path, attribute: Attribute, keys: Keys, dated: bool) -> Made:
        below = (*path, 0)
        match node:
            case n.Source():
                guard = node.schema.time if attribute == TIME else attribute if isinstance(attribute, str) else None
                number = self.entry(node, guard, self._wanted.get(node))
                return Made(number, path, entries=((number, False, 0),))
            case n.Project():
                return self._project(node, path, attribute, keys, dated)
            case n.Filter() | n.Explode() | n.Qualify():
                made = self.stream(node.input, below, _name_below(node, node.input, attribute),
                                   _names_below(node, node.input, keys), dated=dated)
                reads = self._wanted.get(node) if isinstance(node, n.Explode) else None
                return self._passing(Stateless(node, reads=reads), made)
            case n.Union():
                return self._union(node, path, attribute, keys, dated)
            case n.BandJoin() | n.TumblingJoin():
                return self._join(node, path, attribute, keys, dated)
            case n.WindowAggregate():
                by_rows = attribute == TIME and node.window.attribute in ROW_NUM_NAMES
                return self._aggregate(node, path, dated=dated, by_rows=by_rows)
        return self._relation(node, path, inside=True)

    def _project(self, node: n.Project, path: Path, attribute: Attribute, keys: Keys, dated: bool) -> Made:
        """Columns that are times and a constant, or chosen from both times of a join, are promised about as these."""
        names = {item.name: item.scalar.column_name for item in node.items if item.scalar.column_name is not None}
        derived = {name: time for name in node.columns if (time := derived_below(node, name)) is not None}
        found = derived.get(attribute) if isinstance(attribute, str) else None
        by = found if isinstance(found, Chosen) else found.column if isinstance(found, Moved) else \
            _name_below(node, node.input, attribute)
        made = self.stream(node.input, (*path, 0), by, _names_below(node, node.input, keys), dated=dated)
        ahead = found.by if isinstance(found, Moved) else 0
        times = tuple((name, time) for name, time in derived.items() if name not in names)
        made = self._passing(Stateless(node, ahead=ahead, times=times), made)
        return replace(made, entries=tuple((entry, left_out, by + ahead) for entry, left_out, by in made.entries))

    def _passing(self, step: Stateless, below: Made) -> Made:
        selects = isinstance(step.node, n.Filter | n.Explode)
        entries = tuple((entry, left_out or selects, by) for entry, left_out, by in below.entries)
        return replace(below, step=self._add(replace(step, inputs=(below.step,))), entries=entries)

    def _union(self, node: n.Union, path: Path, attribute: Attribute, keys: Keys, dated: bool) -> Made:
        attribute = attribute if isinstance(attribute, str) else None
        parts = [self.stream(part, (*path, place), _name_below(node, part, attribute), _names_below(node, part, keys),
                             dated=dated) for place, part in enumerate(node.parts)]
        number = self._add(UnionStep(node, tuple(part.step for part in parts), attribute))
        return Made(number, path, frozenset(join for part in parts for join in part.joins),
                    tuple(entry for part in parts for entry in part.entries))

    def _join(self, node: n.BandJoin | n.TumblingJoin, path: Path, attribute: Attribute, keys: Keys,
              dated: bool) -> Made:
        both = None
        if isinstance(attribute, Chosen):
            added = {part.column: part.by for part in attribute.of}
            both, attribute = (added[node.left_time], added[node.right_time]), None
        sides = [self.stream(side, (*path, place), time, frozenset(own) - {time}, dated=dated)
                 for place, (side, time, own) in enumerate(zip(node.inputs, (node.left_time, node.right_time),
                                                               compared(node), strict=True))]
        wanted = self._wanted.get(node)
        number = self._add(StreamJoinStep(
            node, tuple(side.step for side in sides), frozenset(node.columns) if wanted is None else wanted, attribute,
            keys, dated, self.options.late, tuple(_ordered(side.joins) for side in sides), both=both))
        for place, side in enumerate(sides):
            for entry, *_ in side.entries:
                self._judges(entry, Judge(number, place))
        return Made(number, path, frozenset({number}))

    def _aggregate(self, node: n.WindowAggregate, path: Path, *, dated: bool, by_rows: bool) -> Made:
        window, options = node.window, self.options
        columns = {key.scalar.column_name for key in node.keys} | {*window.partition}
        grouped = frozenset(column for column in columns if column not in {None, window.attribute})
        by_position = window.attribute in ROW_NUM_NAMES
        order = TIME if by_rows else None if by_position else window.attribute
        below = self.stream(node.input, (*path, 0), order, grouped, dated=by_rows)
        if window.predicate is not None:  # rows that fail it are in no window
            below = self._passing(Stateless(n.Filter(node.input, window.predicate)), below)
        has_slack = options.late.has_slack and window.spec.takes_late_rows
        choice = self._kernel(node)
        bucket = "" if choice is None or by_position else bucket_of(choice.kernel)
        number = self._bucket(node, below.step) if bucket == "below" else below.step
        step = WindowAggregateStep(node, (number,), choice, options.late, dated, by_rows,
                                   dated or node in self._in_order, bucket=bucket)
        if node is self._result:  # what a user asks for is about the windows that are the results
            step = replace(step, emit=options.emit, empty_windows=options.empty_windows, events=options.events)
        made = self._add(step)
        for entry, left_out, by in below.entries:
            self._tell_substreams(entry, node)
            if by_rows or (left_out and not has_slack):
                self._judges(entry, Judge(made, ahead=by))
        return Made(made, path)

    def _judges(self, entry: int, judge: Judge) -> None:
        """Late rows are found where they enter, if promises order them."""
        guard = self._entry(entry).guard
        if guard.column is not None:
            self._change(entry, Entry, guard=replace(guard, judges=(*guard.judges, judge)))

    def _tell_substreams(self, entry: int, node: n.WindowAggregate) -> None:
        """Results by substream close by promises about single substreams."""
        step = self._entry(entry)
        if step.guard.column is None or not step.input.schema.columns:
            return
        columns = parse_progress(step.describe.policy, step.input.schema.ordinal_kind(step.guard.column)).columns
        if columns and columns[0] in {key.scalar.column_name for key in node.keys}:
            self._change(entry, Entry, describe=replace(step.describe, substreams=columns[0]))

    def _bucket(self, node: n.WindowAggregate, below: int) -> int:
        """The ids of these windows over that input; made when they are first asked for."""
        window = node.window
        at = (below, window.attribute, window.spec.plain)
        if at not in self._buckets:
            self._buckets[at] = self._add(BucketStep(node.input, (below,), window=window))
        return self._buckets[at]

    def _kernel(self, node: n.WindowAggregate) -> KernelChoice | None:
        known = statistics_for(node, self.choices.stats) if self._known is None else None
        request = request_of(node)  # a misspelt statistic is an error, whether or not there is a choice to make
        return None if request is None else choose(
            request, known, strategy=self.options.strategy, ordinal=node.window.ordinal,
            here=len(self._aggregates) == 1)

    def _check_strategy(self) -> None:
        """Refuse a strategy that nothing of the plan can take."""
        strategy = self.options.strategy
        found = [step for step in self.steps if isinstance(step, WindowAggregateStep)]
        relations = any(isinstance(step, RelationStep) for step in self.steps)
        if strategy.of_relations and not relations:
            raise PlanError(f"strategy={strategy.style.value!r} is a style of relations, and nothing of this query is "
                            "one: leave it out")
        if strategy.kernel == "auto":
            return
        if not found and relations:
            Style.parse(strategy.kernel)
        if not found:
            raise PlanError(f"strategy={strategy.kernel!r} names a kernel of window aggregates, and this query has "
                            "none: leave it out")
        if all(step.choice is not None and step.choice.reason != "asked for" for step in found):
            request = request_of(found[-1].aggregate)
            assert request is not None
            choose(request, strategy=strategy)  # says what runs it

    def entry(self, node: n.Named, guard: str | None, needed: Wanted = NO_KEYS) -> int:
        """The stream as it is ordered by a column; made when it is first asked for."""
        at = (node.name, guard)
        if at not in self._entries:
            policy = "source" if guard is None else self.choices.policy(node.name)
            self._entries[at] = self._add(Entry(node, (), () if guard is None else (guard,), describe=Describe(policy),
                                                guard=Guard(guard, self.options.late)))
        entry = self._entry(self._entries[at])
        self._change(self._entries[at], Entry, needed=tuple(dict.fromkeys((*entry.needed, *sorted(needed or ())))))
        return self._entries[at]

    def _entry(self, number: int) -> Entry:
        step = self.steps[number]
        assert isinstance(step, Entry)
        return step

    # -- relations

    def _relation(self, node: n.Node, path: Path, *, inside: bool) -> Made:
        relation, chosen = self._decided(node, inside)
        self._relations[path] = relation.running
        ports: dict[Port, int] = {}
        ends = any(isinstance(below, n.Lifetime) for below in relation.plan.walk())
        known: set[tuple[n.Node, str | None]] = set()
        for operator in relation.walk():
            port = self._port_of(operator, ends=ends)
            if port is not None and (port.node, port.guard) not in known:
                known.add((port.node, port.guard))
                made, number = self._port(port, (*path, *operator.path))
                ports[made] = number
        watched = not inside and (chosen is not None and chosen.statistics is not None)
        number = self._add(RelationStep(node, tuple(ports.values()), relation=relation, ports=tuple(ports),
                                        late=self.options.late, chosen_from=chosen, watched=watched))
        self.places[path] = number
        return Made(number, path)

    def _decided(self, node: n.Node, inside: bool) -> tuple[RelationPlan, Optimized | None]:
        choices, options, style = self.choices, self.options, self.options.strategy.style
        if style is Style.NEGATIVE:
            check_counted(node)
        if choices.decided is not None and not inside:
            return choices.decided, choices.watched
        found = optimize(node, self._known, style=style) if worth_optimizing(node) else None
        known = self._known if found is None else found.statistics
        made = relation_plan(node, node if found is None else found.plan, known, style=style,
                             joins=AUTO if inside else Joins.parse(options.joins),
                             generous=options.late is LatePolicy.GENEROUS, inside=inside,
                             current=options.current and not inside)
        if known is not None:
            cost = candidate(Rewritten(made.running), known, style).cost
            made = replace(made, cost={path: (cost.processing.get(path, 0.0), cost.state.get(path, 0.0))
                                       for path, _ in made.running.paths()})
        return made, found

    @staticmethod
    def _port_of(operator: PhysicalNode, *, ends: bool) -> Port | None:
        """Where rows enter an operator from outside its relation; ``ends``: a lifetime counts from the first of all."""
        node, options = operator.node, operator.options
        if operator.inputs:
            return None
        if isinstance(node, n.Named):
            return Port(node, options["guard"])
        assert isinstance(node, n.WindowAggregate | n.TimePairs)
        in_full = options["by_rows"] or ends
        return Port(node, TIME if options["by_rows"] else None, options["reads"], in_full=in_full)

    def _port(self, port: Port, path: Path) -> tuple[Port, int]:
        node, guard = port.node, port.guard
        if isinstance(node, n.Named):
            needed = frozenset(c for c in (guard, node.schema.time) if guard is not None and c is not None)
            return port, self.entry(node, guard, needed)
        made = self.stream(node, path, guard, dated=True)
        names = {below.name for below in node.walk() if isinstance(below, n.Named)}
        return replace(port, entries=tuple(number for (name, _), number in self._entries.items()
                                           if name in names)), made.step


def _name_below(node: n.Node, part: n.Node, name: Attribute) -> Attribute:
    """What an input calls the column that orders rows; where columns are not known it has the same name."""
    if isinstance(name, Chosen):
        return name.under(lambda column: str(node.below(part, column)))
    if name in {None, TIME} or (isinstance(node, n.Union) and not (name in node.columns and part.columns)):
        return name
    return node.below(part, name)


def _names_below(node: n.Node, part: n.Node, names: Keys) -> Keys:
    return frozenset(found for name in names if (found := node.below(part, name)) is not None)


def _ordered(joins: Collection[int | None]) -> tuple[int | None, ...]:
    return tuple(sorted(joins, key=lambda join: -1 if join is None else join))
