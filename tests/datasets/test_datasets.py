"""Generated and real data: reproducible, as disordered as asked, and punctuated exactly."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.core.errors import QuantityError
from panewise.core.ordinals import to_ordinals
from panewise.core.time import SECOND
from panewise.datasets.auction import AuctionSite
from panewise.datasets.disorder import disorder_summary, promise_positions
from panewise.datasets.flights import flights
from panewise.progress.punctuation import Punctuation


@given(st.lists(st.integers(-50, 50)), st.integers(1, 20))
def test_every_promise_is_true_and_stands_as_early_as_it_can(times: list[int], every: int) -> None:
    values = np.array(times, np.int64)
    positions, bounds = promise_positions(values, every)
    for position, bound in zip(positions, bounds, strict=True):
        assert bound % every == 0
        assert (values[position:] >= bound).all()
        assert (values[position - 1:] < bound).any()


def test_the_same_seed_gives_the_same_stream_and_another_seed_another() -> None:
    assert AuctionSite(events=500, seed=3).bids().equals(AuctionSite(events=500, seed=3).bids())
    assert not AuctionSite(events=500, seed=3).bids().equals(AuctionSite(events=500, seed=4).bids())


def test_the_streams_have_the_usual_proportions() -> None:
    site = AuctionSite(events=5_000)
    assert [site.stream(n).num_rows for n in ("persons", "auctions", "bids")] == [100, 300, 4_600]


def test_disorder_and_delay_are_as_asked() -> None:
    def summary(**options: float | str) -> dict[str, float]:
        return disorder_summary(to_ordinals(AuctionSite(events=20_000, rate=1_000, **options).bids()["ts"], "ts"))

    assert summary(disorder=0)["out_of_order"] == 0
    mild = summary(disorder=0.05, max_delay="2 s")
    assert 0.03 < mild["out_of_order"] < 0.06
    assert 1 * SECOND < mild["largest"] <= 2 * SECOND


def test_skew_makes_few_auctions_popular() -> None:
    def share_of_the_first(skew: float) -> float:
        auctions = AuctionSite(events=20_000, skew=skew).bids()["auction"].to_numpy()
        return float((auctions == 1_000).mean())

    assert share_of_the_first(0.0) < 0.01
    assert share_of_the_first(1.2) > 0.1


def test_the_punctuated_stream_is_grammatical_and_loses_no_row() -> None:
    site = AuctionSite(events=2_000, rate=100, disorder=0.3)
    bound, rows, promises = None, 0, 0
    for item in site.items("bids", punctuate="1 s"):
        if isinstance(item, Punctuation):
            bound, promises = item.bound("ts"), promises + 1
        else:
            rows += item.num_rows
            assert bound is None or to_ordinals(item.column("ts"), "ts").min() >= bound
    assert rows == site.bids().num_rows
    assert promises > 5


@pytest.mark.parametrize("options", [{"rate": 0}, {"disorder": 1.5}, {"events": -1}, {"keys": 0}])
def test_impossible_parameters_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(QuantityError):
        AuctionSite(**options)


def test_an_unknown_stream_is_refused_by_name() -> None:
    with pytest.raises(QuantityError, match="no stream 'bid'"):
        AuctionSite().stream("bid")


def test_the_flights_are_all_there_and_arrive_out_of_order() -> None:
    table = flights()
    assert table.num_rows == 336_776
    assert table.schema.field("ts").type == pa.timestamp("us", tz="UTC")
    assert disorder_summary(to_ordinals(table["ts"], "ts"))["out_of_order"] > 0.5
    assert flights(limit=10).equals(table.slice(0, 10))
