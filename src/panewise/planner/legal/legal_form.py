"""A query that may not run as it is written, but may in another form that means the same, runs in that form.

A join with a table above NOT EXISTS is the case: a row meets the table when it comes, and whether it is shown is
decided afterwards, so the table can be joined first. The form is found once, before any engine sees the plan; all
engines, the oracle too, answer it.
"""

from __future__ import annotations

from dataclasses import dataclass

from panewise.core.errors import PlanError
from panewise.plan import nodes as n
from panewise.plan.written import refuses_at_place, text_of, written
from panewise.planner.explain.formula import formula
from panewise.planner.legal.legality import problems
from panewise.planner.rewrites.closure import simplified


@dataclass(frozen=True)
class LegalForm:
    """The plan to run, and why it is not the one that was written, if it is not."""

    plan: n.Node
    because: str | None = None
    by: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.because is None:
            return "as written"
        return f"rewritten as {formula(self.plan)} ({', '.join(self.by)}), because {self.because}"


@refuses_at_place
def legal_form(plan: n.Node) -> LegalForm:
    """The plan itself if it is legal, else what is always done to plans if that is; `PlanError` if neither is."""
    found = next(problems(plan), None)
    if found is None:
        return LegalForm(plan)
    rewritten = simplified(plan)
    if next(problems(rewritten.plan), None) is not None:
        raise PlanError(found.message)
    return LegalForm(written(rewritten.plan, text_of(plan)), found.because, rewritten.by)
