"""Rules applied anywhere in a plan: once, until nothing changes, or to a bounded closure with the way to each plan.

What surrounds a node decides which rules are safe there. Below a window, a join in time, FIRST and LAST, or a table
that is met at a row's birth, and where results are shown with their lives, the time of a row is seen, so another of
several equal rows is another answer. Below ``Rstream`` and ``-restore`` every movement of a window is reported, so rows
that fail a later test still count; internal windows turn movements into results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from panewise.aggregates.registry import resolve
from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.result_forms import Form, form_of
from panewise.planner.facts.working_labels import has_internal
from panewise.planner.rewrites import RULES, Role, Rule, rules_of
from panewise.planner.rewrites.never import moved_above

LIMIT = 60
"""Plans a closure may hold; what lies further away is not looked at."""
ROUNDS = 100


@dataclass(frozen=True)
class Surroundings:
    """What can be seen of a node from above."""

    births: bool = False
    """The time of every row."""
    movements: bool = False
    """The instants at which a window moves."""
    internal: bool = False
    """Results that stay after their rows have left, somewhere in the plan."""

    @classmethod
    def of(cls, plan: n.Node) -> Surroundings:
        """Those of the root: results with ``valid_from`` and ``expires_at`` show births."""
        internal = has_internal(plan)
        return cls(internal or form_of(plan) is Form.LIVES, internal, internal)

    def below(self, node: n.Node) -> Surroundings:
        """Those of a node's inputs."""
        births = isinstance(node, n.Window | n.WindowAggregate | n.BandJoin | n.TumblingJoin) or (
            isinstance(node, n.TableJoin) and _at_birth(node)) or (
            isinstance(node, n.GroupAggregate) and _by_age(node))
        movements = False
        if isinstance(node, n.RelationToStream):
            births = births or node.kind is Kind.WSTREAM
            movements = node.kind in {Kind.RSTREAM, Kind.WSTREAM} or node.restore
        return replace(self, births=self.births or births, movements=self.movements or movements)

    def allow(self, rule: Rule) -> bool:
        """Whether a rule's results cannot be told from what they replace here."""
        return ((rule.keeps_births or not self.births) and (rule.keeps_instants or not self.movements)
                and (rule.with_internal or not self.internal))


def _at_birth(node: n.TableJoin) -> bool:
    return any(isinstance(t, n.Named) and t.schema.kind is SourceKind.NRR for t in node.table.walk())


def _by_age(node: n.GroupAggregate) -> bool:
    """Whether the oldest or the newest row of a group is its value: which of several equal rows is there is seen."""
    return any(resolve(call.function, call.parameters, call.distinct).needs_order for call in node.aggregates)


@dataclass(frozen=True)
class Rewritten:
    """A plan and the rules that led to it."""

    plan: n.Node
    by: tuple[str, ...] = ()


def steps(plan: n.Node, rules: Iterable[Rule] = RULES, *, around: Surroundings | None = None) -> Iterator[Rewritten]:
    """Every plan that one application of one rule, anywhere, leads to."""
    around = around or Surroundings.of(plan)
    for found, rule in _steps(plan, tuple(rules), around):
        if found != plan and not moved_above(plan, found):
            yield Rewritten(found, (rule.name,))


def _steps(node: n.Node, rules: tuple[Rule, ...], around: Surroundings) -> Iterator[tuple[n.Node, Rule]]:
    for rule in rules:
        if around.allow(rule):
            yield from ((found, rule) for found in rule.apply(node))
    inner, inputs = around.below(node), node.inputs
    for position, child in enumerate(inputs):
        for found, rule in _steps(child, rules, inner):
            yield node.with_inputs(*(found if i == position else c for i, c in enumerate(inputs))), rule


def simplified(plan: n.Node, role: Role = Role.SIMPLIFY, *, around: Surroundings | None = None) -> Rewritten:
    """The plan after every rule that is always better, from the root down until none applies."""
    around = around or Surroundings.of(plan)
    by: dict[str, None] = {}
    found = _simplified(plan, rules_of(role), around, by)
    return Rewritten(plan) if moved_above(plan, found) else Rewritten(found, tuple(by))


def _simplified(node: n.Node, rules: tuple[Rule, ...], around: Surroundings, by: dict[str, None]) -> n.Node:
    for _ in range(ROUNDS):
        node = _settled(node, rules, around, by)
        inner, inputs = around.below(node), node.inputs
        below = [_simplified(child, rules, inner, by) for child in inputs]
        if all(new is old for new, old in zip(below, inputs, strict=True)):
            break
        node = node.with_inputs(*below)  # which may let a rule apply here
    return node


def _settled(node: n.Node, rules: tuple[Rule, ...], around: Surroundings, by: dict[str, None]) -> n.Node:
    """The node after the rules that apply to it itself."""
    for _ in range(ROUNDS):
        step = next(((found, rule) for rule in rules if around.allow(rule) for found in rule.apply(node)
                     if found != node), None)
        if step is None:
            break
        node = step[0]
        by.setdefault(step[1].name)
    return node


def closure(plan: n.Node, *, limit: int = LIMIT, cost: Callable[[n.Node], float] | None = None) -> list[Rewritten]:
    """The plan itself, simplified, and what the candidate rules lead to from there, each simplified.

    From plans that cost least on, if there is a cost, so that the limit cuts off what is dear; else nearest first, in
    the order of the rules. Either way the same plans each time.
    """
    around = Surroundings.of(plan)
    first = simplified(plan, around=around)
    found: dict[n.Node, Rewritten] = {plan: Rewritten(plan)}
    found.setdefault(first.plan, first)
    queue = [(cost(first.plan) if cost else 0.0, 0, first)]
    explore = rules_of(Role.EXPLORE)
    while queue and len(found) < limit:
        _, _, current = heappop(queue)
        for step in steps(current.plan, explore, around=around):
            after = simplified(step.plan, around=around)
            if after.plan in found or len(found) >= limit:
                continue
            by = tuple(dict.fromkeys((*current.by, *step.by, *after.by)))
            found[after.plan] = Rewritten(after.plan, by)
            heappush(queue, (cost(after.plan) if cost else 0.0, len(found), found[after.plan]))
    return list(found.values())
