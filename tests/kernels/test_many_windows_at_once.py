"""One push that opens very many windows: time grows with their number, not with its square."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import panewise as pw

SUM = "SELECT sum(v) [RANGE 20, SLIDE 10, WA ts] AS n FROM s"


@pytest.mark.parametrize("windows", [1_000_000])
def test_a_million_windows_open_in_one_push(windows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No array is appended to once per window: that copies all windows before it."""
    appended = 0
    plain = np.append

    def counted(*arguments: object) -> object:
        nonlocal appended
        appended += 1
        return plain(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(np, "append", counted)
    query = pw.open_query(SUM, s="ts bigint, v bigint", strategy="panes")
    query.push("s", pa.table({"ts": np.arange(windows, dtype=np.int64) * 10, "v": np.ones(windows, np.int64)}))
    found = query.finish()
    assert found.num_rows == windows + 1
    assert found.column("n").to_pylist()[:3] == [1, 2, 2]
    assert pa.compute.sum(found.column("n")).as_py() == 2 * windows
    assert appended < 1_000


def test_states_that_move_into_panes_keep_their_windows() -> None:
    """The first rows are counted per window; when many have come, their states become panes."""
    rng = np.random.default_rng(7)
    times, values = rng.permutation(20_000) * 3, rng.integers(-9, 9, 20_000)
    answers = []
    for strategy in ("panes", "buffering"):
        query = pw.open_query("SELECT k, sum(v) [RANGE 20, SLIDE 10, WA ts] AS n FROM s GROUP BY k",
                              s="ts bigint, k bigint, v bigint", strategy=strategy)
        for part in (slice(0, 500), slice(500, 20_000)):
            query.push("s", pa.table({"ts": times[part], "k": times[part] % 5, "v": values[part]}))
        answers.append(sorted((r["k"], r["window"]["start"], r["n"]) for r in query.finish().to_pylist()))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("aggregate", ["first(v)", "median(v)", "count(DISTINCT v)"])
def test_windows_that_hold_the_same_rows_are_computed_once(aggregate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is in 200,000 windows here, and what they hold changes six times."""
    from panewise.kernels.panes.table_stacks import TableStacks

    merges = []
    plain = TableStacks._merged

    def counted(self: TableStacks, left: pa.Table, right: pa.Table | None) -> pa.Table:
        merges.append(1)
        return plain(self, left, right)

    monkeypatch.setattr(TableStacks, "_merged", counted)
    text = f"SELECT {aggregate} [RANGE {{}}, SLIDE 1, WA ts] AS n FROM s"
    rows = pa.table({"ts": [0, 70_000, 150_000], "v": [5, 7, 5]})
    found = pw.sql(text.format(200_000), s=rows).to_arrow()
    assert found.num_rows == 350_000
    assert len(merges) < 30
    by_end = dict(zip([w["end"] for w in found.column("window").to_pylist()], found.column("n").to_pylist(),
                      strict=True))
    few = pw.sql(text.format(20), s=pa.table({"ts": [0, 7, 15], "v": [5, 7, 5]})).to_arrow().to_pylist()
    for row in few:
        assert by_end[(row["window"]["end"] - 1) * 10_000 + 1] == row["n"]
