"""What rows and punctuation pass on their way, one operator a file: each maps rows and says what becomes of a promise.

Select, Apply, Exploding, Rename, Prefix and Meld keep no row and restore no order (Li 8). Sort and Merge are the
in-order alternatives, kept for comparison and for consumers that need order.
"""

from panewise.queries.operators.base import Item, Operator, Passing, drive
from panewise.queries.operators.bucket import Bucket
from panewise.queries.operators.describe import DescribeProgress
from panewise.queries.operators.dup_elim import DupElim
from panewise.queries.operators.exploding import Exploding
from panewise.queries.operators.merge import Merge
from panewise.queries.operators.sort import Sort
from panewise.queries.operators.stateless import Apply, Prefix, Rename, Select, project
from panewise.queries.operators.union import MeldInput

__all__ = ["Apply", "Bucket", "DescribeProgress", "DupElim", "Exploding", "Item", "MeldInput", "Merge",
           "Operator", "Passing", "Prefix", "Rename", "Select", "Sort", "drive", "project"]
