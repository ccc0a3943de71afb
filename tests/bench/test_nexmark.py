"""Nexmark: what is generated, and that every engine gives the answer of the definition and of DuckDB."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from nexmark.check import differences
from nexmark.engines import DuckDB, Embedded, SparkBatch, SparkStreaming
from nexmark.files import Part, parts, settings, write
from nexmark.generator import STREAMS, Nexmark, Proportions
from nexmark.queries import CLOSED, QUERIES, WON, Query

import panewise as pw
from panewise.core.ordinals import to_ordinals
from panewise.core.time import SECOND
from panewise.datasets.disorder import Item, disorder_summary
from panewise.progress.punctuation import Punctuation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUN = Path(__file__).parents[2] / "bench" / "nexmark"


def times(table: pa.Table, column: str = "ts") -> np.ndarray:
    return to_ordinals(table[column], column)


# -- the generator ---------------------------------------------------------------------------------------------------


def test_events_come_in_the_usual_proportions_and_at_the_rate() -> None:
    site = Nexmark(events=100_000, rate=2_000, disorder=0)
    assert [site.stream(name).num_rows for name in STREAMS] == [2_000, 6_000, 92_000]
    for name in STREAMS:
        assert np.diff(times(site.stream(name))).min() >= 0
    assert np.ptp(times(site.bids())) == pytest.approx(50 * SECOND, rel=0.001)


def test_a_cycle_that_is_not_complete_has_its_first_kinds_first() -> None:
    assert [Nexmark(events=53).stream(name).num_rows for name in STREAMS] == [2, 5, 46]
    odd = Nexmark(events=7, proportions=Proportions(2, 1, 3))
    assert [odd.stream(name).num_rows for name in STREAMS] == [3, 1, 3]


@pytest.mark.parametrize("name", STREAMS)
def test_the_seed_decides_and_more_events_begin_with_the_same(name: str) -> None:
    few, many = Nexmark(events=30_000), Nexmark(events=100_000)
    rows = few.stream(name)
    assert rows == few.stream(name)
    assert rows == many.stream(name).slice(0, rows.num_rows)
    assert rows != replace(few, seed=2).stream(name)


def test_disorder_is_a_share_and_bounded() -> None:
    site = Nexmark(events=100_000, disorder=0.2, lateness="500 ms")
    seen = disorder_summary(times(site.bids()))
    assert seen["out_of_order"] == pytest.approx(0.2, abs=0.01)
    assert 0.9 * site.late < seen["largest"] <= site.late


def test_no_row_breaks_a_promise_and_promises_come_at_the_interval() -> None:
    bound, bounds = 0, []
    for item in Nexmark(events=200_000, punctuation="2 s").items("bids"):
        if isinstance(item, Punctuation):
            bound = item.bound("ts") or 0
            bounds.append(bound)
        else:
            assert times(item).min() >= bound
    assert len(bounds) > 5
    assert all(b % (2 * SECOND) == 0 for b in bounds)


def test_hot_ones_get_their_share() -> None:
    even, skewed = Nexmark(hot_auctions=0, hot_bidders=0, hot_sellers=0), Nexmark()

    def largest(table: pa.Table, column: str) -> int:
        return pc.max(pc.value_counts(table[column]).field("counts")).as_py()

    for stream, column in (("bids", "auction"), ("bids", "bidder"), ("auctions", "seller")):
        assert largest(skewed.stream(stream), column) > 2 * largest(even.stream(stream), column)


def test_auctions_close_after_they_open_soon_enough_and_one_of_a_seller_at_a_time() -> None:
    site = Nexmark(events=500_000)
    auctions = site.auctions()
    length = times(auctions, "expires") - times(auctions)
    assert length.min() > 0
    assert 0.9 * site.longest < length.max() < site.longest
    assert auctions.group_by(["seller", "expires"]).aggregate([]).num_rows == auctions.num_rows


def test_files_hold_the_rows_and_keep_their_promises(tmp_path: Path) -> None:
    site = Nexmark(events=40_000, rate=1_000, proportions=Proportions(2, 3, 45))
    write(tmp_path / "data", site, batches=3)
    assert settings(tmp_path / "data") == (site, 3)
    for name in STREAMS:
        found: list[Part] = list(parts(tmp_path / "data", name))
        assert pa.concat_tables([part.rows for part in found]).equals(site.stream(name))
        for part, following in pairwise(found):
            assert part.bound is not None
            assert times(following.rows).min() >= part.bound


# -- the comparison --------------------------------------------------------------------------------------------------


ROWS = pa.table({"k": [1, 2, 2], "x": [0.1, 0.2, 0.2], "window": [{"start": 0, "end": 5}] * 3})


def test_the_comparison_ignores_order_last_bits_and_how_times_are_written() -> None:
    other = ROWS.take([2, 0, 1]).set_column(1, "x", pa.array(np.array([0.2, 0.1, 0.2]) * (1 + 1e-12)))
    assert differences(other, ROWS) == ""
    assert differences(other, ROWS, tolerance=0)
    stamps = pa.table({"ts": pa.array([5], pa.timestamp("us", "UTC")), "end": pa.array([None], pa.timestamp("us"))})
    assert differences(stamps, pa.table({"ts": [5], "end": pa.array([None], pa.int64())})) == ""


@pytest.mark.parametrize(("other", "said"), [
    (ROWS.slice(1), "k=1, x=0.1"), (pa.concat_tables([ROWS, ROWS.slice(2)]), "4 rows instead of 3"),
    (ROWS.set_column(1, "x", pa.array([0.1, 0.2, 0.21])), "x=0.21"), (ROWS.drop_columns(["x"]), "columns k, window"),
], ids=["missing", "twice", "value", "columns"])
def test_the_comparison_says_what_differs(other: pa.Table, said: str) -> None:
    assert said in differences(other, ROWS)
    assert differences(ROWS, other)


# -- the page --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_the_page_shows_the_query_that_is_run(query: Query) -> None:
    page = (RUN.parents[1] / "docs" / "nexmark.md").read_text()
    assert dedent(CLOSED).strip() in page
    assert f"```sql\n{query.text.replace(CLOSED, 'closed').replace(WON, 'won').strip()}\n```" in page
    assert query.note in page.replace("\n", " ")


# -- in process ------------------------------------------------------------------------------------------------------


def few_events(seed: int) -> Nexmark:
    """Few enough for the definition, with a bit of everything."""
    return Nexmark(events=120, rate=6, proportions=Proportions(3, 7, 20), in_flight=3, active_persons=4, disorder=0.3,
                   seed=seed)


def items(site: Nexmark, query: Query, stream: str) -> Iterator[Item]:
    for item in site.items(stream):
        yield Punctuation.below(query.clock(stream), item.bound("ts")) if isinstance(item, Punctuation) else item


@pytest.mark.parametrize("seed", [3, 5])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_gives_the_answer_of_the_definition(query: Query, seed: int) -> None:
    site = few_events(seed)
    streams = {name: list(items(site, query, name)) for name in query.streams}
    found = pw.sql(query.text, params=query.params(site), **streams)
    expected = pw.sql(query.text, params=query.params(site), engine="oracle", **streams)
    assert len(expected) > 0
    assert differences(found.table, expected.table, tolerance=0) == ""


class FewPrices(Nexmark):
    """Bids of the same price, so that auctions have more than one best bid."""

    def bids(self) -> pa.Table:
        rows = super().bids()
        return rows.set_column(2, "price", pc.multiply(pc.divide(rows["price"], 20_000_000), 20_000_000))


SITES = {
    "disorder": Nexmark(events=50_000, rate=1_000, disorder=0.1),
    "borders and ties": FewPrices(events=5_000, rate=5, proportions=Proportions(1, 3, 9), disorder=0),
}
"""With five events a second and cycles of 13, rows of all kinds fall on the very borders of windows."""


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {name: tmp_path_factory.mktemp("nexmark") / "data" for name in SITES}
    for name, folder in folders.items():
        write(folder, SITES[name], batches=4)
    return folders


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_gives_the_answer_of_duckdb(query: Query, site: str, generated: dict[str, Path],
                                            tmp_path: Path) -> None:
    expected = DuckDB(cores=1).run(query, generated[site], tmp_path).results()
    assert expected.num_rows > 0
    assert differences(Embedded().run(query, generated[site], tmp_path).results(), expected) == ""


def test_a_run_is_one_line_of_figures_and_results_to_compare(tmp_path: Path) -> None:
    figures = {}
    for engine in ("embedded", "duckdb"):
        job = {"query": "q9", "engine": engine, "data": str(tmp_path / "data"), "events": 20_000, "batches": 2,
               "cores": 1, "out": str(tmp_path / f"{engine}.parquet"), "site": {"rate": 1_000}}
        done = subprocess.run([sys.executable, str(RUN / "run.py"), json.dumps(job)], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stderr
        figures[engine] = json.loads(done.stdout.splitlines()[-1])
    assert {f["rows_in"] for f in figures.values()} == {19_600}
    assert figures["embedded"]["rows_out"] == figures["duckdb"]["rows_out"] > 0
    assert figures["embedded"]["state_bytes"] > 0
    assert all(f["seconds"] > 0 and f["cpu_seconds"] > 0 and f["own_peak_mb"] > 0 for f in figures.values())
    done = subprocess.run([sys.executable, str(RUN / "check.py"), *(str(tmp_path / f"{e}.parquet") for e in figures)],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:6]) == (0, "equal:")


# -- on Spark --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def some_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("nexmark") / "some"
    write(data, Nexmark(events=6_000, rate=1_000), batches=3)
    return data


def soaked(*short: str) -> list[object]:
    """All queries; those not named only in long runs."""
    return [pytest.param(query, id=name, marks=[] if name in short else [pytest.mark.soak])
            for name, query in QUERIES.items()]


@pytest.mark.parametrize("query", soaked("q3", "q6", "q12"))
def test_spark_gives_it_in_a_batch(query: Query, spark: SparkSession, some_events: Path, tmp_path: Path) -> None:
    expected = DuckDB(cores=1).run(query, some_events, tmp_path).results()
    assert differences(SparkBatch(spark).run(query, some_events, tmp_path).results(), expected) == ""


@pytest.mark.parametrize("query", soaked("q6"))
def test_spark_gives_it_in_micro_batches(query: Query, spark: SparkSession, some_events: Path, tmp_path: Path) -> None:
    expected = DuckDB(cores=1).run(query, some_events, tmp_path).results()
    done = SparkStreaming(spark).run(query, some_events, tmp_path)
    assert differences(done.results(), expected) == ""
    assert done.state_rows is not None
    assert done.state_rows > 0
