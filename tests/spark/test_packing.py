"""Messages for shards: what goes in comes out, in fewer bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.engines.spark.host.packing import packed, unpacked
from panewise.kernels.contract.state_file import table_bytes

LONG = st.integers(-(2**63), 2**63 - 1)


@settings(deadline=None)
@given(st.lists(st.tuples(LONG, st.integers(-(2**31), 2**31 - 1), st.none() | LONG, st.text(max_size=3))))
def test_any_table_comes_out_as_it_went_in(rows: list[tuple[int, int, int | None, str]]) -> None:
    types = {"long": pa.int64(), "short": pa.int32(), "gaps": pa.int64(), "text": pa.string()}
    columns = list(zip(*rows, strict=True)) if rows else [[]] * 4
    table = pa.table([pa.array(c, t) for c, t in zip(columns, types.values(), strict=True)], names=list(types))
    table = table.replace_schema_metadata({b"input": b"0"})
    assert unpacked(packed(table)).equals(table, check_metadata=True)


def test_rows_of_a_window_over_rows_take_half_their_bytes_or_less() -> None:
    rng = np.random.default_rng(1)
    rows = pa.table({"key": rng.integers(0, 1_000, 100_000), "price": rng.random(100_000),
                     "place": np.arange(10**7, 10**7 + 100_000)})
    assert len(packed(rows)) < 0.6 * len(table_bytes(rows))
