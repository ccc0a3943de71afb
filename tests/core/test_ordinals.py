"""The border between columns and ordinals: what is refused, what is rounded, and where a calendar ends."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from panewise.core.errors import QuantityError, SchemaError
from panewise.core.ordinals import OrdinalKind, from_ordinals, to_ordinals


def test_nanoseconds_belong_to_the_microsecond_they_are_in_also_before_the_epoch() -> None:
    stamps = pa.array([-1, -1000, -1001, 1999], pa.timestamp("ns"))
    assert to_ordinals(stamps, "ts").tolist() == [-1, -1, -2, 1]
    assert to_ordinals(pa.chunked_array([stamps]), "ts").tolist() == [-1, -1, -2, 1]


@pytest.mark.parametrize("column", [
    pa.array([2**62], pa.timestamp("s")), pa.array([2**63], pa.uint64()), pa.array([-1], pa.date64()),
], ids=lambda c: str(c.type))
def test_a_value_that_does_not_fit_is_refused_with_its_column(column: pa.Array) -> None:
    with pytest.raises(SchemaError, match=r"'ts' is .* and has a value that cannot order a window"):
        to_ordinals(column, "ts")


@pytest.mark.parametrize("value", [2**62, -(2**62), 2**63 - 1, -(2**63)])
def test_a_value_so_large_that_window_ids_would_wrap_round_is_refused_with_its_row(value: int) -> None:
    with pytest.raises(SchemaError, match=f"row 12: 'ts' is {value}, too far from zero"):
        to_ordinals(pa.array([0, value, 5]), "ts", first_row=11)
    assert to_ordinals(pa.array([value]), "ts", limit=None).tolist() == [value], "bounds may be the ends of time"


def test_an_instant_that_no_datetime_has_is_shown_with_its_year_and_a_date_as_its_number() -> None:
    assert OrdinalKind.TIMESTAMP.text(2**61) == "75039-04-04T19:00:13.693952Z"
    assert OrdinalKind.DATE.text(2**40) == str(2**40)


def test_a_date_no_calendar_has_is_refused_and_does_not_become_another() -> None:
    with pytest.raises(QuantityError, match="beyond the last date"):
        from_ordinals(np.array([2**33]), OrdinalKind.DATE)
