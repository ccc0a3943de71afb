"""Window aggregates as streams of a relation: read twice, and beside the stream they are over."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import UnsupportedError
from panewise.core.schema import Catalog, SourceSchema
from panewise.planner.capabilities import check
from panewise.progress.timeline import Timeline
from panewise.sql import parse
from relations.plans import COLUMNS, PLACES, timelines
from relations.running import assert_like_the_oracle

CATALOG = Catalog({name: SourceSchema(dict(COLUMNS), time="ts") for name in ("s", "t")})
COUNTS = "(SELECT k, count(*) AS n FROM s [RANGE 4, SLIDE 2, WA ts] GROUP BY k)"
QUERIES = {
    "most counted": f"SELECT c.k, c.n FROM {COUNTS} AS c [NOW], (SELECT max(n) AS top FROM {COUNTS} AS d [NOW]) AS m "
                    "WHERE c.n = m.top",
    "counts beside rows": f"SELECT c.n, s.v FROM {COUNTS} AS c [RANGE 3], s [RANGE 2] WHERE c.k = s.k",
    "two aggregates": f"SELECT c.n, e.most FROM {COUNTS} AS c [RANGE 3], "
                      "(SELECT k, max(v) AS most FROM s [RANGE 3, SLIDE 3, WA ts] GROUP BY k) AS e [RANGE 4] "
                      "WHERE c.k = e.k",
    "beside another stream": f"SELECT c.n, t.v FROM {COUNTS} AS c [RANGE 3], t [RANGE 2] WHERE c.k = t.k",
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@settings(max_examples=25, deadline=None)
@given(items=timelines(("s", "t"), rows=20), cuts=PLACES, saves=PLACES, late=st.sampled_from(["drop", "side"]))
def test_a_stream_inside_a_window_aggregate_and_beside_it(text: str, items: Timeline, cuts: frozenset[int],
                                                          saves: frozenset[int], late: str) -> None:
    assert_like_the_oracle(parse(text, CATALOG), items, cuts, saves, late=late)


def test_a_stream_that_would_be_ordered_by_two_columns_is_refused() -> None:
    counts = COUNTS.replace("WA ts", "WA v")
    plan = parse(f"SELECT c.n, s.v FROM {counts} AS c [RANGE 3], s [RANGE 2] WHERE c.k = s.k", CATALOG)
    with pytest.raises(UnsupportedError, match="ordered by different columns"):
        check(plan, "embedded")
