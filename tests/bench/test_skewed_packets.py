"""The skewed data sets have the group shares of table 6-2."""

from __future__ import annotations

import numpy as np
import pytest
from skewed_packets import GROUP_SHARES, LAGGING_LINKS, SkewedPackets, size_class

from panewise.core.errors import QuantityError
from panewise.core.ordinals import to_ordinals
from panewise.core.time import SECOND


@pytest.mark.parametrize("dataset", range(1, 6))
def test_group_shares_are_those_of_the_table_within_two_points(dataset: int) -> None:
    packets = SkewedPackets(dataset, packets=30_000, periods=3)
    table = packets.table()
    period = (to_ordinals(table["ts"], "ts") // SECOND).astype(np.int64)
    for number in np.unique(period):
        sizes = np.unique(table["src"].to_numpy()[period == number], return_counts=True)[1]
        shares = np.bincount(size_class(sizes), minlength=3) / len(sizes) * 100
        assert np.abs(shares - GROUP_SHARES[dataset - 1]).max() <= 2
        assert sizes.sum() == 30_000


def test_every_data_set_has_the_same_number_of_packets_and_its_seed() -> None:
    tables = [SkewedPackets(dataset, periods=2).table() for dataset in range(1, 6)]
    assert {table.num_rows for table in tables} == {40_000}
    assert SkewedPackets(3, periods=1).table().equals(SkewedPackets(3, periods=1).table())
    assert not SkewedPackets(3, periods=1).table().equals(SkewedPackets(3, periods=1, seed=2).table())


def test_one_link_is_in_order_and_lagging_links_come_later() -> None:
    times = to_ordinals(SkewedPackets(2, periods=2).table()["ts"], "ts")
    assert (times[1:] >= times[:-1]).all()
    table = SkewedPackets(2, periods=5, lags=LAGGING_LINKS, link_shares=(0.45, 0.45, 0.1)).table()
    times, link = to_ordinals(table["ts"], "ts"), table["link"].to_numpy()
    behind = np.maximum.accumulate(times) - times
    assert behind[link < 2].max() == 0
    assert np.median(behind[link == 2]) > 1.9 * SECOND
    assert 0.08 < (link == 2).mean() < 0.12


def test_groups_return_as_often_as_asked() -> None:
    def groups(returning: float) -> int:
        return len(np.unique(SkewedPackets(4, packets=5_000, periods=4, returning=returning).table()["src"].to_numpy()))

    per_period = sum(SkewedPackets(4, packets=5_000).groups)
    assert groups(1.0) == per_period
    assert groups(0.0) == 4 * per_period


def test_parameters_that_make_no_sense_are_refused() -> None:
    for options in ({"dataset": 6}, {"packets": 0}, {"returning": 1.5}, {"link_shares": (1.0, 2.0)}):
        with pytest.raises(QuantityError):
            SkewedPackets(**options)  # type: ignore[arg-type]
