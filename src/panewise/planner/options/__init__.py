"""What a user may say about a run: every option is declared once, in ``run_options``.

Entry points, the command line, the engines and the page of options read the declarations.
"""

from panewise.planner.options.declaring import Flag, Mode, Option, PlanKind, Refusal
from panewise.planner.options.kinds import kind_of
from panewise.planner.options.run_options import DEFAULTS, OPTIONS, RunOptions, options_of

__all__ = ["DEFAULTS", "OPTIONS", "Flag", "Mode", "Option", "PlanKind", "Refusal", "RunOptions", "kind_of",
           "options_of"]
