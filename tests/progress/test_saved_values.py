"""Values in saved progress: exact without a schema, and nothing else is accepted."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.core.errors import CheckpointError, ProgressError
from panewise.core.ordinals import OrdinalKind
from panewise.progress.bounds import BoundTable
from panewise.progress.lateness import TimeLate
from panewise.progress.notation import value_from_state, value_to_state
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED

SAVABLE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(), st.floats(allow_nan=False), st.dates(), st.datetimes(),
    st.datetimes(timezones=st.just(UTC)), st.decimals(allow_nan=False), st.binary())


@given(SAVABLE)
def test_every_kind_of_constant_survives(value: Any) -> None:
    again = value_from_state(json.loads(json.dumps(value_to_state(value))))
    assert (type(again), again) == (type(value), value)


def test_what_cannot_be_saved_or_read_is_named() -> None:
    with pytest.raises(ProgressError, match="of type set cannot be saved"):
        value_to_state({1})
    for strange in ({"exec": "x"}, {"date": 5}, {"date": "2026-01-01", "bytes": ""}, {}):
        with pytest.raises(CheckpointError, match="value of unknown form"):
            value_from_state(strange)


def test_damaged_state_is_a_checkpoint_error() -> None:
    good = TimeLate(5).snapshot()
    without_supplied = {k: v for k, v in good.items() if k != "supplied"}
    for damaged in ({**good, "state": None}, {**good, "state": "x"}, without_supplied):
        with pytest.raises(CheckpointError, match="policy 'late' is damaged"):
            TimeLate(5).restore(damaged)
    with pytest.raises(CheckpointError, match="saved bounds on 'ts' are damaged"):
        BoundTable("ts").restore({"attribute": "ts", "linear": 5})
    table = BoundTable("ts").snapshot()
    table["groups"] = [{"names": ["day"], "bounds": [[[{"date": "yesterday"}], 5]]}]
    with pytest.raises(CheckpointError, match="saved bounds on 'ts' are damaged"):
        BoundTable("ts").restore(table)


def test_bounds_beyond_the_calendar_are_written_as_integers() -> None:
    p = Punctuation.below("ts", FINISHED - 1, day=date(2026, 1, 1), at=datetime(2026, 1, 1, tzinfo=UTC), x=Decimal(1))
    assert p.to_json("ts", OrdinalKind.TIMESTAMP) == {
        "ts": FINISHED - 1, "day": "2026-01-01", "at": "2026-01-01T00:00:00+00:00", "x": "1"}
