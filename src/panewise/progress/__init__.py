"""Progress: what sources promise (punctuation), how promises are made, combined and kept, and what late rows become."""

from panewise.progress.bounds import BoundTable
from panewise.progress.clocks import Heartbeat, IdleSource, Timer
from panewise.progress.describe import Describe, Grid
from panewise.progress.generators import Generator, Observed, SourceSupplied
from panewise.progress.grammatical import Guard, Violation, Violations, grammatical, is_grammatical, violations
from panewise.progress.jumps import JumpGuard
from panewise.progress.late import Decision, LatePolicy, decide
from panewise.progress.lateness import ColumnSupplied, Ordered, RowsLate, TimeLate
from panewise.progress.meld import Meld
from panewise.progress.patterns import WILDCARD, Below, Between, Constant, OneOf, Pattern, Wildcard
from panewise.progress.policy import parse_progress, slack
from panewise.progress.punctuation import END, PUNCTUATION_KEY, Punctuation
from panewise.progress.substreams import PerSubstream
from panewise.progress.timeline import Arrival, Item, Row, Timeline, timeline
from panewise.progress.watermarks import (
    FINISHED,
    NO_BOUND,
    high_watermark,
    high_watermarks,
    low_watermark,
    low_watermarks,
    offset,
)

__all__ = [
    "END", "FINISHED", "NO_BOUND", "PUNCTUATION_KEY", "WILDCARD", "Arrival", "Below", "Between", "BoundTable",
    "ColumnSupplied", "Constant", "Decision", "Describe", "Generator", "Grid", "Guard", "Heartbeat", "IdleSource",
    "Item", "JumpGuard", "LatePolicy", "Meld", "Observed", "OneOf", "Ordered", "Pattern", "PerSubstream", "Punctuation",
    "Row", "RowsLate", "SourceSupplied", "TimeLate", "Timeline", "Timer", "Violation", "Violations", "Wildcard",
    "decide", "grammatical", "high_watermark", "high_watermarks", "is_grammatical", "low_watermark", "low_watermarks",
    "offset", "parse_progress", "slack", "timeline", "violations",
]
