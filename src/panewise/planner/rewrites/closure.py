"""Rules applied anywhere in a plan: once, until nothing changes, or to a bounded closure with the way to each plan.

What surrounds a node decides which rules are safe there. Below a window, a join in time or a table that is met at a
row's birth, and where results are shown with their lives, the time of a row is seen, so another of several equal rows
is another answer. Below ``Rstream`` and ``-restore`` every movement of a window is reported, so rows that fail a later
test still count; internal windows turn movements into results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from panewise.core.schema import SourceKind
from panewise.plan import nodes as n
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.forms import Form, form_of
from panewise.planner.rewrites import RULES, Role, Rule, rules_of
from panewise.planner.rewrites.never import moved_above

LIMIT = 200
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
    def of(cls, plan: n.Node, *, late_rows: bool = False) -> Surroundings:
        """Those of the root: results with ``valid_from`` and ``expires_at`` show births.

        Where late rows are shown, every row that comes to a window is seen, also one that would be left out later.
        """
        internal = any((isinstance(node, n.Window) and node.clause.internal)
                       or (isinstance(node, n.GroupAggregate) and node.internal) for node in plan.walk())
        return cls(internal or form_of(plan) is Form.LIVES, internal or late_rows, internal)

    def below(self, node: n.Node) -> Surroundings:
        """Those of a node's inputs."""
        births = isinstance(node, n.Window | n.WindowAggregate | n.BandJoin | n.TumblingJoin) or (
            isinstance(node, n.TableJoin) and _at_birth(node))
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


@dataclass(frozen=True)
class Rewritten:
    """A plan and the rules that led to it."""

    plan: n.Node
    by: tuple[str, ...] = ()


def steps(plan: n.Node, rules: Iterable[Rule] = RULES, *, late_rows: bool = False) -> Iterator[Rewritten]:
    """Every plan that one application of one rule, anywhere, leads to."""
    rules = tuple(rules)
    for found, rule in _steps(plan, rules, Surroundings.of(plan, late_rows=late_rows)):
        if found != plan and not moved_above(plan, found):
            yield Rewritten(found, (rule.name,))


def _steps(node: n.Node, rules: tuple[Rule, ...], around: Surroundings) -> Iterator[tuple[n.Node, Rule]]:
    for rule in rules:
        if around.allow(rule):
            yield from ((found, rule) for found in rule.apply(node))
    inner = around.below(node)
    for position, child in enumerate(node.inputs):
        for found, rule in _steps(child, rules, inner):
            yield node.with_inputs(*(found if i == position else c for i, c in enumerate(node.inputs))), rule


def simplified(plan: n.Node, role: Role = Role.SIMPLIFY, *, late_rows: bool = False) -> Rewritten:
    """The plan after every rule that is always better, until none applies."""
    rules = rules_of(role)
    by: list[str] = []
    for _ in range(ROUNDS):
        step = next(steps(plan, rules, late_rows=late_rows), None)
        if step is None:
            break
        plan = step.plan
        by.extend(name for name in step.by if name not in by)
    return Rewritten(plan, tuple(by))


def closure(plan: n.Node, *, limit: int = LIMIT, late_rows: bool = False) -> list[Rewritten]:
    """The plan itself, simplified, and what the candidate rules lead to from there, each simplified; nearest first.

    Deterministic: plans are found breadth first, in the order of the rules.
    """
    first = simplified(plan, late_rows=late_rows)
    found: dict[n.Node, Rewritten] = {plan: Rewritten(plan)}
    found.setdefault(first.plan, first)
    queue = [first]
    explore = rules_of(Role.EXPLORE)
    while queue and len(found) < limit:
        current = queue.pop(0)
        for step in steps(current.plan, explore, late_rows=late_rows):
            after = simplified(step.plan, late_rows=late_rows)
            if after.plan in found or len(found) >= limit:
                continue
            by = tuple(dict.fromkeys((*current.by, *step.by, *after.by)))
            found[after.plan] = Rewritten(after.plan, by)
            queue.append(found[after.plan])
    return list(found.values())
