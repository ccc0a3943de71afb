"""The two instants before all others; both are shown as null, because nothing was observed at them.

Values of a windowing attribute are above both (`core.ordinals.LIMIT`).
"""

from __future__ import annotations

ALWAYS = -(2**62)
"""When rows of a table without a time column came. A result that was always there shows it as null, as it does an end
that never comes."""
BEGINNING = ALWAYS - 1
"""Before any row of any input: relations over nothing. All are empty but an aggregate without GROUP BY, which has one
row then, as at every other instant, and what is made of that row."""
